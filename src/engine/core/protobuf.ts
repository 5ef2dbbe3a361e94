/**
 * Protobuf's wire format by hand, where generated code is not wanted: pages load none of it, and large parts are sent where they lie.
 * https://protobuf.dev/programming-guides/encoding
 */

/** Kinds of fields. */
export const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** Fields of messages, one after another. A field that is a message is read on from its begin, up to its end. */
export abstract class Reader {
  bytes: Uint8Array = new Uint8Array();
  /** Offset of the next field. */
  at = 0;
  /** Number of the field that was read last. */
  number: number = 0;
  /** Its wire type. */
  wire: number = VARINT;
  /** The two halves of the number that was read last. */
  low = 0;
  high = 0;
  /** Begin and end of the contents of the last field; a varint has none. */
  from = 0;
  to = 0;

  /** Reads a field of the message that ends at `end`; false where there is none. */
  next(end: number): boolean {
    if (this.at >= end) return false;
    this.varint(end);
    this.number = this.high * 2 ** 29 + (this.low >>> 3);
    this.wire = this.low & 7;
    if (this.wire === VARINT) this.varint(end);
    else if (this.wire === BYTES) {
      this.varint(end);
      this.#skip(this.high * 2 ** 32 + (this.low >>> 0), end);
    } else if (this.wire === FIXED32 || this.wire === FIXED64) {
      this.#skip(this.wire === FIXED32 ? 4 : 8, end);
    } else this.refuse();
    return true;
  }

  /** Reads a number of up to 64 bits. */
  varint(end: number): void {
    const { bytes } = this;
    if (this.at < end && bytes[this.at] < 128) {
      this.low = bytes[this.at++];
      this.high = 0;
      return;
    }
    let low = 0, high = 0;
    for (let shift = 0; shift < 70 && this.at < end; shift += 7) {
      const byte = bytes[this.at++], part = byte & 127;
      if (shift < 32) low |= part << shift;
      if (shift === 28) high = part >>> 4;
      else if (shift > 28) high |= part << (shift - 32);
      if (byte < 128) {
        this.low = low;
        this.high = high;
        return;
      }
    }
    this.refuse();
  }

  /** Enters the last field, which must be a message or bytes; returns its end. */
  enter(): number {
    if (this.wire !== BYTES) this.refuse();
    this.at = this.from;
    return this.to;
  }

  #skip(length: number, end: number): void {
    this.from = this.at;
    this.to = this.at += length;
    if (!(this.at <= end)) this.refuse();
  }

  /** Throws: the bytes are no such message. */
  abstract refuse(): never;
}

/** Adds a number to bytes, seven bits to each. It must not be negative. */
export function pushNumber(out: number[], value: number): void {
  // Shifts know 32 bits.
  for (; value >= 2 ** 31; value = Math.floor(value / 128)) out.push(value % 128 + 128);
  for (; value > 127; value >>= 7) out.push(value & 127 | 128);
  out.push(value);
}

/** Adds a field that is a number. */
export function pushNumberField(out: number[], no: number, value: number): void {
  pushNumber(out, no << 3 | VARINT);
  pushNumber(out, value);
}

/** Adds what stands before the bytes of a field. */
export function pushHead(out: number[], no: number, length: number): void {
  pushNumber(out, no << 3 | BYTES);
  pushNumber(out, length);
}

/** A number in as many bytes as it takes; those below zero take ten. */
export function varintBytes(value: number | bigint): number[] {
  const out: number[] = [];
  if (typeof value === "number") pushNumber(out, value);
  else {
    let rest = BigInt.asUintN(64, value);
    for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
    out.push(Number(rest));
  }
  return out;
}

/** A field that is a number. */
export function numberField(no: number, value: number): Uint8Array[] {
  const out: number[] = [];
  pushNumberField(out, no, value);
  return [new Uint8Array(out)];
}

/** A field of bytes or of a message, made of parts. */
export function field(no: number, parts: readonly Uint8Array[]): Uint8Array[] {
  const out: number[] = [];
  pushHead(out, no, lengthOf(parts));
  return [new Uint8Array(out), ...parts];
}

/** Bytes of all parts together. */
export function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}
