/**
 * Reductions along any axes: sum, mean, product, maximum, minimum, of float32 and int32.
 * May import core, kernels and this folder.
 */
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { axesOf, reduceLayout } from "../../kernels/reduce_layout.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import type { Pointer } from "./heap.ts";
import { type Reducer, reducerModule, REDUCERS } from "./reduce_kernel.ts";

/** Columns are reduced in blocks whose accumulators stay in the nearest cache. */
const BLOCK_COLUMNS = 2048;
/** Where there are fewer columns than this, several rows are taken as one. */
const NARROW = 16;

/** A reduction of float32 or int32; null for what it does not know. */
export function reduction(op: "sum" | "mean" | "prod" | "max" | "min"): FastPrepare {
  return (engine: Engine, { inputs: [x], hosts, outputs: [out] }: Problem): FastRun | null => {
    const name = `${op === "mean" ? "sum" : op} ${x.dtype}`;
    const reducer = REDUCERS[name];
    if (!reducer || (op === "mean" && x.dtype !== "float32") || hosts[1] === undefined) return null;
    const { rows, columns, settle } = reducerModule(engine, name, reducer);
    const { dims, reduced, count } = reduceLayout(x.shape, axesOf(hosts[1], x.shape.length));
    const size = sizeOf(out.shape), wide = reducer.bytes === 8;
    // The two innermost groups of axes are one call; the others are walked here.
    const last = dims.length - 1;
    const n = dims[last], m = last > 0 ? dims[last - 1] : 1;
    const outer = dims.slice(0, Math.max(0, last - 1));
    const steps = outerSteps(outer, reduced, reduced[last] ? m : n);
    const calls = m === 0 || n === 0 ? 0 : sizeOf(outer);
    const narrow = Math.floor(NARROW / n);
    const joined = !reduced[last] && narrow >= 2 && m >= 4 * narrow ? narrow : 1;
    const reduceBlock = (p: Pointer, acc: Pointer, spare: Pointer): void => {
      if (reduced[last]) return void rows(p, m, n, acc);
      if (joined === 1) return reduceColumns(columns, reducer, p, m, n, acc);
      const whole = Math.floor(m / joined), rest = m - whole * joined;
      reducer.fill(engine.heap, spare, n * joined);
      columns(p, whole, n * joined, 4 * n * joined, spare);
      reducer.foldRows(engine.heap, spare, joined, n, acc);
      columns(p + 4 * n * joined * whole, rest, n, 4 * n, acc);
    };
    return ([o], [p]) => {
      const spare = engine.scratch(8 * NARROW + (wide ? 8 * size : 0));
      const acc = wide ? spare + 8 * NARROW : o;
      reducer.fill(engine.heap, acc, size);
      const index = new Array<number>(outer.length).fill(0);
      for (let call = 0, at = 0; call < calls; call++) {
        reduceBlock(p + 4 * call * m * n, acc + reducer.bytes * at, spare);
        for (let d = outer.length - 1; d >= 0; d--) {
          at += steps[d];
          if (++index[d] < outer[d]) break;
          at -= steps[d] * outer[d];
          index[d] = 0;
        }
      }
      if (wide) settle(o, acc, size, op === "mean" ? count : 1);
    };
  };
}

/** How far the results move with each outer group: not at all with those that are reduced. */
function outerSteps(
  outer: readonly number[],
  reduced: readonly boolean[],
  results: number,
): number[] {
  const steps = new Array<number>(outer.length);
  for (let d = outer.length - 1, s = results; d >= 0; d--) {
    steps[d] = reduced[d] ? 0 : s;
    if (!reduced[d]) s *= outer[d];
  }
  return steps;
}

function reduceColumns(
  columns: (x: number, m: number, n: number, step: number, acc: number) => number,
  { bytes }: Reducer,
  x: Pointer,
  m: number,
  n: number,
  acc: Pointer,
): void {
  for (let j = 0; j < n; j += BLOCK_COLUMNS) {
    columns(x + 4 * j, m, Math.min(BLOCK_COLUMNS, n - j), 4 * n, acc + bytes * j);
  }
}
