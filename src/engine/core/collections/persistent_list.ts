/** PersistentList: an immutable list whose changed copies take time independent of its length. */

/** The elements themselves, or the difference of an older list to a newer one. */
type State<T> =
  | { readonly items: (T | undefined)[] }
  | {
    readonly newer: PersistentList<T>;
    readonly at: number;
    readonly before: T | undefined;
    readonly length: number;
  };

/**
 * An immutable list. Reading and changing the newest version is fast; an older one that is used becomes the fast one.
 */
export class PersistentList<T> {
  #state: State<T>;

  /** Takes over `items`. */
  constructor(items: (T | undefined)[]) {
    this.#state = { items };
  }

  get length(): number {
    return this.items.length;
  }
  /** The elements, for immediate reading. */
  get items(): readonly (T | undefined)[] {
    return this.#own();
  }

  /** Returns the list with another element `at`. An index beyond the end makes it longer, with holes. */
  with(at: number, value: T): PersistentList<T> {
    const items = this.#own(), { length } = items;
    resize(items, Math.max(length, at + 1));
    const newer = new PersistentList(items), before = items[at];
    items[at] = value;
    this.#state = { newer, at, before, length };
    return newer;
  }

  /** Moves the elements to this version, and turns the versions on the way into differences. */
  #own(): (T | undefined)[] {
    return "items" in this.#state ? this.#state.items : PersistentList.#moved(this);
  }

  static #moved<T>(newest: PersistentList<T>): (T | undefined)[] {
    const path: PersistentList<T>[] = [];
    while ("newer" in newest.#state) {
      path.push(newest);
      newest = newest.#state.newer;
    }
    const { items } = newest.#state as Extract<State<T>, { items: unknown }>;
    for (const list of path.reverse()) {
      // The versions on the way now name their successor as the newer one.
      const { newer, at, before, length } = list.#state as Exclude<State<T>, { items: unknown }>;
      newer.#state = { newer: list, at, before: items[at], length: items.length };
      items[at] = before;
      resize(items, length);
      list.#state = { items };
    }
    return items;
  }
}

function resize<T>(items: (T | undefined)[], length: number): void {
  while (items.length < length) items.push(undefined);
  items.length = length;
}
