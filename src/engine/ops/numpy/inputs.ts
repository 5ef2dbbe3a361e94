/** Arguments of NumPy's functions. */
import { type DType, DTYPES, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { asTensor, toFloatInput, toInput } from "../input.ts";

const kindOf = (dtype: DType): string => DTYPES[dtype].kind;

/** Returns floats. Throws `TypeError` for complex numbers and strings. */
export function realInput(x: TensorLike, arg: string, fn: string): Tensor {
  const input = toFloatInput(x, arg, fn);
  if (kindOf(input.dtype) === "float") return asTensor(input);
  throw new TypeError(`Cannot use ${input.dtype} as ${arg} of ${fn}: wanted real numbers`);
}

/** Returns integers; JavaScript numbers, and lists of them, become int32. Throws `TypeError` for tensors of other dtypes. */
export function wholeInput(x: TensorLike, arg: string, fn: string): Tensor {
  const literal = typeof x === "number" || Array.isArray(x);
  const input = asTensor(toInput(x, arg, fn, literal ? { dtype: "int32" } : {}));
  if (isInteger(input.dtype)) return input;
  throw new TypeError(`Cannot apply ${fn} to ${arg} of dtype ${input.dtype}: wanted whole numbers`);
}

/** True where a value may be NaN. */
export const isInexact = ({ dtype }: Tensor): boolean =>
  kindOf(dtype) === "float" || kindOf(dtype) === "complex";

/** Returns the dimensions of `x` and an axis counted from the front. Throws `ValueError` where the rank is unknown. */
export function axisOf(
  x: Tensor,
  axis: number,
  { arg, fn }: { readonly arg: string; readonly fn: string },
): { readonly dims: readonly (number | null)[]; readonly at: number } {
  const dims = dimsOf(x, fn, arg);
  return { dims, at: normalizeAxis(axis, dims.length) };
}

/** Returns the dimensions of an argument. Throws `ValueError` where the rank is unknown. */
export function dimsOf(x: Tensor, fn: string, arg = "x"): readonly (number | null)[] {
  if (x.staticShape !== null) return x.staticShape;
  throw new ValueError(`Cannot apply ${fn}: the rank of ${arg} must be known`);
}
