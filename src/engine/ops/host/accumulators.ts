/** Ops on accumulators of gradients: making a handle, adding, taking the mean. */
import { currentInterpreter, type OpInput } from "../../core/apply.ts";
import { hostEffect, type NodeState } from "../../core/contract/host_op.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { FailedPreconditionError, InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineEffect, defineHandle } from "./effect.ts";

/** The interface of an accumulator for its ops. */
export interface Accumulator extends NodeState {
  readonly name: string;
  /** Number of gradients in it. */
  readonly count: number;
  /** Sets the step: gradients of earlier ones are dropped. */
  setStep(step: bigint): void;
  /** Adds a gradient of a step, unless the step is over. */
  apply(step: bigint, gradient: OpInput): void;
  /** Returns the mean of at least this many gradients, once they are there. */
  take(required: number, signal?: AbortSignal): Promise<Tensor>;
  /** Returns the mean, owned by the scope in force; null if there are too few gradients. */
  takeNow(required: number): Tensor | null;
}

/** An accumulator as a graph value. */
export class AccumulatorHandle extends Tensor {
  /** A handle is a scalar. */
  readonly staticShape: readonly number[] = [];
  readonly accumulator: Accumulator;

  constructor(accumulator: Accumulator) {
    super("resource");
    this.accumulator = accumulator;
  }
  override setShape(): void {}
}

function accumulatorOf(x: OpInput): Accumulator {
  if (x instanceof AccumulatorHandle) return x.accumulator;
  throw new InvalidArgumentError("Cannot accumulate: wanted the handle of an accumulator");
}

function integer(x: OpInput): number | bigint {
  return (x instanceof NdArray ? x : x.ndarraySync()).at(0) as number | bigint;
}

function countOf(x: OpInput): NdArray {
  return new NdArray("int32", [], Int32Array.of(accumulatorOf(x).count));
}

function takeNow([handle, required]: readonly OpInput[]): Tensor[] {
  const accumulator = accumulatorOf(handle), wanted = Number(integer(required));
  const taken = accumulator.takeNow(wanted);
  if (taken !== null) return [taken];
  throw new FailedPreconditionError(
    `Cannot take a gradient at once: accumulator "${accumulator.name}" has ${accumulator.count} of ${wanted}. A graph's session waits for them`,
  );
}

/** Defines the ops of one spelling: TensorFlow's `Resource…`, or those of version 1. */
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
      host: { state: (attrs) => attrs._accumulator },
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
      host: hostEffect(([accumulator, step, gradient]) => {
        accumulatorOf(accumulator).apply(BigInt(integer(step)), gradient);
      }),
    }),
    take: defineEffect({
      name: `${prefix}AccumulatorTakeGradient`,
      inputs: ["handle: resource", "num_required: int32"],
      outputs: ["average: dtype"],
      attrs: ["dtype: floating", "_shape: shape = null"],
      hostInputs: ["num_required"],
      infer: (_, { _shape }) => [_shape],
      host: {
        run: ({ inputs: [accumulator, required], context: { signal } }) =>
          accumulatorOf(accumulator).take(Number(integer(required)), signal).then((t) => [t]),
        eager: takeNow,
      },
    }),
    setStep: defineEffect({
      name: `${prefix}AccumulatorSetGlobalStep`,
      inputs: ["handle: resource", "new_global_step: int64"],
      outputs: [],
      hostInputs: ["new_global_step"],
      infer: () => [],
      host: hostEffect(([accumulator, step]) => {
        accumulatorOf(accumulator).setStep(BigInt(integer(step)));
      }),
    }),
    count: defineEffect({
      name: `${prefix}AccumulatorNumAccumulated`,
      inputs: ["handle: resource"],
      outputs: ["num_accumulated: int32"],
      infer: () => [[]],
      host: {
        run: ({ inputs: [accumulator] }) => [countOf(accumulator)],
        eager: ([accumulator]) => [currentInterpreter().constant(countOf(accumulator))],
      },
    }),
  };
}

/** `ResourceConditionalAccumulator` and its siblings. */
export const ACCUMULATOR: AccumulatorOps = accumulatorOps("Resource");
/** `ConditionalAccumulator` and its siblings of version 1. */
export const ACCUMULATOR_V1: AccumulatorOps = accumulatorOps("");
