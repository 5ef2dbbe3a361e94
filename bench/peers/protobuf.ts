// Writes messages in the wire format of protocol buffers: each field is a tag, its number and wire type, and a value.

/** A field of a message: its number and its encoded value. */
export type Field = Uint8Array<ArrayBuffer>;

const WIRE = { varint: 0, bytes: 2, fixed32: 5 } as const;

/** Seven bits a byte, the lowest first; negative numbers as the 64 bits of their two's complement. */
function varint(value: number | bigint): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
}

function tag(field: number, wire: number): number[] {
  return varint((field << 3) | wire);
}

function concat(parts: readonly ArrayLike<number>[]): Field {
  const result = new Uint8Array(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** A whole number or a member of an enumeration. */
export function integer(field: number, value: number | bigint): Field {
  return concat([tag(field, WIRE.varint), varint(value)]);
}

/** A 32-bit floating point number. */
export function float(field: number, value: number): Field {
  return concat([tag(field, WIRE.fixed32), new Uint8Array(Float32Array.of(value).buffer)]);
}

/** Bytes as they are. */
export function bytes(field: number, value: Uint8Array): Field {
  return concat([tag(field, WIRE.bytes), varint(value.length), value]);
}

/** Text in UTF-8. */
export function text(field: number, value: string): Field {
  return bytes(field, new TextEncoder().encode(value));
}

/** A message inside a message. */
export function message(field: number, fields: readonly Field[]): Field {
  return bytes(field, concat(fields));
}

/** Fields in a row: a message by itself. */
export function encode(fields: readonly Field[]): Field {
  return concat(fields);
}
