/** Pointwise logic on booleans and on the bits of integers. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { definePointwise } from "./define_pointwise.ts";
import { toInput, toMatchingInputs } from "../input.ts";
import { notEqual } from "./compare.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

const LOGIC = { inputs: ["x: bool", "y: bool"], output: "z: bool", grad: null };
const BITS = { inputs: ["x", "y"], types: "integer", grad: null };

const LogicalAnd = definePointwise("LogicalAnd", ([x, y]) => s.and(x, y), LOGIC);
const LogicalOr = definePointwise("LogicalOr", ([x, y]) => s.or(x, y), LOGIC);
const LogicalNot = definePointwise("LogicalNot", ([x]) => s.not(x), {
  inputs: ["x: bool"],
  output: "y: bool",
  grad: null,
});
const BitwiseAnd = definePointwise("BitwiseAnd", ([x, y]) => s.bitand(x, y), BITS);
const BitwiseOr = definePointwise("BitwiseOr", ([x, y]) => s.bitor(x, y), BITS);
const BitwiseXor = definePointwise("BitwiseXor", ([x, y]) => s.bitxor(x, y), BITS);
const Invert = definePointwise("Invert", ([x]) => s.bitnot(x), { types: "integer", grad: null });
const LeftShift = definePointwise("LeftShift", ([x, y]) => s.shl(x, y), BITS);
const RightShift = definePointwise("RightShift", ([x, y]) => s.shr(x, y), BITS);

/** Converts an operand: JavaScript values become bool; tensors must be bool. */
export function toBoolInput(x: Operand, arg: string, fn: string): OpInput {
  const input = toInput(x, arg, fn, { dtype: "bool" });
  if (input.dtype !== "bool") {
    throw new TypeError(
      `Argument '${arg}' passed to '${fn}' must be bool tensor, but got ${input.dtype} tensor`,
    );
  }
  return input;
}

function bitInputs(a: Operand, b: Operand, fn: string): [OpInput, OpInput] {
  // Arrays of plain numbers are int32 here: bits of floats are never meant.
  const literal = (x: Operand): boolean => typeof x === "number" || Array.isArray(x);
  const x = literal(a) ? toInput(a, "x", fn, { dtype: "int32" }) : a;
  const y = literal(b) ? toInput(b, "y", fn, { dtype: "int32" }) : b;
  const pair = toMatchingInputs(x, y, fn, ["x", "y"]);
  if (!isInteger(pair[0].dtype)) {
    throw new TypeError(
      `Arguments passed to '${fn}' must be integers, but got ${toInput(x, "x", fn).dtype} and ${
        toInput(y, "y", fn).dtype
      }`,
    );
  }
  return pair;
}

/**
 * `a && b` of booleans, broadcasting. TensorFlow op `LogicalAnd`.
 * Throws `TypeError` for tensors that are not bool, `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logicalAnd([true, true, false], [true, false, false]).arraySync()); // [true, false, false]
 * ```
 */
export function logicalAnd<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return apply1(LogicalAnd, [
    toBoolInput(a, "a", "logicalAnd"),
    toBoolInput(b, "b", "logicalAnd"),
  ]) as Like<X, Y>;
}

/**
 * `a || b` of booleans, broadcasting. TensorFlow op `LogicalOr`.
 * Throws `TypeError` for tensors that are not bool, `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logicalOr([true, true, false], [true, false, false]).arraySync()); // [true, true, false]
 * ```
 */
export function logicalOr<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return apply1(LogicalOr, [
    toBoolInput(a, "a", "logicalOr"),
    toBoolInput(b, "b", "logicalOr"),
  ]) as Like<X, Y>;
}

/**
 * True where exactly one of two booleans is true, broadcasting. TensorFlow op `NotEqual`. Throws `TypeError` for
 * tensors that are not bool, `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logicalXor([true, true, false], [true, false, false]).arraySync()); // [false, true, false]
 * ```
 */
export function logicalXor<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return notEqual(
    toBoolInput(a, "a", "logicalXor"),
    toBoolInput(b, "b", "logicalXor"),
  ) as Like<X, Y>;
}

/**
 * `!x` of booleans. TensorFlow op `LogicalNot`. Throws `TypeError` for tensors that are not bool.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logicalNot([true, false]).arraySync()); // [false, true]
 * ```
 */
export function logicalNot<X extends Operand>(x: X): Like<X> {
  return apply1(LogicalNot, [toBoolInput(x, "x", "logicalNot")]) as Like<X>;
}

/**
 * `x & y` of integers, broadcasting. TensorFlow op `BitwiseAnd`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.bitwiseAnd([6, -1], [3, 255]).arraySync()); // [2, 255]
 * ```
 */
export function bitwiseAnd<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(BitwiseAnd, bitInputs(x, y, "bitwiseAnd")) as Like<X, Y>;
}

/**
 * `x | y` of integers, broadcasting. TensorFlow op `BitwiseOr`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.bitwiseOr([6, 8], [3, 1]).arraySync()); // [7, 9]
 * ```
 */
export function bitwiseOr<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(BitwiseOr, bitInputs(x, y, "bitwiseOr")) as Like<X, Y>;
}

/**
 * `x ^ y` of integers, broadcasting. TensorFlow op `BitwiseXor`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.bitwiseXor([6, 8], [3, 1]).arraySync()); // [5, 9]
 * ```
 */
export function bitwiseXor<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(BitwiseXor, bitInputs(x, y, "bitwiseXor")) as Like<X, Y>;
}

/**
 * `~x` of integers. TensorFlow op `Invert`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.bitwiseInvert([0, 5]).arraySync()); // [-1, -6]
 * ```
 */
export function bitwiseInvert(x: TensorLike): Tensor {
  const literal = typeof x === "number" || Array.isArray(x);
  const input = toInput(x, "x", "bitwiseInvert", literal ? { dtype: "int32" } : {});
  if (isInteger(input.dtype)) return apply1(Invert, [input]);
  throw new TypeError(
    `Argument 'x' passed to 'bitwiseInvert' must be integer, but got ${input.dtype} tensor`,
  );
}

/**
 * `x << y` of integers, broadcasting; shifts count modulo the bits. TensorFlow op `LeftShift`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.leftShift([1, 3], [4, 1]).arraySync()); // [16, 6]
 * ```
 */
export function leftShift<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(LeftShift, bitInputs(x, y, "leftShift")) as Like<X, Y>;
}

/**
 * `x >> y` of integers, broadcasting; keeps the sign, shifts count modulo the bits. TensorFlow op `RightShift`. Throws `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.rightShift([16, -8], 2).arraySync()); // [4, -2]
 * ```
 */
export function rightShift<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return apply1(RightShift, bitInputs(x, y, "rightShift")) as Like<X, Y>;
}
