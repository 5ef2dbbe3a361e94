/** print: writes a tensor's elements to the console in TensorFlow.js's form. */
import { apply, apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { tensorText } from "../../core/arrays/format.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { FailedPreconditionError } from "../../core/errors.ts";
import { toInput } from "../input.ts";

/** Writes a tensor that is part of the graph being built: at each run. */
function printInGraph(x: Tensor, verbose: boolean): void {
  const about = `Tensor\n  dtype: ${x.dtype}\n  shape: [${x.staticShape ?? "?"}]\n  values:\n    `;
  const attrs = { template: `${verbose ? about : ""}{}`, placeholder: "{}", summarize: 3 };
  const isText = !verbose && x.dtype === "string" && x.staticShape?.length === 0;
  const text = isText ? x : apply1(lookupOp("StringFormat")!, [x], attrs);
  apply(lookupOp("PrintV2")!, [text], { output_stream: "stdout", end: "\n" });
}

/**
 * Writes a tensor's elements to the console, with `verbose` also its dtype, rank and shape. A graph's tensor is printed
 * at each run while its graph is being built, else without elements. Where GPU memory is only read asynchronously the
 * text comes later.
 */
export function print(x: TensorLike, verbose = false): void {
  const input = toInput(x, "x", "print");
  if (!(input instanceof NdArray) && input.isSymbolic) {
    if (currentInterpreter().symbolic) printInGraph(input, verbose);
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
