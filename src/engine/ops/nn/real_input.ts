/** Inputs of functions of real numbers. */
import { DTYPES } from "../../core/dtype.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { asTensor, toFloatInput } from "../input.ts";

/** Returns `x` as floats. Throws `TypeError` for complex numbers and strings. */
export function toReal(x: TensorLike, fn: string, arg = "x"): Tensor {
  const input = toFloatInput(x, arg, fn);
  if (DTYPES[input.dtype].kind === "float") return asTensor(input);
  throw new TypeError(`Cannot use ${input.dtype} as ${arg} of ${fn}: wanted real numbers`);
}
