/** Patches of images and volumes. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { wantList } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { type Shape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { concat, split } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { hostInts } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";
import { addN } from "../pointwise/arithmetic.ts";

const NUMBERS =
  "{float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool, complex64}";

/** Places along one axis. */
interface PatchAxis {
  readonly count: number;
  readonly before: number;
  readonly after: number;
}

/** Sizes, strides and steps within patches, along the axes between batch and depth. */
interface Taps {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly rates: readonly number[];
  readonly padding: string;
}

function axisOf(extent: number, at: number, { sizes, strides, rates, padding }: Taps): PatchAxis {
  const reach = (sizes[at] - 1) * rates[at] + 1, stride = strides[at];
  if (padding === "VALID") {
    return { count: Math.max(0, Math.floor((extent - reach) / stride) + 1), before: 0, after: 0 };
  }
  const count = Math.ceil(extent / stride);
  const missing = Math.max(0, (count - 1) * stride + reach - extent), before = missing >> 1;
  return { count, before, after: missing - before };
}

/** Reads attributes of an op over inputs of this rank. Throws `ValueError` for bad ones. */
function tapsOf(attrs: Attrs, rank: number, op: string): Taps {
  const { padding } = attrs;
  if (padding !== "VALID" && padding !== "SAME") {
    throw new ValueError(`Cannot apply ${op} with padding ${padding}: wanted VALID or SAME`);
  }
  const lists = { ksizes: attrs.ksizes, strides: attrs.strides, rates: attrs.rates };
  const [sizes, strides, rates] = Object.entries(lists).map(([name, list]) => {
    if (list.length === 0) return new Array<number>(rank - 2).fill(1);
    const isWhole = list.every((n: number) => Number.isInteger(n) && n > 0);
    if (list.length === rank && isWhole && list[0] === 1 && list[rank - 1] === 1) {
      return (list as number[]).slice(1, -1);
    }
    throw new ValueError(
      `Cannot apply ${op} with ${name} [${list}]: wanted ${rank} whole numbers above 0, the first and last 1`,
    );
  });
  return { sizes, strides, rates, padding };
}

/** The places of an image's patches, and the padding around it. */
function placesIn(shape: Shape, taps: Taps) {
  const axes = shape.slice(1, -1).map((n, k) => axisOf(n, k, taps));
  const around = axes.map(({ before, after }): [number, number] => [before, after]);
  const padded = shape.map((n, i) => n + (around[i - 1] ?? [0, 0]).reduce((a, b) => a + b));
  return { axes, around: [[0, 0], ...around, [0, 0]] as [number, number][], padded };
}

/** The ends of the slices that hold an element of each patch, in the order of the elements. */
function slicesOf({ sizes, strides, rates }: Taps, axes: readonly PatchAxis[], padded: Shape) {
  const total = sizes.reduce((a, b) => a * b, 1);
  return Array.from({ length: total }, (_, i) => {
    const begin = new Array<number>(padded.length).fill(0), end = [...padded];
    let rest = i;
    for (let k = sizes.length - 1; k >= 0; k--) {
      begin[k + 1] = rest % sizes[k] * rates[k];
      end[k + 1] = begin[k + 1] + (axes[k].count - 1) * strides[k] + 1;
      rest = Math.floor(rest / sizes[k]);
    }
    return { begin, end, step: [1, ...strides, 1] };
  });
}

function patchesOf(x: OpInput, taps: Taps): Tensor {
  const image = asTensor(x), { axes, around, padded } = placesIn(image.shape, taps);
  if (axes.some(({ count }) => count === 0)) return asTensor(emptyOf(image, taps, axes));
  const all = around.flat().some((n) => n > 0) ? pad(image, around) : image;
  return concat(
    slicesOf(taps, axes, padded).map(({ begin, end, step }) => stridedSlice(all, begin, end, step)),
    -1,
  );
}

/** The patches of an image that has none. */
function emptyOf(image: Tensor, { sizes }: Taps, axes: readonly PatchAxis[]): Tensor {
  const [batch] = image.shape, depth = image.shape.at(-1)! * sizes.reduce((a, b) => a * b, 1);
  const none = slice(image, image.shape.map(() => 0), image.shape.map((n, i) => i === 1 ? 0 : n));
  return apply1(lookupOp("Reshape")!, [
    none,
    intVector([batch, ...axes.map(({ count }) => count), depth]),
  ]);
}

/** Adds each element of patches to the place that it was taken from. */
function imageOf(shape: Shape, dy: OpInput, taps: Taps): Tensor {
  const { axes, around, padded } = placesIn(shape, taps), back = lookupOp("StridedSliceGrad")!;
  const slices = slicesOf(taps, axes, padded), parts = split(asTensor(dy), slices.length, -1);
  const sum = addN(
    slices.map(({ begin, end, step }, i) =>
      apply1(back, [...[padded, begin, end, step].map(intVector), parts[i]])
    ),
  );
  return slice(sum, around.map(([before]) => before), [...shape]);
}

