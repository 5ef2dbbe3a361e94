/**
 * Copies of four-byte elements: transpose, slice, pad, tile, reverse and the like, from the same description the loops use.
 * May import core, kernels and this folder.
 */
import type { Problem } from "../../core/op.ts";
import { type AxisMap, type CopyMap, mayFill, mergeAxes, stepOf } from "../../kernels/copy_map.ts";
import type { HostMeaning } from "../../kernels/host_meaning.ts";
import { copyModule, NOWHERE, rowsModule } from "./copy_kernel.ts";
import type { Engine } from "./engine.ts";
import type { FastRun } from "./fast.ts";
import type { Pointer } from "./heap.ts";

/** Entries that tables may have: they are kept as long as the kernel. */
const MOST_ENTRIES = 1 << 16;
/** Both sides of a block that is turned have at least this extent. */
const TURN_AT_LEAST = 4;

/** The kernel of an op that copies, or null for other elements than of four bytes. */
export function prepareCopy(
  engine: Engine,
  problem: Problem,
  { from, map, fill }: NonNullable<HostMeaning["copy"]>,
): FastRun | null {
  const { dtype } = problem.outputs[0];
  if (dtype === "bool") return null;
  const merged = mergeAxes(map(problem));
  if (merged.axes.some((a) => a.dim === 0)) return () => {};
  const turn = turnedAxis(merged);
  const run = turn >= 0 ? prepareTurn(engine, merged, turn) : prepareRows(engine, merged);
  if (run === null) return null;
  return ([to], ins) =>
    run(to, ins[from], fill === undefined ? 0 : engine.heap.i32[ins[fill] >>> 2]);
}

/** Fills a block from another; `fill` is the word for places that are read from nowhere. */
export type CopyRun = (to: Pointer, from: Pointer, fill: number) => void;

/** The axis along which the input is contiguous, where that is not the last: then blocks are turned. */
function turnedAxis(map: CopyMap): number {
  const last = map.axes[map.axes.length - 1];
  if (mayFill(map) || last.rule !== "plain" || last.stride < 2 || last.dim < TURN_AT_LEAST) {
    return -1;
  }
  return map.axes.findIndex((a) => a.rule === "plain" && a.stride === 1 && a.dim >= TURN_AT_LEAST);
}

function prepareTurn(engine: Engine, { axes, base }: CopyMap, turned: number): CopyRun {
  const { turn } = copyModule(engine);
  const last = axes.length - 1;
  const outSteps = new Array<number>(axes.length);
  for (let d = last, n = 4; d >= 0; d--) {
    outSteps[d] = n;
    n *= axes[d].dim;
  }
  const outer = axes.map((axis, d) => ({ axis, step: outSteps[d] })).filter((_, d) =>
    d !== turned && d !== last
  );
  return (to, from) => {
    const walk = (d: number, o: Pointer, p: Pointer): void => {
      if (d === outer.length) {
        turn(o, p, axes[turned].dim, axes[last].dim, outSteps[turned], 4 * axes[last].stride);
        return;
      }
      const { axis, step } = outer[d];
      for (let c = 0; c < axis.dim; c++) {
        walk(d + 1, o + c * step, p + 4 * axis.stride * stepOf(axis, c));
      }
    };
    walk(0, to, from + 4 * base);
  };
}

/** The last axis as one run: fill, elements that follow each other (or stand still), fill. */
export interface Run {
  readonly before: number;
  readonly count: number;
  readonly after: number;
  readonly offset: number;
  readonly stands: boolean;
}

function runOf({ dim, stride, rule, begin = 0, extent = 0, step = 1 }: AxisMap): Run | null {
  if (rule === "plain" && (stride === 1 || stride === 0)) {
    return { before: 0, count: dim, after: 0, offset: 0, stands: stride === 0 };
  }
  if (rule !== "window" || stride !== 1 || step !== 1) return null;
  const before = Math.min(dim, Math.max(0, begin)),
    end = Math.max(before, Math.min(dim, begin + extent));
  return {
    before,
    count: end - before,
    after: dim - end,
    offset: 4 * (before - begin),
    stands: false,
  };
}

function prepareRows(engine: Engine, { axes, base }: CopyMap): CopyRun | null {
  const last = axes.length - 1;
  const run = runOf(axes[last]);
  const listed = run ? axes.slice(0, last) : axes;
  if (listed.reduce((n, a) => n + a.dim, 0) > MOST_ENTRIES) return null;
  const copy = prepareTables(engine, listed.map(tableOf), run);
  return (to, from, fill) => copy(to, from + 4 * base, fill);
}

/** Copies through a table for each axis of what its coordinates read, in bytes; then the last axis as one run, if it is one. */
export function prepareTables(
  engine: Engine,
  tables: readonly Int32Array[],
  run: Run | null,
): CopyRun {
  const data = Int32Array.from(tables.flatMap((t) => [...t]));
  const below = run ? run.before + run.count + run.after : 1;
  const volumes = tables.map((_, d) => tables.slice(d + 1).reduce((n, t) => n * t.length, below));
  const module = rowsModule(
    engine,
    tables.length,
    run === null ? "table" : run.stands ? "still" : "run",
  );
  const numbers = [
    ...tables.flatMap((t, d) => [t.length, volumes[d]]),
    ...(run ? [run.before, run.count, run.after, run.offset] : []),
  ];
  return (to, from, fill) => {
    const at = engine.scratch(data.byteLength);
    engine.heap.i32.set(data, at >>> 2);
    module(to, from, fill, at, ...numbers);
  };
}

/** Where each coordinate reads, in bytes. */
function tableOf(axis: AxisMap): Int32Array {
  return Int32Array.from({ length: axis.dim }, (_, c) => {
    const t = stepOf(axis, c);
    return axis.rule === "window" && t < 0 ? NOWHERE : 4 * t * axis.stride;
  });
}
