/**
 * Walks the windows of poolings and depthwise convolutions: for each place of the result, the part of the window that lies inside
 * the image, vectors of channels at a time. Channels last.
 */
import type { Problem } from "../../../core/op.ts";
import type { Shape } from "../../../core/shape.ts";
import {
  type WindowAxis,
  type WindowGeometry,
  windowGeometry,
} from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

/** Returns the window of a problem whose tensors are float32, channels last; null for others. */
export function floatWindow(
  { inputs, outputs, hosts, attrs }: Problem,
  input: Shape,
  filter: Shape,
  outChannels: number = filter[filter.length - 1],
): WindowGeometry | null {
  const isFloat = outputs[0].dtype === "float32" &&
    inputs.every((s, i) => hosts[i] !== undefined || s.dtype === "float32");
  const g = isFloat ? windowGeometry(input, filter, outChannels, attrs) : null;
  return g?.channelsFirst ? null : g;
}

/**
 * Numbers of a place along an axis in the table: the position and number of its first tap, and the number of its taps.
 */
const ENTRY = 3;

/** Places along the axes, for each the taps that lie inside: the form of a geometry for kernels. */
export interface WindowTable {
  readonly data: Int32Array;
  /** The last parameters of every kernel, after the table's address and the number of images. */
  readonly numbers: readonly number[];
  readonly images: number;
  /** Taps of all windows and channels, about. */
  readonly taps: number;
  /** Bytes from image to image, of images and of results. */
  readonly imageStep: Readonly<Record<"image" | "result" | "all", number>>;
}

/** Makes the table of a geometry. Distances are in bytes of an image of `channels` floats per place. */
export function windowTable({ axes, channels, batch }: WindowGeometry): WindowTable {
  const [z, y, x] = axes;
  const step = [4 * channels * y.in * x.in, 4 * channels * x.in, 4 * channels];
  const outs = axes.map((a) => a.out), filters = axes.map((a) => a.filter);
  const places = z.out * y.out * x.out, image = step[0] * z.in;
  return {
    data: Int32Array.from(
      axes.flatMap((a, i) =>
        insideOf(a).flatMap(({ start, count, first }) => [start * step[i], count, first])
      ),
    ),
    numbers: [...outs, channels, image, ...axes.map((a, i) => a.dilation * step[i]), ...filters],
    images: batch,
    taps: batch * places * channels * z.filter * y.filter * x.filter,
    imageStep: { image, result: 4 * channels * places, all: 0 },
  };
}

/**
 * The part of a window along one axis that lies inside the image: number of the first tap, its position, number of
 * taps.
 */
export type Inside = Readonly<Record<"first" | "start" | "count", number>>;

/** Returns the inside part at each place of an axis. */
export function insideOf(
  { in: extent, out, stride, before, dilation, filter }: WindowAxis,
): Inside[] {
  return Array.from({ length: out }, (_, place) => {
    const from = place * stride - before;
    const first = from < 0 ? Math.ceil(-from / dilation) : 0;
    const end = Math.min(filter, Math.ceil((extent - from) / dilation));
    if (end <= first) return { first: 0, start: 0, count: 0 };
    return { first, start: from + first * dilation, count: end - first };
  });
}

/** Number of parameters of a {@linkcode WindowTable}. */
const WINDOW_PARAMS = 13;

/** One window while its code is written. */
export interface WindowCode {
  readonly f: FunctionBuilder;
  readonly s: Simd;
  /** Offset of the current channels from the first of a place, in bytes. */
  readonly channel: I;
  /** Offset of the window's result in the result, in bytes, without the channel. */
  readonly out: I;
  /** Number of taps inside the image. */
  readonly count: Value<"i32">;
  /** Number of vectors of channels at once. */
  readonly width: number;
  /**
   * Calls `visit` for each tap: its offset in the image, in bytes without the channel, and its number in the filter.
   */
  taps(visit: (image: I, tap: I) => void): void;
  /** Offset of the first tap. */
  readonly first: Value<"i32">;
  /** Returns the address of the current channels of a place, or of them in the filters of a tap. */
  at(base: I, place: Value<"i32">): Value<"i32">;
  atTap(base: I, tap: I): Value<"i32">;
  load(address: Value<"i32">): F4[];
  /** Stores vectors, or their part that belongs to the place. */
  store(address: Value<"i32">, v: readonly F4[]): void;
  /** Updates the vectors at an address. */
  update(address: Value<"i32">, change: (v: F4, u: number) => F4): void;
}

/**
 * Writes code that runs `body` for each place and vector of channels; `table` are the parameters of a {@linkcode
 * WindowTable}.
 */
