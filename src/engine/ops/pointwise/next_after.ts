/** Neighbouring numbers, in the namespace `tf.math`. On the host. */
import { apply1 } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { defineOp } from "../../core/op.ts";
import { broadcastShapes } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { broadcastPairs } from "../../kernels/host/broadcast_pairs.ts";
import { zerosLike } from "../array/creation.ts";
import { floats } from "./special.ts";

/** Returns the next number of a dtype after `x` towards `y`. */
function nextAfter(x: number, y: number, dtype: DType): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (x === y) return y;
  if (x === 0) return Math.sign(y) * (dtype === "float64" ? Number.MIN_VALUE : 2 ** -149);
  // For numbers of one sign the bits increase with the magnitude.
  const isAway = y > x === x > 0;
  if (dtype === "float64") {
    const value = Float64Array.of(x), bits = new BigInt64Array(value.buffer);
    bits[0] += isAway ? 1n : -1n;
    return value[0];
  }
  const value = Float32Array.of(x), bits = new Int32Array(value.buffer);
  bits[0] += isAway ? 1 : -1;
  return value[0];
}

const NextAfter = defineOp({
  name: "NextAfter",
  inputs: ["x1: T", "x2: T"],
  outputs: ["output: T"],
  attrs: ["T: {float64, float32} = float32"],
  infer: ([x, y]) => [broadcastShapes(x.shape, y.shape)],
  // A step is the same for all numbers near x1.
  grad: { saves: [], vjp: (_, [dy], ctx) => [ctx.sumLike(dy, 0), ctx.sumLike(zerosLike(dy), 1)] },
  cpu: ([x, y], [out]) => broadcastPairs(x, y, out, (a, b) => nextAfter(a, b, out.dtype)),
});

/**
 * The next number of the dtype after `x1` towards `x2`; broadcasts, on the host. Integers become float32. The gradient of `x1` is
 * 1, that of `x2` 0. Throws `ValueError` for shapes that do not broadcast. TensorFlow op `NextAfter`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.nextafter(1, 2).item() === 1 + 2 ** -23); // true
 * ```
 */
export function nextafter(x1: TensorLike, x2: TensorLike): Tensor {
  return apply1(NextAfter, floats(x1, x2, "nextafter", ["x1", "x2"]));
}
