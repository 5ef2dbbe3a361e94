/** FusedBatchNormV3: batch normalization of images in TensorFlow's graphs, for training and inference. */
import { apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { isConcrete, type PartialShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { prod } from "../reduce/prod.ts";
import { moments } from "../reduce/reduce_derived.ts";
import { asTensor } from "../input.ts";
import { slice } from "../array/slice.ts";
import { identity, reshape, shape } from "../array/view.ts";
import { cast } from "../array/cast.ts";
import { BatchNorm } from "./normalize.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { maximum } from "../pointwise/select.ts";

const LAYOUTS: Readonly<Record<string, number>> = { NHWC: 3, NDHWC: 4, NCHW: 1, NCDHW: 1 };

defineOp({
  name: "FusedBatchNormV3",
  inputs: ["x: T", "scale: U", "offset: U", "mean: U", "variance: U"],
  outputs: [
    "y: T",
    "batch_mean: U",
    "batch_variance: U",
    "reserve_space_1: U",
    "reserve_space_2: U",
    "reserve_space_3: U",
  ],
  attrs: [
    "T: {half, bfloat16, float, double}",
    "U: {bfloat16, float, double}",
    "epsilon: float = 0.0001",
    "exponential_avg_factor: float = 1.0",
    'data_format: string = "NHWC"',
    "is_training: bool = true",
  ],
  infer: ([x, scale], { data_format }) => {
    const axis = LAYOUTS[data_format as string];
    if (axis === undefined) {
      throw new ValueError(`Cannot normalize images laid out as ${data_format}`);
    }
    if (x.shape !== null && x.shape.length <= axis) {
      throw new ValueError(
        `Cannot normalize images laid out as ${data_format}: received shape ${shapeText(x.shape)}`,
      );
    }
    const vector: PartialShape = [x.shape?.[axis] ?? scale.shape?.[0] ?? null];
    return [x.shape, vector, vector, vector, vector, []];
  },
  expand: (inputs, attrs) => {
    const [x, scale, offset, mean, variance] = inputs.map(asTensor);
    const { epsilon, exponential_avg_factor: factor, data_format, is_training, T, U } = attrs;
    const axis = LAYOUTS[data_format as string];
    const rank = data_format.length;
    const others = Array.from({ length: rank }, (_, i) => i).filter((i) => i !== axis);
    const wide = cast(x, U);
    const spread = (t: Tensor): Tensor => {
      if (axis === rank - 1) return t;
      const target = new Array<number>(rank).fill(1);
      target[axis] = -1;
      return reshape(t, target);
    };
    const normalize = (m: Tensor, v: Tensor): Tensor => {
      const operands = [m, v, offset, scale].map(spread);
      return cast(apply1(BatchNorm, [wide, ...operands], { epsilon }), T);
    };
    const none = prod(slice(scale, [0], [0]));
    if (!is_training) {
      return [normalize(mean, variance), mean, variance, mean, variance, none].map((t) =>
        identity(t)
      );
    }
    const batch = moments(wide, others);
    const count = countOf(wide, others);
    // The running variance is that of the population that the batch was drawn from.
    const unbiased = mul(batch.variance, div(count, maximum(sub(count, 1), 1)));
    const blend = (old: Tensor, now: Tensor): Tensor =>
      factor === 1 ? now : add(mul(old, 1 - factor), mul(now, factor));
    return [
      normalize(batch.mean, batch.variance),
      blend(mean, batch.mean),
      blend(variance, unbiased),
      identity(batch.mean),
      identity(batch.variance),
      none,
    ];
  },
});

/** Returns the number of elements per statistic, in the dtype of `x`. */
function countOf(x: Tensor, axes: readonly number[]): Tensor | number {
  const dims = x.staticShape === null ? null : axes.map((a) => x.staticShape![a]);
  if (dims !== null && isConcrete(dims)) return sizeOf(dims);
  const all = shape(x);
  return axes.map((a) => cast(slice(all, [a], [1]), x.dtype)).reduce((a, b) => mul(a, b));
}
