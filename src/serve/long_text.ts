/**
 * Long strings and lists of requests in parts: no string is ever one piece of memory, whose pages cost more than the reading, and no list
 * that grows copies all its elements in one step.
 */
import { concatInSlices, type Slices } from "./slices.ts";

const utf8 = new TextDecoder();
/** Bytes that a message shows at most. */
const SHOWN = 100;

/** A string of many thousand characters, as its bytes in UTF-8. */
export class LongText {
  readonly #parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  /** Its bytes in UTF-8. */
  bytes(slices: Slices): Promise<Uint8Array<ArrayBuffer>> {
    return concatInSlices(this.#parts, slices);
  }

  /** The bytes that it tells in base64; null where it does not. */
  async fromBase64(slices: Slices): Promise<Uint8Array<ArrayBuffer> | null> {
    const decoded: Uint8Array[] = [];
    let rest = "", isOver = false;
    for (const part of [...this.#parts, null]) {
      const text = part === null ? rest : rest + utf8.decode(part).replace(/[\t\n\f\r ]/g, "");
      // Four characters are three bytes; what fills up the last four ends the text.
      const now = part === null ? text : text.slice(0, text.length - text.length % 4);
      rest = text.slice(now.length);
      if (isOver && now !== "") return null;
      isOver ||= now.includes("=");
      try {
        decoded.push(Uint8Array.from(atob(now), (c) => c.charCodeAt(0)));
      } catch {
        return null;
      }
      await slices.turn();
    }
    return await concatInSlices(decoded, slices);
  }

  /** The beginning, for messages. */
  toJSON(): string {
    return utf8.decode(this.#parts[0].subarray(0, SHOWN));
  }
}

/** Elements of a part. */
const PART = 1 << 13;
/** Elements of a list that a message shows at most. */
const LISTED = 100;

/** A list of values that grows without copies. */
export class LongList<T = unknown> {
  /** All full but the last. */
  readonly #parts: T[][] = [];
  #last: T[] = [];

  /** The list of an array of as many elements as a part has, which it takes over. */
  static of<T>(values: T[]): LongList<T> {
    const list = new LongList<T>();
    list.#last = values;
    return list;
  }

  get length(): number {
    return this.#parts.length * PART + this.#last.length;
  }

  /** Adds an element to the end. */
  push(value: T): void {
    if (this.#last.length === PART) {
      this.#parts.push(this.#last);
      this.#last = [];
    }
    this.#last.push(value);
  }

  /** Returns the element at a place that exists. */
  at(i: number): T {
    return (this.#parts[Math.floor(i / PART)] ?? this.#last)[i % PART];
  }

  /** The elements in one array. */
  toArray(): T[] {
    return ([] as T[]).concat(...this.#parts, this.#last);
  }

  /** The first elements, for messages. */
  toJSON(): readonly T[] {
    return (this.#parts[0] ?? this.#last).slice(0, LISTED);
  }
}

/** A list of any length. */
export type List = readonly unknown[] | LongList;

/** Returns true for a list of any length. */
export function isList(value: unknown): value is List {
  return Array.isArray(value) || value instanceof LongList;
}

/** Returns the list that goes on where `list` has become long. */
export function longer(list: unknown[] | LongList): unknown[] | LongList {
  return Array.isArray(list) && list.length === PART ? LongList.of(list) : list;
}
