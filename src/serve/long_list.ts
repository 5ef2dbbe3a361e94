/** Long lists of requests in parts: an array of millions that grows copies all its elements in one step, again and again. */

/** Elements of a part. */
const PART = 1 << 13;
/** Elements that a message shows at most. */
const SHOWN = 100;

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
    return (this.#parts[0] ?? this.#last).slice(0, SHOWN);
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
