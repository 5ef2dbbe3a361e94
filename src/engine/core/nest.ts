/**
 * Nested structures: arrays and plain objects with leaves of one kind. Objects keep their own key order when packed,
 * and are flattened in sorted key order, as TensorFlow's nest does. Promises are leaves that synchronous functions
 * refuse.
 */
import { TypeError } from "./throwing/builtin_errors.ts";
import { ValueError } from "./errors.ts";
import { MAX_RANK } from "./shape.ts";

/** A leaf, or an array or object of nests. */
export type Nest<T> = T | readonly Nest<T>[] | { readonly [key: string]: Nest<T> };

/** True for an object literal (not a class instance). */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const proto = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null;
}

/** Sets an own property of a record, whatever its name: assigning to `__proto__` would change the prototype. */
export function setKey<T>(record: Record<string, T>, key: string, value: T): void {
  if (key !== "__proto__") record[key] = value;
  else {
    Object.defineProperty(record, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}

/** True where the value is a container rather than a leaf. */
export function isNested(value: unknown): value is readonly unknown[] | Record<string, unknown> {
  return Array.isArray(value) || isPlainObject(value);
}

/** Deepest structure that is walked: Python's limit of recursion, at which TensorFlow's nest fails as well. */
const MAX_DEPTH = 1000;

/** Throws `ValueError` at a depth that only a structure that contains itself has. */
export function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) {
    throw new ValueError(
      `Cannot walk a structure: it is nested deeper than ${MAX_DEPTH} levels, or contains itself`,
    );
  }
}

/** Most lists and objects in a structure, and most leaves: more come only from repeated references. */
const MOST_PARTS = 1 << 20;

/**
 * A walk through a structure, level by level. Shared parts are walked at each reference, so their number is limited.
 */
export class NestWalk {
  #parts = 0;

  /**
   * Enters a list or an object, after so many leaves. Throws `ValueError` at a depth that only a structure that
   * contains itself has, and for too many parts.
   */
  enter(depth: number, leaves: number): void {
    checkDepth(depth);
    if (++this.#parts <= MOST_PARTS && leaves <= MOST_PARTS) return;
    throw new ValueError(
      `Cannot walk a structure: it has more than ${MOST_PARTS} parts, as it contains the same lists very often`,
    );
  }
}

/** Throws `ValueError` where lists are nested deeper than a tensor has dimensions. */
export function checkNesting(depth: number): void {
  if (depth <= MAX_RANK) return;
  throw new ValueError(
    `Cannot convert a nested array: it is nested deeper than the ${MAX_RANK} dimensions of a tensor, or contains itself`,
  );
}

/**
 * Returns the first value in nested lists; an empty list where the first are empty. Throws `ValueError` for a list that
 * contains itself.
 */
export function firstLeaf(value: unknown): unknown {
  let leaf = value;
  for (let depth = 0; Array.isArray(leaf) && leaf.length > 0; depth++) {
    checkNesting(depth);
    leaf = leaf[0];
  }
  return leaf;
}

/** Maps each element. A hole counts as undefined, where `map` would leave it a hole. */
export function mapDense<T, U>(list: readonly T[], fn: (element: T) => U): U[] {
  const out: U[] = [];
  for (let i = 0; i < list.length; i++) out.push(fn(list[i]));
  return out;
}

/**
 * Returns the leaves in order; object keys sorted. Throws `ValueError` for a structure that contains itself, or the
 * same lists without end.
 */
export function flatten<T>(nest: Nest<T>): T[] {
  if (!Array.isArray(nest) && !isPlainObject(nest)) return [nest as T];
  const out: T[] = [], walk = new NestWalk();
  const visit = (n: unknown, depth: number): void => {
    if (Array.isArray(n)) {
      walk.enter(depth, out.length);
      for (const e of n) visit(e, depth + 1);
    } else if (isPlainObject(n)) {
      walk.enter(depth, out.length);
      for (const k of Object.keys(n).sort()) visit(n[k], depth + 1);
    } else out.push(n as T);
  };
  visit(nest, 0);
  return out;
}

/** Packs `leaves` into the structure of `like`, in the order of `flatten`. */
export function packAs<T>(like: unknown, leaves: readonly T[]): Nest<T> {
  let i = 0;
  const build = (n: unknown): Nest<T> => {
    if (Array.isArray(n)) return n.map(build);
    if (isPlainObject(n)) {
      const built: Record<string, Nest<T>> = {};
      for (const k of Object.keys(n).sort()) setKey(built, k, build(n[k]));
      const out: Record<string, Nest<T>> = {};
      for (const k of Object.keys(n)) setKey(out, k, built[k]);
      return out;
    }
    return leaves[i++];
  };
  const packed = build(like);
  if (i !== leaves.length) {
    throw new ValueError(`Cannot pack ${leaves.length} values into a structure of ${i} leaves`);
  }
  return packed;
}

export function mapNest<T, U>(fn: (leaf: T) => U, nest: Nest<T>): Nest<U> {
  return packAs(nest, flatten(nest).map(fn));
}

/** Quotes ambiguous keys. */
function keyText(key: string): string {
  return /^\w+$/.test(key) ? key : JSON.stringify(key);
}

/** Returns a text that is equal for equal structures, e.g. `[.,{a:.}]`. */
export function structureText(nest: unknown): string {
  if (Array.isArray(nest)) return `[${nest.map(structureText).join(",")}]`;
  if (isPlainObject(nest)) {
    const entries = Object.keys(nest).sort().map((k) => `${keyText(k)}:${structureText(nest[k])}`);
    return `{${entries.join(",")}}`;
  }
  return ".";
}

/** True for any promise or thenable. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === "object" || typeof value === "function") && value !== null &&
    typeof (value as { then?: unknown }).then === "function";
}

/**
 * Throws `TypeError` where a function returned a promise. That promise has no other reader, so its rejection must not
 * end the process: the caller gets this error instead.
 */
export function refusePromise(value: unknown, why: () => string): void {
  if (!isPromise(value)) return;
  value.then(undefined, () => {});
  throw new TypeError(why());
}

/** Applies `fn` to a value: now where it is there, else when it resolves. */
export function whenReady<T, R>(
  value: T | Promise<T>,
  fn: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}

/** Returns the result of `work`. `end` is called when it is done, also where it fails. */
export function ending<T>(work: () => T | Promise<T>, end: () => void): T | Promise<T> {
  let result: T | Promise<T> | undefined;
  try {
    result = work();
    return result instanceof Promise ? result.finally(end) : result;
  } finally {
    if (!(result instanceof Promise)) end();
  }
}
