/** Pointwise magnitude, sign and rounding. */
import { apply1 } from "../../core/apply.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import type { OpDef } from "../../core/op.ts";
import { castTo, type Expr, scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor } from "../../core/tensor.ts";
import { applyConverted } from "../input.ts";
import { definePointwise, unaryGrad } from "./define_pointwise.ts";
import { conjugate, divNoNan, mul, neg, toNumberInput } from "./arithmetic.ts";
import { complex, imag } from "./complex.ts";
import { toFloatOnly } from "./exponential.ts";
import { where } from "./select.ts";
import { equal, greater } from "./compare.ts";

const ZERO_GRAD = { grad: unaryGrad([], (_, g) => mul(g, 0)) };

const Abs = definePointwise("Abs", ([x]) => s.abs(x), {
  types: "real",
  grad: unaryGrad(["x"], ({ x }, g) => mul(g, sign(x))),
});
const ComplexAbs = definePointwise("ComplexAbs", ([x]) => s.abs(x), {
  output: "y: Tout",
  types: "complex",
  attrs: ["Tout: {float32, float64} = float32"],
  grad: unaryGrad(["x"], ({ x }, g) => mul(complex(g, mul(g, 0)), sign(x))),
});
const Sign = definePointwise(
  "Sign",
  ([x], { T }) => T === "complex64" || T === "complex128" ? s.sign(x) : realSign(x, T as DType),
  { types: "numeric", grad: unaryGrad(["x"], ({ x }, g) => signSlope(x, g)) },
);

/**
 * Returns 0 for zeros of either sign, NaN for NaN. A difference, since drivers make `-0` of a choice between -1 and 0.
 */
function realSign(x: Expr, dtype: DType): Expr {
  const sign = s.sub(castTo(s.gt(x, 0), dtype), castTo(s.lt(x, 0), dtype));
  return DTYPES[dtype].kind === "float" ? s.select(s.eq(x, x), sign, x) : sign;
}

/** Real signs are constant; a complex one turns with its argument. */
function signSlope(x: Tensor, g: Tensor): Tensor {
  if (DTYPES[x.dtype].kind !== "complex") return mul(g, 0);
  const turn = imag(mul(conjugate(g), sign(x)));
  return divNoNan(complex(mul(turn, 0), neg(turn)), conjugate(x));
}
const Floor = definePointwise("Floor", ([x]) => s.floor(x), ZERO_GRAD);
const Ceil = definePointwise("Ceil", ([x]) => s.ceil(x), ZERO_GRAD);
const Round = definePointwise("Round", ([x]) => s.round(x), { types: "real", ...ZERO_GRAD });
// The same for floats, under the name of TensorFlow's `tf.math.rint`.
definePointwise("Rint", ([x]) => s.round(x), ZERO_GRAD);
const Step: OpDef = definePointwise(
  "Step",
  ([x], { alpha }) => s.select(s.gt(x, 0), 1, s.select(s.eq(x, x), alpha as number, x)),
  {
    types: "real",
    attrs: ["alpha: float = 0.0"],
    ...ZERO_GRAD,
    expand: ([x], { alpha }) => [where(greater(x, 0), 1, where(equal(x, x), alpha, x))],
  },
);

/**
 * Magnitude; of a complex tensor a real one. TensorFlow op `Abs`, `ComplexAbs` for complex tensors.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.abs([-1.5, 2]).arraySync()); // [1.5, 2]
 * ```
 */
export function abs<X extends Operand>(x: X): Like<X> {
  const input = toNumberInput(x, "abs");
  if (DTYPES[input.dtype].kind !== "complex") return applyConverted(Abs, [input], [x]) as Like<X>;
  return apply1(ComplexAbs, [input], {
    Tout: input.dtype === "complex128" ? "float64" : "float32",
  }) as Like<X>;
}

/**
 * -1, 0 or 1; NaN for NaN. `x / |x|` of a complex tensor. TensorFlow op `Sign`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sign([-3, 0, 0.5]).arraySync()); // [-1, 0, 1]
 * ```
 */
export function sign<X extends Operand>(x: X): Like<X> {
  return applyConverted(Sign, [toNumberInput(x, "sign")], [x]) as Like<X>;
}

/**
 * Largest integer that is not above. TensorFlow op `Floor`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.floor([1.7, -1.2]).arraySync()); // [1, -2]
 * ```
 */
export function floor<X extends Operand>(x: X): Like<X> {
  return apply1(Floor, [toFloatOnly(x, "floor")]) as Like<X>;
}

/**
 * Smallest integer that is not below. TensorFlow op `Ceil`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ceil([1.2, -1.7]).arraySync()); // [2, -1]
 * ```
 */
export function ceil<X extends Operand>(x: X): Like<X> {
  return apply1(Ceil, [toFloatOnly(x, "ceil")]) as Like<X>;
}

/**
 * Nearest integer, halves to the even one; integers stay as they are. TensorFlow op `Round`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.round([0.5, 1.5, -1.2]).arraySync()); // [0, 2, -1]
 * ```
 */
export function round<X extends Operand>(x: X): Like<X> {
  return applyConverted(Round, [toNumberInput(x, "round")], [x]) as Like<X>;
}

/**
 * 1 where `x > 0`, else `alpha`; NaN stays. Its gradient is 0. As in TensorFlow.js.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.step([-3, 0, 2], 0.5).arraySync()); // [0.5, 0.5, 1]
 * ```
 */
export function step<X extends Operand>(x: X, alpha = 0): Like<X> {
  return applyConverted(Step, [toNumberInput(x, "step")], [x], { alpha }) as Like<X>;
}
