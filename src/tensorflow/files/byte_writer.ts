/** Growing bytes: varints, fixed numbers, other bytes. */

export class ByteWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  /** Number of written bytes. */
  get length(): number {
    return this.#length;
  }

  /** The written bytes, not copied. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  put(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  /** Writes an unsigned number of up to 53 bits in groups of seven bits, the lowest first. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.byte(rest % 128 | 128);
    this.byte(rest);
  }

  /** Writes an unsigned number of 32 bits, little-endian. */
  fixed32(value: number): void {
    for (let k = 0; k < 32; k += 8) this.byte(value >>> k & 255);
  }

  clear(): void {
    this.#length = 0;
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more));
    grown.set(this.bytes);
    this.#bytes = grown;
  }
}
