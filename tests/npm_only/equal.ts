/**
 * Deep equality with the rules of `@std/assert`: NaN equals NaN, 0 equals -0, an object without a
 * prototype equals a plain one, and apart from that prototypes, own keys and symbols must agree.
 * (`node:assert` differs in the second and the third.)
 *
 * @module
 */

type Table = Record<PropertyKey, unknown>;

/** True for two deeply equal values. */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, new Map());
}

/** `seen` pairs objects whose comparison is under way, so that cycles end. */
function compare(a: unknown, b: unknown, seen: Map<object, object>): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (prototypeOf(a) !== prototypeOf(b)) return false;
  if (a instanceof Date && b instanceof Date) return compare(a.getTime(), b.getTime(), seen);
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (a instanceof WeakMap || a instanceof WeakSet || typeof a === "function") return false;
  if (a instanceof WeakRef) return compare(a.deref(), (b as WeakRef<object>).deref(), seen);
  if (isElements(a)) return sameElements(a, b as ArrayLike<unknown>);
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Error && a.message !== (b as Error).message) return false;
  if (a instanceof Set) return sameMembers([...a], [...(b as Set<unknown>)], seen);
  if (a instanceof Map) return sameMembers([...a], [...(b as Map<unknown, unknown>)], seen);
  return sameProperties(a, b, seen);
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/** Typed arrays, whose elements are many and primitive. */
function isElements(value: object): value is object & ArrayLike<unknown> {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i] && !(Number.isNaN(a[i]) && Number.isNaN(b[i]))) return false;
  }
  return true;
}

/** True if each member of `a` has one partner in `b`, in any order. */
function sameMembers(a: unknown[], b: unknown[], seen: Map<object, object>): boolean {
  if (a.length !== b.length) return false;
  const rest = [...b];
  return a.every((member) => {
    const i = rest.findIndex((candidate) => compare(member, candidate, new Map(seen)));
    return i >= 0 && rest.splice(i, 1).length === 1;
  });
}

function sameProperties(a: object, b: object, seen: Map<object, object>): boolean {
  const keys = ownKeys(a);
  return keys.length === ownKeys(b).length &&
    keys.every((key) => key in b && compare((a as Table)[key], (b as Table)[key], seen));
}

function ownKeys(value: object): PropertyKey[] {
  const isOwn = (key: PropertyKey) => Object.prototype.propertyIsEnumerable.call(value, key);
  return Reflect.ownKeys(value).filter(isOwn);
}
