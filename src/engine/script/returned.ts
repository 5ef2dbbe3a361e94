/** Tensors that a body made and returned: the call owns them, as all that it made. */
import { CompositeTensor } from "../core/composite.ts";
import { isPlainObject } from "../core/nest.ts";
import { NdArray } from "../core/nd_array.ts";
import { Tensor } from "../core/tensor.ts";
import { isEager } from "../runtime/eager/tensor.ts";

/**
 * Frees the tensors in a body's result that were made by the call (its first id is `first`) and were not kept. Tensors
 * made after an await belong to no scope, so this frees them.
 */
export function freeReturned(result: unknown, first: number): void {
  const isLeaf = result === null || typeof result !== "object" || ArrayBuffer.isView(result) ||
    result instanceof NdArray;
  if (isLeaf) return;
  if (result instanceof Tensor) return freeNew(result, first);
  const seen = new Set<unknown>();
  // The result may be nested deeper than the stack.
  const open: unknown[] = [result];
  while (open.length > 0) {
    const v = open.pop();
    if (v === null || typeof v !== "object" || v instanceof NdArray || seen.has(v)) continue;
    if (v instanceof Tensor) {
      freeNew(v, first);
      continue;
    }
    // Long lists of numbers hold no tensors.
    const list = v instanceof CompositeTensor
      ? v.components
      : Array.isArray(v)
      ? (typeof v[0] === "object" ? v : [])
      : isPlainObject(v)
      ? Object.values(v)
      : [];
    if (list.length === 0) continue;
    seen.add(v);
    for (const e of list) open.push(e);
  }
}

function freeNew(t: Tensor, first: number): void {
  if (isEager(t) && t.id > first && !t.kept) t.dispose();
}
