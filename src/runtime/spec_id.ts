/**
 * Numbers for dtypes and shapes: launches are looked up by them.
 * May import core only.
 */
import type { DType } from "../core/dtype.ts";
import type { Shape } from "../core/shape.ts";

const ids = new Map<string, number>();

/** A number from 1 on, the same for the same dtype and shape as long as the process runs. */
export function specId(dtype: DType, shape: Shape): number {
  const key = dtype + shape;
  let id = ids.get(key);
  if (id === undefined) ids.set(key, id = ids.size + 1);
  return id;
}
