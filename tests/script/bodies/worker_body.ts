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

let kept: Float32Array | undefined;

/** Gives the same array each time. */
export function keepsItsResult(): Float32Array {
  return kept ??= new Float32Array(5000);
}

let calls = 0;

/** Counts its calls in this worker. */
export function countCalls(): number {
  return ++calls;
}

/** Imports another module. */
export { join } from "./worker_helper.ts";
