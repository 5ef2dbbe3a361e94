/**
 * Walks the windows of poolings and depthwise convolutions: for each place of the result, the part of the window that lies inside
 * the image, vectors of channels at a time. Channels last.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

type I = Local<"i32">;

/** Numbers of the table that a place along an axis has: where its first tap reads, how many taps, which tap is the first. */
const ENTRY = 3;

/** Places along the axes, for each the taps that lie inside: what kernels are told of a geometry. */
export class WindowTable {
  readonly #data: Int32Array;
  readonly #numbers: readonly number[];

  /** Number of images. */
  readonly images: number;
  /** Taps of all windows and channels, about. */
  readonly taps: number;
  /** Bytes from image to image, of images and of results. */
  readonly imageStep: Readonly<Record<"image" | "result" | "all", number>>;

  /** Distances are in bytes of an image of `channels` floats per place. */
  constructor({ axes, channels, batch }: WindowGeometry) {
    const [z, y, x] = axes;
    const step = [4 * channels * y.in * x.in, 4 * channels * x.in, 4 * channels];
    const places = z.out * y.out * x.out;
    this.images = batch;
    this.taps = batch * places * channels * z.filter * y.filter * x.filter;
    this.imageStep = { image: step[0] * z.in, result: 4 * channels * places, all: 0 };
    this.#data = Int32Array.from(
      axes.flatMap((a, i) =>
        insideOf(a).flatMap(({ start, count, first }) => [start * step[i], count, first])
      ),
    );
    this.#numbers = [
      batch,
      z.out,
      y.out,
      x.out,
      channels,
      step[0] * z.in,
      ...axes.map((a, i) => a.dilation * step[i]),
      z.filter,
      y.filter,
      x.filter,
    ];
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.#data.byteLength;
  }

  /** Copies it to scratch memory, `after` bytes from its beginning; returns the parameters every kernel takes last. */
  put(engine: Engine, at: Pointer): number[] {
    engine.heap.i32.set(this.#data, at >>> 2);
    return [at, ...this.#numbers];
  }
}

/** The part of a window along one axis that lies inside the image. */
export interface Inside {
  /** Number of the first tap inside. */
  readonly first: number;
  /** Where it reads. */
  readonly start: number;
  /** How many taps are inside. */
  readonly count: number;
}

/** What lies inside at each place of an axis. */
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

/** Parameters that {@linkcode WindowTable.put} gives. */
const WINDOW_PARAMS = 13;

/** One window while its code is written. */
export interface WindowCode {
  /** The function. */
  readonly f: FunctionBuilder;
  /** Vector code. */
  readonly s: Simd;
  /** Offset of the channels in hand from the first of a place, in bytes. */
  readonly channel: I;
  /** Offset of the window's result in the result, in bytes, without the channel. */
  readonly out: I;
  /** Number of taps inside the image. */
  readonly count: Value<"i32">;
  /** Bytes of all channels of a place. */
  readonly channelBytes: Value<"i32">;
  /** Vectors of channels in hand. */
  readonly width: number;
  /** Calls `visit` for each tap: where it reads in the image, in bytes without the channel, and its number in the filter. */
  taps(visit: (image: I, tap: I) => void): void;
  /** Where the first tap reads. */
  readonly first: Value<"i32">;
  /** Vectors from an address on. */
  load(address: Value<"i32">): F4[];
  /** Stores vectors, or what of them belongs to the place. */
  store(address: Value<"i32">, v: readonly F4[]): void;
}

/**
 * Writes a function that runs `body` for each place and vector of channels. The last parameters are those of a
 * {@linkcode WindowTable}.
 */
function writeWindows(s: Simd, table: readonly I[], body: (w: WindowCode) => void): void {
  const { f } = s;
  const [at, batch, zOut, yOut, xOut, channels, imageBytes, zStep, yStep, xStep, , yTaps, xTaps] =
    table;
  const image = f.variable("i32", 0),
    out = f.variable("i32", 0),
    channel = f.local("i32"),
    left = f.local("i32");
  const bytes = f.let(i32.shl(channels, 2));
  const entryBytes = 4 * ENTRY;
  const yTable = f.let(i32.add(at, i32.mul(zOut, entryBytes))),
    xTable = f.let(i32.add(yTable, i32.mul(yOut, entryBytes)));
  const z = entryLocals(f), y = entryLocals(f), x = entryLocals(f);
  const visit = (visitTap: (image: I, tap: I) => void): void => {
    const p0 = f.local("i32"), p1 = f.local("i32"), p2 = f.local("i32");
    const t0 = f.local("i32"), t1 = f.local("i32"), t2 = f.local("i32");
    const n0 = f.local("i32"), n1 = f.local("i32"), n2 = f.local("i32");
    f.set(p0, i32.add(image, i32.add(z.start, i32.add(y.start, x.start))));
    f.set(t0, i32.add(i32.mul(i32.add(i32.mul(z.first, yTaps), y.first), xTaps), x.first));
    f.set(n0, z.count);
    f.countDown(n0, 1, () => {
      f.set(p1, p0);
      f.set(t1, t0);
      f.set(n1, y.count);
      f.countDown(n1, 1, () => {
        f.set(p2, p1);
        f.set(t2, t1);
        f.set(n2, x.count);
        f.countDown(n2, 1, () => {
          visitTap(p2, t2);
          f.advance(p2, xStep);
          f.advance(t2, 1);
        });
        f.advance(p1, yStep);
        f.advance(t1, xTaps);
      });
      f.advance(p0, zStep);
      f.advance(t0, i32.mul(yTaps, xTaps));
    });
  };
  const run = (width: number, part: boolean): void => {
    body({
      f,
      s,
      channel,
      channelBytes: bytes,
      out,
      width,
      count: i32.mul(i32.mul(z.count, y.count), x.count),
      taps: visit,
      first: i32.add(image, i32.add(z.start, i32.add(y.start, x.start))),
      load: (address) =>
        Array.from({ length: width }, (_, u) => f.let(f32x4.load(address, 16 * u))),
      store: (address, v) =>
        part ? storePart(f, address, v[0], left) : v.forEach((x, u) => f.store(address, x, 16 * u)),
    });
  };
  const step = (width: number): void => {
    f.countDown(left, 4 * width, () => {
      run(width, false);
      f.advance(channel, 16 * width);
    });
  };
  f.times(batch, () => {
    forEntries(f, z, at, zOut, () => {
      forEntries(f, y, yTable, yOut, () => {
        forEntries(f, x, xTable, xOut, () => {
          f.set(channel, 0);
          f.set(left, channels);
          step(4);
          step(1);
          f.if(i32.gt(left, 0), () => run(1, true));
          f.advance(out, bytes);
        });
      });
    });
    f.advance(image, imageBytes);
  });
}

interface Entry {
  readonly start: I;
  readonly count: I;
  readonly first: I;
}

function entryLocals(f: FunctionBuilder): Entry {
  return { start: f.local("i32"), count: f.local("i32"), first: f.local("i32") };
}

function forEntries(
  f: FunctionBuilder,
  e: Entry,
  table: Value<"i32">,
  count: I,
  body: () => void,
): void {
  const at = f.variable("i32", table);
  f.times(count, () => {
    f.set(e.start, i32.load(at));
    f.set(e.count, i32.load(at, 4));
    f.set(e.first, i32.load(at, 8));
    body();
    f.advance(at, 4 * ENTRY);
  });
}

/**
 * Runs a kernel over the windows of a table. Each address is of what moves from image to image: an image, its result, or nothing.
 */
export type WindowRun = (
  table: WindowTable,
  addresses: readonly (readonly [at: Pointer, of: "image" | "result" | "all"])[],
) => void;

/** Work of one tap of one channel, in floating point operations. */
const WORK = 12;

/** A kernel that runs `body` for each window and vector of channels; it takes `pointers` addresses. */
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
  return (table, addresses) => {
    const numbers = table.put(engine, engine.scratch(table.bytes));
    const parts = engine.parts(WORK * table.taps);
    const blocks = evenBlocks(table.images, Math.ceil(table.images / parts), 1);
    engine.callAll(blocks.map(({ from, size }): WasmCall => {
      const here = addresses.map(([p, of]) => p + from * table.imageStep[of]);
      return [run, [...here, numbers[0], size, ...numbers.slice(2)]];
    }));
  };
}
