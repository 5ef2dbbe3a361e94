/** Collections: named lists of a graph's objects. */
import { showAs } from "../core/arrays/shown.ts";

/** Named lists. Follows TensorFlow `tf.GraphKeys`. */
export class Collections {
  readonly #lists = new Map<string, unknown[]>();

  /** Returns the list itself, made if missing. */
  list(name: string): unknown[] {
    let list = this.#lists.get(name);
    if (!list) this.#lists.set(name, list = []);
    return list;
  }
  /**
   * Returns a copy of a list, or of its members whose names match the regular expression `scope` from their beginning.
   */
  get(name: string, scope?: string): unknown[] {
    const all = this.#lists.get(name) ?? [];
    if (scope === undefined || scope === "") return [...all];
    const begins = new RegExp(`^(?:${scope})`);
    return all.filter((v) => {
      const own = (v as { readonly name?: unknown } | null)?.name;
      return typeof own === "string" && begins.test(own);
    });
  }
  /** Returns the names of the non-empty lists. */
  get names(): string[] {
    return [...this.#lists].filter(([, list]) => list.length > 0).map(([name]) => name);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const lists = [...this.#lists].filter(([, list]) => list.length > 0);
    return `<tf.Graph collections: ${
      lists.map(([name, { length }]) => `${name} ${length}`).join(", ")
    }>`;
  }
}
showAs(Collections);
