/** Compressed strings of any size: zlib (RFC 1950) and gzip (RFC 1952), synchronous. */
import { type Bytes, viewOf } from "../bytes.ts";
import { crc32 } from "../crc.ts";
import { adler32, broken, Inflater, zlibBegin } from "../inflate.ts";

/** Most bytes that a string may hold, so that a few broken ones do not take all memory. */
const MOST = 2 ** 30;

/** Inflates zlib or gzip data of any size. Throws `DataLossError` for data that are broken or cut off. */
export function inflateAll(from: Uint8Array, kind: "ZLIB" | "GZIP"): Uint8Array {
  const parts: Bytes[] = [];
  for (let at = 0; at === 0 || at < from.length;) {
    const begin = kind === "ZLIB" ? zlibBegin(from) : gzipBegin(from, at);
    const inflater = new Inflater(from, begin, Math.min(MOST, 1024 + 4 * from.length), MOST);
    inflater.run();
    const out = inflater.out.subarray(0, inflater.size), { end } = inflater;
    parts.push(out);
    if (end + 4 > from.length) throw broken("it is cut off");
    // A gzip string may have several members, each with a checksum and its size behind.
    const isZlib = kind === "ZLIB", sum = viewOf(from).getUint32(end, !isZlib);
    if (sum !== (isZlib ? adler32(out) : crc32(out))) throw broken("its checksum is another");
    if (isZlib) break;
    at = end + 8;
  }
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((to, part) => (all.set(part, to), to + part.length), 0);
  return all;
}

/** Returns the place behind the header of a gzip member, RFC 1952. */
function gzipBegin(from: Uint8Array, start: number): number {
  if (from[start] !== 0x1f || from[start + 1] !== 0x8b || from[start + 2] !== 8) {
    throw broken("it does not begin as gzip data do");
  }
  const flags = from[start + 3];
  let at = start + 10;
  if (flags & 4) at += 2 + (from[at] | from[at + 1] << 8);
  // A name and a comment end with a zero.
  for (const flag of [8, 16]) {
    if (flags & flag) {
      while (at < from.length && from[at] !== 0) at++;
      at++;
    }
  }
  return flags & 2 ? at + 2 : at;
}
