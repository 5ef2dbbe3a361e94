/** Local response normalization across channels. */
import { apply1, compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { mergeShapes, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { lrnCpu, type LrnOptions, windowSumCpu } from "../../kernels/host/norm.ts";
import { expandDims, squeeze } from "../array/view.ts";
import { asTensor, shapeOfInput, toFloatInput } from "../input.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { pow, square } from "../pointwise/power.ts";

/** Sums over windows along the last axis. It is its own adjoint. */
const WindowSum = defineOp({
  name: "_WindowSum",
  portable: "parts",
  inputs: ["x: T"],
  outputs: ["y: T"],
  attrs: ["radius: int", "T: floating"],
  infer: ([x]) => [x.shape],
  grad: { saves: [], vjp: (_, [dy], { attrs }) => [windowSum(dy, attrs.radius)] },
  meaning: { kind: "neighbors", gives: "sum" },
  cpu: ([x], [out], { attrs }) => windowSumCpu(x, attrs.radius, out),
});

function windowSum(x: Tensor, radius: number): Tensor {
  return apply1(WindowSum, [x], { radius });
}

function optionsOf({ depth_radius, bias, alpha, beta }: Attrs): LrnOptions {
  return { radius: depth_radius, bias, alpha, beta };
}

/** Returns `bias + alpha * (sum of squares in the window)`. */
function scaleOf(x: TensorLike, { radius, bias, alpha }: LrnOptions): Tensor {
  return add(mul(windowSum(square(x), radius), alpha), bias);
}

const LRN_ATTRS = [
  "depth_radius: int = 5",
  "bias: float = 1.0",
  "alpha: float = 1.0",
  "beta: float = 0.5",
  "T: {half, bfloat16, float, double}",
];

const Lrn = defineOp({
  name: "LRN",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: LRN_ATTRS,
  infer: ([x]) => {
    if (x.shape !== null && x.shape.length !== 4) {
      throw new ValueError(`Shape must be rank 4 but is rank ${x.shape.length} for 'LRN'`);
    }
    return [x.shape];
  },
  expand: ([x], attrs) => {
    const options = optionsOf(attrs);
    return [mul(x, pow(scaleOf(x, options), -options.beta))];
  },
  grad: {
    saves: ["input", "output"],
    vjp: ({ input, output }, [dy], { attrs: { depth_radius, bias, alpha, beta } }) => [
      apply1(LrnGrad, [dy, input, output], { depth_radius, bias, alpha, beta }),
    ],
  },
  meaning: { kind: "neighbors", gives: "response" },
  cpu: ([x], [out], { attrs }) => lrnCpu(x, optionsOf(attrs), out),
});

const LrnGrad = defineOp({
  name: "LRNGrad",
  inputs: ["input_grads: T", "input_image: T", "output_image: T"],
  outputs: ["output: T"],
  attrs: LRN_ATTRS,
  infer: ([dy, x, y]) => [mergeShapes(mergeShapes(dy.shape, x.shape), y.shape)],
  // A function of the image alone: the output depends on it, and gradients must not be counted twice.
  expand: ([dy, x], attrs) => {
    const options = optionsOf(attrs);
    const scale = scaleOf(x, options);
    const direct = mul(dy, pow(scale, -options.beta));
    const around = windowSum(div(mul(direct, x), scale), options.radius);
    return [sub(direct, mul(mul(x, around), 2 * options.alpha * options.beta))];
  },
});

/**
 * Divides each element by a power of the squares around it along the last axis:
 * `x / (bias + alpha * sum(squares within depthRadius)) ** beta`. `x` has rank 3 or 4. TensorFlow op `LRN`.
 * Throws `ValueError` for other ranks and where `depthRadius` is not a whole number.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.localResponseNormalization([[[1, 1]]], 1, 0, 1, 1).arraySync()); // [[[0.5, 0.5]]]
 * ```
 */
export function localResponseNormalization(
  x: TensorLike,
  depthRadius = 5,
  bias = 1,
  alpha = 1,
  beta = 0.5,
): Tensor {
  return compose(() => {
    const input = asTensor(toFloatInput(x, "x", "localResponseNormalization"));
    const known = shapeOfInput(input), rank = known?.length ?? 4;
    if (rank !== 3 && rank !== 4) {
      throw new ValueError(
        `Cannot normalize responses: x must have rank 3 or 4, received shape ${shapeText(known)}`,
      );
    }
    if (!Number.isInteger(depthRadius) || depthRadius < 0) {
      throw new ValueError(
        `Cannot normalize responses: depthRadius must be a whole number, received ${depthRadius}`,
      );
    }
    const attrs = { depth_radius: depthRadius, bias, alpha, beta };
    const y = apply1(Lrn, [rank === 3 ? expandDims(input, 0) : input], attrs);
    return rank === 3 ? squeeze(y, [0]) : y;
  });
}
