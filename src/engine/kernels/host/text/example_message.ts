/** tf.train.Example in records: features by name, read and written. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { HostData } from "../../../core/dtype.ts";
import { BYTES, field, FIXED32, Reader, VARINT, varintBytes } from "../../../core/protobuf.ts";
import { concatBytes, decodeString, encodeString } from "../../../core/text.ts";

export type Feature =
  | { readonly kind: "string"; readonly values: readonly Uint8Array[] }
  | { readonly kind: "float32"; readonly values: Float32Array }
  | { readonly kind: "int64"; readonly values: BigInt64Array };

/** Kinds of lists by their field's number in a Feature. */
const KIND_OF = [null, "string", "float32", "int64"] as const;

/** Reads Examples. */
export class ExampleReader extends Reader {
  /** Throws `InvalidArgumentError`: the bytes are no Example. */
  override refuse(): never {
    const shown = JSON.stringify(decodeString(this.bytes.subarray(0, 100))).slice(1, -1);
    throw new InvalidArgumentError(`Could not parse example input, value: '${shown}'`, {
      op: "ParseExample",
    });
  }
}

/** Counts the values of a list of a kind, and goes to its end. */
export function countValues(reader: Reader, kind: number, end: number): number {
  let count = 0;
  while (reader.next(end)) {
    if (reader.number !== 1) continue;
    const { wire, from, to } = reader;
    if (kind === 2) {
      if (wire !== FIXED32 && wire !== BYTES || (to - from) % 4 !== 0) reader.refuse();
      count += (to - from) / 4;
    } else if (kind === 3 && wire === VARINT) count++;
    else if (wire !== BYTES) reader.refuse();
    else if (kind === 1) count++;
    else count += countVarints(reader, from, to);
  }
  return count;
}

function countVarints(reader: Reader, from: number, to: number): number {
  const { bytes } = reader;
  let count = 0, length = 0;
  for (let i = from; i < to; i++) {
    length++;
    if (bytes[i] < 128) {
      count++;
      length = 0;
    } else if (length === 10) reader.refuse();
  }
  if (length > 0) reader.refuse();
  return count;
}

/** One feature of many records: the places of its values, which are read on demand. */
export class FeatureColumn {
  readonly counts: Uint32Array;
  readonly #records: readonly Uint8Array[];
  /** The number of the list's field; 0 where a record has none. */
  readonly #kinds: Uint8Array;
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;

  constructor(records: readonly Uint8Array[]) {
    const { length } = this.#records = records;
    this.counts = new Uint32Array(length);
    this.#kinds = new Uint8Array(length);
    this.#starts = new Float64Array(length);
    this.#ends = new Float64Array(length);
  }

  /** Records the place of a record's feature. Of several the last counts, as in any protocol buffer. */
  note(row: number, kind: number, place: { start: number; end: number; count: number }): void {
    this.#kinds[row] = kind;
    this.#starts[row] = place.start;
    this.#ends[row] = place.end;
    this.counts[row] = place.count;
  }

