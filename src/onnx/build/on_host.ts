/** Eager code that computes what a file holds on the host, while a graph is built or not. */
import { isolated } from "../../engine/runtime/eager/isolated.ts";
import * as tf from "./tf.ts";

/** Runs code on the CPU outside of any graph, and frees its tensors. The result has none. */
export function onHost<R>(compute: () => R): R {
  return isolated(
    { device: "/CPU:0" },
    () => tf.tidy(compute as () => tf.Tensor),
  ) as unknown as R;
}
