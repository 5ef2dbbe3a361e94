/** Shared parts of metrics over several batches: variables, weights and collections. */
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck, type OptionKeys } from "../../engine/core/arguments.ts";
import { withScope } from "../../engine/core/scope_context.ts";
import { shapeTuple } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { fill, onesLike } from "../../engine/ops/array/creation.ts";
import { expandDims, squeeze } from "../../engine/ops/array/view.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { divNoNan, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { maximum } from "../../engine/ops/pointwise/select.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { addToCollection, graphFor, GraphKeys } from "./collections.ts";
import { variable } from "./variables.ts";
import { variableScope } from "./variable_scope.ts";

/** Options of metrics. */
export interface MetricOptions {
  /** Weight of each element: a number, or a tensor of the values' rank whose dimensions are theirs or 1. Default 1. */
  readonly weights?: TensorLike | null | undefined;
  /** Collections that list the value. */
  readonly metricsCollections?: string | readonly string[] | null | undefined;
  /** Collections that list the update. */
  readonly updatesCollections?: string | readonly string[] | null | undefined;
  /** Name of the scope. Default that of the metric. */
  readonly name?: string | null | undefined;
}

/** The keys of {@linkcode MetricOptions}. */
export const METRIC_OPTIONS: OptionKeys<MetricOptions> = {
  weights: true,
  metricsCollections: true,
  updatesCollections: true,
  name: true,
};

/** Throws `TypeError` for options that metrics do not have. */
export const checkOptions: (options: MetricOptions) => void = optionCheck<MetricOptions>(
  "metrics",
  METRIC_OPTIONS,
);

/** The value counted so far, and an update that counts a batch and returns the new value. */
export type Metric = [value: Tensor, updateOp: Tensor];

/**
 * Makes a metric in a scope of its own and adds it to the collections of the options. Throws `RuntimeError` in eager
 * mode.
 */
export function inMetricScope(metric: string, options: MetricOptions, fn: () => Metric): Metric {
  graphFor(`metrics.${metric}()`);
  const defaultName = tensorFlowName(metric);
  return variableScope(options.name ?? null, { defaultName }, () => listed(fn(), options));
}

/** `true_positives` for `truePositives`. */
export function tensorFlowName(name: string): string {
  return name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
}

/** Adds both to the collections that the options name. */
export function listed([value, updateOp]: Metric, options: MetricOptions): Metric {
  const { metricsCollections, updatesCollections } = options;
  for (const c of [metricsCollections ?? []].flat()) addToCollection(c, value);
  for (const c of [updatesCollections ?? []].flat()) addToCollection(c, updateOp);
  return [value, updateOp];
}

/** Makes a local variable of zeros. */
export function metricVariable(
  shape: readonly number[],
  name: string,
  dtype: DType = "float32",
): Variable {
  return variable(() => fill(shape, 0, dtype), {
    trainable: false,
    collections: [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    name,
  });
}

/** Adds to a variable; returns its new value. */
export function added(v: Variable, x: Tensor): Tensor {
  return v.assignAdd(x)!;
}

/** Applies a function to the counts and to the updated counts, under TensorFlow's names of both. */
export function valueAndUpdate(
  values: readonly (Variable | Tensor)[],
  updates: readonly Tensor[],
  fn: (...x: Tensor[]) => Tensor,
): Metric {
  return [
    named("value", fn(...values.map((v) => v.readValue()))),
    named("update_op", fn(...updates)),
  ];
}

function named(opName: string, x: Tensor): Tensor {
  return withScope({ opName }, () => asTensor(x).clone());
}

/** Divides; 0 where nothing was counted. */
export function share(part: Tensor, all: Tensor): Tensor {
  return divNoNan(part, maximum(all, 0));
}

export function toTensor(x: TensorLike, arg: string, metric: string): Tensor {
  return asTensor(toInput(x, arg, `metrics.${metric}`));
}

const rankOf = (x: Tensor): number | null => x.staticShape?.length ?? null;

/** Gives labels and predictions the same rank: a last dimension of 1 that only one of them has is removed. */
export function paired(labels: Tensor, predictions: Tensor): [labels: Tensor, predictions: Tensor] {
  const more = (rankOf(predictions) ?? 0) - (rankOf(labels) ?? 0);
  if (rankOf(predictions) === null || rankOf(labels) === null) return [labels, predictions];
  if (more === 1 && predictions.staticShape!.at(-1) === 1) {
    return [labels, squeeze(predictions, -1)];
  }
  if (more === -1 && labels.staticShape!.at(-1) === 1) return [squeeze(labels, -1), predictions];
  return [labels, predictions];
}

/** Broadcasts weights as float32 to the shape of the values. Throws `ValueError` where they do not broadcast. */
export function weightsOf(weights: TensorLike, values: Tensor, metric: string): Tensor {
  let w = toTensor(weights, "weights", metric);
  const rank = rankOf(w), wanted = rankOf(values);
  if (rank !== null && wanted !== null && rank > 0) {
    if (rank === wanted + 1 && w.staticShape!.at(-1) === 1) w = squeeze(w, -1);
    else if (rank === wanted - 1) w = expandDims(w, -1);
    checkWeights(w, values);
  }
  return mul(cast(w, "float32"), onesLike(cast(values, "float32")));
}

function checkWeights(weights: Tensor, values: Tensor): void {
  const w = weights.staticShape!, v = values.staticShape!;
  const fits = w.length === v.length &&
    w.every((d, i) => d === 1 || d === null || v[i] === null || d === v[i]);
  if (!fits) {
    throw new ValueError(
      `Weights can not be broadcast to values: values.rank=${v.length}, values.shape=${
        shapeTuple(v)
      }, weights.rank=${w.length}, weights.shape=${shapeTuple(w)}`,
    );
  }
}
