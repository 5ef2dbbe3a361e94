/**
 * print: the elements of a tensor on the console.
 * May import core.
 */
import { tensorText } from "../core/format.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { FailedPreconditionError } from "../core/errors.ts";
import { toInput } from "./input.ts";

/**
 * Writes a tensor's elements to the console, with `verbose` also its dtype, rank and shape. A symbolic tensor is written without
 * elements. Where the runtime reads GPU memory only asynchronously the text comes later.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([[1, 2], [3, 4]]);
 * tf.print(x);
 * assertEquals(x.shape, [2, 2]);
 * ```
 */
export function print(x: TensorLike, verbose = false): void {
  const input = toInput(x, "x", "print");
  const write = (array: NdArray): void => console.log(tensorText(array, verbose));
  if (input instanceof NdArray) return write(input);
  if (input.isSymbolic) return console.log(`${input}`);
  let array: NdArray;
  try {
    array = input.ndarraySync();
  } catch (error) {
    if (!(error instanceof FailedPreconditionError)) throw error;
    later(input, write);
    return;
  }
  write(array);
}

function later(x: Tensor, write: (array: NdArray) => void): void {
  x.ndarray().then(write, (error) => console.error(error));
}
