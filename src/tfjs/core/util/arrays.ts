/** `tf.util`: shuffling, small arithmetic, and comparing and flattening arrays. */
import type { FlatVector, RecursiveArray } from "../types.ts";
import { assert } from "./checks.ts";
import { isPromise, isTypedArray } from "./values.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** A list whose elements can be moved. */
export type Shuffled = unknown[] | Uint32Array | Int32Array | Float32Array;

/** Shuffles the elements (Fisher and Yates). */
export function shuffle(array: Shuffled): void {
  shuffleTogether([array]);
}

/** Shuffles both arrays in the same order. Throws where the lengths differ. */
export function shuffleCombo(array: Shuffled, array2: Shuffled): void {
  if (array.length !== array2.length) {
    throw new Error(
      `Cannot shuffle together: array sizes must match, they are ${array.length} and ${array2.length}`,
    );
  }
  shuffleTogether([array, array2]);
}

function shuffleTogether(arrays: readonly Shuffled[]): void {
  // The first element stays in place, but a number is drawn for it: programs that seed Math.random() get
  // TensorFlow.js's next numbers too.
  for (let last = arrays[0].length - 1; last >= 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    for (const array of arrays) swap(array as unknown[], last, other);
  }
}

/** Swaps two elements. */
export function swap<T>(object: { [index: number]: T }, left: number, right: number): void {
  const kept = object[left];
  object[left] = object[right];
  object[right] = kept;
}

/** Returns the numbers 0 … n - 1 in a random order. */
export function createShuffledIndices(n: number): Uint32Array {
  const indices = Uint32Array.from({ length: n }, (_, i) => i);
  shuffle(indices);
  return indices;
}

/** Limits `x` to a range. */
export function clamp(min: number, x: number, max: number): number {
  return Math.max(min, Math.min(x, max));
}

/** Returns the number itself where it is even, else the next one. */
export function nearestLargerEven(val: number): number {
  return val + val % 2;
}

/** Returns the smallest divisor of `size` that is not below `start`; `size` where there is none. */
export function nearestDivisor(size: number, start: number): number {
  let divisor = start;
  while (divisor < size && size % divisor !== 0) divisor++;
  return Math.min(divisor, size);
}

/** The sum. */
export function sum(arr: readonly number[]): number {
  return arr.reduce((a, b) => a + b, 0);
}

/** Draws a number from `a` up to `b`. */
export function randUniform(a: number, b: number): number {
  return a + (b - a) * Math.random();
}

/** Returns the squared distance of two points. */
export function distSquared(a: FlatVector, b: FlatVector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (Number(a[i]) - Number(b[i])) ** 2;
  return sum;
}

/** The hyperbolic tangent. */
export function tanh(x: number): number {
  return Math.tanh(x);
}

/** True where two arrays hold the same values; null equals null alone. */
export function arraysEqual(
  n1: ArrayLike<unknown> | null | undefined,
  n2: ArrayLike<unknown> | null | undefined,
): boolean {
  return sameLists(n1, n2, (a, b) => a === b);
}

/** True where two lists of dimensions agree wherever both are known. */
export function arraysEqualWithNull(
  n1: ArrayLike<number | null> | null | undefined,
  n2: ArrayLike<number | null> | null | undefined,
): boolean {
  return sameLists(n1, n2, (a, b) => a === null || b === null || a === b);
}

function sameLists<T>(
  a: ArrayLike<T> | null | undefined,
  b: ArrayLike<T> | null | undefined,
  same: (a: T, b: T) => boolean,
): boolean {
  if (a === b) return true;
  if (!a || !b || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!same(a[i], b[i])) return false;
  return true;
}

/** Pads a text with spaces at the right to `size` characters. */
export function rightPad(a: string, size: number): string {
  return a.padEnd(size);
}

/** Flattens a nest to one list; typed arrays count as nests unless `skipTypedArray`. */
export function flatten<T>(
  arr: T | RecursiveArray<T>,
  result: T[] = [],
  skipTypedArray = false,
): T[] {
  if (Array.isArray(arr)) { for (const part of arr) flatten(part as T, result, skipTypedArray); }
  else if (!isNestLike(arr) || skipTypedArray && isTypedArray(arr)) result.push(arr as T);
  else {
    // A typed array, or its JSON: { "0": …, "1": … }.
    for (const index of indicesOf(arr)) {
      flatten((arr as unknown as T[])[index], result, skipTypedArray);
    }
  }
  return result;
}

function isNestLike(value: unknown): value is object {
  if (typeof value !== "object" || value === null || isPromise(value)) return false;
  return ArrayBuffer.isView(value) || indicesOf(value).length > 0;
}

/** Returns the keys that are indices, in order. */
function indicesOf(value: object): number[] {
  const keys = Object.keys(value).filter((key) => /^\d+$/.test(key));
  return keys.map(Number).sort((a, b) => a - b);
}

/**
 * Calls `checkFn`, after delays that `delayFn` gives for the number of the attempt, until it returns true. Rejects
 * after `maxCounter` attempts.
 */
export function repeatedTry(
  checkFn: () => boolean,
  delayFn: (counter: number) => number = () => 0,
  maxCounter?: number | null,
  scheduleFn: (functionRef: () => void, delay: number) => void = (f, ms) => setTimeout(f, ms),
): Promise<void> {
  return new Promise((resolve, reject) => {
    let attempts = 0;
    const attempt = () => {
      if (checkFn()) return resolve();
      attempts++;
      if (typeof maxCounter === "number" && attempts >= maxCounter) return reject();
      scheduleFn(attempt, delayFn(attempts));
    };
    attempt();
  });
}

/** Converts indices to a flat index. */
export function locToIndex(locs: number[], rank: number, strides: number[]): number {
  if (rank === 0) return 0;
  return locs.reduce((index, loc, axis) => index + loc * (strides[axis] ?? 1), 0);
}

/** Converts a flat index to indices. */
export function indexToLoc(index: number, rank: number, strides: number[]): number[] {
  const locs: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const stride = strides[axis] ?? 1;
    locs.push(Math.floor(index / stride));
    index %= stride;
  }
  return locs;
}

/**
 * Normalizes axes to a list without negative ones; all axes where none is given. Throws where one is out of range or no
 * integer.
 */
export function parseAxisParam(
  axis: number | readonly number[] | null | undefined,
  shape: readonly number[],
): number[] {
  const rank = shape.length;
  const axes = axis === null || axis === undefined ? shape.map((_, i) => i) : [axis].flat();
  const list = () => axes.join(",");
  assert(
    axes.every((a) => a >= -rank && a < rank),
    () => `Cannot use axis ${list()}: wanted axes from ${-rank} to ${rank - 1}`,
  );
  assert(
    axes.every((a) => Number.isInteger(a)),
    () => `Cannot use axis ${list()}: wanted integers`,
  );
  return axes.map((a) => a < 0 ? a + rank : a);
}
