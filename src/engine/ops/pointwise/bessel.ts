/** Bessel functions of orders 0 and 1, in the namespaces `tf.math` and `tf.math.special`. On the host. */
import { apply1 } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import {
  besselI,
  besselIe,
  besselJ,
  besselK,
  besselKe,
  besselY,
} from "../../kernels/host/special/bessel.ts";
import { toFloatInput } from "../input.ts";
import { add, div, mul, neg, sub } from "./arithmetic.ts";
import { equal } from "./compare.ts";
import { defineNumbers } from "./define_numbers.ts";
import { sign } from "./rounding.ts";
import { where } from "./select.ts";

/** Returns a slope but at 0, where its formula is none. */
function nearZero(x: Tensor, atZero: number, slope: () => Tensor): Tensor {
  return where(equal(x, 0), atZero, slope());
}

const BesselI0 = defineNumbers("BesselI0", (x) => besselI(0, x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, besselI1(x)),
});
const BesselI0e = defineNumbers("BesselI0e", (x) => besselIe(0, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(besselI1e(x), mul(sign(x), y))),
});
const BesselI1 = defineNumbers("BesselI1", (x) => besselI(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, nearZero(x, 0.5, () => sub(besselI0(x), div(y, x)))),
});
const BesselI1e = defineNumbers("BesselI1e", (x) => besselIe(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) =>
    mul(g, nearZero(x, 0.5, () => sub(besselI0e(x), mul(y, add(sign(x), div(1, x)))))),
});
const BesselJ0 = defineNumbers("BesselJ0", (x) => besselJ(0, x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, neg(besselJ1(x))),
});
const BesselJ1 = defineNumbers("BesselJ1", (x) => besselJ(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, nearZero(x, 0.5, () => sub(besselJ0(x), div(y, x)))),
});
const BesselK0 = defineNumbers("BesselK0", (x) => besselK(0, x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, neg(besselK1(x))),
});
const BesselK0e = defineNumbers("BesselK0e", (x) => besselKe(0, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(y, besselK1e(x))),
});
const BesselK1 = defineNumbers("BesselK1", (x) => besselK(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(neg(besselK0(x)), div(y, x))),
});
const BesselK1e = defineNumbers("BesselK1e", (x) => besselKe(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(mul(y, sub(1, div(1, x))), besselK0e(x))),
});
const BesselY0 = defineNumbers("BesselY0", (x) => besselY(0, x), {
  saves: ["x"],
  slope: ({ x }, g) => mul(g, neg(besselY1(x))),
});
const BesselY1 = defineNumbers("BesselY1", (x) => besselY(1, x), {
  saves: ["x", "y"],
  slope: ({ x, y }, g) => mul(g, sub(besselY0(x), div(y, x))),
});

/**
 * The modified Bessel function of the first kind of order 0; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselI0`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.besselI0(1).item().toFixed(3)); // 1.266
 * ```
 */
export function besselI0(x: TensorLike): Tensor {
  return apply1(BesselI0, [toFloatInput(x, "x", "besselI0")]);
}

/**
 * {@linkcode besselI0} times `exp(-|x|)`; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselI0e`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.besselI0e(0).arraySync()); // 1
 * ```
 */
export function besselI0e(x: TensorLike): Tensor {
  return apply1(BesselI0e, [toFloatInput(x, "x", "besselI0e")]);
}

/**
 * The modified Bessel function of the first kind of order 1, whose slope at 0 is 1/2 (TensorFlow gives 1); on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselI1`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.besselI1(0).arraySync()); // 0
 * ```
 */
export function besselI1(x: TensorLike): Tensor {
  return apply1(BesselI1, [toFloatInput(x, "x", "besselI1")]);
}

/**
 * {@linkcode besselI1} times `exp(-|x|)`; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselI1e`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.besselI1e(0).arraySync()); // 0
 * ```
 */
export function besselI1e(x: TensorLike): Tensor {
  return apply1(BesselI1e, [toFloatInput(x, "x", "besselI1e")]);
}

/**
 * The Bessel function of the first kind of order 0; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselJ0`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselJ0(0).arraySync()); // 1
 * ```
 */
export function besselJ0(x: TensorLike): Tensor {
  return apply1(BesselJ0, [toFloatInput(x, "x", "besselJ0")]);
}

/**
 * The Bessel function of the first kind of order 1; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselJ1`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselJ1(0).arraySync()); // 0
 * ```
 */
export function besselJ1(x: TensorLike): Tensor {
  return apply1(BesselJ1, [toFloatInput(x, "x", "besselJ1")]);
}

/**
 * The modified Bessel function of the second kind of order 0: infinite at 0, NaN below; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselK0`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselK0(0).arraySync()); // Infinity
 * ```
 */
export function besselK0(x: TensorLike): Tensor {
  return apply1(BesselK0, [toFloatInput(x, "x", "besselK0")]);
}

/**
 * {@linkcode besselK0} times `exp(x)`; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselK0e`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselK0e(0).arraySync()); // Infinity
 * ```
 */
export function besselK0e(x: TensorLike): Tensor {
  return apply1(BesselK0e, [toFloatInput(x, "x", "besselK0e")]);
}

/**
 * The modified Bessel function of the second kind of order 1: infinite at 0, NaN below; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselK1`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselK1(0).arraySync()); // Infinity
 * ```
 */
export function besselK1(x: TensorLike): Tensor {
  return apply1(BesselK1, [toFloatInput(x, "x", "besselK1")]);
}

/**
 * {@linkcode besselK1} times `exp(x)`; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselK1e`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselK1e(0).arraySync()); // Infinity
 * ```
 */
export function besselK1e(x: TensorLike): Tensor {
  return apply1(BesselK1e, [toFloatInput(x, "x", "besselK1e")]);
}

/**
 * The Bessel function of the second kind of order 0: minus infinity at 0, NaN below; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselY0`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselY0(0).arraySync()); // -Infinity
 * ```
 */
export function besselY0(x: TensorLike): Tensor {
  return apply1(BesselY0, [toFloatInput(x, "x", "besselY0")]);
}

/**
 * The Bessel function of the second kind of order 1: minus infinity at 0, NaN below; on the host. Integers become float32. Throws `TypeError` for values that are no numbers. TensorFlow op `BesselY1`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.special.besselY1(0).arraySync()); // -Infinity
 * ```
 */
export function besselY1(x: TensorLike): Tensor {
  return apply1(BesselY1, [toFloatInput(x, "x", "besselY1")]);
}