  /** Returns the kind of a record's values; null where it has none. */
  kindOf(row: number): Feature["kind"] | null {
    return KIND_OF[this.#kinds[row]];
  }

  /**
   * Writes the values of all records, whose kind is that of `to`: row after row, or each `stride` after the one before.
   */
  copyTo(to: HostData, stride?: number): void {
    const reader = new ExampleReader();
    const put = to instanceof Float32Array
      ? putFloats(reader, new Uint8Array(to.buffer))
      : to instanceof BigInt64Array
      ? putIntegers(reader, new Int32Array(to.buffer))
      : putTexts(reader, to as Uint8Array[]);
    let next = 0;
    for (let row = 0; row < this.counts.length; row++) {
      if (this.counts[row] === 0) continue;
      reader.bytes = this.#records[row];
      reader.at = this.#starts[row];
      let offset = stride === undefined ? next : row * stride;
      while (reader.next(this.#ends[row])) if (reader.number === 1) offset += put(offset);
      next += this.counts[row];
    }
  }
}

/** Writes the values of the reader's field at an offset; returns their number. */
type Put = (offset: number) => number;

function putTexts(reader: Reader, to: Uint8Array[]): Put {
  return (offset) => {
    to[offset] = reader.bytes.subarray(reader.from, reader.to);
    return 1;
  };
}

function putFloats(reader: Reader, to: Uint8Array): Put {
  return (offset) => {
    to.set(reader.bytes.subarray(reader.from, reader.to), 4 * offset);
    return (reader.to - reader.from) / 4;
  };
}

function putIntegers(reader: Reader, to: Int32Array): Put {
  return (offset) => {
    let k = 2 * offset;
    const put = (): void => {
      to[k++] = reader.low;
      to[k++] = reader.high;
    };
    if (reader.wire === VARINT) put();
    else {
      for (const last = reader.enter(); reader.at < last;) {
        reader.varint(last);
        put();
      }
    }
    return k / 2 - offset;
  };
}

/** Most keys that are compared by their bytes: among more a lookup by text is faster. */
const MOST_KNOWN = 64;

/**
 * Columns by the bytes of their keys. Records of one writer have their keys in one order, so the next is tried first.
 */
class Keys {
  readonly #columns: ReadonlyMap<string, FeatureColumn>;
  readonly #known: { readonly key: Uint8Array; readonly column: FeatureColumn | null }[] = [];
  #next = 0;

  constructor(columns: ReadonlyMap<string, FeatureColumn>) {
    this.#columns = columns;
  }

  /** Returns the column of a key; null where it is not requested. */
  find(bytes: Uint8Array, from: number, to: number): FeatureColumn | null {
    const known = this.#known, { length } = known;
    for (let n = 0, k = this.#next; n < length; n++, k++) {
      if (k >= length) k -= length;
      if (!sameBytes(known[k].key, bytes, from, to)) continue;
      this.#next = k + 1;
      return known[k].column;
    }
    const key = bytes.slice(from, to), column = this.#columns.get(decodeString(key)) ?? null;
    if (length < MOST_KNOWN) this.#next = known.push({ key, column });
    return column;
  }
}

function sameBytes(key: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (key.length !== to - from) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[from + i]) return false;
  return true;
}

/**
 * Reads features of many Examples by name. Throws `InvalidArgumentError` for invalid bytes, also in features that are
 * not requested.
 */
export function scanExamples(
  records: readonly Uint8Array[],
  names: readonly string[],
): Map<string, FeatureColumn> {
  const columns = new Map(names.map((name) => [name, new FeatureColumn(records)]));
  const keys = new Keys(columns), reader = new ExampleReader();
  records.forEach((bytes, row) => {
    reader.bytes = bytes;
    reader.at = 0;
    while (reader.next(bytes.length)) {
      if (reader.number !== 1) continue;
      const features = reader.enter();
      while (reader.next(features)) {
        if (reader.number === 1) scanEntry(reader, keys, row);
      }
    }
  });
  return columns;
}

function scanEntry(reader: Reader, keys: Keys, row: number): void {
  const end = reader.enter();
  let from = 0, to = 0, kind = 0;
  const place = { start: 0, end: 0, count: 0 };
  while (reader.next(end)) {
    if (reader.number === 1) {
      to = reader.enter();
      from = reader.at;
      reader.at = to;
    } else if (reader.number === 2) {
      const feature = reader.enter();
      kind = 0;
      while (reader.next(feature)) {
        const { number } = reader, list = reader.enter();
        if (number < 1 || number > 3) {
          reader.at = list;
          continue;
        }
        kind = number;
        place.start = reader.at;
        place.count = countValues(reader, kind, place.end = list);
      }
    }
  }
  if (kind > 0) keys.find(reader.bytes, from, to)?.note(row, kind, place);
}

const KINDS = { string: 1, float32: 2, int64: 3 } as const;

function writeFeature({ kind, values }: Feature): Uint8Array[] {
  // An empty list has a kind too; one of numbers has no field.
  const list = kind === "string"
    ? values.flatMap((text) => field(1, [text]))
    : values.length === 0
    ? []
    : kind === "float32"
    ? field(1, [new Uint8Array(values.slice().buffer)])
    : field(1, [Uint8Array.from(Array.from(values, varintBytes).flat())]);
  return field(KINDS[kind], list);
}

/** Encodes an Example of these features, in the order of their names; null for one without a list. */
export function writeExample(features: ReadonlyMap<string, Feature | null>): Uint8Array {
  const entries = [...features].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([key, feature]) =>
    field(1, [
      ...field(1, [encodeString(key)]),
      ...field(2, feature === null ? [] : writeFeature(feature)),
    ])
  );
  return concatBytes(field(1, entries));
}
