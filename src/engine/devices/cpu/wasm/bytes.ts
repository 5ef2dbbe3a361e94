/** Writer of the WebAssembly binary format: bytes, LEB128 numbers, names, length-prefixed parts. */

/** A growing list of bytes. */
export class ByteWriter {
  #bytes: number[] = [];

  get bytes(): readonly number[] {
    return this.#bytes;
  }

  u8(value: number): this {
    this.#bytes.push(value & 0xff);
    return this;
  }

  u32(value: number): this {
    this.#bytes.push(...unsigned(value));
    return this;
  }

  all(bytes: readonly number[]): this {
    this.#bytes = this.#bytes.concat(bytes);
    return this;
  }

  /** Appends a name: its length and its UTF-8 bytes. */
  name(text: string): this {
    return this.sized([...new TextEncoder().encode(text)]);
  }

  /** Appends bytes after their number. */
  sized(bytes: readonly number[]): this {
    return this.u32(bytes.length).all(bytes);
  }

  /** Appends a section: its id, its length, and its items. Appends nothing for an empty list. */
  section<T>(id: number, items: readonly T[], write: (w: ByteWriter, item: T) => void): this {
    if (items.length === 0) return this;
    const body = new ByteWriter().u32(items.length);
    for (const item of items) write(body, item);
    return this.u8(id).sized(body.bytes);
  }

  /** Copies the bytes for `WebAssembly.Module`. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes);
  }
}

/** Encodes a number below 2^32 as unsigned LEB128. */
export function unsigned(value: number): number[] {
  const out: number[] = [];
  let v = value >>> 0;
  while (v > 0x7f) {
    out.push((v & 0x7f) | 0x80);
    v >>>= 7;
  }
  out.push(v);
  return out;
}

/** Encodes a number modulo 2^32 as signed LEB128. */
export function signed(value: number): number[] {
  const out: number[] = [];
  let v = value | 0;
  for (;;) {
    const low = v & 0x7f;
    v >>= 7;
    if ((v === 0 && (low & 0x40) === 0) || (v === -1 && (low & 0x40) !== 0)) return [...out, low];
    out.push(low | 0x80);
  }
}

export function littleEndian({ buffer, byteOffset, byteLength }: ArrayBufferView): number[] {
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
}
