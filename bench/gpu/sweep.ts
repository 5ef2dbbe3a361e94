// Times the kernels that could do the same work: tiles of products and convolutions, far more than the device chooses among,
// and all variants of attention and of ops on memory. Each tile is first held against float64 on small problems.

import { NdArray } from "@weft/weft";
import { castArray } from "../../src/engine/core/convert.ts";
import type { BufferRef, GpuPlan } from "../../src/engine/core/dispatch.ts";
import { type Attrs, lookupOp, type OpDef, type Problem } from "../../src/engine/core/op.ts";
import { gpuKernels, gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import { type ConvRole, planConv } from "../../src/engine/kernels/conv/plan.ts";
import { convGeometry, convTask } from "../../src/engine/kernels/conv/variants.ts";
import { planMatMul } from "../../src/engine/kernels/matmul/plan.ts";
import {
  sharedBytes,
  sharedThreads,
  type SharedTile,
} from "../../src/engine/kernels/matmul/tiled.ts";
import { SHARED_RANKING } from "../../src/engine/kernels/matmul/shared_ranking.ts";
import { rankSharedTiles } from "../../src/engine/kernels/matmul/tiles.ts";
import { matMulTask } from "../../src/engine/kernels/matmul/variants.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference } from "../../src/library/testing/compare.ts";
import {
  forcedPlans,
  isHostInput,
  problemOf,
  runEagerly,
} from "../../src/library/testing/run_op.ts";
import { gpuDevice, hasGpu, numbers, PlanRunner } from "./device.ts";
import type { Setting } from "./measure.ts";
import type { Recorder } from "./record.ts";
import { PROOFS, shrink, TILED, VARIED, type Work } from "./sweep_work.ts";

/** The written result of an item: names of kernels with their times, or the reason why they have none. */
export interface SweepEntry {
  readonly op: string;
  readonly dtype: string;
  readonly shapes: readonly (readonly number[])[];
  readonly attrs: Attrs;
  /** Rows, columns and terms of the product that it is, and how many there are. */
  readonly extents?: readonly [number, number, number, number];
  readonly flop: number;
  /** Milliseconds, least first. */
  readonly times: readonly {
    readonly name: string;
    readonly tile?: SharedTile;
    readonly splits?: number;
    readonly best: number;
    readonly first: number;
  }[];
  /** True where time was up before all had been tried. */
  readonly cut: boolean;
  /** The device's choice without timing. */
  readonly chosen: string;
  readonly failed: Readonly<Record<string, string>>;
}

/** A tile as kernels of products and convolutions take it. */
type SharedChoice = { readonly kind: "shared"; readonly tile: SharedTile; readonly splits: number };

/**
 * Tiles that are tried beside those that the device chooses among, as rows, columns, steps, and those of an invocation: of 97 on an
 * H200 these came within a quarter of the best of some work.
 */
const TILES = [
  [128, 128, 16, 8, 8],
  [128, 64, 16, 8, 8],
  [64, 256, 16, 8, 8],
  [64, 128, 16, 8, 8],
  [64, 64, 16, 8, 8],
  [64, 64, 16, 4, 4],
  [32, 128, 16, 8, 8],
  [32, 128, 16, 4, 8],
  [32, 64, 16, 4, 8],
  [32, 64, 16, 4, 4],
  [32, 32, 32, 4, 4],
  [32, 32, 16, 4, 4],
  [16, 64, 32, 4, 4],
] as const;
/** Parts of sums that are tried, and the least terms of one. */
const SPLITS = [1, 2, 4, 8, 16], LEAST_PART = 64;
/** Workgroups up to which sums are cut into parts. */
const FEW = 256;

/** Every tile that an adapter can run and that is worth trying. */
function sweepTiles(most: { invocations: number; bytes: number }): SharedTile[] {
  const tried = TILES.map(([bm, bn, bk, tm, tn]): SharedTile => ({ bm, bn, bk, tm, tn }));
  const more = tried.filter((a) => SHARED_RANKING.tiles.every((b) => nameOf(a) !== nameOf(b)));
  return [...SHARED_RANKING.tiles, ...more]
    .filter((t) => sharedThreads(t) <= most.invocations && sharedBytes(t) <= most.bytes);
}

function nameOf({ bm, bn, bk, tm, tn }: SharedTile): string {
  return `${bm}x${bn}x${bk}/${tm}x${tn}`;
}

/** Inputs of some work; those that the host reads have the values that it says. */
function inputsOf({ shapes, hosts = {} }: Work, half: boolean): NdArray[] {
  return shapes.map((shape, i) => {
    const host = hosts[i];
    if (host !== undefined) return new NdArray("int32", [...shape], Int32Array.from(host));
    return half ? castArray(numbers(shape), "float16") : numbers(shape);
  });
}

/** A plan of the work by a tile. */
function planBy(problem: Problem, op: string, choice: SharedChoice): GpuPlan {
  const { profile } = gpuDevice();
  const own = { ...profile, barriers: true };
  const [a, b, c] = [{ input: 0 }, { input: 1 }, { output: 0 }];
  const conv = (role: ConvRole, buffers: readonly BufferRef[]): GpuPlan =>
    planConv(role, convTask(problem, convGeometry(role, problem), buffers), own, choice);
  switch (op) {
    case "Conv2D":
      return conv("forward", [a, b, c]);
    case "Conv2DBackpropInput":
      return conv("input", [{ input: 2 }, b, c]);
    case "Conv2DBackpropFilter":
      return conv("filter", [a, { input: 2 }, c]);
  }
  return planMatMul(matMulTask(problem), own, choice);
}

/** Rows, columns and terms of the product that the work is, and how many there are. */
function extentsOf(problem: Problem, op: string): readonly [number, number, number, number] {
  if (op === "Conv2D") {
    const g = convGeometry("forward", problem), [z, h, w] = g.axes;
    const taps = h.filter * w.filter;
    return [g.batch * z.out * h.out * w.out, g.outChannels, taps * g.channels, 1];
  }
  if (op === "Conv2DBackpropInput") {
    const g = convGeometry("input", problem), [z, h, w] = g.axes;
    const taps = h.filter * w.filter;
    return [g.batch * z.in * h.in * w.in, g.channels, taps * g.outChannels, 1];
  }
  if (op === "Conv2DBackpropFilter") {
    const g = convGeometry("filter", problem), [z, h, w] = g.axes;
    const taps = h.filter * w.filter;
    return [taps * g.channels, g.outChannels, g.batch * z.out * h.out * w.out, 1];
  }
  const { m, n, k, batch } = matMulTask(problem).shape;
  return [m, n, k, batch];
}

/** Checks the plans of a tile on a small problem: returns null, or the fault. */
async function proofOf(
  op: string,
  half: boolean,
): Promise<(choice: SharedChoice) => string | null> {
  const work = PROOFS[op]!, def = lookupOp(op)! as OpDef, inputs = inputsOf(work, half);
  const problem = problemOf(def, inputs, work.attrs ?? {});
  const wide = inputs.map((a) => (a.dtype === "int32" ? a : castArray(a, "float64")));
  const [wanted] = await runEagerly(def, wide, work.attrs ?? {}, cpuDevice());
  const runner = runnerOf(def, inputs, problem);
  return (choice) => {
    const [output] = runner.read(planBy(problem, op, choice));
    const near = half ? { ulps: 2, ulpsOfLargest: 2 } : { ulps: 64, ulpsOfLargest: 64 };
    return difference(output!, wanted!, output!.dtype, near);
  };
}

function runnerOf(def: OpDef, inputs: readonly NdArray[], problem: Problem): PlanRunner {
  const given = inputs.map((a, i) => (isHostInput(def, i, inputs.length) ? undefined : a));
  return new PlanRunner(given, problem.outputs);
}

/** A tile that takes so many times the least so far is timed no further. */
const HOPELESS = 3;

/** Times every tile on some work. */
async function sweepWork(
  work: Work,
  { half, tiles, record }: {
    readonly half: boolean;
    readonly tiles: readonly SharedTile[];
    readonly record: Recorder;
  },
): Promise<SweepEntry> {
  const { op, shapes, attrs = {} } = work;
  const def = lookupOp(op)! as OpDef, inputs = inputsOf(work, half);
  const problem = problemOf(def, inputs, attrs);
  const [m, n, k, batch] = extentsOf(problem, op), { profile } = gpuDevice();
  const ranked = rankSharedTiles([m, n, k, batch], profile);
  const isRight = await proofOf(op, half);
  const runner = runnerOf(def, inputs, problem);
  const times: SweepEntry["times"][number][] = [], failed: Record<string, string> = {};
  let least = Infinity;
  for (const tile of tiles) {
    if (record.isLate) break;
    const few = Math.ceil(m / tile.bm) * Math.ceil(n / tile.bn) * batch < FEW;
    for (const splits of few ? SPLITS.filter((s) => s === 1 || k >= s * LEAST_PART) : [1]) {
      const name = `${nameOf(tile)} /${splits}`;
      try {
        const choice: SharedChoice = { kind: "shared", tile, splits };
        const wrong = isRight(choice);
        if (wrong !== null) throw new Error(wrong);
        const plan = planBy(problem, op, choice);
        const quick = runner.time(plan, { sampleMs: 1, rounds: 1 });
        const isHopeless = quick.best > HOPELESS * least;
        const { best } = isHopeless ? quick : runner.time(plan, { sampleMs: 5, rounds: 3 });
        least = Math.min(least, best);
        times.push({ name, tile, splits, best, first: quick.first });
      } catch (error) {
        failed[name] = String(error).split("\n")[0]!.slice(0, 200);
      }
    }
  }
  runner.free();
  times.sort((a, b) => a.best - b.best);
  const [{ tile, splits }] = ranked as [typeof ranked[number]];
  return {
    op,
    dtype: half ? "float16" : "float32",
    shapes,
    attrs,
    extents: [m, n, k, batch],
    flop: 2 * batch * m * n * k,
    times,
    cut: record.isLate,
    chosen: `${nameOf(tile)} /${splits}`,
    failed,
  };
}

/** Times every variant that fits, of any kind of adapter. */
async function timeVariants(work: Work, half: boolean): Promise<SweepEntry> {
  const { op, shapes, attrs = {} } = work;
  const def = lookupOp(op)! as OpDef, inputs = inputsOf(work, half);
  const problem = problemOf(def, inputs, attrs), { profile } = gpuDevice();
  await gpuKernels.load([def.meaning]);
  const runner = runnerOf(def, inputs, problem);
  const times: SweepEntry["times"][number][] = [], failed: Record<string, string> = {};
  let chosen = "";
  for (const { variant, profile: how, plan } of forcedPlans(gpuVariants(def), problem, profile)) {
    if (how.includes("small")) continue;
    const name = `${variant} (${how})`;
    chosen ||= name;
    try {
      const quick = runner.time(plan, { sampleMs: 1, rounds: 1 });
      const { best } = runner.time(plan, { sampleMs: 10, rounds: quick.best > 100 ? 1 : 3 });
      times.push({ name, best, first: quick.first });
    } catch (error) {
      failed[name] = String(error).split("\n")[0]!.slice(0, 200);
    }
  }
  runner.free();
  const [batch, length, heads, depth] = shapes[0]!;
  const flop = op === "_Attention" ? 4 * batch! * heads! * length! * length! * depth! : 0;
  const dtype = half ? "float16" : "float32";
  return { op, dtype, shapes, attrs, flop, times, cut: false, chosen, failed };
}

/** After so much work the variants have their turn. */
const TILED_FIRST = 8;
/** Of so much work float16 is timed too: it has the same kernels. */
const HALVES = 1;

/** Sweeps over all work. */
export async function sweepPart(record: Recorder, { small }: Setting): Promise<void> {
  await hasGpu();
  const { maxInvocations: invocations, maxWorkgroupBytes: bytes } = gpuDevice().profile;
  const all = sweepTiles({ invocations, bytes });
  const tiles = small ? all.slice(2, 4) : all;
  const id = (work: Work, half: boolean): string =>
    `${work.op} ${half ? "float16" : "float32"} ${JSON.stringify([work.shapes, work.attrs])}`;
  const works = small
    ? TILED.filter((work, i) => TILED.findIndex(({ op }) => op === work.op) === i).map(shrink)
    : TILED;
  for (const [i, work] of works.entries()) {
    for (const half of i < HALVES ? [false, true] : [false]) {
      const sweep = () => sweepWork(work, { half, tiles, record });
      await record.attempt(id(work, half), sweep);
    }
    if (i !== TILED_FIRST - 1) continue;
    for (const varied of small ? VARIED.map(shrink) : VARIED) {
      for (const half of varied.op === "_Attention" ? [false, true] : [false]) {
        await record.attempt(id(varied, half), () => timeVariants(varied, half));
      }
    }
  }
}
