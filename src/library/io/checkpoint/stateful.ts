/** Objects with a state of named tensors, as optimizers are, in files. */
import type { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { tensor } from "../../../engine/ops/array/creation.ts";

/** An object with a state of named tensors besides variables: an optimizer, with its step count and its slots. */
export interface Stateful {
  /** Returns the step count, named `iter`, and one tensor for each slot of a variable, named `variable/slot`. */
  getWeights(): Promise<{ name: string; tensor: Tensor }[]>;
  /**
   * Returns the same at once, where that can be done.
   * @internal
   */
  weightsNow?(): { name: string; tensor: Tensor }[];
  /** Restores such tensors. */
  setWeights(weights: readonly { readonly name: string; readonly tensor: Tensor }[]): Promise<void>;
  /**
   * Checks saved values by their names, and returns what restores them. Throws `ValueError` where they do not fit; `isPartial`: those
   * without a counterpart are left out.
   * @internal
   */
  fit?(saved: readonly SavedWeight[], isPartial: boolean): () => void;
}

/** A saved value of an object with a state. */
export interface SavedWeight {
  /** `iter`, or `variable/slot`. */
  readonly name: string;
  /** The value. */
  readonly value: NdArray;
  /** True where its variable is known, so that it is for no other. */
  readonly isNamed?: boolean;
}

export function isStateful(value: unknown): value is Stateful {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<Stateful>).getWeights === "function";
}

/** Checks the weights of an optimizer by their names, where it can, and returns what sets them. */
export function fitted(
  optimizer: Stateful,
  saved: readonly SavedWeight[],
  isPartial: boolean,
): () => void | Promise<void> {
  return optimizer.fit?.(saved, isPartial) ?? (async () => {
    const tensors = saved.map(({ name, value }) => ({ name, tensor: tensor(value) }));
    try {
      await optimizer.setWeights(tensors);
    } finally {
      for (const t of tensors) t.tensor.dispose();
    }
  });
}
