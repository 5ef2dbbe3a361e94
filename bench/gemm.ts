// Holds products of matrices against what one thread of the processor gives.
//
//   deno task bench gemm
//
// Two measures stand beside each product, taken right before and after it: a bare loop of multiply-adds on registers,
// and the inner kernel on one panel that stays in the nearest cache. Where another guest of the machine shares the
// core, loads and multiplies lose up to half their speed while the bare loop loses nothing: then the share of the bare
// loop shows the neighbours' load, and the share of the inner kernel the cost of packing and cache misses.

import { Engine } from "../src/engine/devices/cpu/engine.ts";
import { panelArguments, panelKernel } from "../src/engine/devices/cpu/gemm/gemm_kernel.ts";
import { LAST, PANEL_COLUMNS, panelRows } from "../src/engine/devices/cpu/gemm/gemm_tile.ts";
import { createWeftPeer } from "./peers/weft.ts";
import { normals } from "./random.ts";
import { BARE_FLOP, bareLoop } from "./rows/peak.ts";
import { limitThreads } from "./threads.ts";

const SHAPES = [
  [64, 64, 64],
  [256, 256, 256],
  [512, 512, 512],
  [1024, 1024, 1024],
  [128, 768, 3072],
] as const;
const PAIRS = 41;
/** Operations of a sample: some milliseconds. */
const SAMPLE_FLOP = 1e8;

/** Something to call, and what a call computes. */
interface Work {
  readonly flop: number;
  call(): void;
}

/** The inner kernel on six rows and eight columns, again and again. */
function innerKernel(): Work {
  const engine = new Engine(), { heap } = engine;
  const rows = panelRows(engine), depth = 256, panels = 64;
  const rowBytes = 4 * depth + 64, columns = panels * PANEL_COLUMNS;
  const pointers = heap.alloc(64 + 8 * rows), segments = pointers + 8 * rows;
  const aBase = heap.alloc(rows * rowBytes), b = heap.alloc(4 * PANEL_COLUMNS * depth);
  heap.i32[segments >>> 2] = 0;
  for (let i = 0; i < rows; i++) {
    heap.i32[(pointers >>> 2) + i] = 4 * columns * i;
    heap.i32[(pointers >>> 2) + rows + i] = rowBytes * i;
  }
  heap.f32.fill(0.5, aBase >>> 2, (aBase + rows * rowBytes) >>> 2);
  heap.f32.fill(0.5, b >>> 2, (b >>> 2) + PANEL_COLUMNS * depth);
  const run = panelKernel(engine, rows, "packed", undefined);
  const args = panelArguments({
    panels: pointers,
    count: 1,
    segments,
    segmentCount: 1,
    segmentBytes: 4 * depth,
    aBase,
    b,
    bStep: 4 * PANEL_COLUMNS,
    // The same panel of B each time.
    bPanelStep: 0,
    cBase: heap.alloc(4 * rows * columns),
    columns,
    mode: LAST,
    operands: [],
  });
  return { flop: 2 * rows * columns * depth, call: () => void run(...args) };
}

/** Rate of a sample in GFLOP/s. */
function rateOf({ flop, call }: Work): number {
  const calls = Math.max(1, Math.round(SAMPLE_FLOP / flop));
  const started = performance.now();
  for (let i = 0; i < calls; i++) call();
  return flop * calls / (performance.now() - started) / 1e6;
}

function quantile(values: readonly number[], at: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * at)]!;
}

/** Runs the table. */
export async function main(): Promise<number> {
  limitThreads(1);
  const { tf } = await createWeftPeer("cpu");
  const loop = bareLoop();
  const bare: Work = { flop: BARE_FLOP, call: () => void loop.call() };
  const inner = innerKernel();
  console.log(
    "one thread                  GFLOP/s  of the bare loop: median, best tenth  of the inner kernel",
  );
  for (const [m, k, n] of SHAPES) {
    const a = tf.tensor(normals(m * k, 1), [m, k]), b = tf.tensor(normals(k * n, 2), [k, n]);
    const product: Work = { flop: 2 * m * k * n, call: () => tf.matMul(a, b).dispose() };
    const works = [bare, product, inner, product, bare];
    works.forEach(rateOf);
    const rates: number[] = [], ofBare: number[] = [], ofInner: number[] = [];
    for (let i = 0; i < PAIRS; i++) {
      const [b0, p0, k0, p1, b1] = works.map(rateOf) as [number, number, number, number, number];
      rates.push((p0 + p1) / 2);
      ofBare.push((p0 + p1) / (b0 + b1));
      ofInner.push((p0 + p1) / 2 / k0);
    }
    tf.dispose([a, b]);
    const cells = [
      quantile(rates, 0.5).toFixed(1).padStart(9),
      quantile(ofBare, 0.5).toFixed(2).padStart(25),
      quantile(ofBare, 0.9).toFixed(2).padStart(12),
      quantile(ofInner, 0.5).toFixed(2).padStart(21),
    ];
    console.log(`[${m}, ${k}] × [${k}, ${n}]`.padEnd(26) + cells.join(""));
  }
  return 0;
}
