/**
 * Collections: lists of what belongs to a graph, by name.
 */

/** Named lists. Follows TensorFlow `tf.GraphKeys`. */
export class Collections {
  readonly #lists = new Map<string, unknown[]>();

  /** The list itself, made where there is none yet. */
  list(name: string): unknown[] {
    let list = this.#lists.get(name);
    if (!list) this.#lists.set(name, list = []);
    return list;
  }
  /** A copy of a list, or of its members whose names begin with what the regular expression `scope` says. */
  get(name: string, scope?: string): unknown[] {
    const all = this.#lists.get(name) ?? [];
    if (scope === undefined || scope === "") return [...all];
    const begins = new RegExp(`^(?:${scope})`);
    return all.filter((v) => {
      const own = (v as { readonly name?: unknown } | null)?.name;
      return typeof own === "string" && begins.test(own);
    });
  }
  /** Names of the lists that are not empty. */
  get names(): string[] {
    return [...this.#lists].filter(([, list]) => list.length > 0).map(([name]) => name);
  }
}
