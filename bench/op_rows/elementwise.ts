// Ops that work element by element, over a million of them.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { Tf } from "../peers/tfjs.ts";
import type { Row } from "../row.ts";
import { binaryCase, unaryCase } from "./op_case.ts";

const SQUARE = [1000, 1000] as const;

/** Functions of one tensor. */
const UNARY = [
  "neg",
  "abs",
  "sign",
  "floor",
  "ceil",
  "round",
  "square",
  "sqrt",
  "rsqrt",
  "reciprocal",
  "exp",
  "expm1",
  "log",
  "log1p",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "erf",
  "sigmoid",
  "softplus",
  "relu",
  "relu6",
  "elu",
  "selu",
  "leakyRelu",
  "step",
  "isNaN",
] as const;

/** Functions of two tensors. */
const BINARY = [
  "add",
  "sub",
  "mul",
  "div",
  "floorDiv",
  "mod",
  "maximum",
  "minimum",
  "squaredDifference",
  "atan2",
  "greater",
  "lessEqual",
  "equal",
  "notEqual",
] as const;

type Unary = (x: Tensor) => Tensor;
type Binary = (a: Tensor, b: Tensor) => Tensor;

const unary = (tf: Tf, name: string): Unary => (tf as unknown as Record<string, Unary>)[name]!;
const binary = (tf: Tf, name: string): Binary => (tf as unknown as Record<string, Binary>)[name]!;

/** Shapes that broadcast. */
const BROADCASTS: Readonly<Record<string, readonly [readonly number[], readonly number[]]>> = {
  row: [[1000, 1000], [1000]],
  column: [[1000, 1000], [1000, 1]],
  outer: [[1000, 1], [1, 1000]],
  middle: [[100, 100, 100], [100, 1, 100]],
  scalar: [[1000, 1000], []],
};

/** Rows of this file. */
export const ELEMENTWISE_ROWS: readonly Row[] = [
  ...UNARY.map((name) => unaryCase(name, SQUARE, (tf, x) => unary(tf, name)(x))),
  unaryCase("logicalNot", SQUARE, (tf, x) => tf.logicalNot(x), "bool"),
  unaryCase("clipByValue", SQUARE, (tf, x) => tf.clipByValue(x, -1, 1)),
  ...BINARY.map((name) => binaryCase(name, [SQUARE, SQUARE], (tf, a, b) => binary(tf, name)(a, b))),
  ...["add", "mul", "maximum", "equal"].map((name) =>
    binaryCase(`${name}_int32`, [SQUARE, SQUARE], (tf, a, b) => binary(tf, name)(a, b), "int32")
  ),
  ...Object.entries(BROADCASTS).map(([name, shapes]) =>
    binaryCase(`add_${name}`, shapes, (tf, a, b) => tf.add(a, b))
  ),
  binaryCase("pow", [SQUARE, SQUARE], (tf, a, b) => tf.tidy(() => tf.pow(tf.abs(a), b))),
  binaryCase("prelu", [SQUARE, [1000]], (tf, a, b) => tf.prelu(a, b)),
  binaryCase(
    "where",
    [SQUARE, SQUARE],
    (tf, a, b) => tf.tidy(() => tf.where(tf.greater(a, 0), a, b)),
  ),
  unaryCase("cast_float_int", SQUARE, (tf, x) => tf.cast(x, "int32")),
  unaryCase("cast_int_float", SQUARE, (tf, x) => tf.cast(x, "float32"), "int32"),
];
