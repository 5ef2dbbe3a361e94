/** Integrals without closed forms, in the namespace `tf.math.special`. On the host. */
import { apply1 } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import {
  dawson,
  exponentialIntegral,
  fresnel,
  spence as spenceOf,
} from "../../kernels/host/special/integrals.ts";
import { onesLike } from "../array/creation.ts";
import { toFloatInput } from "../input.ts";
import { div, mul, neg, sub } from "./arithmetic.ts";
import { equal } from "./compare.ts";
import { defineNumbers } from "./define_numbers.ts";
import { exp, log } from "./exponential.ts";
import { square } from "./power.ts";
import { where } from "./select.ts";
import { cos, sin } from "./trigonometric.ts";

const Dawsn = defineNumbers("Dawsn", (x) => dawson(x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(1, mul(mul(x, y), 2))),
});
const Expint = defineNumbers("Expint", (x) => exponentialIntegral(x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, div(exp(x), x)),
});
const FresnelCos = defineNumbers("FresnelCos", (x) => fresnel(x).cos, {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, cos(mul(square(x), Math.PI / 2))),
});
const FresnelSin = defineNumbers("FresnelSin", (x) => fresnel(x).sin, {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, sin(mul(square(x), Math.PI / 2))),
});
const Spence = defineNumbers("Spence", (x) => spenceOf(x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, where(equal(x, 1), neg(onesLike(x)), div(log(x), sub(1, x)))),
});

/**
 * Dawson's integral: `exp(-x²)` times the integral of `exp(t²)` from 0 to x; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `Dawsn`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.dawsn(0).arraySync()); // 0
 * ```
 */
export function dawsn(x: TensorLike): Tensor {
  return apply1(Dawsn, [toFloatInput(x, "x", "dawsn")]);
}

/**
 * The exponential integral of `exp(t) / t` up to x: minus infinity at 0, NaN below; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `Expint`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.expint(0).arraySync()); // -Infinity
 * ```
 */
export function expint(x: TensorLike): Tensor {
  return apply1(Expint, [toFloatInput(x, "x", "expint")]);
}

/**
 * Fresnel's integral of `cos(πt²/2)` from 0 to x; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `FresnelCos`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.fresnelCos(0).arraySync()); // 0
 * ```
 */
export function fresnelCos(x: TensorLike): Tensor {
  return apply1(FresnelCos, [toFloatInput(x, "x", "fresnelCos")]);
}

/**
 * Fresnel's integral of `sin(πt²/2)` from 0 to x; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `FresnelSin`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.fresnelSin(0).arraySync()); // 0
 * ```
 */
export function fresnelSin(x: TensorLike): Tensor {
  return apply1(FresnelSin, [toFloatInput(x, "x", "fresnelSin")]);
}

/**
 * Spence's integral of `log(t) / (1 - t)` from 1 to x, the dilogarithm of `1 - x`; NaN below 0; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `Spence`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.spence(1).arraySync()); // 0
 * ```
 */
export function spence(x: TensorLike): Tensor {
  return apply1(Spence, [toFloatInput(x, "x", "spence")]);
}
