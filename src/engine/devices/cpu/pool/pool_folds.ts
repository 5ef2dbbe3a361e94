/**
 * Poolings by windows of any kind, of two and three axes, and gradients of averages: rows are folded into one, and then
 * places of that row. Channels last, float32.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import { cutRows, type PoolKind } from "./pool_parts.ts";
import { insideOf } from "./windows.ts";

/** Work of folding one element, in floating point operations. */
const WORK = 6;
/** Most taps that are unrolled where places are thin. */
const MOST_TAPS = 5;

/** Numbers of vectors that are folded together, the largest first. */
const WIDTHS = [8, 4, 2, 1] as const;

/**
 * Numbers of a row of results in the table: its first tap, taps down and deep, the divisor of sums, and the address of
 * its weights.
 */
const ROW_ENTRY = 5;
/** Numbers of a run: groups of floats, floats of each, the first tap, taps, and the divisor of sums. */
const RUN_ENTRY = 5;

/** Parameters of the code. */
interface FoldCode {
  /** The maximum; means; sums of quotients; weighted sums. */
  readonly kind: PoolKind | "shares" | "weighted";
  /** Channels and taps where a place is less than a vector, and its taps are unrolled. */
  readonly thin: { readonly channels: number; readonly taps: number } | null;
}

/** Elements that are folded into one. */
type Taps = Readonly<Record<"start" | "count", number>>;

/** Consecutive places with the same number of taps, a constant step apart. */
type Run = Taps & { readonly places: number };

function runsOf(all: readonly Taps[], step: number): Run[] {
  const runs: Run[] = [];
  for (const { start, count } of all) {
    const last = runs.at(-1);
    if (last && last.count === count && start === last.start + last.places * step) {
      runs[runs.length - 1] = { ...last, places: last.places + 1 };
    } else runs.push({ places: 1, start, count });
  }
  return runs;
}

/**
 * A fold along depth, height and width: its extents, the taps of each place of the result, and steps from tap to tap.
 */
interface Folds {
  readonly code: FoldCode;
  readonly images: number;
  readonly channels: number;
  readonly extents: readonly number[];
  readonly taps: readonly (readonly Taps[])[];
  readonly steps: readonly number[];
  /** Step from place to place along a row. */
  readonly stride: number;
  /** Returns the divisor of sums over so many taps along an axis. */
  readonly divisor: (count: number, axis: number) => number;
  /** Weights of the folded elements, by axis. */
  readonly weights?: readonly (readonly number[])[];
}

function prepare(engine: Engine, folds: Folds): FastRun {
  const { code, images, channels, extents: [depth, height, width], taps, steps, divisor } = folds;
  const pixel = 4 * channels, row = pixel * width, plane = row * height;
  const [deep, down, across] = taps;
  const runs = runsOf(across, folds.stride);
  // Consecutive places are one long place.
  const joined = folds.stride === 1;
  const places = runs.flatMap(({ places, start, count }) => {
    const floats = joined ? [1, places * channels] : [places, channels];
    return [...floats, start * pixel, count, divisor(count, 2)];
  });
  const ends = runs.map((r) =>
    r.start + (r.places - 1) * folds.stride + (r.count - 1) * steps[2] + 1
  );
  const used = Math.max(0, ...ends);
  const rows = deep.flatMap((u) =>
    down.flatMap((v) => [
      u.start * plane + v.start * row,
      u.count,
      v.count,
      divisor(u.count, 0) * divisor(v.count, 1),
      4 * (u.start * height + v.start),
    ])
  );
  const [a, b, c] = folds.weights ?? [[], [], []];
  const rowWeights = a.flatMap((u) => b.map((v) => u * v));
  const floatWeights = c.slice(0, used).flatMap((v) => new Array<number>(channels).fill(v));
  // Vectors reach past the end of the row.
  const floats = [...rowWeights, ...floatWeights, 0, 0, 0];
  const [runsAt, weightsAt] = [rows.length, rows.length + places.length].map((n) => 4 * n);
  const table = new Int32Array(rows.length + places.length + floats.length);
  table.set([...rows, ...places]);
  new Float32Array(table.buffer, weightsAt).set(floats);
  const tableBytes = roundUp(table.byteLength), rowBytes = roundUp(used * pixel + 16);
  const { kind, thin } = code;
  const key = `pool ${kind} ${thin?.channels} ${thin?.taps}`;
  const run = kernel(engine, key, 17, (s, p) => writeFolds(s, p, code));
  const lines = deep.length * down.length, resultRow = pixel * across.length;
  const [most, next] = [deep, down].map((list) => Math.max(0, ...list.map(({ count }) => count)));
  const sideways = across.reduce((n, { count }) => n + count, 0);
  const work = WORK * images * lines * channels * (used * most * next + sideways);
  return ([to], [from]) => {
    const parts = cutRows(engine, { images, rows: lines, work });
    const at = engine.scratch(tableBytes + parts.length * rowBytes);
    engine.heap.i32.set(table, at >>> 2);
    engine.callAll(parts.map(({ image, images, row: first, rows: count }, k): WasmCall => [run, [
      to + (image * lines + first) * resultRow,
      from + image * plane * depth,
      at + 4 * ROW_ENTRY * first,
      at + runsAt,
      at + tableBytes + k * rowBytes,
      images,
      count,
      runs.length,
      used * channels,
      plane * depth,
      plane * steps[0],
      row * steps[1],
      pixel * steps[2],
      pixel * folds.stride,
      4 * height,
      at + weightsAt,
      at + weightsAt + 4 * rowWeights.length,
    ]]));
  };
}

