/** A module whose exports run in workers; see worker_test.ts. */

interface Values {
  readonly data: ArrayLike<number>;
  map(fn: (v: number) => number): Values;
}

/** Twice its input. */
export function twice(x: Values): Values {
  return x.map((v) => 2 * v);
}

/** No function. */
export const three = 3;

/** The default. */
export default (x: Values): number => x.data.length;
