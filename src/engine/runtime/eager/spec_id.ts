/**
 * Numbers for dtypes and shapes: launches are looked up by them.
 */
import type { DType } from "../../core/dtype.ts";
import type { Shape } from "../../core/shape.ts";

const ids = new Map<DType, Map<number | string, number>>();
let next = 1;
/** Shapes of a dtype that are remembered at once. */
const MOST_SHAPES = 1 << 16;

/** A number from 1 on that no other dtype and shape has had: the same for the same ones, unless very many others came in between. */
export function specId(dtype: DType, shape: Shape): number {
  let ofDType = ids.get(dtype);
  if (ofDType === undefined) ids.set(dtype, ofDType = new Map());
  // Small inputs are the common ones: a number takes less to make and to find than a text.
  const key = shape.length === 0 ? -1 : shape.length === 1 ? shape[0] : shape.join();
  let id = ofDType.get(key);
  if (id === undefined) {
    if (ofDType.size === MOST_SHAPES) ofDType.clear();
    ofDType.set(key, id = next++);
  }
  return id;
}
