/**
 * tf.train.Example as records hold it: features by name, read from the protocol buffer's own format.
 */
import { InvalidArgumentError } from "../../core/errors.ts";
import { decodeString } from "../../core/text.ts";

/** Values of one feature. */
export type Feature =
  | { readonly kind: "string"; readonly values: readonly Uint8Array[] }
  | { readonly kind: "float32"; readonly values: readonly number[] }
  | { readonly kind: "int64"; readonly values: readonly bigint[] };

interface Field {
  readonly number: number;
  /** Varints as they are, fixed32 as their bits, what has a length as its bytes. */
  readonly value: bigint | Uint8Array;
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw damaged();
  }

  bytes(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw damaged();
    return this.#bytes.subarray(this.#at, this.#at += length);
  }

  field(): Field {
    const tag = this.varint();
    const number = Number(tag >> 3n);
    switch (Number(tag & 7n)) {
      case 0:
        return { number, value: this.varint() };
      case 1:
        return { number, value: this.bytes(8) };
      case 2:
        return { number, value: this.bytes(Number(this.varint())) };
      case 5:
        return { number, value: this.bytes(4) };
      default:
        throw damaged();
    }
  }
}

function damaged(): InvalidArgumentError {
  return new InvalidArgumentError("Could not parse example input", { op: "ParseExample" });
}

function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) yield reader.field();
}

/** The bytes of all fields of a number. */
function* messages(bytes: Uint8Array, number: number): Generator<Uint8Array> {
  for (const field of fieldsOf(bytes)) {
    if (field.number !== number) continue;
    if (!(field.value instanceof Uint8Array)) throw damaged();
    yield field.value;
  }
}

/** Floats of a list, packed or one by one. */
function floats(list: Uint8Array): number[] {
  return [...messages(list, 1)].flatMap((bytes) => {
    if (bytes.length % 4 !== 0) throw damaged();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
  });
}

function integers(list: Uint8Array): bigint[] {
  const out: bigint[] = [];
  for (const { number, value } of fieldsOf(list)) {
    if (number !== 1) continue;
    if (value instanceof Uint8Array) {
      const packed = new Reader(value);
      while (!packed.isAtEnd) out.push(BigInt.asIntN(64, packed.varint()));
    } else out.push(BigInt.asIntN(64, value));
  }
  return out;
}

function featureOf(bytes: Uint8Array): Feature | null {
  let feature: Feature | null = null;
  for (const { number, value } of fieldsOf(bytes)) {
    if (!(value instanceof Uint8Array)) throw damaged();
    if (number === 1) feature = { kind: "string", values: [...messages(value, 1)] };
    if (number === 2) feature = { kind: "float32", values: floats(value) };
    if (number === 3) feature = { kind: "int64", values: integers(value) };
  }
  return feature;
}

/** The features of an Example by name. Throws `InvalidArgumentError` for bytes that are none. */
export function readExample(bytes: Uint8Array): Map<string, Feature> {
  const out = new Map<string, Feature>();
  for (const features of messages(bytes, 1)) {
    for (const entry of messages(features, 1)) {
      const [key] = messages(entry, 1);
      const [value] = messages(entry, 2);
      const feature = value === undefined ? null : featureOf(value);
      if (feature !== null) out.set(key === undefined ? "" : decodeString(key), feature);
    }
  }
  return out;
}
