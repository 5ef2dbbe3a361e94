/** Nested lists: their shape and their elements. */
import { type DType, DTYPES, type HostData, isPlain, makeData, MOST_OBJECTS } from "../dtype.ts";
import type { NumberRule } from "./elements.ts";
import { TypeError } from "../throwing/builtin_errors.ts";
import { ResourceExhaustedError, ValueError } from "../errors.ts";
import { checkNesting } from "../nest.ts";
import { type Shape, shapeText, sizeOf } from "../shape.ts";

/** Returns the lengths of the first list, of its first list, and so on. */
export function shapeOfNested(value: unknown, dtype: DType | undefined): number[] {
  const shape: number[] = [];
  for (let v = value; Array.isArray(v) || ArrayBuffer.isView(v); v = (v as unknown[])[0]) {
    if (dtype === "string" && v instanceof Uint8Array) break;
    if (isBytesList(v)) {
      shape.push(v.length);
      break;
    }
    if (dtypeIsComplexLeaf(v, dtype)) break;
    shape.push((v as unknown[]).length);
    if ((v as unknown[]).length === 0) break;
    checkNesting(shape.length);
  }
  return shape;
}

/** True where numbers are put into an array of the dtype as they are. */
export function takesNumbers(dtype: DType): boolean {
  return isPlain(dtype) && DTYPES[dtype].kind !== "bool";
}

/** True where an array of the dtype must then hold the numbers as they were. */
export function mustHold(dtype: DType, rule: NumberRule): boolean {
  return rule !== "wrapped" && DTYPES[dtype].kind !== "float";
}

/**
 * Collects the elements of lists of numbers, at full speed; null where there are other values, or numbers that the rule
 * refuses, or the lists are ragged.
 */
export function nestedNumbers(
  value: unknown,
  shape: Shape,
  dtype: DType,
  rule: NumberRule,
): HostData | null {
  let first = value;
  for (let axis = 0; axis < shape.length; axis++) first = (first as unknown[])[0];
  if (typeof first !== "number" || !takesNumbers(dtype)) return null;
  const size = sizeOf(shape), data = makeData(dtype, size);
  const to = data as number[], holds = mustHold(dtype, rule), isInt32 = dtype === "int32";
  const copy = (list: unknown, axis: number, at: number, size: number): boolean => {
    const n = shape[axis];
    if (!Array.isArray(list) || list.length !== n) return false;
    if (axis === shape.length - 1) {
      for (let i = 0; i < n; i++) {
        const x = list[i];
        if (typeof x !== "number") return false;
        to[at + i] = x;
        // A typed array that is read back where it was written costs more than the loop.
        if (holds && (isInt32 ? x | 0 : to[at + i]) !== x) return false;
      }
      return true;
    }
    const below = n > 0 ? size / n : 0;
    for (let i = 0; i < n; i++) if (!copy(list[i], axis + 1, at + i * below, below)) return false;
    return true;
  };
  return copy(value, 0, 0, size) ? data : null;
}

function isBytesList(v: unknown): v is Uint8Array[] {
  return Array.isArray(v) && v[0] instanceof Uint8Array &&
    new Set(v.map((e) => (e as Uint8Array).length)).size > 1;
}

function dtypeIsComplexLeaf(v: unknown, dtype: DType | undefined): boolean {
  return dtype !== undefined && DTYPES[dtype].kind === "complex" && Array.isArray(v) &&
    v.length === 2 &&
    typeof v[0] === "number" && typeof v[1] === "number";
}

/** Collects the elements of a nested list in order. Throws `ValueError` where it is ragged. */
export function collect(
  value: unknown,
  shape: readonly number[],
  axis: number,
  out: unknown[],
  dtype?: DType,
): void {
  if (axis === shape.length) {
    if (Array.isArray(value) && !dtypeIsComplexLeaf(value, dtype)) {
      throw new ValueError(
        `Cannot convert a ragged nested array: element at depth ${axis} is an array of ${value.length}, wanted a value`,
      );
    }
    // Holes cost an array nothing and a list of leaves much.
    if (value === undefined) throw new TypeError("Cannot convert undefined to a tensor");
    out.push(value);
    return;
  }
  const list = value as ArrayLike<unknown>;
  if (!(Array.isArray(value) || ArrayBuffer.isView(value)) || list.length !== shape[axis]) {
    throw new ValueError(
      `Cannot convert a ragged nested array: an element at depth ${axis} has ${
        Array.isArray(value) || ArrayBuffer.isView(value) ? `length ${list.length}` : "no length"
      }, wanted ${shape[axis]} entries as its siblings have`,
    );
  }
  for (let i = 0; i < list.length; i++) collect(list[i], shape, axis + 1, out, dtype);
}

/**
 * Throws for too many elements: a list that contains the same lists again and again takes little memory until it is
 * flattened.
 */
export function checkLeaves(shape: Shape): void {
  // Without elements the lists that hold the empty ones still count.
  const nothing = shape.indexOf(0), count = sizeOf(nothing < 0 ? shape : shape.slice(0, nothing));
  if (shape.length < 2 || count <= MOST_OBJECTS) return;
  throw new ResourceExhaustedError(
    `Cannot convert a nested array of shape ${
      shapeText(shape)
    }: it would have ${count} values, at most ${MOST_OBJECTS} are possible`,
  );
}
