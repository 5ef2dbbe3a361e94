/** print: writes a tensor's elements to the console in TensorFlow.js's form. */
import { currentInterpreter, type OpInput } from "../../core/apply.ts";
import { tensorText } from "../../core/arrays/format.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { FailedPreconditionError } from "../../core/errors.ts";
import { toInput } from "../input.ts";

/** Prints a tensor of the graph being built at each run. Set by the runtime. */
export const symbolicPrint: { run: ((x: Tensor, verbose: boolean) => void) | null } = { run: null };

/**
 * Writes a tensor's elements to the console, with `verbose` also its dtype, rank and shape. A graph's tensor is printed
 * at each run while its graph is being built, else without elements. Where GPU memory is only read asynchronously the
 * text comes later.
 */
export function print(x: TensorLike, verbose = false): void {
  const input = toInput(x, "x", "print");
  if (!(input instanceof NdArray) && input.isSymbolic) {
    if (currentInterpreter().symbolic) symbolicPrint.run?.(input, verbose);
    else console.log(`${input}`);
    return;
  }
  laterOr([input], ([array]) => console.log(tensorText(array, verbose)));
}

/** Passes the values of inputs to `use`: at once, or later if their device must be awaited. */
export function laterOr(
  inputs: readonly OpInput[],
  use: (arrays: readonly NdArray[]) => void,
): void {
  let arrays: NdArray[];
  try {
    arrays = inputs.map((x) => (x instanceof NdArray ? x : x.ndarraySync()));
  } catch (error) {
    if (!(error instanceof FailedPreconditionError)) throw error;
    Promise.all(inputs.map((x) => (x instanceof NdArray ? x : x.ndarray())))
      .then(use)
      .catch((late) => console.error(late));
    return;
  }
  use(arrays);
}
