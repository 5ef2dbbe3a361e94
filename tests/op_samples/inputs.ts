/** Short names for sample inputs, so that an op's samples fit on a line. */

import { NdArray } from "@weft/weft";
import type { DType } from "@weft/weft";
import type { OpSample, SampleInput, SampleValues } from "@weft/weft/testing";

/** The samples of some ops, by TensorFlow op name. */
export type SampleTable = Readonly<Record<string, readonly OpSample[]>>;

/** Values between -2 and 2. */
export const any = (...shape: number[]): SampleValues => ({ shape });
/** Values between 0.25 and 2.25. */
export const positive = (...shape: number[]): SampleValues => ({ shape, low: 0.25, high: 2.25 });
/** Values between -0.9 and 0.9. */
export const inside = (...shape: number[]): SampleValues => ({ shape, low: -0.9, high: 0.9 });
/** Values between 1.1 and 4. */
export const above1 = (...shape: number[]): SampleValues => ({ shape, low: 1.1, high: 4 });
/** Values no two of which are equal, for ops that compare. */
export const distinct = (...shape: number[]): SampleValues => ({
  shape,
  low: -3,
  high: 3,
  distinct: true,
});
/** Values of a fixed dtype. */
export const typed = (dtype: DType, ...shape: number[]): SampleValues => ({ shape, dtype });
/** Booleans. */
export const bools = (...shape: number[]): SampleValues => ({ shape, dtype: "bool" });
/** Whole numbers from `low` to `high`, int32. */
export const ints = (low: number, high: number, ...shape: number[]): SampleValues => ({
  shape,
  low,
  high,
  dtype: "int32",
});
/** An int32 vector as given: axes, shapes, permutations. */
export const vector = (...values: number[]): NdArray =>
  new NdArray("int32", [values.length], Int32Array.from(values));
/** An int32 scalar as given. */
export const number = (value: number): NdArray => new NdArray("int32", [], Int32Array.of(value));
/** A float32 literal. */
export const floats = (shape: number[], ...values: number[]): NdArray =>
  new NdArray("float32", shape, Float32Array.from(values));

/** A well-conditioned matrix. */
export const solid: SampleValues = {
  shape: [3, 3],
  values: [3, 0.5, -0.25, 1, 2.5, 0.75, -0.5, 0.25, 2],
};

/** One sample. */
export function sample(
  inputs: readonly SampleInput[],
  attrs: OpSample["attrs"] = {},
  rest: Omit<OpSample, "inputs" | "attrs"> = {},
): OpSample {
  return { inputs, attrs, ...rest };
}

/** Shapes that find mistakes in loops over one operand: scalar, empty, one, prime, vectors of four, several workgroups. */
export const UNARY_SHAPES: readonly (readonly number[])[] = [
  [2, 3],
  [],
  [0],
  [1],
  [7],
  [3, 0, 2],
  [4, 8],
  [7, 11, 13],
];

/** Pairs of shapes that broadcast in every way. */
export const BINARY_SHAPES: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[2, 3], [2, 3]],
  [[2, 3], [3]],
  [[], [2, 3]],
  [[5], []],
  [[2, 1, 3], [4, 1]],
  [[1], [1]],
  [[0, 3], [3]],
  [[7, 1, 5, 1], [1, 3, 1, 2]],
  [[4, 8], [4, 8]],
  [[5, 1, 41], [7, 1]],
];

/** Samples of an op of one operand over {@linkcode UNARY_SHAPES}. */
export function unary(
  input: (...shape: number[]) => SampleValues = any,
  rest: Omit<OpSample, "inputs"> = {},
): OpSample[] {
  return UNARY_SHAPES.map((s) => ({ inputs: [input(...s)], ...rest }));
}

/** Samples of an op of two operands over {@linkcode BINARY_SHAPES}. */
export function binary(
  left: (...shape: number[]) => SampleValues = any,
  right: (...shape: number[]) => SampleValues = left,
  rest: Omit<OpSample, "inputs"> = {},
): OpSample[] {
  return BINARY_SHAPES.map(([a, b]) => ({ inputs: [left(...a), right(...b)], ...rest }));
}
