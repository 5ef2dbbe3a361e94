/** Convolutions with bias and activation in one op. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { argumentsCheck, type OptionKeys } from "../../core/arguments.ts";
import type { OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { reshape } from "../array/view.ts";
import { Conv2D, CONV_2D_ATTRS } from "../conv/conv.ts";
import { convAttrs } from "../conv/conv_family.ts";
import {
  DEPTHWISE_ATTRS,
  depthwiseChannels,
  DepthwiseConv2dNative,
} from "../conv/conv_depthwise.ts";
import { type ConvArguments, convArguments, extentOf } from "../conv/conv_arguments.ts";
import {
  applyFused,
  applySteps,
  defineFused,
  type FusedSteps,
  isFusable,
  STEP_KEYS,
  stepInputs,
} from "./activation.ts";
import { asTensor, shapeOfInput } from "../input.ts";

const FusedConv2D = defineFused({
  name: "_FusedConv2D",
  base: Conv2D,
  attrs: CONV_2D_ATTRS.map((a) => (a.startsWith("T:") ? "T: floating" : a)),
  baseAttrs: convAttrs,
});

const FusedDepthwiseConv2D = defineFused({
  name: "_FusedDepthwiseConv2dNative",
  base: DepthwiseConv2dNative,
  attrs: DEPTHWISE_ATTRS,
  baseAttrs: convAttrs,
});

/** Arguments of {@linkcode fusedConv2d} and {@linkcode fusedDepthwiseConv2d}. */
export interface FusedConvOptions extends FusedSteps, Omit<ConvArguments, "dataFormat"> {
  /** Layout of the image. Default `NHWC`. */
  readonly dataFormat?: "NHWC" | "NCHW";
}

const OPTIONS: OptionKeys<FusedConvOptions> = {
  x: true,
  filter: true,
  strides: true,
  pad: true,
  dataFormat: true,
  dilations: true,
  dimRoundingMode: true,
  ...STEP_KEYS,
};
const checkConvOptions = argumentsCheck("fused.conv2d", OPTIONS);
const checkDepthwiseOptions = argumentsCheck("fused.depthwiseConv2d", OPTIONS);

/**
 * Does the same as {@linkcode conv2d} with bias and activation, in one kernel if the device has one. TensorFlow op
 * `_FusedConv2D`. Throws `ValueError` for an unknown activation and shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * const filter = tf.tensor([1, -1], [1, 1, 1, 2]);
 * const y = tf.fused.conv2d({ x, filter, strides: 2, pad: "valid", bias: [1, 1], activation: "relu" });
 * console.log(y.arraySync()); // [[[2, 0]]]
 * ```
 */
export function fusedConv2d(options: FusedConvOptions): Tensor {
  checkConvOptions(options);
  return fusedConv(options, "fused conv2d", [FusedConv2D, Conv2D], (filter) => extentOf(filter, 3));
}

/**
 * Does the same as {@linkcode depthwiseConv2d} with bias and activation, in one kernel if the device has one.
 * TensorFlow op `_FusedDepthwiseConv2dNative`. Throws `ValueError` for an unknown activation and shapes that do not
 * fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [1, 2, 2]);
 * const filter = tf.tensor([1, -1], [1, 1, 2, 1]);
 * const y = tf.fused.depthwiseConv2d({ x, filter, strides: 1, pad: "valid", activation: "relu" });
 * console.log(y.arraySync()); // [[[1, 0], [3, 0]]]
 * ```
 */
export function fusedDepthwiseConv2d(options: FusedConvOptions): Tensor {
  checkDepthwiseOptions(options);
  const ops = [FusedDepthwiseConv2D, DepthwiseConv2dNative] as const;
  return fusedConv(options, "fused depthwiseConv2d", ops, depthwiseChannels);
}

function fusedConv(
  options: FusedConvOptions,
  fn: string,
  [fused, plain]: readonly [OpDef, OpDef],
  channelsOf: (filter: OpInput) => number | null,
): Tensor {
  return compose(() => {
    const { dataFormat = "NHWC" } = options, first = dataFormat === "NCHW";
    const { x, filter, attrs, restore } = convArguments(fn, 4, { ...options, dataFormat });
    const channels = channelsOf(filter), given = stepInputs(options, x.dtype, fn);
    const fit = (input: OpInput | null, name: string): OpInput | null =>
      input && perChannel(input, channels, first, `Error in ${fn}: ${name}`);
    const steps = {
      ...given,
      bias: fit(given.bias, "bias"),
      alpha: fit(given.alpha, "preluActivationWeights"),
    };
    return restore(
      !first && isFusable(steps, channels)
        ? applyFused(fused, [x, filter], attrs, steps)
        : applySteps(apply1(plain, [x, filter], attrs), steps),
    );
  });
}

/**
 * Returns an operand of one number, one per channel (with channels first it gets trailing axes), or of the result's
 * shape.
 */
function perChannel(
  input: OpInput,
  channels: number | null,
  first: boolean,
  what: string,
): OpInput {
  const shape = shapeOfInput(input);
  if (shape === null || shape.length !== 1) return input;
  const [size] = shape;
  if (size !== null && channels !== null && size !== channels && size !== 1) {
    throw new ValueError(`${what} must have 1 or ${channels} elements, received ${size}`);
  }
  return first ? reshape(asTensor(input), [-1, 1, 1]) : input;
}
