/** Losses of a few sampled classes in place of all, in the namespace `tf.nn`. */
import { argumentsCheck, wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { expandDims, reshape, stopGradient } from "../array/view.ts";
import {
  asTensor,
  castInput,
  toFloatInput,
  toIndexInput,
  toInput,
  wantArgument,
} from "../input.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { log } from "../pointwise/exponential.ts";
import { where } from "../pointwise/select.ts";
import { softplus } from "../pointwise/sigmoid.ts";
import { any, sum } from "../reduce/reduce.ts";
import { softmaxCrossEntropyWithLogits } from "../rows/softmax.ts";

/** Sampled classes, `[n]`, and how often true and sampled classes are expected in a sample: `[batch, numTrue]` and `[n]`. */
export type SampledValues = readonly [
  candidates: TensorLike,
  trueExpectedCount: TensorLike,
  sampledExpectedCount: TensorLike,
];

/** Arguments of {@linkcode sampledSoftmaxLoss} and {@linkcode nceLoss}. */
export interface SampledLossArgs {
  /** Weights of the classes, `[numClasses, dim]`. */
  readonly weights: TensorLike;
  /** Biases of the classes, `[numClasses]`. */
  readonly biases: TensorLike;
  /** Numbers of the true classes, `[batch, numTrue]`. */
  readonly labels: TensorLike;
  /** Activations, `[batch, dim]`. */
  readonly inputs: TensorLike;
  /** The sample. */
  readonly sampledValues: SampledValues;
  /** True: sampled classes that are true ones do not count. Default true for {@linkcode sampledSoftmaxLoss}, false for {@linkcode nceLoss}. */
  readonly removeAccidentalHits?: boolean;
}

const KEYS = {
  weights: true,
  biases: true,
  labels: true,
  inputs: true,
  sampledValues: true,
  removeAccidentalHits: true,
} as const;
const checkSoftmax = argumentsCheck<SampledLossArgs>("sampledSoftmaxLoss", KEYS);
const checkNce = argumentsCheck<SampledLossArgs>("nceLoss", KEYS);

/** Logits of the true and then of the sampled classes, and their labels. */
interface Sampled {
  readonly logits: Tensor;
  readonly labels: Tensor;
}

function sampledLogits(args: SampledLossArgs, fn: string, removes: boolean): Sampled {
  wantList(args.sampledValues, "sampledValues", fn, "three tensors");
  if (args.sampledValues.length !== 3) {
    throw new ValueError(
      `Cannot apply ${fn}: sampledValues must be three tensors, received ${args.sampledValues.length}`,
    );
  }
  const x = asTensor(toFloatInput(args.inputs, "inputs", fn)), { dtype } = x;
  const labels = asTensor(toIndexInput(args.labels, "labels", fn));
  const weights = asTensor(toInput(args.weights, "weights", fn));
  const biases = asTensor(toInput(args.biases, "biases", fn));
  const [first, ...counts] = args.sampledValues;
  const sampled = asTensor(toIndexInput(first, "sampledValues[0]", fn));
  if (!isInteger(labels.dtype) || !isInteger(sampled.dtype)) {
    throw new TypeError(
      `Cannot apply ${fn}: labels and sampled classes must be whole numbers, received ${labels.dtype} and ${sampled.dtype}`,
    );
  }
  for (
    const [arg, t, rank] of [
      ["inputs", x, 2],
      ["labels", labels, 2],
      ["weights", weights, 2],
      ["biases", biases, 1],
      ["sampledValues[0]", sampled, 1],
    ] as const
  ) wantArgument(t, rank, fn, arg);
  const rarity = counts.map((c, i) =>
    log(asTensor(castInput(toFloatInput(c, `sampledValues[${i + 1}]`, fn), dtype)))
  ).map((t) => stopGradient(t));
  const of = (table: Tensor, ids: Tensor): Tensor => cast(gather(table, ids), dtype);
  const ofTrue = add(sum(mul(expandDims(x, 1), of(weights, labels)), -1), of(biases, labels));
  const all = add(matMul(x, of(weights, sampled), false, true), of(biases, sampled));
  const known = cast(sampled, "int32");
  const isTrue = any(equal(expandDims(cast(labels, "int32"), 2), reshape(known, [1, 1, -1])), 1);
  const lowest = dtype === "float16" ? -65504 : -3.4028234663852886e38;
  const kept = removes ? where(isTrue, cast(lowest, dtype), all) : all;
  const right = sub(ofTrue, rarity[0]), wrong = sub(kept, rarity[1]), ones = onesLike(right);
  return {
    logits: concat([right, wrong], 1),
    // The labels of an example sum to 1.
    labels: stopGradient(concat([div(ones, sum(ones, 1, true)), zerosLike(wrong)], 1)),
  };
}

/**
 * The loss of a softmax over the true classes and a sample of the others, by which many classes are learnt quickly: `[batch]`. Logits are
 * lowered by the logarithms of how often a class is expected in a sample. Differentiable with respect to weights, biases and inputs. Throws
 * `TypeError` for labels that are no whole numbers, `ValueError` for other ranks. Follows TensorFlow `tf.nn.sampled_softmax_loss`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const sampledValues = [[1], [[1]], [1]] as const, table = { weights: [[0], [0]], biases: [0, -1000] };
 * console.log(tf.nn.sampledSoftmaxLoss({ ...table, labels: [[0]], inputs: [[1]], sampledValues }).arraySync()); // [0]
 * ```
 */
export function sampledSoftmaxLoss(args: SampledLossArgs): Tensor {
  checkSoftmax(args);
  return compose(() => {
    const removes = args.removeAccidentalHits ?? true;
    return softmaxCrossEntropyWithLogits(sampledLogits(args, "sampledSoftmaxLoss", removes));
  });
}

/**
 * The loss of telling true classes from a sample of noise, each class by itself (noise-contrastive estimation): `[batch]`. As
 * {@linkcode sampledSoftmaxLoss} otherwise. Throws as that does. Follows TensorFlow `tf.nn.nce_loss`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const sampledValues = [[1], [[1]], [1]] as const, table = { weights: [[0], [0]], biases: [1000, -1000] };
 * console.log(tf.nn.nceLoss({ ...table, labels: [[0]], inputs: [[1]], sampledValues }).arraySync()); // [0]
 * ```
 */
export function nceLoss(args: SampledLossArgs): Tensor {
  checkNce(args);
  return compose(() => {
    const removes = args.removeAccidentalHits ?? false;
    const { logits, labels } = sampledLogits(args, "nceLoss", removes);
    return sum(sub(softplus(logits), mul(logits, labels)), 1);
  });
}
