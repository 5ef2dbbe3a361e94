/** Weights that a file's levels mean: computed where they are read, in the order of axes in which they are read. */

import type { DType } from "../../../engine/core/dtype.ts";
import { laterArray, type NdArray, noteLevels } from "../../../engine/core/nd_array.ts";
import { stridesOf } from "../../../engine/core/shape.ts";

/** Whole numbers of a file, with a scale and a zero point for all or for each element of an axis. */
export interface FileLevels {
  readonly levels: NdArray;
  /** Scales, float32; null for 1. */
  readonly scale: NdArray | null;
  /** Zero points; null for 0. */
  readonly zero: NdArray | null;
  /** The axis of scales and zero points. */
  readonly axis: number;
}

/** Types of levels: those whose differences are computed in 32 bits. */
const TYPES: ReadonlySet<DType> = new Set<DType>(["int8", "uint8", "int16", "uint16", "int32"]);

/** Elements of the last axis that are written at once, where it is not the last of the levels: a line of the cache. */
const TOGETHER = 16;

/** True where the scales and zero points fit the levels. */
export function isDequantisable({ levels, scale, zero, axis }: FileLevels): boolean {
  const fits = (s: NdArray | null): boolean =>
    s === null || s.size === 1 || s.rank === 1 && s.size === levels.shape[axis];
  return TYPES.has(levels.dtype) && fits(scale) && fits(zero) &&
    (scale?.dtype ?? "float32") === "float32" &&
    (zero === null || TYPES.has(zero.dtype));
}

/** Returns the weights with their axes in this order; -1 stands for a new axis of extent 1. */
export function weightsLater(given: FileLevels, order: readonly number[]): NdArray {
  const { shape } = given.levels;
  const made = laterArray(
    "float32",
    order.map((a) => a < 0 ? 1 : shape[a]),
    (to) => writeWeights(to as Float32Array, given, order),
  );
  const matrix = matrixOf(given, order);
  if (matrix !== null) noteLevels(made, matrix);
  return made;
}

type Levels = Parameters<typeof noteLevels>[1];

/** The largest magnitude of a zero point that float32 subtracts exactly. */
const MOST_ZERO = 2 ** 20;

/** Returns levels of 8 bits as a matrix of columns along the last axis; null where they are none. */
function matrixOf(given: FileLevels, order: readonly number[]): Levels | null {
  const { levels: { dtype, shape, data }, axis } = given, last = order[order.length - 1];
  if (order.length < 2 || last < 0 || dtype !== "int8" && dtype !== "uint8") return null;
  const { scales, zeros } = perChannel(given);
  if (scales.length > 1 && axis !== last || zeros.some((z) => Math.abs(z) > MOST_ZERO)) return null;
  const strides = stridesOf(shape), above = order.slice(0, -1).filter((a) => a >= 0);
  return {
    levels: data as Int8Array,
    rows: () => placesOf(above.map((a) => ({ extent: shape[a], stride: strides[a] }))),
    columns: shape[last],
    stride: strides[last],
    scales,
    zeros,
  };
}

/** Returns the places of all elements of some axes, those of the last the nearest. */
function placesOf(axes: readonly Pick<Axis, "extent" | "stride">[]): Int32Array {
  const places = new Int32Array(axes.reduce((n, a) => n * a.extent, 1));
  let size = 1;
  for (const { extent, stride } of [...axes].reverse()) {
    for (let i = extent - 1; i > 0; i--) {
      for (let k = 0; k < size; k++) places[i * size + k] = places[k] + i * stride;
    }
    size *= extent;
  }
  return places;
}

const filters = new WeakMap<NdArray, Map<NdArray | null, NdArray>>();

/** Returns a convolution's filter in one order of its axes: the same array for each, since several traces need it. */
export function filterOfLevels(given: FileLevels, order: readonly number[]): NdArray {
  const known = filters.get(given.levels) ?? new Map<NdArray | null, NdArray>();
  filters.set(given.levels, known);
  let made = known.get(given.zero);
  if (made === undefined) known.set(given.zero, made = weightsLater(given, order));
  return made;
}

/** An axis of the result. */
interface Axis {
  readonly extent: number;
  /** Levels, and channels, from one element to the next. */
  readonly stride: number;
  readonly channel: number;
}

