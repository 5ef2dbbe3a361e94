/**
 * Special functions in the namespace `tf.math`: the gamma function and its kin, inverses of the error function and of
 * the normal distribution.
 */
import { apply1 } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import { broadcastShapes } from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor } from "../../core/tensor.ts";
import { polygammaOf, zetaOf } from "../../kernels/host/special/zeta.ts";
import { broadcastPairs } from "../../kernels/host/broadcast_pairs.ts";
import { castInput, toFloatInput, toMatchingInputs } from "../input.ts";
import { add, div, mul, neg } from "./arithmetic.ts";
import { cast } from "../array/cast.ts";
import { notEqual } from "./compare.ts";
import { broadcastGrad, definePointwise, unaryGrad } from "./define_pointwise.ts";
import { exp, log1p } from "./exponential.ts";
import { square } from "./power.ts";

/** C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 7. */
const LANCZOS = [
  676.5203681218851,
  -1259.1392167224028,
  771.32342877765313,
  -176.61502916214059,
  12.507343278686905,
  -0.13857109526572012,
  9.9843695780195716e-6,
  1.5056327351493116e-7,
];
const LANCZOS_BASE = 0.99999999999980993;

/**
 * Coefficients of `log Γ(x) / ((x - 1)(x - 2))` for x from 0.5 to 3, in `x - 1.5`: a least-squares fit with a relative
 * error of 1.2e-10. There Lanczos's terms cancel beyond float32's digits.
 */
const LOG_GAMMA_NEAR = [
  [
    3.9905200520526566e-05,
    0.006523543877328793,
    0.09139086759471605,
    0.41828664764547513,
    0.7638557218915589,
    0.48312895050755816,
  ],
  [
    0.002092029813486806,
    0.052612207370748926,
    0.4028559295000601,
    1.3045027557035467,
    1.8831734603920203,
    1.0,
  ],
] as const;

/** Returns the common parts of both functions: `x - 1`, or `-x` for a reflection, and the logarithm of Lanczos's t. */
function lanczos(x: Expr): { reflects: Expr; z: Expr; t: Expr; logT: Expr } {
  const reflects = s.lt(x, 0.5), z = s.select(reflects, s.neg(x), s.sub(x, 1));
  return { reflects, z, t: s.add(z, 7.5), logT: s.add(s.log1p(s.div(z, 7.5)), Math.log(7.5)) };
}

const sum = (terms: readonly Expr[]): Expr => terms.reduce((a, b) => s.add(a, b));

function logGammaExpr(x: Expr, isDouble: boolean): Expr {
  const { reflects, z, t, logT } = lanczos(x);
  const series = s.add(sum(LANCZOS.map((c, i) => s.div(c, s.add(z, i + 1)))), LANCZOS_BASE);
  const power = s.mul(s.sub(s.add(z, 0.5), s.div(t, logT)), logT);
  const far = s.add(s.add(power, Math.log(2 * Math.PI) / 2), s.log(series));
  const close = s.mul(s.mul(z, s.sub(z, 1)), ratio(LOG_GAMMA_NEAR, s.sub(z, 0.5)));
  const y = isDouble ? far : s.select(s.lt(z, 2), close, far);
  // log Γ(x) = log π - log |sin πx| - log Γ(1 - x), where only the distance to the next integer counts.
  const size = s.abs(x), part = s.sub(size, s.floor(size));
  const near = s.select(s.gt(part, 0.5), s.sub(1, part), part);
  const sine = s.log(s.sin(s.mul(near, Math.PI)));
  const reflected = s.select(s.eq(near, 0), Infinity, s.sub(s.sub(Math.log(Math.PI), sine), y));
  return s.select(s.isinf(x), size, s.select(reflects, reflected, y));
}

function digammaExpr(x: Expr): Expr {
  const { reflects, z, t, logT } = lanczos(x);
  const parts = LANCZOS.map((c, i) => s.div(c, s.add(z, i + 1)));
  const slope = sum(parts.map((p, i) => s.div(p, s.add(z, i + 1))));
  const y = s.sub(s.sub(logT, s.div(slope, s.add(sum(parts), LANCZOS_BASE))), s.div(7, t));
  const near = s.mul(s.sub(x, s.floor(s.add(x, 0.5))), Math.PI);
  const reflected = s.sub(y, s.div(s.mul(s.cos(near), Math.PI), s.sin(near)));
  const isPole = s.and(s.le(x, 0), s.eq(x, s.floor(x)));
  const value = s.select(s.isinf(x), x, s.select(reflects, reflected, y));
  return s.select(isPole, NaN, value);
}

