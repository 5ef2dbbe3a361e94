/**
 * Ops on accumulators of gradients: a handle, adding to one, taking the mean. How they run says the runtime, which holds the state.
 */
import type { OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import { ValueError } from "../../core/errors.ts";
import { defineEffect, defineHandle } from "./effect.ts";

/** The ops of one spelling: TensorFlow's `Resource…`, or those of version 1. */
export type AccumulatorOps = Readonly<
  Record<"handle" | "apply" | "take" | "setStep" | "count", OpDef>
>;

function accumulatorOps(prefix: string): AccumulatorOps {
  return {
    handle: defineHandle({
      name: `${prefix}ConditionalAccumulator`,
      outputs: ["handle: resource"],
      attrs: [
        "dtype: floating",
        "shape: shape = null",
        'container: string = ""',
        'shared_name: string = ""',
        'reduction_type: string = "MEAN"',
        "_accumulator: accumulator = null",
      ],
      infer: (_, { reduction_type: reduction }) => {
        if (reduction === "MEAN" || reduction === "SUM") return [[]];
        throw new ValueError(
          `Attr 'reduction_type' of '${prefix}ConditionalAccumulator' Op passed string '${reduction}' not in: "MEAN", "SUM".`,
        );
      },
    }),
    apply: defineEffect({
      name: `${prefix}AccumulatorApplyGradient`,
      inputs: ["handle: resource", "local_step: int64", "gradient: dtype"],
      outputs: [],
      attrs: ["dtype: floating", "_shape: shape = null"],
      hostInputs: ["local_step"],
      infer: ([, step, gradient], { _shape }) => {
        mergeShapes(step.shape, []);
        mergeShapes(_shape, gradient.shape);
        return [];
      },
    }),
    take: defineEffect({
      name: `${prefix}AccumulatorTakeGradient`,
      inputs: ["handle: resource", "num_required: int32"],
      outputs: ["average: dtype"],
      attrs: ["dtype: floating", "_shape: shape = null"],
      hostInputs: ["num_required"],
      infer: (_, { _shape }) => [_shape],
    }),
    setStep: defineEffect({
      name: `${prefix}AccumulatorSetGlobalStep`,
      inputs: ["handle: resource", "new_global_step: int64"],
      outputs: [],
      hostInputs: ["new_global_step"],
      infer: () => [],
    }),
    count: defineEffect({
      name: `${prefix}AccumulatorNumAccumulated`,
      inputs: ["handle: resource"],
      outputs: ["num_accumulated: int32"],
      infer: () => [[]],
    }),
  };
}

/** `ResourceConditionalAccumulator` and its siblings. */
export const ACCUMULATOR: AccumulatorOps = accumulatorOps("Resource");
/** `ConditionalAccumulator` and its siblings, which version 1 had. */
export const ACCUMULATOR_V1: AccumulatorOps = accumulatorOps("");
