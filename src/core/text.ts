/**
 * Strings as tensors hold them, in UTF-8.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** UTF-8 bytes of a string; bytes stay as they are. */
export function encodeString(value: string | Uint8Array): Uint8Array {
  return typeof value === "string" ? encoder.encode(value) : value;
}

/** Text of UTF-8 bytes. */
export function decodeString(value: Uint8Array): string {
  return decoder.decode(value);
}

/** Whether `data()` and `dataSync()` of string tensors give texts, as TensorFlow.js's programs expect, and not bytes. */
export const stringReads = { asText: false };