const Lgamma = definePointwise("Lgamma", ([x], { T }) => logGammaExpr(x, T === "float64"), {
  grad: unaryGrad(["x"], ({ x }, g) => mul(g, digamma(x))),
});
const Digamma = definePointwise("Digamma", ([x]) => digammaExpr(x), {
  grad: unaryGrad(["x"], ({ x }, g) => mul(g, polygamma(1, x))),
});

/** M. J. Wichura, "The percentage points of the normal distribution", algorithm AS 241 (1988): PPND16. */
const CENTRE = [
  [
    2.5090809287301226727e+3,
    3.3430575583588128105e+4,
    6.7265770927008700853e+4,
    4.5921953931549871457e+4,
    1.3731693765509461125e+4,
    1.9715909503065514427e+3,
    1.3314166789178437745e+2,
    3.3871328727963666080e0,
  ],
  [
    5.2264952788528545610e+3,
    2.8729085735721942674e+4,
    3.9307895800092710610e+4,
    2.1213794301586595867e+4,
    5.3941960214247511077e+3,
    6.8718700749205790830e+2,
    4.2313330701600911252e+1,
    1,
  ],
] as const;
const TAIL = [
  [
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
  ],
  [
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1,
  ],
] as const;
const FAR_TAIL = [
  [
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
  ],
  [
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1,
  ],
] as const;

function ratio([above, below]: readonly (readonly number[])[], x: Expr): Expr {
  const polynomial = (list: readonly number[]): Expr =>
    list.slice(2).reduce((p, c) => s.add(s.mul(p, x), c), s.add(s.mul(x, list[0]), list[1]));
  return s.div(polynomial(above), polynomial(below));
}

/** Returns the normal quantile of `q + 1/2`; `tail` is the rest on the nearer side, in full precision. */
function quantile(q: Expr, tail: Expr): Expr {
  const centre = s.mul(q, ratio(CENTRE, s.sub(0.180625, s.mul(q, q))));
  const r = s.sqrt(s.neg(s.log(tail)));
  const outer = s.select(s.le(r, 5), ratio(TAIL, s.sub(r, 1.6)), ratio(FAR_TAIL, s.sub(r, 5)));
  const size = s.select(s.eq(tail, 0), Infinity, s.select(s.lt(tail, 0), NaN, outer));
  const signed = s.select(s.lt(q, 0), s.neg(size), size);
  return s.select(s.le(s.abs(q), 0.425), centre, s.select(s.isnan(q), q, signed));
}

const Erfinv = definePointwise(
  "Erfinv",
  ([x]) => s.mul(quantile(s.mul(x, 0.5), s.mul(s.sub(1, s.abs(x)), 0.5)), Math.SQRT1_2),
  {
    grad: unaryGrad(["y"], ({ y }, g) => mul(g, mul(exp(square(y)), Math.sqrt(Math.PI) / 2))),
  },
);
const Ndtri = definePointwise(
  "Ndtri",
  ([x]) => quantile(s.sub(x, 0.5), s.select(s.lt(x, 0.5), x, s.sub(1, x))),
  {
    grad: unaryGrad(
      ["y"],
      ({ y }, g) => mul(g, mul(exp(mul(square(y), 0.5)), Math.sqrt(2 * Math.PI))),
    ),
  },
);
const Xlog1py = definePointwise(
  "Xlog1py",
  ([x, y]) => s.select(s.eq(x, 0), x, s.mul(x, s.log1p(y))),
  {
    inputs: ["x", "y"],
    grad: broadcastGrad(
      ["x", "y"],
      ({ x, y }, g) => mul(g, mul(cast(notEqual(x, 0), y.dtype), log1p(y))),
      ({ x, y }, g) => mul(g, div(x, add(y, 1))),
    ),
  },
);

