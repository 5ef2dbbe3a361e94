/** `tf.tensor_util`: tensors in containers, and element types of pairs. */
import { promote } from "../../engine/core/dtype.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { assert } from "./util/checks.ts";
import { isTypedArray } from "./util/values.ts";

/**
 * Casts both tensors to the wider of their element types.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const [a, b] = tf.tensor_util.makeTypesMatch(tf.scalar(1, "int32"), tf.scalar(2));
 * console.log(a.dtype, b.dtype); // float32 float32
 * ```
 */
export function makeTypesMatch(a: Tensor, b: Tensor): [Tensor, Tensor] {
  if (a.dtype === b.dtype) return [a, b];
  const dtype = promote(a.dtype, b.dtype);
  return [cast(a, dtype), cast(b, dtype)];
}

/** Throws where the element types differ. */
export function assertTypesMatch(a: Tensor, b: Tensor): void {
  assert(
    a.dtype === b.dtype,
    () => `The dtypes of the first (${a.dtype}) and second (${b.dtype}) input must match`,
  );
}

/**
 * True where a list has the tensor's id.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const x = tf.scalar(1);
 * console.log(tf.tensor_util.isTensorInList(x, [x])); // true
 * ```
 */
export function isTensorInList(tensor: Tensor, tensorList: readonly Tensor[]): boolean {
  return tensorList.some(({ id }) => id === tensor.id);
}

/**
 * Collects all tensors in a container, at any depth, each once; objects of any class are searched.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.tensor_util.getTensorsInContainer({ a: tf.scalar(1), b: [tf.scalar(2)] }).length); // 2
 * ```
 */
export function getTensorsInContainer(result: unknown): Tensor[] {
  const found: Tensor[] = [];
  const seen = new Set<unknown>();
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Tensor) found.push(value);
    else if (!isTypedArray(value)) {
      for (const key in value) walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(result);
  return found;
}
