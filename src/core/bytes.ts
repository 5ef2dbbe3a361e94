/**
 * Bytes: joined, and read as numbers.
 */

/** Parts one after the other. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** Parts with a separator between them. */
export function joinBytes(
  parts: readonly Uint8Array[],
  separator: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return concatBytes(parts.flatMap((part, i) => (i === 0 ? [part] : [separator, part])));
}

/** A view for reading numbers. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