/** Defines a host function of two values that has a derivative by the second. */
function definePairs(
  name: string,
  [first, second]: readonly [string, string],
  of: (a: number, b: number) => number,
  slope: (a: Tensor, b: Tensor) => Tensor,
): OpDef {
  return defineOp({
    name,
    inputs: [`${first}: T`, `${second}: T`],
    outputs: ["z: T"],
    attrs: ["T: {float32, float64}"],
    infer: ([a, b]) => [broadcastShapes(a.shape, b.shape)],
    grad: broadcastGrad(
      [first, second],
      null,
      (saved, g) => mul(g, slope(saved[first], saved[second])),
    ),
    cpu: ([a, b], [out]) => broadcastPairs(a, b, out, of),
  });
}

const Zeta = definePairs("Zeta", ["x", "q"], zetaOf, (x, q) => mul(neg(x), zeta(add(x, 1), q)));
const Polygamma = definePairs(
  "Polygamma",
  ["a", "x"],
  polygammaOf,
  (a, x) => polygamma(add(a, 1), x),
);

/**
 * The logarithm of the absolute value of the gamma function; integers become float32. TensorFlow op `Lgamma`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.exp(tf.math.lgamma(5)).item().toFixed(4)); // 24.0000
 * ```
 */
export function lgamma<X extends Operand>(x: X): Like<X> {
  return apply1(Lgamma, [toFloatInput(x, "x", "lgamma")]) as Like<X>;
}

/**
 * The derivative of {@linkcode lgamma}: NaN at 0 and at negative whole numbers. Integers become float32. TensorFlow op `Digamma`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.digamma(1).item().toFixed(4)); // -0.5772
 * ```
 */
export function digamma<X extends Operand>(x: X): Like<X> {
  return apply1(Digamma, [toFloatInput(x, "x", "digamma")]) as Like<X>;
}

/**
 * The a-th derivative of {@linkcode digamma}, broadcasting; on the host. TensorFlow op `Polygamma`. Throws `ValueError` for shapes that
 * do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.polygamma(1, 1).item().toFixed(4)); // 1.6449
 * ```
 */
export function polygamma<X extends Operand, Y extends Operand>(a: X, x: Y): Like<X, Y> {
  return apply1(Polygamma, floats(a, x, "polygamma", ["a", "x"])) as Like<X, Y>;
}

/**
 * Hurwitz's zeta function: the sum of `(k + q) ** -x` over all k from 0, broadcasting; on the host. TensorFlow op `Zeta`. Throws
 * `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.zeta(2, 1).item().toFixed(4)); // 1.6449
 * ```
 */
export function zeta<X extends Operand, Y extends Operand>(x: X, q: Y): Like<X, Y> {
  return apply1(Zeta, floats(x, q, "zeta", ["x", "q"])) as Like<X, Y>;
}

/**
 * The inverse of the error function: infinite at -1 and 1, NaN outside. Integers become float32. TensorFlow op `Erfinv`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.erfinv(tf.erf(0.5)).item().toFixed(4)); // 0.5000
 * ```
 */
export function erfinv<X extends Operand>(x: X): Like<X> {
  return apply1(Erfinv, [toFloatInput(x, "x", "erfinv")]) as Like<X>;
}

/**
 * The quantile of the standard normal distribution: infinite at 0 and 1, NaN outside. Integers become float32. TensorFlow op `Ndtri`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.ndtri(0.975).item().toFixed(4)); // 1.9600
 * ```
 */
export function ndtri<X extends Operand>(x: X): Like<X> {
  return apply1(Ndtri, [toFloatInput(x, "x", "ndtri")]) as Like<X>;
}

/**
 * `x * log(1 + y)`, 0 where `x` is 0; broadcasts. TensorFlow op `Xlog1py`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.xlog1py([0, 2], [-1, 0]).arraySync()); // [0, 0]
 * ```
 */
export function xlog1py<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(Xlog1py, toMatchingInputs(x, y, "xlog1py", ["x", "y"])) as Like<X, Y>;
}

/** Converts two operands to one dtype, integers to float32. */
export function floats(
  a: Operand,
  b: Operand,
  fn: string,
  names: readonly [string, string],
): ReturnType<typeof toMatchingInputs> {
  const [x, y] = toMatchingInputs(a, b, fn, names);
  return x.dtype === "float64" ? [x, y] : [castInput(x, "float32"), castInput(y, "float32")];
}
