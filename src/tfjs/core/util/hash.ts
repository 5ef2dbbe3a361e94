/**
 * `tf.util`: FarmHash's 64-bit fingerprint. Numbers of 64 bits are `bigint`s here, where TensorFlow.js has the package `long`.
 */
import { fingerprint64 } from "../../../engine/kernels/host/text/string_hash.ts";

/** The number that a hexadecimal text spells. */
export function hexToLong(hex: string): bigint {
  return BigInt(`0x${hex}`);
}

/** FarmHash's fingerprint of bytes. */
export function fingerPrint64(s: Uint8Array, len: number = s.length): bigint {
  return fingerprint64(s.subarray(0, len));
}
