/**
 * Kernels of depthwise convolutions: the filters of four channels stay in registers from place to place. The places of
 * a block are walked once for each vector of channels; windows of neighbours that lie inside are computed together, and
 * of others the columns outside are skipped.
 */
import type { Epilogue } from "../../../core/fusion.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, I, Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { type F4, laneNumbers } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";
import { type BlockCode, blockKernel, type BlockSpec } from "./depthwise_blocks.ts";
import type { RowProblem, RowWindow } from "./depthwise_plan.ts";

/** Numbers of places computed together where their windows lie inside, the largest first. */
export const TOGETHER = [4, 2, 1] as const;

/** Makes variables for the taps of a window, and a visitor with the addresses of their filters. */
function tapsOf({ s: { f }, step, channel, filter }: RowCode, { height, width }: RowWindow) {
  const taps = Array.from({ length: height }, () => f.locals("f32x4", width));
  const each = (visit: (tap: Local<"f32x4">, at: Local<"i32">) => void): void => {
    const at = f.variable("i32", i32.add(filter, channel));
    taps.flat().forEach((tap, i) => {
      if (i > 0) f.advance(at, step);
      visit(tap, at);
    });
  };
  return { taps, each };
}

/** Makes the kernel of the convolution. */
export function depthwiseRows(
  engine: Engine,
  problem: RowProblem,
  epilogue: Epilogue | undefined,
): WasmFunction {
  return rowWalk(engine, { ...problem, name: "rows", epilogue }, (code) => {
    const { s, place, step, channel, store, finish } = code, { f } = s;
    const { taps, each } = tapsOf(code, problem.window), sums = f.locals("f32x4", TOGETHER[0]);
    return {
      open: () => each((tap, at) => f.set(tap, f32x4.load(at))),
      begin: (count) => sums.slice(0, count).forEach((sum) => f.set(sum, s.k(0))),
      tap: (v, { i, j, k }) => f.set(sums[k], s.madd(v, taps[i][j], sums[k])),
      end: (count) =>
        f.ramp(place, step, count).forEach((to, k) => store(to, finish(sums[k], channel))),
      close: () => {},
    };
  });
}

/**
 * Makes the kernel that adds to the gradient of the filter; the walk's result is the gradient of the result, its filter
 * that of the filter.
 */
export function depthwiseFilterRows(engine: Engine, problem: RowProblem): WasmFunction {
  return rowWalk(engine, { ...problem, name: "filter gradient" }, (code) => {
    const { s, place, step, again, store } = code, { f } = s;
    const { taps, each } = tapsOf(code, problem.window), gradients = f.locals("f32x4", TOGETHER[0]);
    return {
      open: () => taps.flat().forEach((tap) => f.set(tap, s.k(0))),
      begin: (count) =>
        f.ramp(place, step, count).forEach((at, k) => f.set(gradients[k], f32x4.load(at))),
      tap: (v, { i, j, k }) => f.set(taps[i][j], s.madd(v, gradients[k], taps[i][j])),
      end: () => {},
      close: () => {
        // Channels of the vector before are not added again.
        const own = f.let(f32x4.ofBits(i32x4.ge(laneNumbers(f), i32x4.splat(again))));
        each((tap, at) => store(at, f.let(f32x4.add(f32x4.load(at), f32x4.and(tap, own)))));
      },
    };
  });
}

/** One vector of channels while its code is written. */
interface RowCode extends BlockCode {
  /** Address of the current place in the result. */
  readonly place: I;
  /** Offset of the current channels from the first of a place of the result, in bytes. */
  readonly channel: I;
  /** Number of the current channels that were in the vector before, too. */
  readonly again: I;
  /** Stores a vector, or its part that belongs to the place. */
  store(address: Value<"i32">, v: F4): void;
}

/** Callbacks for the places of a block, for groups of windows, and for the vectors of their taps. */
interface RowBody {
  open(): void;
  begin(count: number): void;
  /** Takes the vector of the tap in row `i` and column `j` of the window of place `k`. */
  tap(v: F4, tap: { i: number; j: number; k: number }): void;
  end(count: number): void;
  close(): void;
}

/** Makes a kernel over rows, whose code is that of `body` for each vector of channels. */
function rowWalk(
  engine: Engine,
  spec: BlockSpec & RowProblem,
  body: (code: RowCode) => RowBody,
): WasmFunction {
  const { channels, outChannels, window } = spec;
  const few = outChannels < 4 ? outChannels : 0, repeated = outChannels !== channels;
  const name = `${spec.name} ${few} ${repeated}`;
  const how = { window, few, repeated };
  return blockKernel(engine, { ...spec, name }, (block) => writeWalk(block, body, how));
}

