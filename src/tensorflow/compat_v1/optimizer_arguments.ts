/** The arguments of TensorFlow 1's optimizers. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";

/** A number or a tensor of the graph, or a function that returns it. */
export type Rate = TensorLike | (() => TensorLike);

/** Returns the number or tensor of a rate. */
export function valueOf(rate: Rate): TensorLike {
  return typeof rate === "function" ? rate() : rate;
}

/** Throws `TypeError` for a value of another kind among those that an optimizer, named by `of`, takes at each step. */
export function checkRates(of: string, rates: Readonly<Record<string, Rate>>): void {
  for (const [name, rate] of Object.entries(rates)) {
    const fits = ["number", "function"].includes(typeof rate) ||
      rate instanceof Tensor || rate instanceof NdArray;
    if (!fits) throw wrongArgument(rate, name, of, "a number, a scalar or a function of none");
  }
}
