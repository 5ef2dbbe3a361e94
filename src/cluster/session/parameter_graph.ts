/**
 * State at a task for replicas that train one model: all parameters as one vector, the step, an accumulator of
 * gradients.
 */
import type { Tensor } from "../../engine/core/tensor.ts";
import { ConditionalAccumulator } from "../../tensorflow/compat_v1/conditional_accumulator.ts";
import {
  globalVariables,
  isVariableInitialized,
  variable,
  variablesInitializer,
} from "../../tensorflow/compat_v1/variables.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { group } from "../../engine/graph/groups.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { device as onDevice } from "../../engine/runtime/devices/devices.ts";
import { identity } from "../../engine/ops/array/view.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";

/** An optimizer of `tf.compat.v1.train`, which changes the parameters. */
export interface ParameterOptimizer {
  /** Adds the updates of a step to the graph. */
  applyGradients(
    gradsAndVars: readonly (readonly [Tensor | null, Variable])[],
    options?: { readonly globalStep?: Variable },
  ): Operation;
}

/** Makes the optimizer from a step count. */
export type OptimizerOfStep = (step: Tensor) => ParameterOptimizer;

/** Settings of the state. */
export interface ParameterOptions {
  /** Name of the training, which tells it from others at the task. */
  readonly name: string;
  readonly size: number;
  readonly optimizer: ParameterOptimizer | OptimizerOfStep;
  /** Number of gradients that make a step; null where each is one by itself. */
  readonly required: number | null;
  /** The device of the state. */
  readonly device: string;
}

/** The graph that replicas run there; each builds the same, so that names mean the same state. */
export interface ParameterGraph {
  readonly graph: Graph;
  /** Reads the step and parameters at least as new. */
  readonly pull: readonly [Tensor, Tensor];
  /** True once there are parameters. */
  readonly ready: Tensor;
  /**
   * Adds the gradient `gradient:0` of the step `local_step:0`, and returns the counts of gradients before and now:
   * equal where it was dropped. Applies it at once where each is a step by itself.
   */
  readonly push: readonly (Operation | Tensor)[];
  /** Reads the step, the number of losses of gradients, and the number of waiting gradients. */
  readonly look: readonly [Tensor, Tensor, Tensor];
  /** Waits for gradients and makes a step; returns its number. */
  readonly update: Tensor;
  /** Declares the gradients of this step lost, so that replicas send them anew. */
  readonly repair: Operation;
  /** Waits for the right to give the state, which one run gets in each life of the task. */
  readonly claim: Tensor;
  /** Begins with the parameters `initial:0`, at `first_step:0` with `epoch:0`. */
  readonly begin: Operation;
  /** Restores `state` from `restore_0:0`, `restore_1:0`, …. */
  readonly restore: Operation;
  /** The variables of a checkpoint, the parameters first. */
  readonly state: readonly Variable[];
}

export function parameterGraph(options: ParameterOptions): ParameterGraph {
  const graph = new Graph();
  return graph.asDefault(() =>
    onDevice(
      options.device || null,
      () => graph.nameScope(options.name, () => build(graph, options)),
    )
  );
}

function build(
  graph: Graph,
  { name, size, optimizer, required }: ParameterOptions,
): ParameterGraph {
  const after = <R>(before: readonly (Operation | Tensor)[], fn: () => R): R =>
    graph.controlDependencies(before, fn);
  const integer = (key: string, value: Tensor): Variable =>
    variable(value, { name: key, trainable: false });
  const parameters = variable(placeholder("float32", [size], "initial"), { name: "parameters" });
  const firstStep = placeholder("int64", [], "first_step");
  const step = integer("step", firstStep),
    lost = integer("lost", placeholder("int64", [], "epoch"));
  const accumulator = new ConditionalAccumulator("float32", {
    shape: [size],
    sharedName: `${name}/accumulator`,
  });
  // Taking ends the only step for which it accepts something, so that one run takes, and the others wait.
  const claims = new ConditionalAccumulator("float32", {
    shape: [],
    name: "claims",
    sharedName: `${name}/claims`,
  });
  const gradient = placeholder("float32", [size], "gradient");
  const localStep = placeholder("int64", [], "local_step");
  const made = typeof optimizer === "function" ? optimizer(step) : optimizer;
  const taken = required === null ? gradient : accumulator.takeGrad(required);
  const update = made.applyGradients([[taken, parameters]], { globalStep: step });
  const slots = globalVariables().filter((v) => v !== parameters && v !== step && v !== lost);
  const state = [parameters, ...slots];
  // The step is set last: a visible step implies visible parameters.
  const first = (before: Operation): Operation =>
    after(
      [before, lost.initializer!],
      () => after([accumulator.setGlobalStep(firstStep)!], () => step.assign(firstStep)!.operation),
    );
  const given = state.map((v, i) =>
    v.assign(placeholder(v.dtype, v.staticShape, `restore_${i}`))!.operation
  );
  const counted = (add: () => Operation): Tensor[] => {
    const before = accumulator.numAccumulated();
    return [before, after([after([before], add)], () => accumulator.numAccumulated())];
  };
  const now = step.readValue();
  return {
    graph,
    ready: isVariableInitialized(step),
    pull: [now, after([now], () => identity(parameters.readValue()))],
    push: required === null ? [update] : counted(() => accumulator.applyGrad(gradient, localStep)!),
    look: [step.readValue(), lost.readValue(), accumulator.numAccumulated()],
    update: after([update], () => identity(step.readValue())),
    repair: group(accumulator.setGlobalStep(step)!, lost.assignAdd(1n)!.operation) as Operation,
    claim: after([claims.applyGrad(0)!], () => claims.takeGrad(1)),
    begin: first(variablesInitializer(state)),
    restore: first(group(...given) as Operation),
    state,
  };
}
