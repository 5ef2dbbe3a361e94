/**
 * Numbers for dtypes and shapes: launches are looked up by them.
 * May import core only.
 */
import type { DType } from "../core/dtype.ts";
import type { Shape } from "../core/shape.ts";

const ids = new Map<DType, Map<number | string, number>>();
let next = 1;

/** A number from 1 on, the same for the same dtype and shape as long as the process runs. */
export function specId(dtype: DType, shape: Shape): number {
  let ofDType = ids.get(dtype);
  if (ofDType === undefined) ids.set(dtype, ofDType = new Map());
  // Small inputs are the common ones: a number takes less to make and to find than a text.
  const key = shape.length === 0 ? -1 : shape.length === 1 ? shape[0] : shape.join();
  let id = ofDType.get(key);
  if (id === undefined) ofDType.set(key, id = next++);
  return id;
}
