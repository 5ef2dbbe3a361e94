/**
 * Numbers of loop frames in rendezvous keys, as TensorFlow's executors make them: both ends of an edge must find the same.
 * Follows `tsl/platform/hash.cc` (MurmurHash64A by A. Appleby) and `propagator_state.cc`.
 */
import { encodeString } from "../../engine/core/text.ts";

const M = 0xc6a4a7935bd1e995n, R = 47n, SEED = 0xdecafcaffen;
const GOLDEN = 0x9e3779b97f4a7800n;

const u64 = (x: bigint): bigint => BigInt.asUintN(64, x);

/** Hash of some bytes. */
export function hash64(data: Uint8Array): bigint {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let h = SEED ^ u64(BigInt(data.length) * M), at = 0;
  for (; at + 8 <= data.length; at += 8) {
    let k = u64(view.getBigUint64(at, true) * M);
    k ^= k >> R;
    h = u64((h ^ u64(k * M)) * M);
  }
  if (at < data.length) {
    for (let i = data.length - 1; i >= at; i--) h ^= BigInt(data[i]) << BigInt(8 * (i - at));
    h = u64(h * M);
  }
  h = u64((h ^ (h >> R)) * M);
  return h ^ (h >> R);
}

function combine(a: bigint, b: bigint): bigint {
  return a ^ u64(b + GOLDEN + u64(a << 10n) + (a >> 4n));
}

/** Returns the number of a frame that begins in an iteration of `parent`, which is 0 for the graph itself. */
export function frameId(parent: bigint, iteration: number, name: string): bigint {
  return combine(parent, combine(BigInt(iteration), hash64(encodeString(name))));
}
