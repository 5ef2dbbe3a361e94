/** Pointwise activation functions that are linear on one side: relu and its kin. */
import { apply1 } from "../../core/apply.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor } from "../../core/tensor.ts";
import { broadcastGrad, definePointwise, unaryGrad } from "./define_pointwise.ts";
import { applyConverted, toFloatInput } from "../input.ts";
import { mul, toArithmeticInputs, toNumberInput } from "./arithmetic.ts";
import { greater, less } from "./compare.ts";
import { toFloatOnly } from "./exponential.ts";
import { defineGradient, FEATURES } from "./gradient_ops.ts";
import { lowered, raised, where } from "./select.ts";

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;

const ReluGrad = defineGradient("ReluGrad", (g, f) => s.select(s.gt(f, 0), g, 0), {
  types: "real",
});
const Relu6Grad = defineGradient(
  "Relu6Grad",
  (g, f) => s.select(s.and(s.gt(f, 0), s.lt(f, 6)), g, 0),
  { types: "real" },
);
const LeakyReluGrad = defineGradient(
  "LeakyReluGrad",
  (g, f, { alpha }) => s.select(s.gt(f, 0), g, s.mul(g, alpha)),
  { types: "real", attrs: ["alpha: float = 0.2"] },
);
/** The slope is a function of the result where that is below zero, and constant above. */
const BENT_BELOW = {
  types: "real",
  of: "outputs",
  bend: (g: Tensor, y: Tensor) => where(less(y, 0), g, 0),
} as const;
const EluGrad = defineGradient(
  "EluGrad",
  (g, y) => s.select(s.lt(y, 0), s.mul(g, s.add(y, 1)), g),
  BENT_BELOW,
);
const SeluGrad = defineGradient(
  "SeluGrad",
  (g, y) => s.select(s.lt(y, 0), s.mul(g, s.add(y, SELU_SCALE * SELU_ALPHA)), s.mul(g, SELU_SCALE)),
  BENT_BELOW,
);

const Relu = definePointwise("Relu", ([x]) => raised(x, 0), {
  ...FEATURES,
  types: "real",
  grad: unaryGrad(["activations"], ({ activations: y }, g) => apply1(ReluGrad, [g, y])),
});
const Relu6 = definePointwise("Relu6", ([x]) => lowered(raised(x, 0), 6), {
  ...FEATURES,
  types: "real",
  grad: unaryGrad(["activations"], ({ activations: y }, g) => apply1(Relu6Grad, [g, y])),
});
const LeakyRelu = definePointwise(
  "LeakyRelu",
  ([x], { alpha }) => s.select(s.gt(x, 0), x, s.mul(x, alpha as number)),
  {
    ...FEATURES,
    attrs: ["alpha: float = 0.2"],
    grad: unaryGrad(
      ["features"],
      ({ features }, g, ctx) => apply1(LeakyReluGrad, [g, features], { alpha: ctx.attrs.alpha }),
    ),
  },
);
const Elu = definePointwise("Elu", ([x]) => s.select(s.ge(x, 0), x, s.expm1(x)), {
  ...FEATURES,
  grad: unaryGrad(["activations"], ({ activations: y }, g) => apply1(EluGrad, [g, y])),
});
const Selu = definePointwise(
  "Selu",
  ([x]) =>
    s.select(
      s.ge(x, 0),
      s.mul(x, SELU_SCALE),
      s.mul(s.expm1(x), SELU_SCALE * SELU_ALPHA),
    ),
  {
    ...FEATURES,
    grad: unaryGrad(["activations"], ({ activations: y }, g) => apply1(SeluGrad, [g, y])),
  },
);
const Prelu = definePointwise("Prelu", ([x, a]) => s.select(s.lt(x, 0), s.mul(x, a), x), {
  inputs: ["x", "alpha"],
  types: "real",
  expand: ([x, a]) => [where(less(x, 0), mul(x, a), x)],
  grad: broadcastGrad(
    ["x", "alpha"],
    ({ x, alpha }, g) => where(greater(x, 0), g, mul(g, alpha)),
    ({ x }, g) => where(greater(x, 0), 0, mul(g, x)),
  ),
});

/**
 * `max(x, 0)`; NaN stays. TensorFlow op `Relu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.relu([-1, 2]).arraySync()); // [0, 2]
 * ```
 */
export function relu<X extends Operand>(x: X): Like<X> {
  return applyConverted(Relu, [toNumberInput(x, "relu")], [x]) as Like<X>;
}

/**
 * `min(max(x, 0), 6)`; NaN stays. TensorFlow op `Relu6`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.relu6([-1, 2, 8]).arraySync()); // [0, 2, 6]
 * ```
 */
export function relu6<X extends Operand>(x: X): Like<X> {
  return applyConverted(Relu6, [toNumberInput(x, "relu6")], [x]) as Like<X>;
}

/**
 * `x` where positive, else `alpha * x`; integers become float32. TensorFlow op `LeakyRelu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.leakyRelu([-2, 2], 0.5).arraySync()); // [-1, 2]
 * ```
 */
export function leakyRelu<X extends Operand>(x: X, alpha = 0.2): Like<X> {
  return applyConverted(LeakyRelu, [toFloatInput(x, "x", "leakyRelu")], [x], { alpha }) as Like<X>;
}

/**
 * `x` where not negative, else `alpha * x` with a learned `alpha` that broadcasts. As in TensorFlow.js.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.prelu([[-2, 2], [-4, 4]], [0.5, 1]).arraySync()); // [[-1, 2], [-2, 4]]
 * ```
 */
export function prelu<X extends Operand, Y extends Operand>(x: X, alpha: Y): Like<X, Y> {
  return applyConverted(Prelu, toArithmeticInputs(x, alpha, "prelu", ["x", "alpha"]), [
    x,
    alpha,
  ]) as Like<X, Y>;
}

/**
 * `x` where not negative, else `e ** x - 1`. TensorFlow op `Elu`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.elu([1, -Infinity]).arraySync()); // [1, -1]
 * ```
 */
export function elu<X extends Operand>(x: X): Like<X> {
  return apply1(Elu, [toFloatOnly(x, "elu")]) as Like<X>;
}

/**
 * Scaled {@linkcode elu} that keeps mean and variance; integers become float32. TensorFlow op `Selu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.selu([0]).arraySync()); // [0]
 * ```
 */
export function selu<X extends Operand>(x: X): Like<X> {
  return applyConverted(Selu, [toFloatInput(x, "x", "selu")], [x]) as Like<X>;
}
