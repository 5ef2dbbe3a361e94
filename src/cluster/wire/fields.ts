/**
 * Fields of protobuf's messages as bytes, for messages whose parts are sent where they lie. https://protobuf.dev/programming-guides/encoding
 */
import type { Parts } from "./transport.ts";

/** Kinds of fields. */
const VARINT = 0, LENGTH_DELIMITED = 2;

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
  pushNumber(out, no << 3 | LENGTH_DELIMITED);
  pushNumber(out, length);
}

/** A number. */
export function number(value: number): Uint8Array {
  const out: number[] = [];
  pushNumber(out, value);
  return new Uint8Array(out);
}

/** A field that is a number. */
export function varint(no: number, value: number): Uint8Array[] {
  const out: number[] = [];
  pushNumberField(out, no, value);
  return [new Uint8Array(out)];
}

/** A field of a message, made of parts. */
export function field(no: number, parts: Parts): Uint8Array[] {
  const out: number[] = [];
  pushHead(out, no, lengthOf(parts));
  return [new Uint8Array(out), ...parts];
}

/** Bytes of all parts together. */
export function lengthOf(parts: Parts): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** The bytes of all parts in one piece. */
export function joinParts(parts: Parts): Uint8Array {
  const out = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
