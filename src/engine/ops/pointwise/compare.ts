/** Pointwise comparisons and tests of one value. Results are bool, and nothing here is differentiable. */
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import { definePointwise } from "./define_pointwise.ts";
import { applyConverted, toFloatInput, toMatchingInputs } from "../input.ts";
import { toArithmeticInputs } from "./arithmetic.ts";

const ANY =
  "{bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, complex128, string, bool}";
const ORDERED =
  "{bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, string}";
const EQUALITY = {
  inputs: ["x", "y"],
  output: "z: bool",
  types: ANY,
  attrs: ["incompatible_shape_error: bool = true"],
  grad: null,
};
const ORDER = { inputs: ["x", "y"], output: "z: bool", types: ORDERED, grad: null };
const TEST = { output: "y: bool", grad: null };

const Equal = definePointwise("Equal", ([x, y]) => s.eq(x, y), EQUALITY);
const NotEqual = definePointwise("NotEqual", ([x, y]) => s.ne(x, y), EQUALITY);
const Less = definePointwise("Less", ([x, y]) => s.lt(x, y), ORDER);
const LessEqual = definePointwise("LessEqual", ([x, y]) => s.le(x, y), ORDER);
const Greater = definePointwise("Greater", ([x, y]) => s.gt(x, y), ORDER);
const GreaterEqual = definePointwise("GreaterEqual", ([x, y]) => s.ge(x, y), ORDER);
const IsNan = definePointwise("IsNan", ([x]) => s.isnan(x), TEST);
const IsInf = definePointwise("IsInf", ([x]) => s.isinf(x), TEST);
const IsFinite = definePointwise("IsFinite", ([x]) => s.isfinite(x), TEST);

/**
 * True where two tensors are equal, broadcasting. Also for strings (on the CPU), booleans and complex numbers.
 * TensorFlow op `Equal`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.equal([1, 2, NaN], [1, 3, NaN]).arraySync()); // [true, false, false]
 * ```
 */
export function equal<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Equal, toMatchingInputs(a, b, "equal"), [a, b]) as Like<X, Y>;
}

/**
 * True where two tensors differ, broadcasting; NaN differs from everything. Also for strings (on the CPU), booleans and
 * complex numbers. TensorFlow op `NotEqual`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.notEqual(["a", "b"], "b").arraySync()); // [true, false]
 * ```
 */
export function notEqual<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(NotEqual, toMatchingInputs(a, b, "notEqual"), [a, b]) as Like<X, Y>;
}

/**
 * True where `a < b`, broadcasting; strings by their bytes. TensorFlow op `Less`. Throws `ValueError` for shapes that
 * do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.less([1, 2, 3], 2).arraySync()); // [true, false, false]
 * ```
 */
export function less<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Less, toArithmeticInputs(a, b, "less"), [a, b]) as Like<X, Y>;
}

/**
 * True where `a <= b`, broadcasting; strings by their bytes. TensorFlow op `LessEqual`. Throws `ValueError` for shapes
 * that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.lessEqual([1, 2, 3], 2).arraySync()); // [true, true, false]
 * ```
 */
export function lessEqual<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(LessEqual, toArithmeticInputs(a, b, "lessEqual"), [a, b]) as Like<X, Y>;
}

/**
 * True where `a > b`, broadcasting; strings by their bytes. TensorFlow op `Greater`. Throws `ValueError` for shapes
 * that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.greater([1, 2, 3], 2).arraySync()); // [false, false, true]
 * ```
 */
export function greater<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Greater, toArithmeticInputs(a, b, "greater"), [a, b]) as Like<X, Y>;
}

/**
 * True where `a >= b`, broadcasting; strings by their bytes. TensorFlow op `GreaterEqual`. Throws `ValueError` for
 * shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.greaterEqual([1, 2, 3], 2).arraySync()); // [false, true, true]
 * ```
 */
export function greaterEqual<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(GreaterEqual, toArithmeticInputs(a, b, "greaterEqual"), [a, b]) as Like<
    X,
    Y
  >;
}

/**
 * True where a value is NaN. TensorFlow op `IsNan`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.isNaN([NaN, Infinity, 1]).arraySync()); // [true, false, false]
 * ```
 */
export function isNaN<X extends Operand>(x: X): Like<X> {
  return applyConverted(IsNan, [toFloatInput(x, "x", "isNaN")], [x]) as Like<X>;
}

/**
 * True where a value is infinite. TensorFlow op `IsInf`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.isInf([NaN, -Infinity, 1]).arraySync()); // [false, true, false]
 * ```
 */
export function isInf<X extends Operand>(x: X): Like<X> {
  return applyConverted(IsInf, [toFloatInput(x, "x", "isInf")], [x]) as Like<X>;
}

/**
 * True where a value is neither infinite nor NaN. TensorFlow op `IsFinite`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.isFinite([NaN, Infinity, 1]).arraySync()); // [false, false, true]
 * ```
 */
export function isFinite<X extends Operand>(x: X): Like<X> {
  return applyConverted(IsFinite, [toFloatInput(x, "x", "isFinite")], [x]) as Like<X>;
}
