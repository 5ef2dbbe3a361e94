/** Elements as flat lists of components, for pipelines whose elements are nested lists. */

/** Returns the leaves of nested lists, in order. */
export function flat<T>(nest: unknown): T[] {
  return Array.isArray(nest) ? nest.flatMap((n) => flat<T>(n)) : [nest as T];
}

/** Packs leaves into the nesting of `like`. */
export function packed(like: unknown, leaves: Iterable<unknown>): unknown {
  const next = leaves[Symbol.iterator]();
  const visit = (n: unknown): unknown => Array.isArray(n) ? n.map(visit) : next.next().value;
  return visit(like);
}
