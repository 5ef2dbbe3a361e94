/** Windows made of one cosine, by TensorFlow.js's arguments. */
import { wantNumber } from "../../engine/core/arguments.ts";
import { cosineWindow as window } from "../../engine/ops/signal/cosine_window.ts";
import type { Tensor1D } from "./types.ts";

/**
 * Returns the window `a - b cos(2πx / N)` in float32.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.cosineWindow(2, 0.5, 0.5).shape); // [2]
 * ```
 */
export function cosineWindow(windowLength: number, a: number, b: number): Tensor1D {
  wantNumber(a, "a", "cosineWindow");
  wantNumber(b, "b", "cosineWindow");
  return window("cosineWindow", windowLength, [a, b]) as Tensor1D;
}
