/** `tf.util`: shuffling, small arithmetic, and comparing and flattening arrays. */
import type { FlatVector, RecursiveArray } from "../types.ts";
import { assert } from "./checks.ts";
import { isPromise, isTypedArray } from "./values.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** A list whose elements can be moved. */
export type Shuffled = unknown[] | Uint32Array | Int32Array | Float32Array;

/**
 * Shuffles the elements (Fisher and Yates).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const values = [1, 2, 3];
 * tf.util.shuffle(values);
 * console.log(values.sort()); // [1, 2, 3]
 * ```
 */
export function shuffle(array: Shuffled): void {
  shuffleTogether([array]);
}

/**
 * Shuffles both arrays in the same order. Throws where the lengths differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const keys = [1, 2], names = ["a", "b"];
 * tf.util.shuffleCombo(keys, names);
 * console.log(names[keys.indexOf(2)]); // b
 * ```
 */
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

/**
 * Swaps two elements.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const values = ["a", "b"];
 * tf.util.swap(values, 0, 1);
 * console.log(values); // ["b", "a"]
 * ```
 */
export function swap<T>(object: { [index: number]: T }, left: number, right: number): void {
  const kept = object[left];
  object[left] = object[right];
  object[right] = kept;
}

/**
 * Returns the numbers 0 … n - 1 in a random order.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.createShuffledIndices(3).sort()); // Uint32Array(3) [0, 1, 2]
 * ```
 */
export function createShuffledIndices(n: number): Uint32Array {
  const indices = Uint32Array.from({ length: n }, (_, i) => i);
  shuffle(indices);
  return indices;
}

/**
 * Limits `x` to a range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.clamp(0, 7, 5)); // 5
 * ```
 */
export function clamp(min: number, x: number, max: number): number {
  return Math.max(min, Math.min(x, max));
}

/**
 * Returns the number itself where it is even, else the next one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.nearestLargerEven(3)); // 4
 * ```
 */
export function nearestLargerEven(val: number): number {
  return val + val % 2;
}

/**
 * Returns the smallest divisor of `size` that is not below `start`; `size` where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.nearestDivisor(12, 5)); // 6
 * ```
 */
export function nearestDivisor(size: number, start: number): number {
  let divisor = start;
  while (divisor < size && size % divisor !== 0) divisor++;
  return Math.min(divisor, size);
}

/**
 * The sum.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.sum([1, 2, 3])); // 6
 * ```
 */
export function sum(arr: readonly number[]): number {
  return arr.reduce((a, b) => a + b, 0);
}

/**
 * Draws a number from `a` up to `b`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const x = tf.util.randUniform(2, 3);
 * console.log(x >= 2 && x <= 3); // true
 * ```
 */
export function randUniform(a: number, b: number): number {
  return a + (b - a) * Math.random();
}

/**
 * Returns the squared distance of two points.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.distSquared([0, 0], [3, 4])); // 25
 * ```
 */
export function distSquared(a: FlatVector, b: FlatVector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (Number(a[i]) - Number(b[i])) ** 2;
  return sum;
}

/**
 * The hyperbolic tangent.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.tanh(0)); // 0
 * ```
 */
export function tanh(x: number): number {
  return Math.tanh(x);
}

/**
 * True where two arrays hold the same values; null equals null alone.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.arraysEqual([1, 2], [1, 2])); // true
 * ```
 */
export function arraysEqual(
  n1: ArrayLike<unknown> | null | undefined,
  n2: ArrayLike<unknown> | null | undefined,
): boolean {
  return sameLists(n1, n2, (a, b) => a === b);
}

/**
 * True where two lists of dimensions agree wherever both are known.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.arraysEqualWithNull([1, 2], [1, 3])); // false
 * ```
 */
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

/**
 * Pads a text with spaces at the right to `size` characters.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.rightPad("ab", 4).length); // 4
 * ```
 */
export function rightPad(a: string, size: number): string {
  return a.padEnd(size);
}

/**
 * Flattens a nest to one list; typed arrays count as nests unless `skipTypedArray`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.flatten([[1, 2], [3]])); // [1, 2, 3]
 * ```
 */
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

/**
 * Converts indices to a flat index.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.locToIndex([1, 2], 2, [3])); // 5
 * ```
 */
export function locToIndex(locs: number[], rank: number, strides: number[]): number {
  if (rank === 0) return 0;
  return locs.reduce((index, loc, axis) => index + loc * (strides[axis] ?? 1), 0);
}

/**
 * Converts a flat index to indices.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.indexToLoc(5, 2, [3])); // [1, 2]
 * ```
 */
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
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.parseAxisParam(-1, [2, 3])); // [1]
 * ```
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
