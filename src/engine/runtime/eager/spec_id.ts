/** Numbers for pairs of dtype and shape: keys of launches. */
import { counter } from "../../core/collections/counter.ts";
import type { DType } from "../../core/dtype.ts";
import type { Shape } from "../../core/shape.ts";

const ids = new Map<DType, Map<number | string, number>>();
const nextId = counter(1);
/** Number of shapes remembered for a dtype. */
const MOST_SHAPES = 1 << 16;

/**
 * Returns a number from 1 on for a dtype and shape: unique, and the same each time unless very many others came in
 * between.
 */
export function specId(dtype: DType, shape: Shape): number {
  let ofDType = ids.get(dtype);
  if (ofDType === undefined) ids.set(dtype, ofDType = new Map());
  // Small ranks are common: a number key is cheaper than a text.
  const key = shape.length === 0 ? -1 : shape.length === 1 ? shape[0] : shape.join();
  let id = ofDType.get(key);
  if (id === undefined) {
    if (ofDType.size === MOST_SHAPES) ofDType.clear();
    ofDType.set(key, id = nextId());
  }
  return id;
}
