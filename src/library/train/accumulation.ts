/** Gradients added up over several steps, of which the last one changes the variables. */
import { graphServices, type Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { zerosLike } from "../../engine/ops/array/creation.ts";
import { dense, IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { asTensor } from "../../engine/ops/input.ts";
import { add, mod, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal } from "../../engine/ops/pointwise/compare.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { after, type StepOperation } from "./step_graph.ts";

/** Accumulation over so many steps. Rules of optimizers without it load no branches of graphs. */
export interface Accumulation {
  /** Number of steps of which the last one changes the variables, by the mean of their gradients. */
  readonly period: number;
  /** Adds a part of the mean. */
  readonly addPart: (sum: Variable, gradient: Tensor, period: number) => StepOperation | null;
  /** Sets sums to zero. */
  readonly clearSums: (
    sums: readonly Variable[],
    done: readonly (StepOperation | null)[],
  ) => (StepOperation | null)[];
  /** Updates in the last step. */
  readonly inLastStep: (done: Variable, period: number, update: () => void) => StepOperation;
}

/** Makes an accumulation over `period` steps. */
export function accumulationOf(period: number): Accumulation {
  return { period, addPart, clearSums, inLastStep };
}

/** Adds one of `period` parts of a mean to the sum. */
export function addPart(
  sum: Variable,
  gradient: Tensor,
  period: number,
): StepOperation | null {
  const part = (g: Tensor): Tensor => mul(cast(g, sum.dtype), 1 / period);
  if (gradient instanceof IndexedSlices) {
    return sum.scatterAdd(new IndexedSlices(part(gradient.values), gradient.indices));
  }
  return sum.assignAdd(part(dense(gradient, sum.shape)))?.operation ?? null;
}

/** Sets the sums to zero after the operations in the list. */
export function clearSums(
  sums: readonly Variable[],
  done: readonly (StepOperation | null)[],
): (StepOperation | null)[] {
  return sums.map((sum) => after(done, () => sum.assign(zerosLike(sum))?.operation ?? null));
}

/** Adds an operation to the graph that makes an update in the last of `period` steps; `done` counts those before. */
export function inLastStep(
  done: Variable,
  period: number,
  update: () => void,
): StepOperation {
  const isLast = equal(mod(add(done.readValue(), 1), period), 0);
  const none = (): Tensor => asTensor(zerosLike(done));
  const { cond } = graphServices("count the steps of a gradient in a graph");
  const taken = cond(isLast, () => {
    update();
    return none();
  }, none);
  return taken.op as StepOperation;
}
