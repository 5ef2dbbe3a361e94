/**
 * Snappy's block format: all of it is read; blocks are written as literals, which every reader takes and which need
 * no copy. https://github.com/google/snappy/blob/main/format_description.txt
 */
import { DataLossError } from "../../engine/core/errors.ts";
import { varintBytes } from "../../engine/core/protobuf.ts";

/** Tag of a literal whose length takes four bytes. */
const LONG_LITERAL = 63 << 2;

/** Makes one block of parts, none of them compressed. */
export function snappyPlain(parts: readonly Uint8Array[]): Uint8Array[] {
  const length = parts.reduce((n, p) => n + p.length, 0);
  const head = new Uint8Array(varintBytes(length));
  if (length === 0) return [head];
  const literal = new Uint8Array(5);
  literal[0] = LONG_LITERAL;
  new DataView(literal.buffer).setUint32(1, length - 1, true);
  return [head, literal, ...parts.filter((p) => p.length > 0)];
}

/** Decodes a block. Throws `DataLossError` for an invalid one. */
export function unsnappy(block: Uint8Array): Uint8Array {
  let at = 0;
  const numberOf = (bytes: number): number => {
    let n = 0;
    for (let i = 0; i < bytes; i++) n += (block[at++] ?? fail()) * 2 ** (8 * i);
    return n;
  };
  let length = 0;
  for (let shift = 0;; shift += 7) {
    const byte = block[at++] ?? fail();
    length += (byte & 127) * 2 ** shift;
    if (byte < 128) break;
    if (shift > 28) fail();
  }
  // A block of n bytes gives at most 64 for every 3 of its own: a greater length is invalid.
  if (length > block.length * 32) fail();
  const out = new Uint8Array(length);
  let end = 0;
  while (at < block.length) {
    const tag = block[at++], kind = tag & 3;
    if (kind === 0) {
      const short = tag >> 2;
      const n = (short < 60 ? short : numberOf(short - 59)) + 1;
      if (at + n > block.length || end + n > length) fail();
      out.set(block.subarray(at, at += n), end);
      end += n;
      continue;
    }
    const n = kind === 1 ? (tag >> 2 & 7) + 4 : (tag >> 2) + 1;
    const back = kind === 1 ? (tag >> 5) * 256 + numberOf(1) : numberOf(kind === 2 ? 2 : 4);
    if (back === 0 || back > end || end + n > length) fail();
    // A copy may overlap its own output.
    for (let i = 0; i < n; i++, end++) out[end] = out[end - back];
  }
  return end === length ? out : fail();
}

function fail(): never {
  throw new DataLossError("Cannot read a compressed element: its bytes are no Snappy block");
}
