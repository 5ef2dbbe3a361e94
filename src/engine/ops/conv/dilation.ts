/** Morphological dilation and its gradients. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { type Attrs, defineOp, type GradRule } from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { LookupError, UnimplementedError, ValueError } from "../../core/errors.ts";
import {
  checkRank,
  dilationGeometry,
  spatialAttrs,
  spatialOutputs,
} from "../../kernels/conv/geometry.ts";
import { dilationCpu, dilationGradCpu } from "../../kernels/host/pool.ts";
import {
  checkSame,
  extentOf,
  inBatch,
  type Padding,
  type PerAxis,
  toFilter,
  windowAttrs,
} from "./conv_arguments.ts";
import { cast } from "../array/cast.ts";
import { fill, onesLike } from "../array/creation.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { argMax } from "../reduce/arg_reduce.ts";
import { sum } from "../reduce/reduce.ts";
import { ExtractImagePatches } from "./patch_ops.ts";

const ATTRS = ["T: real", "strides: list(int)", "rates: list(int)", "padding: string"];

function dilatedShape(x: Spec, filter: Spec, { strides, rates, padding }: Attrs): PartialShape {
  checkRank(x.shape, 4, "Dilation2D", "input");
  checkRank(filter.shape, 3, "Dilation2D", "filter");
  const [n, h, w, c] = x.shape ?? [null, null, null, null];
  const [fh, fw, depth] = filter.shape ?? [null, null, null];
  if (c !== null && depth !== null && c !== depth) {
    throw new ValueError(
      `Cannot dilate: input and filter must have the same depth: ${c} vs ${depth}`,
    );
  }
  const spatial = spatialAttrs({ strides, dilations: rates, padding }, 4);
  return [n, ...spatialOutputs([h, w], [fh, fw], spatial), c ?? depth];
}

/** The origin of a result of a dilation: an element of the input, or a tap of the filter. */
type Source = "element" | "tap";

/** The value at the winner of each result: of `values` in the shape of the input, or of the filter. */
function atWinners(
  [x, filter, values]: readonly [OpInput, OpInput, OpInput],
  { strides, rates, padding }: Attrs,
  source: Source,
): Tensor {
  const [height, width, depth] = shapeOfInput(filter) ?? [];
  if (height == null || width == null || depth == null) {
    throw new UnimplementedError(
      "Cannot differentiate the gradients of Dilation2D: wanted a filter of known shape",
    );
  }
  const count = height * width, grid = { ksizes: [1, height, width, 1], strides, rates, padding };
  const patches = (images: OpInput): Tensor => {
    const y = apply1(ExtractImagePatches, [images], grid);
    const places = slice(shape(y), [0], [3]);
    return reshape(y, concat([places, intVector([count, depth])]));
  };
  const taps = (weights: OpInput): Tensor => reshape(weights as Tensor, [count, depth]);
  const images = asTensor(x), outside = equal(patches(onesLike(images)), 0);
  const sums = add(patches(images), taps(filter));
  const winner = argMax(where(outside, fill([], -Infinity, images.dtype), sums), 3);
  const tapsInOrder = reshape(range(0, count, 1, "int32"), [count, 1]);
  const marks = cast(equal(expandDims(winner, 3), tapsInOrder), images.dtype);
  return sum(mul(marks, source === "element" ? patches(values) : taps(values)), 3);
}

/** The gradients are linear in what they get from above; the winner changes abruptly, and TensorFlow has no second derivative by the others. */
const gradientBy = (source: Source): GradRule => ({
  saves: ["input", "filter"],
  vjp: ({ input, filter }, [values], { attrs, needs }) => {
    if (needs[0] || needs[1]) {
      throw new LookupError("No gradient defined for the gradients of Dilation2D");
    }
    return [null, null, needs[2] ? atWinners([input, filter, values], attrs, source) : null];
  },
});

const BackpropInput = defineOp({
  name: "Dilation2DBackpropInput",
  inputs: ["input: T", "filter: T", "out_backprop: T"],
  outputs: ["in_backprop: T"],
  attrs: ATTRS,
  infer: ([x]) => [x.shape],
  grad: gradientBy("element"),
  meaning: { kind: "dilation", gives: "input gradient" },
  cpu: (ins, [dx], { attrs }) =>
    dilationGradCpu(dilationGeometry(ins[0].shape, ins[1].shape, attrs), ins, "element", dx),
});

const BackpropFilter = defineOp({
  name: "Dilation2DBackpropFilter",
  inputs: ["input: T", "filter: T", "out_backprop: T"],
  outputs: ["filter_backprop: T"],
  attrs: ATTRS,
  infer: ([, filter]) => [filter.shape],
  grad: gradientBy("tap"),
  meaning: { kind: "dilation", gives: "filter gradient" },
  cpu: (ins, [df], { attrs }) =>
    dilationGradCpu(dilationGeometry(ins[0].shape, ins[1].shape, attrs), ins, "tap", df),
});

const Dilation2D = defineOp({
  name: "Dilation2D",
  inputs: ["input: T", "filter: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  infer: ([x, filter], attrs) => [dilatedShape(x, filter, attrs)],
  grad: {
    saves: ["input", "filter"],
    vjp: ({ input, filter }, [dy], { attrs: { strides, rates, padding }, needs }) => [
      needs[0] ? apply1(BackpropInput, [input, filter, dy], { strides, rates, padding }) : null,
      needs[1] ? apply1(BackpropFilter, [input, filter, dy], { strides, rates, padding }) : null,
    ],
  },
  meaning: { kind: "dilation", gives: "result" },
  cpu: ([x, filter], [out], { attrs }) =>
    dilationCpu(dilationGeometry(x.shape, filter.shape, attrs), x, filter, out),
});

/**
 * Returns the greatest sum of an element and the filter's tap over it: `x` is `[batch, height, width, channels]` (or
 * without batch), `filter` `[height, width, channels]`. TensorFlow op `Dilation2D`. Throws `ValueError` where shapes do
 * not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * console.log(tf.dilation2d(x, tf.tensor([4, 0, 0, 0], [2, 2, 1]), 1, "valid").arraySync()); // [[[5]]]
 * ```
 */
export function dilation2d(
  x: TensorLike,
  filter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dilations: PerAxis = 1,
  dataFormat: "NHWC" = "NHWC",
): Tensor {
  return inBatch(x, 4, "dilation2d", (input) => {
    const kernel = toFilter(filter, 3, "dilation2d");
    if (typeof pad !== "string") {
      throw new ValueError(`Error in dilation2d: pad must be "same" or "valid", received ${pad}`);
    }
    if (dataFormat !== "NHWC") {
      throw new ValueError(`Error in dilation2d: only NHWC is supported, received ${dataFormat}`);
    }
    checkSame(
      extentOf(input, 3),
      extentOf(kernel, 2),
      "Error in dilation2d: input and filter must have the same depth",
    );
    const { strides: steps, dilations: rates, padding } = windowAttrs({
      fn: "dilation2d",
      input: shapeOfInput(input),
      window: [extentOf(kernel, 0), extentOf(kernel, 1)],
      strides,
      pad,
      dataFormat,
      dilations,
    });
    return apply1(Dilation2D, [input, kernel], { strides: steps, rates, padding });
  });
}