export function prepareFolds(engine: Engine, g: WindowGeometry, kind: PoolKind): FastRun {
  const { axes, channels } = g, x = axes[2];
  const few = channels < 4 && x.stride > 1 && x.filter <= MOST_TAPS && x.dilation === 1;
  return prepare(engine, {
    code: { kind, thin: few ? { channels, taps: x.filter } : null },
    images: g.batch,
    channels,
    extents: axes.map((a) => a.in),
    taps: axes.map(insideOf),
    steps: axes.map((a) => a.dilation),
    stride: x.stride,
    // A window without taps must not divide by zero.
    divisor: (count) => Math.max(1, count),
  });
}

/** Returns the windows that contain each element. */
function windowsOver({ in: extent, out, stride, before, filter }: WindowAxis): Taps[] {
  return Array.from({ length: extent }, (_, i) => {
    const start = Math.max(0, Math.ceil((i + before - filter + 1) / stride));
    const end = Math.min(out, Math.floor((i + before) / stride) + 1);
    return end > start ? { start, count: end - start } : { start: 0, count: 0 };
  });
}

/**
 * Prepares the gradient of averages, from that of the means; null for windows with gaps, and for thin places far apart.
 */
export function prepareAverageGradient(engine: Engine, g: WindowGeometry): FastRun | null {
  const { axes, channels } = g;
  if (axes.some((a) => a.dilation > 1) || (channels < 4 && axes[2].stride > 1)) return null;
  // At a border, means are over fewer taps.
  const counts = axes.map((a) => insideOf(a).map(({ count }) => count));
  const most = counts.map((list) => Math.max(1, ...list));
  const weighted = counts.some((list, i) => list.some((n) => n !== most[i]));
  return prepare(engine, {
    code: { kind: weighted ? "weighted" : "shares", thin: null },
    images: g.batch,
    channels,
    extents: axes.map((a) => a.out),
    taps: axes.map(windowsOver),
    steps: [1, 1, 1],
    stride: axes[2].stride === 1 ? 1 : 0,
    divisor: (_, axis) => axis === 1 ? most[0] * most[1] * most[2] : 1,
    weights: counts.map((list) => list.map((n) => 1 / Math.max(1, n))),
  });
}

/**
 * Parameters: to, from, rows, runs, folded row, images, rows of the result, runs of a row, floats of a folded row,
 * bytes of an image, steps from plane to plane of taps, from row to row, from column to column, and from place to
 * place; the bytes of the weights of a plane, and the addresses of the weights of rows and of the floats of a folded
 * row.
 */
