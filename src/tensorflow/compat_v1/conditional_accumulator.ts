/** ConditionalAccumulator: means of the gradients of a model's replicas. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { apply, apply1 } from "../../engine/core/apply.ts";
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { type PartialShape, shapeText } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { currentGraph, outermostGraph } from "../../engine/graph/current_graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { ACCUMULATOR } from "../../engine/ops/host/accumulators.ts";
import { toInput } from "../../engine/ops/input.ts";
import { GradientAccumulator } from "../../engine/runtime/variables/gradient_accumulator.ts";

/** Options of {@linkcode ConditionalAccumulator}. */
export interface ConditionalAccumulatorOptions {
  /** Shape of the gradients; null, the default, for any: the first of a step then sets it for the others. */
  readonly shape?: PartialShape | undefined;
  /** Name under which other graphs and processes share it. Default that of its node. */
  readonly sharedName?: string | undefined;
  /** Name of its node. Default `"conditional_accumulator"`. */
  readonly name?: string | undefined;
  /** The reduction of the gradients. Default `"MEAN"`. */
  readonly reductionType?: "MEAN" | "SUM" | undefined;
}

const checkOptions = optionCheck<ConditionalAccumulatorOptions>("ConditionalAccumulator", {
  shape: true,
  sharedName: true,
  name: true,
  reductionType: true,
});

/**
 * Accumulates gradients until their mean is taken, and drops those of an earlier step. Follows TensorFlow
 * `tf.compat.v1.ConditionalAccumulator`. Throws `ValueError` for another `reductionType`, `TypeError` for a dtype that
 * is not floating.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, g = new tf.Graph();
 * const { x, add, mean } = g.asDefault(() => {
 *   const acc = new v1.ConditionalAccumulator("float32", { shape: [2] });
 *   const x = v1.placeholder("float32", [2]);
 *   return { x, add: acc.applyGrad(x)!, mean: acc.takeGrad(2) };
 * });
 * await using session = new tf.Session({ graph: g });
 * const taken = session.run(mean); // waits for two
 * for (const gradient of [[1, 2], [3, 6]]) await session.run(add, { feeds: new Map([[x, gradient]]) });
 * console.log((await taken as tf.NdArray).toArray()); // [2, 4]
 * ```
 */
export class ConditionalAccumulator {
  /** Dtype of the gradients. */
  readonly dtype: DType;
  /** The handle that its ops take. */
  readonly accumulatorRef: Tensor;
  readonly #shape: PartialShape;

  /** Creates an accumulator, in the graph being built or for eager code. */
  constructor(dtype: DType, options: ConditionalAccumulatorOptions = {}) {
    checkOptions(options);
    const { shape = null, sharedName, name, reductionType: reduction = "MEAN" } = options;
    this.dtype = asDType(dtype);
    this.#shape = shape;
    const node = name ?? "conditional_accumulator", graph = currentGraph();
    const state = new GradientAccumulator(sharedName ?? node, {
      dtype: this.dtype,
      shape,
      reduction,
    }, outermostGraph() !== null);
    const attrs = {
      dtype: this.dtype,
      shape,
      shared_name: sharedName ?? "",
      reduction_type: reduction,
      _accumulator: state,
    };
    this.accumulatorRef = graph === null
      ? state.handle
      : graph.addOp(ACCUMULATOR.handle, [], attrs, { name: node }).outputs[0];
  }

  /**
   * Adds a gradient that was computed at `localStep`; drops it where that step is over. Returns an operation in a
   * graph, null in eager mode.
   */
  applyGrad(gradient: TensorLike, localStep: TensorLike = 0): Operation | null {
    const inputs = [
      this.accumulatorRef,
      toInput(localStep, "localStep", "applyGrad", { dtype: "int64" }),
      toInput(gradient, "gradient", "applyGrad", { dtype: this.dtype }),
    ];
    const attrs = { dtype: this.dtype, _shape: this.#shape }, graph = currentGraph();
    if (graph !== null) return graph.addOp(ACCUMULATOR.apply, inputs, attrs);
    apply(ACCUMULATOR.apply, inputs, attrs);
    return null;
  }

  /**
   * Takes the mean of the gradients once there are `numRequired`; this empties the accumulator and begins the next
   * step. Runs of a graph wait for them; eager code gets `FailedPreconditionError` where there are too few.
   */
  takeGrad(numRequired: TensorLike): Tensor {
    const required = toInput(numRequired, "numRequired", "takeGrad", { dtype: "int32" });
    const attrs = { dtype: this.dtype, _shape: this.#shape };
    return apply1(ACCUMULATOR.take, [this.accumulatorRef, required], attrs);
  }

  /**
   * Sets the step: gradients of earlier ones are dropped from now on. Returns an operation in a graph, null in eager
   * mode.
   */
  setGlobalStep(newGlobalStep: TensorLike): Operation | null {
    const step = toInput(newGlobalStep, "newGlobalStep", "setGlobalStep", { dtype: "int64" });
    const inputs = [this.accumulatorRef, step], graph = currentGraph();
    if (graph !== null) return graph.addOp(ACCUMULATOR.setStep, inputs, {});
    apply(ACCUMULATOR.setStep, inputs, {});
    return null;
  }

  /** Returns the number of gradients. */
  numAccumulated(): Tensor {
    return apply1(ACCUMULATOR.count, [this.accumulatorRef], {});
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.ConditionalAccumulator ${this.dtype}${shapeText(this.#shape)}>`;
  }
}
showAs(ConditionalAccumulator);