/** Defines an op that takes patches and its gradient, each the other's gradient. */
function define(name: string, input: string, rank: 4 | 5): OpDef {
  // TensorFlow has no steps within patches of volumes.
  const rates = rank === 4 ? "rates: list(int)" : "rates: list(int) = []";
  const lists = ["ksizes: list(int)", "strides: list(int)", rates, "padding: string"];
  const shared = ({ ksizes, strides, rates, padding }: Attrs): Attrs => ({
    ...{ ksizes, strides, rates, padding },
  });
  const gradient: OpDef = defineOp({
    name: `_${name}Grad`,
    portable: "parts",
    inputs: ["shape: int32", "dy: T"],
    outputs: ["output: T"],
    attrs: [...lists, "T: {float16, bfloat16, float32, float64, complex64}"],
    hostInputs: ["shape"],
    infer: ([shape]) => [shapeFromHost(shape)],
    grad: { saves: [], vjp: (_, [dx], ctx) => [null, apply1(op, [dx], shared(ctx.attrs))] },
    expand: ([shape, dy], given) => [
      imageOf(hostInts(shape as NdArray), dy, tapsOf(given, rank, name)),
    ],
  });
  const op: OpDef = defineOp({
    name,
    ...(rank === 4
      ? {}
      : { portable: { without: { rates: (v) => (v as number[]).length === 0 } } }),
    inputs: [`${input}: T`],
    outputs: ["patches: T"],
    attrs: [...lists, `T: ${NUMBERS}`],
    infer: ([{ shape }], given) => {
      const taps = tapsOf(given, rank, name);
      if (shape !== null && shape.length !== rank) {
        throw new ValueError(
          `Cannot apply ${name}: wanted rank ${rank}, received shape ${shapeText(shape)}`,
        );
      }
      const known = shape ?? new Array<null>(rank).fill(null), depth = known[rank - 1];
      const inner = known.slice(1, -1).map((n, k) => n === null ? null : axisOf(n, k, taps).count);
      const each = taps.sizes.reduce((a, b) => a * b, 1);
      return [[known[0], ...inner, depth === null ? null : depth * each]];
    },
    grad: {
      saves: [],
      vjp: (_, [dy], ctx) => [
        apply1(gradient, [toIndexInput(ctx.shapeOf(0), "shape", name), dy], shared(ctx.attrs)),
      ],
    },
    expand: ([x], given) => [patchesOf(x, tapsOf(given, rank, name))],
  });
  return op;
}

const ExtractImagePatches = define("ExtractImagePatches", "images", 4);
const ExtractVolumePatches = define("ExtractVolumePatches", "input", 5);

/** The ops of this file that files may have. */
export const PATCHES: readonly OpDef[] = [ExtractImagePatches, ExtractVolumePatches];

/**
 * Patches of images `[batch, height, width, depth]` or volumes `[batch, planes, height, width, depth]`, with the elements of each along the
 * last axis, depth innermost. `sizes`, `strides` and `rates` have a number for each axis between batch and depth; `rates` are steps within
 * a patch. Throws `ValueError` for another rank and other numbers of sizes. Follows TensorFlow `tf.image.extract_patches`; ops
 * `ExtractImagePatches` and `ExtractVolumePatches`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.reshape(tf.range(0, 9), [1, 3, 3, 1]);
 * assertEquals(tf.extractPatches(x, [2, 2], [1, 2]).arraySync(), [[[[0, 1, 3, 4]], [[3, 4, 6, 7]]]]);
 * ```
 */
export function extractPatches(
  images: TensorLike,
  sizes: readonly number[],
  strides: readonly number[] = sizes,
  rates?: readonly number[],
  padding: "valid" | "same" = "valid",
): Tensor {
  wantList(sizes, "sizes", "extractPatches", "numbers");
  wantList(strides, "strides", "extractPatches", "numbers");
  if (rates !== undefined) wantList(rates, "rates", "extractPatches", "numbers");
  const x = toInput(images, "images", "extractPatches"), shape = shapeOfInput(x);
  const rank = shape?.length;
  if (rank !== 4 && rank !== 5) {
    throw new ValueError(
      `Error in extractPatches: wanted images of rank 4 or 5, received shape ${shapeText(shape)}`,
    );
  }
  for (const [name, list] of Object.entries({ sizes, strides, rates })) {
    if (list === undefined) continue;
    if (list.length === rank - 2 && list.every((n) => Number.isInteger(n) && n > 0)) continue;
    throw new ValueError(
      `Error in extractPatches: ${name} must be ${
        rank - 2
      } whole numbers above 0, received [${list}]`,
    );
  }
  if (padding !== "valid" && padding !== "same") {
    throw new ValueError(
      `Error in extractPatches: padding must be "valid" or "same", received ${padding}`,
    );
  }
  const whole = (list: readonly number[]): number[] => [1, ...list, 1];
  return apply1(rank === 5 ? ExtractVolumePatches : ExtractImagePatches, [x], {
    ksizes: whole(sizes),
    strides: whole(strides),
    rates: rank === 5 && rates === undefined ? [] : whole(rates ?? [1, 1]),
    padding: padding.toUpperCase(),
  });
}

/**
 * Patches of volumes `[batch, planes, height, width, depth]`, with the elements of each along the last axis, depth innermost. `ksizes` and
 * `strides` have a number for each axis, 1 for batch and depth. Differentiable. Throws `ValueError` for another rank, other lists and
 * another padding. TensorFlow op `ExtractVolumePatches`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 8), [1, 2, 2, 2, 1]);
 * const y = tf.extractVolumePatches(x, [1, 2, 2, 1, 1], [1, 1, 1, 1, 1], "VALID");
 * console.log(await y.array()); // [[[[[0, 2, 4, 6], [1, 3, 5, 7]]]]]
 * ```
 */
export function extractVolumePatches(
  input: TensorLike,
  ksizes: readonly number[],
  strides: readonly number[],
  padding: "VALID" | "SAME",
): Tensor {
  const fn = "extractVolumePatches";
  wantList(ksizes, "ksizes", fn, "numbers");
  wantList(strides, "strides", fn, "numbers");
  const attrs = { ksizes: [...ksizes], strides: [...strides], padding };
  return apply1(ExtractVolumePatches, [toInput(input, "input", fn)], attrs);
}