/** Writes the weights, `scale * (level - zero)`, with the axes of the levels in another order. */
function writeWeights(to: Float32Array, given: FileLevels, order: readonly number[]): void {
  const source = numbersOf(given.levels), channels = perChannel(given);
  const outer = axesOf(given, order, channels.scales.length > 1);
  const last = outer.pop()!, row = outer.pop() ?? { extent: 1, stride: 0, channel: 0 };
  const rest = outer.reduce((n, axis) => n * axis.extent, 1), size = row.extent * last.extent;
  const width = last.stride === 1 ? last.extent : TOGETHER, at = outer.map(() => 0);
  for (let first = 0; first < last.extent; first += width) {
    const count = Math.min(width, last.extent - first);
    let from = first * last.stride, channel = first * last.channel;
    for (let i = 0; i < rest; i++) {
      writeBlock({ to, at: i * size + first, source, from, channels, channel, row, last, count });
      for (let k = outer.length - 1; k >= 0; k--) {
        const axis = outer[k];
        from += axis.stride;
        channel += axis.channel;
        if (++at[k] < axis.extent) break;
        at[k] = 0;
        from -= axis.stride * axis.extent;
        channel -= axis.channel * axis.extent;
      }
    }
  }
}

/** Whole numbers as two kinds of arrays, so that one loop reads them: `(data[i] ^ flip) - flip`. */
interface Source {
  readonly data: Uint8Array | Int32Array;
  readonly flip: number;
}

function numbersOf({ dtype, data }: NdArray): Source {
  const levels = data as Int8Array;
  if (dtype === "int32" || dtype === "uint8") return { data: data as Uint8Array, flip: 0 };
  if (dtype !== "int8") return { data: Int32Array.from(levels), flip: 0 };
  const { buffer, byteOffset, length } = levels;
  return { data: new Uint8Array(buffer, byteOffset, length), flip: 128 };
}

/** Some elements of the last axis, for all places of the one before it. */
interface Block {
  readonly to: Float32Array;
  /** Places of the first element in the result and in the source, and its channel. */
  readonly at: number;
  readonly from: number;
  readonly channel: number;
  readonly source: Source;
  readonly channels: Channels;
  readonly row: Axis;
  readonly last: Axis;
  /** Elements of the last axis. */
  readonly count: number;
}

function writeBlock(
  { to, at, source: { data, flip }, from, channels, channel, row, last, count }: Block,
): void {
  const { scales, zeros } = channels, { stride, channel: step, extent } = last;
  for (let r = 0; r < row.extent; r++) {
    let s = from + r * row.stride, c = channel + r * row.channel;
    const first = at + r * extent;
    for (let i = first; i < first + count; i++) {
      // Differences wrap around, as those of int32 do on devices.
      to[i] = Math.fround(((data[s] ^ flip) - flip - zeros[c]) | 0) * scales[c];
      s += stride;
      c += step;
    }
  }
}

/** The scale and the zero point of each channel. */
interface Channels {
  readonly scales: Float32Array;
  readonly zeros: Int32Array;
}

/** Returns the scale and the zero point of each channel. */
function perChannel({ scale, zero }: FileLevels): Channels {
  const count = Math.max(scale?.size ?? 1, zero?.size ?? 1);
  const each = (s: NdArray | null, otherwise: number): number[] =>
    Array.from(
      { length: count },
      (_, i) => s === null ? otherwise : (s.data as Float32Array)[s.size === 1 ? 0 : i],
    );
  return { scales: Float32Array.from(each(scale, 1)), zeros: Int32Array.from(each(zero, 0)) };
}

/** Returns the axes of the result, at least one; those that lie one behind the other in the levels too are one. */
function axesOf(
  { levels: { shape }, axis }: FileLevels,
  order: readonly number[],
  hasChannels: boolean,
): Axis[] {
  const strides = stridesOf(shape), axes: Axis[] = [];
  for (const a of order) {
    if (a < 0 || shape[a] === 1) continue;
    const own = {
      extent: shape[a],
      stride: strides[a],
      channel: hasChannels && a === axis ? 1 : 0,
    };
    const before = axes.at(-1), isOne = before?.channel === 0 && own.channel === 0;
    if (isOne && before.stride === own.stride * own.extent) {
      axes[axes.length - 1] = { ...own, extent: before.extent * own.extent };
    } else axes.push(own);
  }
  return axes.length > 0 ? axes : [{ extent: 1, stride: 1, channel: 0 }];
}
