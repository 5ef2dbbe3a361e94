/** Partial and concrete shapes: merging, broadcasting, strides, text. */
import { ValueError } from "./errors.ts";

/** A fully known shape. */
export type Shape = readonly number[];
/** A shape of known rank with perhaps unknown (`null`) dimensions, or `null` for unknown rank. */
export type PartialShape = readonly (number | null)[] | null;

/** Most dimensions of a tensor, as in TensorFlow (`TensorShape::MaxDimensions`). */
export const MAX_RANK = 254;

/** Throws `ValueError` for more dimensions than a tensor may have. */
export function checkRank(rank: number): void {
  if (rank > MAX_RANK) {
    throw new ValueError(
      `Cannot make a tensor of rank ${rank}: a tensor has at most ${MAX_RANK} dimensions`,
    );
  }
}

/** Checks the result of an op's shape rule. Throws `ValueError` for too few shapes, or one of too many dimensions. */
export function checkInferred(
  shapes: readonly PartialShape[],
  wanted: number,
  op: string,
): readonly PartialShape[] {
  for (let i = 0; i < wanted; i++) {
    const shape = shapes[i];
    if (shape === undefined) {
      throw new ValueError(
        `Cannot infer shapes of '${op}' Op: it has ${wanted} outputs and shapes of ${shapes.length}`,
      );
    }
    if (shape !== null) checkRank(shape.length);
  }
  return shapes;
}

/** True for null and for lists of dimensions that are known or null. */
export function isPartialShape(dims: unknown): dims is PartialShape {
  return dims === null ||
    (Array.isArray(dims) && dims.every((d) => d === null || (Number.isInteger(d) && d >= 0)));
}

/** True for a list of non-negative integers, at most as many as a tensor has dimensions. */
export function isShape(dims: unknown): dims is Shape {
  if (!Array.isArray(dims) || dims.length > MAX_RANK) return false;
  for (let i = 0; i < dims.length; i++) {
    const d = dims[i];
    if (!Number.isSafeInteger(d) || d as number < 0) return false;
  }
  return true;
}

export function sizeOf(shape: Shape): number {
  let n = 1;
  for (let i = 0; i < shape.length; i++) n *= shape[i];
  return n;
}

/** True where every dimension is known. */
export function isConcrete(shape: PartialShape): shape is Shape {
  if (shape === null) return false;
  for (let i = 0; i < shape.length; i++) if (shape[i] === null) return false;
  return true;
}

/** True where both are the same known shape. */
export function sameShape(a: PartialShape, b: PartialShape): boolean {
  if (a === null || b === null) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Formats a shape: `[2,?]`, or `<unknown>` where the rank is unknown. */
export function shapeText(shape: PartialShape): string {
  if (shape === null) return "<unknown>";
  return Array.isArray(shape) ? `[${shape.map(dimText).join(",")}]` : typeof shape;
}

/** Formats a dimension; a value that is no number is shown by its type, as it may be nested too deeply. */
function dimText(d: unknown): string {
  return typeof d === "number" ? String(d) : d === null ? "?" : typeof d;
}

/** Formats a shape in Python's notation, `(2, None)`, as in TensorFlow's messages about feeds. */
export function shapeTuple(shape: PartialShape): string {
  if (shape === null) return "<unknown>";
  const inner = shape.map((d) => d ?? "None").join(", ");
  return shape.length === 1 ? `(${inner},)` : `(${inner})`;
}

/** True where a concrete or partial shape could be the other. */
export function compatible(a: PartialShape, b: PartialShape): boolean {
  if (a === null || b === null) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== null && b[i] !== null && a[i] !== b[i]) return false;
  }
  return true;
}

/** Merges two partial shapes of one value. Throws `ValueError` with TensorFlow's phrases where they conflict. */
export function mergeShapes(a: PartialShape, b: PartialShape): PartialShape {
  if (a === null) return b;
  if (b === null) return a;
  if (a.length !== b.length) {
    throw new ValueError(`Shapes must be equal rank, but are ${a.length} and ${b.length}`);
  }
  return a.map((d, i) => {
    const e = b[i];
    if (d !== null && e !== null && d !== e) {
      throw new ValueError(
        `Dimension ${i} in both shapes must be equal, but are ${d} and ${e}. Shapes are ${
          shapeText(a)
        } and ${shapeText(b)}`,
      );
    }
    return d ?? e;
  });
}

/** Returns the common shape of two alternatives: equal dimensions stay, others become unknown. */
export function relaxShapes(a: PartialShape, b: PartialShape): PartialShape {
  if (a === null || b === null || a.length !== b.length) return null;
  return a.map((d, i) => (d === b[i] ? d : null));
}

/** Returns the shape two operands broadcast to. Throws `ValueError` with TensorFlow's phrase where they do not. */
export function broadcastShapes(a: PartialShape, b: PartialShape): PartialShape {
  if (a === null || b === null) return null;
  const rank = Math.max(a.length, b.length);
  const out: (number | null)[] = new Array(rank);
  for (let i = 0; i < rank; i++) {
    const x = i < rank - a.length ? 1 : a[i - (rank - a.length)];
    const y = i < rank - b.length ? 1 : b[i - (rank - b.length)];
    if (x === 1) out[i] = y;
    else if (y === 1) out[i] = x;
    else if (x === null || y === null) out[i] = x ?? y;
    else if (x === y) out[i] = x;
    else throw new ValueError(`Incompatible shapes: ${shapeText(a)} vs. ${shapeText(b)}`);
  }
  return out;
}

/** Returns row-major strides in elements. */
export function stridesOf(shape: Shape): number[] {
  const s = new Array<number>(shape.length);
  let n = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    s[i] = n;
    n *= shape[i];
  }
  return s;
}

/** Returns strides that read `shape` as if it were broadcast to `to`: 0 along stretched axes. */
export function broadcastStrides(shape: Shape, to: Shape): number[] {
  const own = stridesOf(shape);
  const lead = to.length - shape.length;
  return to.map((_, i) => (i < lead || shape[i - lead] === 1 ? 0 : own[i - lead]));
}

/**
 * Returns an axis counted from the front. Throws `ValueError` where it is none of `[-rank, rank)`.
 */
export function normalizeAxis(axis: number, rank: number): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ValueError(
      typeof axis === "number"
        ? `Invalid axis ${axis}: it must be in the range [${-rank}, ${rank})`
        : `Invalid axis of type ${typeof axis}: wanted a number of [${-rank}, ${rank}), in its position and not by name, as in tf.sum(x, axis, keepDims)`,
    );
  }
  return axis < 0 ? axis + rank : axis;
}

/** Returns sorted unique axes counted from the front; all axes where none is given. */
export function normalizeAxes(
  axes: readonly number[] | number | null | undefined,
  rank: number,
): number[] {
  if (axes === null || axes === undefined) return Array.from({ length: rank }, (_, i) => i);
  if (!Array.isArray(axes)) return [normalizeAxis(axes as number, rank)];
  if (axes.length === 1) return [normalizeAxis(axes[0], rank)];
  return [...new Set(axes.map((a: number) => normalizeAxis(a, rank)))].sort((a, b) => a - b);
}
