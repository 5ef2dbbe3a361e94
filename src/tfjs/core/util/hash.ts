/** `tf.util`: FarmHash's 64-bit fingerprint. Its numbers are `bigint`s, where TensorFlow.js has the package `long`. */
import { fingerprint64 } from "../../../engine/kernels/host/text/string_hash.ts";

/** Parses a hexadecimal number. */
export function hexToLong(hex: string): bigint {
  return BigInt(`0x${hex}`);
}

/** Computes FarmHash's fingerprint of bytes. */
export function fingerPrint64(s: Uint8Array, len: number = s.length): bigint {
  return fingerprint64(s.subarray(0, len));
}
