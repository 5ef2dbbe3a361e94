/** Puts elements side by side: of each component one array, which functions of all elements take. */
import type { NdArray } from "../../../engine/core/nd_array.ts";
import { stackedRows } from "../../../engine/runtime/control/lockstep.ts";
import { Failure, type Many, Stacked } from "../source.ts";

/** Returns the outcomes side by side; null where one failed, shapes differ, or there is none. */
export function stacked(items: Many): Stacked | null {
  if (items instanceof Stacked) return items;
  if (items.length === 0) return null;
  const elements: (readonly NdArray[])[] = [];
  for (const item of items) {
    if (item instanceof Failure) return null;
    elements.push(item);
  }
  const arrays = stackedRows(elements);
  return arrays && new Stacked(arrays, items.length);
}