function writeWindows(s: Simd, table: readonly I[], body: (w: WindowCode) => void): void {
  const { f } = s;
  const [zTable, batch, zOut, yOut, xOut, channels, imageBytes, ...window] = table;
  const [zStep, yStep, xStep, , yTaps, xTaps] = window;
  const [image, out, channel, left] = f.locals("i32", 4);
  const bytes = f.let(i32.shl(channels, 2));
  const yTable = f.let(i32.add(zTable, i32.mul(zOut, 4 * ENTRY)));
  const xTable = f.let(i32.add(yTable, i32.mul(yOut, 4 * ENTRY)));
  const tables = [zTable, yTable, xTable], outs = [zOut, yOut, xOut];
  const entries = tables.map((): Entry => {
    const [start, count, first] = f.locals("i32", ENTRY);
    return { start, count, first };
  });
  const [z, y, x] = entries;
  const first = i32.add(image, i32.add(z.start, i32.add(y.start, x.start)));
  const visit = (visitTap: (image: I, tap: I) => void): void => {
    const steps = [zStep, yStep, xStep], jumps = [i32.mul(yTaps, xTaps), xTaps, 1];
    /** Visits the taps along an axis and those after it. */
    const along = (axis: number, place: Value<"i32">, number: Value<"i32">): void => {
      const from = f.variable("i32", place), tap = f.variable("i32", number);
      f.countDown(f.variable("i32", entries[axis].count), 1, () => {
        if (axis === 2) visitTap(from, tap);
        else along(axis + 1, from, tap);
        f.advance(from, steps[axis]);
        f.advance(tap, jumps[axis]);
      });
    };
    along(0, first, i32.add(i32.mul(i32.add(i32.mul(z.first, yTaps), y.first), xTaps), x.first));
  };
  const at = (base: I, place: Value<"i32">) => i32.add(i32.add(base, place), channel);
  const run = (width: number, part: boolean): void => {
    const load = (address: Value<"i32">): F4[] =>
      Array.from({ length: width }, (_, u) => f.let(f32x4.load(address, 16 * u)));
    const store = (address: Value<"i32">, v: readonly F4[]): void =>
      part ? storePart(f, address, v[0], left) : v.forEach((x, u) => f.store(address, x, 16 * u));
    body({
      f,
      s,
      channel,
      out,
      width,
      count: i32.mul(i32.mul(z.count, y.count), x.count),
      taps: visit,
      first,
      at,
      atTap: (base, tap) => at(base, i32.mul(tap, bytes)),
      load,
      store,
      update: (address, change) => {
        const here = f.let(address);
        store(here, load(here).map((v, u) => f.let(change(v, u))));
      },
    });
  };
  const allChannels = (): void => {
    f.set(channel, 0);
    f.set(left, channels);
    for (const width of [4, 1]) {
      f.countDown(left, 4 * width, () => {
        run(width, false);
        f.advance(channel, 16 * width);
      });
    }
    f.if(i32.gt(left, 0), () => run(1, true));
    f.advance(out, bytes);
  };
  /** Visits all places along an axis and those after it. */
  const places = (axis: number): void => {
    if (axis === 3) return allChannels();
    const at = f.variable("i32", tables[axis]), { start, count, first } = entries[axis];
    f.times(outs[axis], () => {
      [start, count, first].forEach((value, i) => f.set(value, i32.load(at, 4 * i)));
      places(axis + 1);
      f.advance(at, 4 * ENTRY);
    });
  };
  f.times(batch, () => {
    places(0);
    f.advance(image, imageBytes);
  });
}

/** Table entry of a place along an axis. */
type Entry = Readonly<Record<keyof Inside, I>>;

/**
 * Runs a kernel over the windows of a table. Each address moves from image to image by an image, by its result, or not
 * at all.
 */
export type WindowRun = (
  table: WindowTable,
  addresses: readonly (readonly [at: Pointer, of: "image" | "result" | "all"])[],
) => void;

/** Work of one tap of one channel, in floating point operations. */
const WORK = 12;

/** Makes a kernel that runs `body` for each window and vector of channels; it takes `pointers` addresses. */
export function windowKernel(
  engine: Engine,
  name: string,
  pointers: number,
  body: (w: WindowCode, p: readonly I[]) => void,
  imports?: (m: ModuleBuilder) => HostImports,
): WindowRun {
  const run = kernel(engine, `windows ${name}`, pointers + WINDOW_PARAMS, (s, p) => {
    writeWindows(s, p.slice(pointers), (w) => body(w, p.slice(0, pointers)));
  }, imports);
  return ({ data, numbers, images, taps, imageStep }, addresses) => {
    const at = engine.scratch(data.byteLength);
    engine.heap.i32.set(data, at >>> 2);
    engine.inParts(run, { count: images, work: WORK * taps }, (from, size) => {
      const here = addresses.map(([p, of]) => p + from * imageStep[of]);
      return [...here, at, size, ...numbers];
    });
  };
}
