/** Converts arguments of functions of strings. */
import type { OpInput } from "../../core/apply.ts";
import { wrongArgument } from "../../core/arguments.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { toInput } from "../input.ts";

/** Converts an argument to strings. Throws `TypeError` for other dtypes. */
export function texts(x: TensorLike, fn: string, arg = "input"): OpInput {
  const input = toInput(x, arg, `strings.${fn}`, { dtype: "string" });
  if (input.dtype === "string") return input;
  throw wrongArgument(x, arg, `strings.${fn}`, "strings");
}
