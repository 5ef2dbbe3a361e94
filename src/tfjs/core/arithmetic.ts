/**
 * Arithmetic with TensorFlow.js's types: a number beside an integer tensor is float32, so that `pixels.div(255)` gives
 * fractions. Weft's own functions, as TensorFlow's, give numbers the tensor's element type.
 */
import * as weft from "../../../mod.ts";
import { toNdArray } from "../../engine/core/convert.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { floatScalar } from "../../engine/ops/input.ts";

/** An op of two operands. */
export type Binary = (a: TensorLike, b: TensorLike) => Tensor;

/** Converts `x` to the type that TensorFlow.js gives it beside `other`. */
function beside(x: TensorLike, other: TensorLike): TensorLike {
  if (!(other instanceof Tensor) || other.dtype !== "int32") return x;
  if (typeof x === "number") return floatScalar(x);
  return Array.isArray(x) ? toNdArray(x) : x;
}

const withFloats = (fn: Binary): Binary => (a, b) => {
  if (!(b instanceof Tensor)) return fn(a, beside(b, a));
  return a instanceof Tensor ? fn(a, b) : fn(beside(a, b), b);
};

/** Sum. See `tf.add`. */
export const add: Binary = withFloats(weft.add);
/** Quotient; of two tensors of integers rounded down. See `tf.div`. */
export const div: Binary = withFloats(weft.div);
/** Quotient rounded down. See `tf.floorDiv`. */
export const floorDiv: Binary = withFloats(weft.floorDiv);
/** The larger of two. See `tf.maximum`. */
export const maximum: Binary = withFloats(weft.maximum);
/** The smaller of two. See `tf.minimum`. */
export const minimum: Binary = withFloats(weft.minimum);
/** Remainder. See `tf.mod`. */
export const mod: Binary = withFloats(weft.mod);
/** Product. See `tf.mul`. */
export const mul: Binary = withFloats(weft.mul);
/** Power. See `tf.pow`. */
export const pow: Binary = withFloats(weft.pow);
/** Leaky rectifier with slopes. See `tf.prelu`. */
export const prelu: Binary = withFloats(weft.prelu);
/** Square of the difference. See `tf.squaredDifference`. */
export const squaredDifference: Binary = withFloats(weft.squaredDifference);
/** Difference. See `tf.sub`. */
export const sub: Binary = withFloats(weft.sub);
/**
 * Elements of one tensor or another. See `tf.where`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.where(tf.tensor1d([1, 0], "bool"), [1, 2], [3, 4]).arraySync()); // [1, 4]
 * ```
 */
export function where(condition: TensorLike, a: TensorLike, b: TensorLike): Tensor {
  return weft.where(condition, beside(a, b), beside(b, a));
}

/** Logarithm of softmax; of whole numbers too. See `tf.logSoftmax`. */
export function logSoftmax(logits: TensorLike, axis?: number): Tensor {
  const isWhole = logits instanceof Tensor && (logits.dtype === "int32" || logits.dtype === "bool");
  return isWhole
    ? weft.tidy(() => weft.logSoftmax(weft.cast(logits, "float32"), axis))
    : weft.logSoftmax(logits, axis) as Tensor;
}

/** Gives the methods of tensors the same arithmetic. */
export function useArithmeticInMethods(): void {
  const functions: Readonly<Record<string, Binary>> = {
    add,
    div,
    floorDiv,
    maximum,
    minimum,
    mod,
    mul,
    pow,
    prelu,
    squaredDifference,
    sub,
  };
  const install = (name: string, value: (this: Tensor, ...args: never[]) => Tensor) =>
    Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
  for (const [name, fn] of Object.entries(functions)) {
    install(name, function (other: TensorLike) {
      return fn(this, other);
    });
  }
  install("where", function (condition: TensorLike, x: TensorLike) {
    return where(condition, this, x);
  });
  install("logSoftmax", function (axis?: number) {
    return logSoftmax(this, axis);
  });
}
