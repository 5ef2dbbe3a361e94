/**
 * Bytes of short strings, many in one buffer: an engine allocates, and later frees, each small buffer by itself, which takes some twenty
 * times as long as a view of a common one.
 */

/** Bytes of a common buffer. A string that outlives its neighbours keeps no more than these. */
const COMMON = 1 << 13;
/** Bytes of the longest string in a common buffer. */
const SHORT = 1 << 8;

/** The buffer that is filled now, and its bytes that are taken. */
const common = { buffer: new ArrayBuffer(0), used: 0 };

/** Returns room for so many bytes, all 0, which has an owner of its own; its buffer may hold others too. */
export function roomForBytes(count: number): Uint8Array<ArrayBuffer> {
  if (count > SHORT) return new Uint8Array(count);
  if (common.used + count > common.buffer.byteLength) {
    common.buffer = new ArrayBuffer(COMMON);
    common.used = 0;
  }
  const room = new Uint8Array(common.buffer, common.used, count);
  common.used += count;
  return room;
}

/** Characters of the longest text whose bytes are written one by one. */
const FEW = 64;

const encoder = new TextEncoder();

/** Encodes the text of an element in UTF-8, in a buffer that may hold others too. */
export function bytesOfText(text: string): Uint8Array<ArrayBuffer> {
  const { length } = text;
  if (length > FEW) return encoder.encode(text);
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 127) return encoder.encode(text);
  const bytes = roomForBytes(length);
  for (let i = 0; i < length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
