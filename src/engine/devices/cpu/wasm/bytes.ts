/** Writer of the WebAssembly binary format: bytes, LEB128 numbers, names, length-prefixed parts. */

const UTF8 = new TextEncoder();

/** A growing list of bytes. */
export class ByteWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  /** The bytes so far. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Makes room for more bytes. */
  #reserve(count: number): void {
    const wanted = this.#length + count, { length } = this.#bytes;
    if (wanted <= length) return;
    const bytes = new Uint8Array(Math.max(wanted, 2 * length));
    bytes.set(this.bytes);
    this.#bytes = bytes;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  u32(value: number): this {
    return this.all(unsigned(value));
  }

  all(bytes: ArrayLike<number>): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** Appends a name: its length and its UTF-8 bytes. */
  name(text: string): this {
    return this.sized(UTF8.encode(text));
  }

  /** Appends bytes after their number. */
  sized(bytes: ArrayLike<number>): this {
    return this.u32(bytes.length).all(bytes);
  }

  /** Appends a section: its id, its length, and its items. Appends nothing for an empty list. */
  section<T>(id: number, items: readonly T[], write: (w: ByteWriter, item: T) => void): this {
    if (items.length === 0) return this;
    const body = new ByteWriter().u32(items.length);
    for (const item of items) write(body, item);
    return this.u8(id).sized(body.bytes);
  }
}

/** Numbers of one byte, as most are: all code shares them. */
const SHORT: readonly (readonly number[])[] = Array.from({ length: 0x80 }, (_, byte) => [byte]);

/** Encodes a number below 2^32 as unsigned LEB128. */
export function unsigned(value: number): readonly number[] {
  let v = value >>> 0;
  if (v < 0x80) return SHORT[v];
  const out: number[] = [];
  while (v > 0x7f) {
    out.push((v & 0x7f) | 0x80);
    v >>>= 7;
  }
  out.push(v);
  return out;
}

/** Encodes a number modulo 2^32 as signed LEB128. */
export function signed(value: number): readonly number[] {
  let v = value | 0;
  if (v >= -0x40 && v < 0x40) return SHORT[v & 0x7f];
  const out: number[] = [];
  while (v < -0x40 || v >= 0x40) {
    out.push((v & 0x7f) | 0x80);
    v >>= 7;
  }
  out.push(v & 0x7f);
  return out;
}

export function littleEndian({ buffer, byteOffset, byteLength }: ArrayBufferView): number[] {
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
}