function writeWalk(
  block: BlockCode,
  body: (code: RowCode) => RowBody,
  { window, few, repeated }: {
    readonly window: RowWindow;
    /** Number of channels, where they are fewer than a vector's lanes; else 0. */
    readonly few: number;
    /** True where several filters read a channel. */
    readonly repeated: boolean;
  },
): void {
  const { s, pixel, step, multiplier, patterns } = block, { f } = s;
  const lines = f.locals("i32", window.height), pattern = f.local("i8x16");
  const [place, channel, again, bits, rest] = f.locals("i32", 5);
  const store = (address: Value<"i32">, v: F4): void =>
    few ? storePart(f, address, v, few) : f.store(address, v);
  const { open, begin, tap, end, close } = body({ ...block, place, channel, again, store });
  const load = (at: Value<"i32">): F4 => {
    const v = f32x4.load(at);
    return f.let(repeated ? f32x4.ofBits(i8x16.swizzle(i8x16.ofBits(v), pattern)) : v);
  };
  const pixels = (n: number): Value<"i32"> => n === 1 ? pixel : f.let(i32.mul(pixel, n));
  const jump = pixels(window.stride), gap = new Map<number, Value<"i32">>();
  for (const { gap: n } of TOGETHER.flatMap((count) => columnsOf(window, count))) {
    if (!gap.has(n)) gap.set(n, pixels(n));
  }
  const after = (count: number): void => {
    end(count);
    lines.forEach((line) => f.advance(line, count === 1 ? jump : i32.mul(jump, count)));
    f.advance(place, count === 1 ? step : i32.mul(step, count));
  };
  const inside = (count: number): void => {
    begin(count);
    const columns = columnsOf(window, count);
    lines.forEach((line, i) => {
      let at: Value<"i32"> = line;
      columns.forEach(({ gap: n, taps }) => {
        if (n > 0) at = f.let(i32.add(at, gap.get(n)!));
        const v = load(at);
        for (const { j, k } of taps) tap(v, { i, j, k });
      });
    });
    after(count);
  };
  const side = (): void => {
    begin(1);
    const has = f.let(i32.load(bits)), offset = f.variable("i32", 0);
    f.advance(bits, 4);
    for (let j = 0; j < window.width; j++) {
      if (j > 0) f.advance(offset, gap.get(window.dilation)!);
      f.if(i32.and(has, 2 ** j), () => {
        lines.forEach((line, i) => tap(load(i32.add(line, offset)), { i, j, k: 0 }));
      });
    }
    after(1);
  };
  const vector = (): void => {
    const first = f.variable("i32", block.from);
    if (repeated) {
      const lane = f.let(i32.shr(channel, 2)), own = f.let(i32.divU(lane, multiplier));
      const phase = i32.sub(lane, i32.mul(own, multiplier));
      f.set(pattern, i8x16.load(i32.add(patterns, i32.shl(phase, 4))));
      f.advance(first, i32.shl(own, 2));
    } else f.advance(first, channel);
    lines.forEach((line, i) => f.set(line, i32.add(block.bases[i], first)));
    f.set(place, i32.add(i32.add(block.result, block.to), channel));
    f.set(bits, block.bits);
    open();
    f.times(block.left, side);
    f.set(rest, block.inside);
    for (const count of TOGETHER) f.countDown(rest, count, () => inside(count));
    f.times(block.right, side);
    close();
  };
  f.set(channel, 0);
  f.set(again, 0);
  if (few > 0) return vector();
  eachVector(f, { channel, step, again }, vector);
}

/** A column that windows read: its distance from the one before, and the taps that read it. */
interface Column {
  readonly gap: number;
  readonly taps: { readonly j: number; readonly k: number }[];
}

/** Returns the columns that the windows of so many neighbours read. */
export function columnsOf(
  { width, stride, dilation }: Omit<RowWindow, "height">,
  count: number,
): Column[] {
  const taps = Array.from({ length: count * width }, (_, i) => {
    const j = i % width, k = Math.floor(i / width);
    return { at: k * stride + j * dilation, j, k };
  });
  const places = [...new Set(taps.map((t) => t.at))].sort((a, b) => a - b);
  return places.map((at, c) => ({
    gap: c === 0 ? 0 : at - places[c - 1],
    taps: taps.filter((t) => t.at === at),
  }));
}

/**
 * Visits vectors of channels from `channel` on; the last one ends with the last channel, and repeats `again` of the
 * others.
 */
export function eachVector(
  f: FunctionBuilder,
  { channel, step, again }: { channel: I; step: Value<"i32">; again?: I },
  visit: () => void,
): void {
  const last = f.let(i32.sub(step, 16));
  f.while(i32.lt(channel, step), () => {
    f.if(i32.gt(channel, last), () => {
      if (again) f.set(again, i32.shr(i32.sub(channel, last), 2));
      f.set(channel, last);
    });
    visit();
    f.advance(channel, 16);
  });
}
