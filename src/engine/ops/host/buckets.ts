/** Buckets of strings by their hashes. */
import type { NdArray } from "../../core/nd_array.ts";
import type { Hash } from "../../kernels/host/text/string_hash.ts";
import { remainderBy } from "../../kernels/host/text/words.ts";
import { textsOf } from "./arrays.ts";

/** Writes the remainder of each string's hash by a number of buckets; `out` is int64. */
export function intoBuckets(hash: Hash, x: NdArray, buckets: number, out: NdArray): void {
  // All strings are in the only bucket.
  if (buckets === 1) return void (out.data as BigInt64Array).fill(0n);
  const texts = textsOf(x), { halves } = hash, remainder = remainderBy(buckets);
  const { buffer, byteOffset } = out.data as BigInt64Array;
  const to = new Int32Array(buffer, byteOffset, 2 * texts.length);
  for (let i = 0; i < texts.length; i++) {
    hash.of(texts[i]);
    const bucket = remainder(halves[0], halves[1]);
    to[2 * i] = bucket;
    to[2 * i + 1] = bucket / 0x100000000;
  }
}
