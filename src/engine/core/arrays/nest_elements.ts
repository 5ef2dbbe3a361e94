/**
 * Elements of host arrays as nested JavaScript arrays.
 */
import { type DType, type HostData, MOST_OBJECTS } from "../dtype.ts";
import { ResourceExhaustedError } from "../errors.ts";
import type { Nested } from "../nd_array.ts";
import { type Shape, shapeText, sizeOf } from "../shape.ts";
import { elementAt } from "./elements.ts";

/** Elements, which may be a part of an array. */
export interface Elements {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: HostData;
}

/** Nests elements from a flat index on; returns a plain element for rank 0. */
export function nestElements(a: Elements, from = 0): Nested {
  const { shape } = a;
  if (shape.length === 0) return elementAt(a, from);
  const size = sizeOf(shape);
  if (size === 0) checkLists(shape);
  return nest(a, 0, from, size);
}

/**
 * An array without elements may still be very many lists. Throws `ResourceExhaustedError` where an engine would end the
 * process.
 */
function checkLists(shape: Shape): void {
  const lists = sizeOf(shape.slice(0, shape.indexOf(0)));
  if (lists > MOST_OBJECTS) {
    throw new ResourceExhaustedError(
      `Cannot make nested arrays of shape ${shapeText(shape)}: it has ${lists} empty lists`,
    );
  }
}

/** Nests `size` elements from a flat index on along this axis and those after it. */
function nest(a: Elements, axis: number, from: number, size: number): Nested[] {
  const n = a.shape[axis], list: Nested[] = [];
  if (axis === a.shape.length - 1) return row(a, from, n);
  for (let i = 0; i < n; i++) list.push(nest(a, axis + 1, from + i * (size / n), size / n));
  return list;
}

/** Returns `n` elements from a flat index on, fast for the common dtypes. */
function row(a: Elements, from: number, n: number): Nested[] {
  const { data, dtype } = a;
  if (dtype !== "float32" && dtype !== "int32") {
    return Array.from({ length: n }, (_, i) => elementAt(a, from + i));
  }
  // A list that grows as it is filled takes seven times as long.
  const list = n > MOST_DENSE ? [] : new Array<number>(n);
  for (let i = 0; i < n; i++) list[i] = data[from + i] as number;
  return list;
}
/** V8 makes a slow table of a longer array that is allocated at once (`JSArray::kInitialMaxFastElementArray`). */
const MOST_DENSE = 1 << 25;
