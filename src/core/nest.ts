/**
 * Nested structures: arrays and plain objects with leaves of one kind. Objects keep their own key order when packed,
 * and are flattened in sorted key order, as TensorFlow's nest does. And promises, which are leaves that nothing synchronous takes.
 * May import errors only.
 */
import { ValueError } from "./errors.ts";

/** A leaf, or an array or object of nests. */
export type Nest<T> = T | readonly Nest<T>[] | { readonly [key: string]: Nest<T> };

/** True for an object literal (not a class instance). */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const proto = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null;
}

/** True where the value is a container rather than a leaf. */
export function isNested(value: unknown): value is readonly unknown[] | Record<string, unknown> {
  return Array.isArray(value) || isPlainObject(value);
}

/** Leaves in order; object keys sorted. */
export function flatten<T>(nest: Nest<T>): T[] {
  const out: T[] = [];
  const visit = (n: unknown): void => {
    if (Array.isArray(n)) { for (const e of n) visit(e); }
    else if (isPlainObject(n)) { for (const k of Object.keys(n).sort()) visit(n[k]); }
    else out.push(n as T);
  };
  visit(nest);
  return out;
}

/** The structure of `like` with `leaves` put in, in the order `flatten` gives. */
export function packAs<T>(like: unknown, leaves: readonly T[]): Nest<T> {
  let i = 0;
  const build = (n: unknown): Nest<T> => {
    if (Array.isArray(n)) return n.map(build);
    if (isPlainObject(n)) {
      const built: Record<string, Nest<T>> = {};
      for (const k of Object.keys(n).sort()) built[k] = build(n[k]);
      const out: Record<string, Nest<T>> = {};
      for (const k of Object.keys(n)) out[k] = built[k];
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

/** Applies `fn` to each leaf, keeping the structure. */
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