function writeFolds(
  s: Simd,
  [to, from, rows, runs, folded, images, height, runCount, floats, imageBytes, ...steps]:
    readonly I[],
  { kind, thin }: FoldCode,
): void {
  const { f } = s;
  const [zStep, yStep, xStep, placeStep, planeWeights, rowWeights, weights] = steps;
  const weighted = kind === "weighted";
  const [zCount, yCount, row, start, left, at, into] = f.locals("i32", 7);
  const ofRow = f.local("f32x4"), out = f.variable("i32", to), sums = f.locals("f32x4", WIDTHS[0]);
  // NaN is ignored.
  const none = s.k(kind === "max" ? -Infinity : 0);
  const fold = (a: F4, b: F4): F4 => kind === "max" ? f32x4.pmax(a, b) : f32x4.add(a, b);

  const clear = (width: number): void => sums.slice(0, width).forEach((v) => f.set(v, none));
  const take = (width: number, from: I, weight?: F4): void =>
    sums.slice(0, width).forEach((v, u) => {
      const here = f32x4.load(from, 16 * u);
      f.set(v, weight ? s.madd(here, weight, v) : fold(v, here));
    });
  /** Folds `width` vectors at a time, while there are so many. */
  const walk = (width: number, once: () => void, step: () => void): void =>
    f.countDown(left, 4 * width, () => {
      once();
      f.advance(at, 16 * width);
      step();
    });

  const [p, q, n, k, plane, weight, own] = f.locals("i32", 7);
  const down = (width: number): void => {
    clear(width);
    f.set(q, at);
    f.set(k, zCount);
    if (weighted) f.set(plane, i32.add(rowWeights, i32.load(row, 16)));
    f.countDown(k, 1, () => {
      f.set(p, q);
      f.set(n, yCount);
      if (weighted) f.set(weight, plane);
      f.countDown(n, 1, () => {
        take(width, p, weighted ? f.let(f32x4.loadSplat(weight)) : undefined);
        f.advance(p, yStep);
        if (weighted) f.advance(weight, 4);
      });
      f.advance(q, zStep);
      if (weighted) f.advance(plane, planeWeights);
    });
    const share = (v: F4, u: number): F4 => {
      if (weighted) return f32x4.mul(v, f32x4.load(own, 16 * u));
      return kind === "shares" ? f32x4.div(v, ofRow) : v;
    };
    sums.slice(0, width).forEach((v, u) => f.store(into, share(v, u), 16 * u));
    f.advance(into, 16 * width);
    if (weighted) f.advance(own, 16 * width);
  };

  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      f.set(zCount, i32.load(row, 4));
      f.set(yCount, i32.load(row, 8));
      f.set(ofRow, f32x4.ofI32(i32x4.loadSplat(row, 12)));
      f.set(at, i32.add(from, i32.load(row)));
      f.set(into, folded);
      if (weighted) f.set(own, weights);
      f.set(left, i32.and(i32.add(floats, 3), -4));
      for (const width of WIDTHS) walk(width, () => down(width), () => {});
      const run = f.variable("i32", runs);
      f.times(runCount, () => {
        const taps = f.let(i32.load(run, 12));
        const divisor = f.let(f32x4.mul(ofRow, f32x4.ofI32(i32x4.loadSplat(run, 16))));
        const finish = (v: F4): F4 => kind === "average" ? f.let(f32x4.div(v, divisor)) : v;
        f.set(start, i32.add(folded, i32.load(run, 8)));
        const across = (width: number, part: boolean): void => {
          clear(width);
          f.set(p, at);
          f.set(n, taps);
          f.countDown(n, 1, () => {
            take(width, p);
            f.advance(p, xStep);
          });
          sums.slice(0, width).forEach((v, u) => {
            if (part) storePart(f, out, finish(v), left);
            else f.store(out, finish(v), 16 * u);
          });
        };
        const any = (): void => {
          f.set(at, start);
          f.set(left, i32.load(run, 4));
          for (const width of WIDTHS) {
            walk(width, () => across(width, false), () => f.advance(out, 16 * width));
          }
          f.if(left, () => {
            across(1, true);
            f.advance(out, i32.shl(left, 2));
          });
        };
        const few = ({ channels, taps }: NonNullable<FoldCode["thin"]>): void => {
          let all: F4 = f32x4.load(start);
          for (let k = 1; k < taps; k++) all = fold(all, f32x4.load(start, 4 * channels * k));
          storePart(f, out, finish(f.let(all)), channels);
          f.advance(out, 4 * channels);
        };
        const places = (once: () => void): void =>
          f.times(i32.load(run), () => {
            once();
            f.advance(start, placeStep);
          });
        if (thin === null) places(any);
        else f.if(i32.eq(taps, thin.taps), () => places(() => few(thin)), () => places(any));
        f.advance(run, 4 * RUN_ENTRY);
      });
      f.advance(row, 4 * ROW_ENTRY);
    });
    f.advance(from, imageBytes);
  });
}
