/** `x[i]`: elements and rows of host arrays by their index along the first axis. */
import { DTYPES, INTEGER_ENDS } from "../dtype.ts";
import { ValueError } from "../errors.ts";
import type { NdArray } from "../nd_array.ts";
import { shapeText, sizeOf } from "../shape.ts";
import { fillLeaves, outOfRange } from "./elements.ts";
import { collect, shapeOfNested, takesNumbers } from "./nested.ts";

/** Accessors of a class whose instances are indexed. */
export interface Indexing<A extends object> {
  /** True for an instance. */
  readonly owns: (value: unknown) => value is A;
  readonly read: (array: A, i: number) => unknown;
  readonly write: (array: A, i: number, value: unknown) => void;
}

/**
 * Makes the prototype for the prototype of an indexed class. Engines consult it only for names that neither the
 * instance nor its class has, so fields and methods cost the same as without it. As the trap of `in` is not told the
 * instance, every non-negative integer counts as present.
 */
export function indexPrototype<A extends object>({ owns, read, write }: Indexing<A>): object {
  return new Proxy({}, {
    get(target, key, receiver) {
      const i = placeOf(key);
      return i !== null && owns(receiver) ? read(receiver, i) : Reflect.get(target, key, receiver);
    },
    set(target, key, value, receiver) {
      const i = placeOf(key);
      if (i === null || !owns(receiver)) return Reflect.set(target, key, value, receiver);
      write(receiver, i, value);
      return true;
    },
    has(target, key) {
      const i = placeOf(key);
      return i === null ? Reflect.has(target, key) : Number.isInteger(i) && i >= 0;
    },
  });
}

/** Parses an index; null for any other name. */
function placeOf(key: string | symbol): number | null {
  if (typeof key === "symbol") return null;
  const i = Number(key);
  return String(i) === key ? i : null;
}

/** Throws `ValueError` for an index outside of the first axis. */
export function checkPlace({ shape }: NdArray, i: number): void {
  const [n] = shape;
  if (Number.isInteger(i) && i >= 0 && i < n) return;
  const why = n === undefined
    ? "it has no axis, take its item()"
    : !Number.isInteger(i)
    ? "indices are integers"
    : i >= 0
    ? `its first axis has ${n} places`
    : shape.length === 1
    ? `take at(${i}) to count from the end`
    : `take [x.length - ${-i}] to count from the end`;
  throw new ValueError(`Cannot index an NdArray of shape ${shapeText(shape)} with ${i}: ${why}`);
}

/** Makes a list of a part of another, whose elements stay the same: a view, as `subarray` is of a typed array. */
export function liveList<T>(list: T[], from: number, length: number): T[] {
  const part = new Array<T>(length);
  for (let i = 0; i < length; i++) {
    Object.defineProperty(part, i, {
      enumerable: true,
      configurable: true,
      get: () => list[from + i],
      set: (value: T) => list[from + i] = value,
    });
  }
  return part;
}

/**
 * Writes element or row `i` of an array whose elements begin at `from`, from a value whose shape is that of its last
 * axes. As in NumPy, integers cut fractions off. Throws `ValueError` for another shape and for what an integer dtype does not hold,
 * `TypeError` for a value that is no element of the dtype.
 */
export function assignAt(
  { data, dtype, shape }: Pick<NdArray, "data" | "dtype" | "shape">,
  { i, from }: { readonly i: number; readonly from: number },
  value: unknown,
): void {
  const to = data as unknown[];
  if (shape.length === 1 && typeof value === "number" && takesNumbers(dtype)) {
    const ends = INTEGER_ENDS[dtype], stored = ends === undefined ? value : Math.trunc(value);
    if (ends !== undefined && !(stored >= ends[0] && stored <= ends[1])) {
      throw outOfRange(value, dtype);
    }
    to[from + i] = stored;
    return;
  }
  const row = shape.slice(1), given = shapeOfNested(value, dtype);
  const fits = given.length <= row.length &&
    given.every((n, axis) => n === row[row.length - given.length + axis]);
  if (!fits) {
    throw new ValueError(
      `Cannot assign a value of shape ${shapeText(given)} to [${i}] of an NdArray of shape ${
        shapeText(shape)
      }: wanted shape ${shapeText(row)}, or that of its last axes`,
    );
  }
  const leaves: unknown[] = [], size = sizeOf(row) * DTYPES[dtype].slots;
  collect(value, given, 0, leaves, dtype);
  const stored = fillLeaves(leaves, dtype, "cut");
  for (let k = 0; k < size; k++) to[from + i * size + k] = stored[k % stored.length];
}
