/** The greatest elements of rows, binary search, and gathers within rows, on the host. */
import { DTYPES, isBigInt } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Numbers, numbersOf, setWhole } from "./numbers.ts";

/** Returns elements that compare correctly: numbers, or bigints typed as such. */
function comparable(x: NdArray): Numbers {
  return isBigInt(x.dtype) ? x.data as unknown as Numbers : numbersOf(x);
}

/** True where element `a` comes before element `b`: greater first, of equals the first, NaN last. */
function before(x: Numbers, a: number, b: number): boolean {
  const v = x[a], w = x[b];
  if (v > w) return true;
  if (v < w) return false;
  if (v === w) return a < b;
  const vNaN = v !== v, wNaN = w !== w;
  return vNaN === wNaN ? a < b : wNaN;
}

/** Finds the `k` greatest of each row of the last axis, greatest first, and their indices. */
export function topkCpu(input: NdArray, k: number, [values, indices]: readonly NdArray[]): void {
  const x = comparable(input), n = input.shape[input.shape.length - 1];
  if (k === 0 || n === 0) return;
  const from = input.data as Float32Array, to = values.data as Float32Array;
  const at = indices.data as Int32Array;
  const rows = x.length / n;
  if (isSortedWhole(n, k) && n <= PLACES && KEYED.has(input.dtype)) {
    return sortedRows(input, n, k, values, indices);
  }
  const heap = new Uint32Array(k);
  for (let r = 0, o = 0; r < rows; r++) {
    const chosen = greatest(x, r * n, n, heap);
    for (let i = 0; i < k; i++, o++) {
      at[o] = chosen[i] - r * n;
      to[o] = from[chosen[i]];
    }
  }
}

/** True where so much of a row is wanted that sorting it is faster than selecting. */
export function isSortedWhole(n: number, k: number): boolean {
  return k >= 16 && 8 * k >= n;
}

/** Number of indices that fit beside a 32-bit key in the 53 bits of a double. */
export const PLACES: number = 2 ** 21;
const KEYED: ReadonlySet<string> = new Set([
  "float32",
  "int32",
  "uint32",
  "int16",
  "uint16",
  "int8",
  "uint8",
]);

/**
 * Sorts whole rows by the engine's sort of doubles: a key of the same order as the values, then the index, counted
 * down.
 */
function sortedRows(input: NdArray, n: number, k: number, values: NdArray, indices: NdArray): void {
  const from = input.data as Float32Array, to = values.data as Float32Array;
  const at = indices.data as Int32Array;
  const float = input.dtype === "float32";
  const bits = float
    ? new Uint32Array(from.buffer as ArrayBuffer, from.byteOffset, from.length)
    : null;
  const keys = new Float64Array(n);
  for (let start = 0, o = 0; start < from.length; start += n) {
    for (let i = 0; i < n; i++) {
      let key: number;
      if (bits === null) key = from[start + i] + 2 ** 31;
      else {
        const b = bits[start + i], magnitude = b & 0x7fffffff;
        // NaN least; both zeros equal; negative numbers are ordered against their bits.
        if (magnitude > 0x7f800000) key = 0;
        else key = b >= 2 ** 31 && magnitude !== 0 ? 2 ** 31 - magnitude : 2 ** 31 + magnitude;
      }
      keys[i] = key * PLACES + (PLACES - 1 - i);
    }
    keys.sort();
    for (let i = 0; i < k; i++, o++) {
      // Not by a remainder: engines call a function for that of doubles.
      const key = keys[n - 1 - i], place = PLACES - 1 - (key - Math.floor(key / PLACES) * PLACES);
      at[o] = place;
      to[o] = from[start + place];
    }
  }
}

/** Fills `heap` with the indices of the greatest elements, in order. */
function greatest(x: Numbers, start: number, n: number, heap: Uint32Array): Uint32Array {
  const k = heap.length;
  for (let i = 0; i < k; i++) heap[i] = start + i;
  if (k < n) {
    // A heap whose root is the last of those selected so far.
    for (let i = (k >> 1) - 1; i >= 0; i--) sink(x, heap, i);
    for (let i = start + k; i < start + n; i++) {
      if (!before(x, i, heap[0])) continue;
      heap[0] = i;
      sink(x, heap, 0);
    }
  }
  return heap.sort((a, b) => (before(x, a, b) ? -1 : 1));
}

function sink(x: Numbers, heap: Uint32Array, i: number): void {
  const k = heap.length, item = heap[i];
  for (;;) {
    let child = 2 * i + 1;
    if (child >= k) break;
    if (child + 1 < k && before(x, heap[child], heap[child + 1])) child++;
    if (!before(x, item, heap[child])) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = item;
}

/** Gathers elements of rows by index. */
export function pickCpu(x: NdArray, indices: NdArray, out: NdArray): void {
  const n = x.shape[x.shape.length - 1], k = indices.shape[indices.shape.length - 1];
  const slots = DTYPES[x.dtype].slots;
  const a = x.data as Float32Array, at = indices.data as Int32Array, y = out.data as Float32Array;
  for (let i = 0; i < at.length; i++) {
    const p = Math.floor(i / k) * n + at[i];
    for (let s = 0; s < slots; s++) y[slots * i + s] = a[slots * p + s];
  }
}

/** Makes rows of zeros with elements at indices, distinct within a row. */
export function placeCpu(indices: NdArray, updates: NdArray, out: NdArray): void {
  const n = out.shape[out.shape.length - 1], k = indices.shape[indices.shape.length - 1];
  const slots = DTYPES[out.dtype].slots;
  const at = indices.data as Int32Array,
    u = updates.data as Float32Array,
    y = out.data as Float32Array;
  y.fill((isBigInt(out.dtype) ? 0n : 0) as number);
  for (let i = 0; i < at.length; i++) {
    const p = Math.floor(i / k) * n + at[i];
    for (let s = 0; s < slots; s++) y[slots * p + s] = u[slots * i + s];
  }
}

/** Returns the insertion point of each value in its sorted row: before its equals, or after them with `upper`. */
export function searchSortedCpu(
  [sorted, values]: readonly NdArray[],
  upper: boolean,
  out: NdArray,
): void {
  const s = comparable(sorted), v = comparable(values);
  const n = sorted.shape[sorted.shape.length - 1], m = values.shape[values.shape.length - 1];
  for (let i = 0; i < v.length; i++) {
    const base = Math.floor(i / m) * n;
    let low = 0, high = n;
    while (low < high) {
      const middle = (low + high) >> 1, w = s[base + middle];
      if (upper ? w <= v[i] : w < v[i]) low = middle + 1;
      else high = middle;
    }
    setWhole(out, i, low);
  }
}
