/** Seeds of stateless functions as keys. */
import type { OpInput } from "../../core/apply.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { toIndexInput } from "../input.ts";

/** Converts a seed, two whole numbers, to a key. */
export function keyInput(seed: TensorLike, fn = "random"): OpInput {
  // Of larger numbers, such as the time, the lower bits.
  const words = Array.isArray(seed) ? seed.map((s) => (typeof s === "number" ? s | 0 : s)) : seed;
  return toIndexInput(words as TensorLike, "seed", fn);
}
