/**
 * Elements as lists of components, whatever lists of lists a pipeline made of them.
 */

/** The leaves of nested lists, in order. */
export function flat<T>(nest: unknown): T[] {
  return Array.isArray(nest) ? nest.flatMap((n) => flat<T>(n)) : [nest as T];
}

/** Values in the nested lists of another nest. */
export function packed(like: unknown, leaves: Iterable<unknown>): unknown {
  const next = leaves[Symbol.iterator]();
  const visit = (n: unknown): unknown => Array.isArray(n) ? n.map(visit) : next.next().value;
  return visit(like);
}
