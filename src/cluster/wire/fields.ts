/**
 * Fields of protobuf's messages as bytes, for messages whose parts are sent without a copy.
 * https://protobuf.dev/programming-guides/encoding
 */
import type { Parts } from "./transport.ts";

/** Wire types of fields. */
const VARINT = 0, LENGTH_DELIMITED = 2;

/** Appends a number as a varint. It must not be negative. */
export function pushNumber(out: number[], value: number): void {
  // Shifts know 32 bits.
  for (; value >= 2 ** 31; value = Math.floor(value / 128)) out.push(value % 128 + 128);
  for (; value > 127; value >>= 7) out.push(value & 127 | 128);
  out.push(value);
}

/** Appends a field that is a number. */
export function pushNumberField(out: number[], no: number, value: number): void {
  pushNumber(out, no << 3 | VARINT);
  pushNumber(out, value);
}

/** Appends the tag and length of a field of bytes. */
export function pushHead(out: number[], no: number, length: number): void {
  pushNumber(out, no << 3 | LENGTH_DELIMITED);
  pushNumber(out, length);
}

/** Encodes a number as a varint. */
export function number(value: number): Uint8Array {
  const out: number[] = [];
  pushNumber(out, value);
  return new Uint8Array(out);
}

/** Encodes a field that is a number. */
export function varint(no: number, value: number): Uint8Array[] {
  const out: number[] = [];
  pushNumberField(out, no, value);
  return [new Uint8Array(out)];
}

/** Encodes a field of bytes, made of parts. */
export function field(no: number, parts: Parts): Uint8Array[] {
  const out: number[] = [];
  pushHead(out, no, lengthOf(parts));
  return [new Uint8Array(out), ...parts];
}

export function lengthOf(parts: Parts): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** Concatenates parts. */
export function joinParts(parts: Parts): Uint8Array {
  const out = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
