/**
 * tf.train.Example as records hold it: features by name, read from and written in the protocol buffer's own format.
 */
import { InvalidArgumentError } from "../../core/errors.ts";
import { decodeString, encodeString } from "../../core/text.ts";

/** Values of one feature. */
export type Feature =
  | { readonly kind: "string"; readonly values: readonly Uint8Array[] }
  | { readonly kind: "float32"; readonly values: Float32Array }
  | { readonly kind: "int64"; readonly values: BigInt64Array };

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** A message, field by field. */
class Reader {
  /** Number of the field that was read last. */
  number = 0;
  /** How it is written. */
  wire = VARINT;
  /** Its two halves, where it is a number; of a fixed one only the place is kept. */
  low = 0;
  high = 0;
  /** Where what it holds begins and ends. */
  from: number;
  to: number;
  readonly bytes: Uint8Array;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.bytes = bytes;
    this.#at = this.from = from;
    this.#end = this.to = to;
  }

  /** The message that the last field is. */
  inner(): Reader {
    if (this.wire !== BYTES) this.refuse();
    return new Reader(this.bytes, this.from, this.to);
  }

  /** What the last field holds, not copied. */
  contents(): Uint8Array {
    if (this.wire !== BYTES) this.refuse();
    return this.bytes.subarray(this.from, this.to);
  }

  /** True where there was another field. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    this.varint();
    this.number = this.high * 2 ** 29 + (this.low >>> 3);
    this.wire = this.low & 7;
    if (this.wire === VARINT) this.varint();
    else if (this.wire === BYTES) {
      this.varint();
      this.#skip(this.high * 2 ** 32 + (this.low >>> 0));
    } else if (this.wire === FIXED32 || this.wire === FIXED64) {
      this.#skip(this.wire === FIXED32 ? 4 : 8);
    } else this.refuse();
    return true;
  }

  /** Reads one of the numbers that follow each other in a packed list; false at the end. */
  nextVarint(): boolean {
    if (this.#at >= this.#end) return false;
    this.varint();
    return true;
  }

  /** Reads a number of up to 64 bits. */
  varint(): void {
    let low = 0, high = 0;
    for (let shift = 0; shift < 70 && this.#at < this.#end; shift += 7) {
      const byte = this.bytes[this.#at++], part = byte & 127;
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

  #skip(length: number): void {
    this.from = this.#at;
    this.to = this.#at += length;
    if (!(this.#at <= this.#end)) this.refuse();
  }

  /** Throws `InvalidArgumentError`: the bytes are no Example. */
  refuse(): never {
    const shown = JSON.stringify(decodeString(this.bytes.subarray(0, 100))).slice(1, -1);
    throw new InvalidArgumentError(`Could not parse example input, value: '${shown}'`, {
      op: "ParseExample",
    });
  }
}

/** Texts of a list. */
function texts(list: Reader): Uint8Array[] {
  const out: Uint8Array[] = [];
  while (list.next()) if (list.number === 1) out.push(list.contents());
  return out;
}

/** Floats of a list, packed or one by one. */
function floats(list: Reader): Float32Array {
  const parts: Uint8Array[] = [];
  while (list.next()) {
    if (list.number !== 1) continue;
    if (list.wire !== FIXED32 && list.wire !== BYTES) list.refuse();
    const part = list.bytes.subarray(list.from, list.to);
    if (part.length % 4 !== 0) list.refuse();
    parts.push(part);
  }
  const length = parts.reduce((n, part) => n + part.length, 0);
  const out = new Float32Array(length / 4), bytes = new Uint8Array(out.buffer);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return out;
}

/** Whole numbers of a list, packed or one by one. */
function integers(list: Reader): BigInt64Array {
  const halves: number[] = [];
  while (list.next()) {
    if (list.number !== 1) continue;
    if (list.wire === VARINT) halves.push(list.low, list.high);
    else {
      const packed = list.inner();
      while (packed.nextVarint()) halves.push(packed.low, packed.high);
    }
  }
  return new BigInt64Array(Int32Array.from(halves).buffer);
}

function featureOf(feature: Reader): Feature | null {
  let out: Feature | null = null;
  while (feature.next()) {
    const list = feature.inner();
    if (feature.number === 1) out = { kind: "string", values: texts(list) };
    else if (feature.number === 2) out = { kind: "float32", values: floats(list) };
    else if (feature.number === 3) out = { kind: "int64", values: integers(list) };
  }
  return out;
}

/** The features of an Example by name. Throws `InvalidArgumentError` for bytes that are none. */
export function readExample(bytes: Uint8Array): Map<string, Feature> {
  const out = new Map<string, Feature>(), example = new Reader(bytes);
  while (example.next()) {
    if (example.number !== 1) continue;
    const features = example.inner();
    while (features.next()) {
      if (features.number !== 1) continue;
      const entry = features.inner();
      let key = "", feature: Feature | null = null;
      while (entry.next()) {
        if (entry.number === 1) key = decodeString(entry.contents());
        else if (entry.number === 2) feature = featureOf(entry.inner());
      }
      if (feature !== null) out.set(key, feature);
    }
  }
  return out;
}

/** A field that holds these pieces. */
function field(number: number, pieces: readonly Uint8Array[]): Uint8Array {
  const length = pieces.reduce((n, piece) => n + piece.length, 0);
  const head = [number << 3 | BYTES, ...varint(BigInt(length))];
  const out = new Uint8Array(head.length + length);
  out.set(head);
  let at = head.length;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

function varint(value: bigint): number[] {
  const out: number[] = [];
  for (let rest = BigInt.asUintN(64, value);; rest >>= 7n) {
    if (rest < 128n) return [...out, Number(rest)];
    out.push(Number(rest & 127n) | 128);
  }
}

const KINDS = { string: 1, float32: 2, int64: 3 } as const;

function writeFeature({ kind, values }: Feature): Uint8Array {
  // An empty list is one all the same; of numbers it has no field.
  const list = kind === "string"
    ? values.map((text) => field(1, [text]))
    : values.length === 0
    ? []
    : kind === "float32"
    ? [field(1, [new Uint8Array(values.slice().buffer)])]
    : [field(1, [Uint8Array.from(Array.from(values, varint).flat())])];
  return field(KINDS[kind], list);
}

/** An Example of these features, in the order of their names; null for one without a list. */
export function writeExample(features: ReadonlyMap<string, Feature | null>): Uint8Array {
  const entries = [...features].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, feature]) =>
    field(1, [
      field(1, [encodeString(key)]),
      field(2, feature === null ? [] : [writeFeature(feature)]),
    ])
  );
  return field(1, entries);
}
