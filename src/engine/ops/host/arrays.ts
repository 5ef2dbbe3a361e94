/** Errors, strings and integers for ops that run on the host. */
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";

/** Throws `InvalidArgumentError`; the caller adds the op's name. */
export function refuse(why: string): never {
  throw new InvalidArgumentError(why);
}

/** Returns the bytes of each string. */
export const textsOf = (a: NdArray): Uint8Array[] => a.data as Uint8Array[];

/** Makes an array of integers; a vector unless a shape is given. */
export function wholeArray(
  dtype: "int32" | "int64",
  values: ArrayLike<number>,
  shape: readonly number[] = [values.length],
): NdArray {
  const data = dtype === "int64" ? BigInt64Array.from(values, BigInt) : Int32Array.from(values);
  return new NdArray(dtype, shape, data);
}
