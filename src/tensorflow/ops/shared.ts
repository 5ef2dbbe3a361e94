/**
 * What ops that only files have share: what they refuse, strings and whole numbers on the host, rows that go back to where they were.
 */
import { apply1, type OpInput } from "../../engine/core/apply.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { type Attrs, defineOp, lookupOp } from "../../engine/core/op.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { intScalar } from "../../engine/ops/input.ts";

/** Throws `InvalidArgumentError`; who runs the op says which it was. */
export function refuse(why: string): never {
  throw new InvalidArgumentError(why);
}

export const textsOf = (a: NdArray): Uint8Array[] => a.data as Uint8Array[];

/** Whole numbers as an array; a vector where no shape is given. */
export function wholeArray(
  dtype: "int32" | "int64",
  values: ArrayLike<number>,
  shape: readonly number[] = [values.length],
): NdArray {
  const data = dtype === "int64" ? BigInt64Array.from(values, BigInt) : Int32Array.from(values);
  return new NdArray(dtype, shape, data);
}

/** An op that makes something of each string: `kernel`, given the values of further inputs, tells what. */
export function defineStringMap(
  name: string,
  { inputs = ["input: string"], output = "string", attrs = [] }: {
    readonly inputs?: readonly string[];
    readonly output?: string;
    readonly attrs?: readonly string[];
  },
  kernel: (
    attrs: Attrs,
    others: readonly NdArray[],
  ) => (text: Uint8Array) => Uint8Array | number | bigint,
): void {
  defineOp({
    name,
    inputs,
    outputs: [`output: ${output}`],
    attrs,
    infer: ([x]) => [x.shape],
    grad: null,
    cpu: ([x, ...others], [out], { attrs }) => {
      const to = out.data as unknown[], make = kernel(attrs, others);
      textsOf(x).forEach((text, i) => to[i] = make(text));
    },
  });
}

/** The sum of two elements of a dtype. */
export function addElements(x: unknown, y: unknown): unknown {
  return Array.isArray(x)
    ? [x[0] + (y as number[])[0], x[1] + (y as number[])[1]]
    : x as number + (y as number);
}

/** The numbers from 0 up to but without `n`. */
export function iota(n: OpInput): Tensor {
  return apply1(lookupOp("Range")!, [intScalar(0), n, intScalar(1)]);
}

/** The sums of rows that share a place, of `count` places. */
export function sumInto(rows: OpInput, places: OpInput, count: OpInput): Tensor {
  return apply1(lookupOp("UnsortedSegmentSum")!, [rows, places, count]);
}
