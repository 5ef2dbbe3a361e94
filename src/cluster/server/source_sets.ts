/** Interned sets of the sources that decide whether nodes of a partition run. */

/** Sets of sources as small numbers: 0 is the empty one. */
export class SourceSets {
  readonly #known = new Map<string, number>([["", 0]]);
  readonly #members: (readonly number[])[] = [[]];
  readonly #ids = new Map<string, number>();
  readonly #unions = new Map<string, number>();

  of(name: string): number {
    let id = this.#ids.get(name);
    if (id === undefined) this.#ids.set(name, id = this.#ids.size);
    return this.#add([id]);
  }

  /** The set of all that is in either. */
  union(a: number, b: number): number {
    if (a === b || b === 0) return a;
    if (a === 0) return b;
    const key = `${Math.min(a, b)},${Math.max(a, b)}`;
    let set = this.#unions.get(key);
    if (set === undefined) {
      const all = [...new Set([...this.#members[a], ...this.#members[b]])].sort((x, y) => x - y);
      this.#unions.set(key, set = this.#add(all));
    }
    return set;
  }

  #add(members: readonly number[]): number {
    const key = members.join();
    let set = this.#known.get(key);
    if (set === undefined) {
      this.#known.set(key, set = this.#members.length);
      this.#members.push(members);
    }
    return set;
  }
}
