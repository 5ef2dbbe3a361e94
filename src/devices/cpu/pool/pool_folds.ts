/**
 * Poolings by windows of any kind, of two and three axes, and gradients of averages: rows are folded into one, and then places of
 * that row. Channels last, float32.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import { kernel } from "../wasm/kernel.ts";
import { type FoldCode, ROW_ENTRY, writeFolds } from "./pool_folds_kernel.ts";
import { cutRows, type PoolRun } from "./pool_parts.ts";
import { insideOf } from "./windows.ts";

/** Work of folding one element, in floating point operations. */
const WORK = 6;
/** Most taps that are written out where places are thin. */
const MOST_TAPS = 5;

/** Elements that are folded into one. */
interface Taps {
  readonly start: number;
  readonly count: number;
}

/** Places next to each other with as many taps, each so many steps from the last. */
interface Run extends Taps {
  readonly places: number;
}

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

/** What is folded, along depth, height and width. */
interface Folds {
  readonly code: FoldCode;
  readonly images: number;
  readonly channels: number;
  /** Extents of what is folded. */
  readonly extents: readonly number[];
  /** The taps of each place of the result. */
  readonly taps: readonly (readonly Taps[])[];
  /** From tap to tap. */
  readonly steps: readonly number[];
  /** From place to place along a row. */
  readonly stride: number;
  /** What sums are divided by: for taps along an axis. */
  readonly divisor: (count: number, axis: number) => number;
  /** Weights of all that is folded, by axis. */
  readonly weights?: readonly (readonly number[])[];
}

function prepare(engine: Engine, folds: Folds): PoolRun {
  const { code, images, channels, extents: [depth, height, width], taps, steps, divisor } = folds;
  const pixel = 4 * channels, row = pixel * width, plane = row * height;
  const [deep, down, across] = taps;
  const runs = runsOf(across, folds.stride);
  // Places one after the other are one long place.
  const joined = folds.stride === 1;
  const places = runs.flatMap(({ places, start, count }) => [
    joined ? 1 : places,
    joined ? places * channels : channels,
    start * pixel,
    count,
    divisor(count, 2),
  ]);
  const used = Math.max(
    0,
    ...runs.map((r) => r.start + (r.places - 1) * folds.stride + (r.count - 1) * steps[2] + 1),
  );
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
  return (to, from) => {
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

/** The kernel for any window. */
export function prepareFolds(
  engine: Engine,
  g: WindowGeometry,
  kind: "max" | "average",
): PoolRun {
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
    // No window is divided by nothing.
    divisor: (count) => Math.max(1, count),
  });
}

/** The windows that each element is in. */
function windowsOver({ in: extent, out, stride, before, filter }: WindowAxis): Taps[] {
  return Array.from({ length: extent }, (_, i) => {
    const start = Math.max(0, Math.ceil((i + before - filter + 1) / stride));
    const end = Math.min(out, Math.floor((i + before) / stride) + 1);
    return end > start ? { start, count: end - start } : { start: 0, count: 0 };
  });
}

/** The gradient of averages, from that of the means; null for windows with gaps, and for thin places far apart. */
export function prepareAverageGradient(engine: Engine, g: WindowGeometry): PoolRun | null {
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
