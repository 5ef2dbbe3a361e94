/**
 * Caches: a bounded map of recently used entries whose lookups are cheap, and values that are kept as long as an object
 * lives.
 */

/** Caches the results of `make` for each object. */
export function remembered<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, V>();
  return (of) => {
    let value = known.get(of);
    if (value === undefined) known.set(of, value = make(of));
    return value;
  };
}

/** A map of at most `limit` entries. Entries that are not read while half as many others are set are dropped. */
export class RecentMap<K, V> {
  readonly #half: number;
  readonly #forget: ((value: V) => void) | undefined;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** `forget` frees a dropped entry's value. */
  constructor(limit: number, forget?: (value: V) => void) {
    this.#half = limit / 2;
    this.#forget = forget;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns an entry and marks it as recently used. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) {
      this.#old.delete(key);
      this.#add(key, old);
    }
    return old;
  }

  /** Sets or replaces an entry. */
  set(key: K, value: V): void {
    const before = this.#young.get(key) ?? this.#old.get(key);
    this.#old.delete(key);
    if (before !== undefined && before !== value) this.#forget?.(before);
    this.#add(key, value);
  }

  #add(key: K, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      const leaving = this.#old;
      this.#old = this.#young;
      this.#young = new Map();
      if (this.#forget) { for (const v of leaving.values()) this.#forget(v); }
    }
    this.#young.set(key, value);
  }

  clear(): void {
    const leaving = [...this.#old.values(), ...this.#young.values()];
    this.#old.clear();
    this.#young.clear();
    if (this.#forget) { for (const v of leaving) this.#forget(v); }
  }
}
