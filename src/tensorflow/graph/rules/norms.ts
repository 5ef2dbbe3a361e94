/**
 * Rules for biases and batch normalization as files have them.
 */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { reshape } from "../../../engine/ops/array/view.ts";
import { add, mul, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { rsqrt } from "../../../engine/ops/pointwise/power.ts";
import { mean, sum } from "../../../engine/ops/reduce/reduce.ts";
import { type ImportedNode, put, textOf } from "../rule.ts";

function channelsFirst({ attr }: ImportedNode): boolean {
  return textOf(attr.data_format, "").startsWith("NC");
}

/** The sum with a bias for each channel. */
export function biasAdd(node: ImportedNode): Tensor[] {
  const [x, bias] = node.inputs, rank = x.staticShape?.length;
  if (!channelsFirst(node) || rank === undefined || rank < 3) return [add(x, bias)];
  return [add(x, reshape(bias, [-1, ...new Array<number>(rank - 2).fill(1)]))];
}

/** The gradient of a bias. */
export function biasAddGrad(node: ImportedNode): Tensor[] {
  const [dy] = node.inputs;
  const rank = dy.staticShape?.length ?? 2;
  const channel = channelsFirst(node) ? 1 : rank - 1;
  return [sum(dy, Array.from({ length: rank }, (_, i) => i).filter((i) => i !== channel))];
}

/** Returns the first five outputs of `FusedBatchNormV3`, which has one more for its gradient. */
export function fusedBatchNorm({ inputs, attr }: ImportedNode): readonly Tensor[] {
  return put("FusedBatchNormV3", inputs, {
    epsilon: Number(attr.epsilon?.f ?? 0.0001),
    exponential_avg_factor: Number(attr.exponential_avg_factor?.f ?? 1),
    data_format: textOf(attr.data_format, "NHWC"),
    is_training: attr.is_training?.b ?? true,
  }).slice(0, 5);
}

/** Returns the gradients of a normalization: of `x`, `scale` and `offset`, and two empty outputs. */
export function batchNormGrad({ inputs, attr }: ImportedNode): Tensor[] {
  const [dy, x, scale, average, variance] = inputs;
  const format = textOf(attr.data_format, "NHWC");
  const channel = format.startsWith("NC") ? 1 : format.length - 1;
  const others = Array.from({ length: format.length }, (_, i) => i).filter((i) => i !== channel);
  const along = (v: Tensor): Tensor =>
    reshape(v, others.reduce((dims, i) => dims.with(i, 1), new Array(format.length).fill(-1)));
  const inverse = rsqrt(add(variance, Number(attr.epsilon?.f ?? 0.0001)));
  const normal = mul(sub(x, along(average)), along(inverse));
  const dOffset = sum(dy, others), dScale = sum(mul(dy, normal), others);
  const slope = along(mul(scale, inverse));
  const isTraining = attr.is_training?.b ?? true;
  const moved = isTraining
    ? sub(sub(dy, mean(dy, others, true)), mul(normal, mean(mul(dy, normal), others, true)))
    : dy;
  const none = sum(reshape(dOffset, [-1]).mul(0));
  return [mul(slope, moved), dScale, dOffset, none, none];
}
