/** Filling host arrays, and the words that copies see in place of elements. */
import { type DType, DTYPES, type HostData, isBigInt } from "../../core/dtype.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";

/** Fills `out` with the only element of `value`. */
export function fillCpu(out: NdArray, value: NdArray): void {
  const slots = DTYPES[out.dtype].slots;
  if (slots === 1) {
    (out.data as unknown[]).fill((value.data as unknown[])[0]);
    return;
  }
  const to = out.data as unknown as number[], from = value.data as unknown as number[];
  for (let i = 0; i < to.length; i++) to[i] = from[i % slots];
}

/** Fills `out` with a number, in its dtype; strings become empty for 0 and "1" for 1. */
export function fillNumber(out: NdArray, value: number): void {
  if (out.size === 0) return;
  const { kind } = DTYPES[out.dtype], data = out.data as unknown[];
  if (kind === "string") data[0] = new TextEncoder().encode(value === 0 ? "" : String(value));
  else if (kind === "handle") data[0] = null;
  else setElement(out, 0, isBigInt(out.dtype) ? BigInt(value) : value);
  fillCpu(out, out);
}

/** Views memory as words, with the number of words in an element; arrays of objects are returned as they are. */
export function wordsOf(data: HostData, dtype: DType): { words: Int32Array; slots: number } {
  const bytes = DTYPES[dtype].bytes;
  if (bytes === 0 || Array.isArray(data)) return { words: data as unknown as Int32Array, slots: 1 };
  const d = data as Float32Array;
  if (bytes >= 4) {
    return { words: new Int32Array(d.buffer, d.byteOffset, d.byteLength / 4), slots: bytes / 4 };
  }
  const words = bytes === 2
    ? new Int16Array(d.buffer, d.byteOffset, d.length)
    : new Uint8Array(d.buffer, d.byteOffset, d.length);
  return { words: words as unknown as Int32Array, slots: 1 };
}
