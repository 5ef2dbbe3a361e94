/**
 * Nested structures: arrays and plain objects with leaves of one kind. Objects keep their own key order when packed,
 * and are flattened in sorted key order, as TensorFlow's nest does. And promises, which are leaves that nothing synchronous takes.
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

/** Gives a record a key of its own, whatever it is called: assigning to `__proto__` would give it another prototype. */
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

/** Deepest structure that is walked: Python's limit of recursion, at which TensorFlow's nest gives up as well. */
const MAX_DEPTH = 1000;

/** Throws `ValueError` at a depth that only a structure that contains itself has. */
export function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) {
    throw new ValueError(
      `Cannot walk a structure: it is nested deeper than ${MAX_DEPTH} levels, or contains itself`,
    );
  }
}

/** Most lists and objects in a structure, and most leaves: more come only of few that are in it again and again. */
const MOST_PARTS = 1 << 20;

/** A walk through a structure, level by level. What is shared is walked as often as it is met, which must have an end. */
export class NestWalk {
  #parts = 0;

  /**
   * Goes into a list or an object, after so many leaves. Throws `ValueError` at a depth that only a structure that contains itself has,
   * and where there are more parts than a structure may have.
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

/** The first value in nested lists; an empty list where the first are empty. Throws `ValueError` for a list that contains itself. */
export function firstLeaf(value: unknown): unknown {
  let leaf = value;
  for (let depth = 0; Array.isArray(leaf) && leaf.length > 0; depth++) {
    checkNesting(depth);
    leaf = leaf[0];
  }
  return leaf;
}

/** What `fn` makes of each element. A hole is undefined, where `map` would leave it one. */
export function mapDense<T, U>(list: readonly T[], fn: (element: T) => U): U[] {
  const out: U[] = [];
  for (let i = 0; i < list.length; i++) out.push(fn(list[i]));
  return out;
}

/** Leaves in order; object keys sorted. Throws `ValueError` for a structure that contains itself, or the same lists without end. */
export function flatten<T>(nest: Nest<T>): T[] {
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

/** The structure of `like` with `leaves` put in, in the order `flatten` gives. */
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

/** Keys that could be read as something else are quoted. */
function keyText(key: string): string {
  return /^\w+$/.test(key) ? key : JSON.stringify(key);
}

/** A text that is equal for equal structures, e.g. `[.,{a:.}]`. */
export function structureText(nest: unknown): string {
  if (Array.isArray(nest)) return `[${nest.map(structureText).join(",")}]`;
  if (isPlainObject(nest)) {
    const entries = Object.keys(nest).sort().map((k) => `${keyText(k)}:${structureText(nest[k])}`);
    return `{${entries.join(",")}}`;
  }
  return ".";
}

/** Whether a value is a promise, of whatever make. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === "object" || typeof value === "function") && value !== null &&
    typeof (value as { then?: unknown }).then === "function";
}

/**
 * Throws `TypeError` where a function returned a promise. Nobody will look at that one any more, so what it may be rejected with
 * must not end the process: the caller hears of the mistake that came first.
 */
export function refusePromise(value: unknown, why: () => string): void {
  if (!isPromise(value)) return;
  value.then(undefined, () => {});
  throw new TypeError(why());
}

/** What `fn` makes of a value: now where it is there, else when it comes. */
export function whenReady<T, R>(
  value: T | Promise<T>,
  fn: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}

/** What `work` gives. `end` follows when it is done, also where it fails. */
export function ending<T>(work: () => T | Promise<T>, end: () => void): T | Promise<T> {
  let result: T | Promise<T> | undefined;
  try {
    result = work();
    return result instanceof Promise ? result.finally(end) : result;
  } finally {
    if (!(result instanceof Promise)) end();
  }
}
