/**
 * Jacobians: a derivative for each element of a target. Where a graph does not know their number before it runs, it
 * loops over them.
 */
import { apply1 } from "../core/apply.ts";
import type { DType } from "../core/dtype.ts";
import { NdArray, setElement } from "../core/nd_array.ts";
import { lookupOp } from "../core/op.ts";
import { isConcrete, type PartialShape, type Shape, sizeOf } from "../core/shape.ts";
import { graphServices, type Tensor } from "../core/tensor.ts";
import { cast } from "../ops/array/cast.ts";
import { fill } from "../ops/array/creation.ts";
import { onesOfTensor, zerosOfTensor } from "../ops/array/fill_ops.ts";
import { concat, stack } from "../ops/array/join.ts";
import { transpose } from "../ops/array/move.ts";
import { slice } from "../ops/array/slice.ts";
import { rank, reshape, shape } from "../ops/array/view.ts";
import { asTensor, intScalar, intVector } from "../ops/input.ts";
import { mul } from "../ops/pointwise/arithmetic.ts";
import { equal } from "../ops/pointwise/compare.ts";

/**
 * Computes the derivatives of a target with respect to some sources, for a gradient `seed` of the target; null where
 * not connected.
 */
export type Derive = (seed: Tensor) => readonly (Tensor | null)[];

/** Dimensions of a tensor: the known ones, and a graph's computation of them. */
interface Dims {
  readonly known: PartialShape;
  readonly computed: () => Tensor;
}

function dimsOf(t: Tensor): Dims {
  return { known: t.isSymbolic ? t.staticShape : t.shape, computed: () => shape(t) };
}
/** Returns the dimensions of a batch's rows. */
function rowDimsOf(t: Tensor): Dims {
  const { known } = dimsOf(t);
  return { known: known && known.slice(1), computed: () => slice(shape(t), [1]) };
}

/**
 * Computes the derivative of each element of `target` with respect to each source: shape `[...target, ...source]`.
 * The derivative of a source that is not connected is null, or zeros if `zero` is set.
 */
export function jacobians(
  target: Tensor,
  sources: readonly Tensor[],
  derive: Derive,
  zero: boolean,
): (Tensor | null)[] {
  const own = dimsOf(target);
  return perElement(own, target.dtype, sources, derive).map((rows, k) => {
    const parts = [own, dimsOf(sources[k])];
    return rows ? inShape(rows, parts) : zero ? zerosOf(parts, sources[k].dtype) : null;
  });
}

/**
 * Computes {@linkcode jacobians} of each row of a batch by the same row of a source: shape
 * `[batch, ...target row, ...source row]`.
 */
export function rowJacobian(
  target: Tensor,
  source: Tensor,
  derive: Derive,
  zero: boolean,
): Tensor | null {
  const { known } = dimsOf(source);
  const batch = {
    known: known && known.slice(0, 1),
    computed: () => slice(shape(source), [0], [1]),
  };
  const own = rowDimsOf(target), parts = [batch, own, rowDimsOf(source)];
  const ones = onesOfTensor(target);
  const byRow: Derive = (hot) => derive(mul(ones, hot));
  const [rows] = perElement(own, target.dtype, [source], byRow);
  if (rows === null) return zero ? zerosOf(parts, source.dtype) : null;
  const order = known
    ? [1, 0, ...known.slice(1).map((_, i) => i + 2)]
    : concat([asTensor(intVector([1, 0])), rangeTo(2, rank(rows))]);
  return inShape(transpose(rows, order), parts);
}

/**
 * Computes the derivatives for each seed that is 1 in one element and 0 elsewhere, stacked; null where not connected.
 */
function perElement(
  { known, computed }: Dims,
  dtype: DType,
  sources: readonly Tensor[],
  derive: Derive,
): (Tensor | null)[] {
  if (!isConcrete(known)) return perElementOf(computed(), dtype, derive);
  const rows = Array.from({ length: sizeOf(known) }, (_, i) => derive(hotAt(i, dtype, known)));
  return sources.map((source, k) => {
    const column = rows.map((row) => row[k]);
    const isConnected = column.some((g) => g !== null);
    return isConnected ? stack(column.map((g) => g ?? zerosOfTensor(source))) : null;
  });
}

function hotAt(i: number, dtype: DType, shape: Shape): Tensor {
  const seed = NdArray.zeros(dtype, shape);
  setElement(seed, i, 1);
  return asTensor(seed);
}

/** Whole numbers up to one that a graph computes. Looked up: pages without graphs need no ranges. */
function rangeTo(from: number, to: Tensor): Tensor {
  return apply1(lookupOp("Range")!, [intScalar(from), to, intScalar(1)]);
}

/** Is {@linkcode perElement} for dimensions that are known when the graph runs. */
function perElementOf(dims: Tensor, dtype: DType, derive: Derive): (Tensor | null)[] {
  const numbers = rangeTo(0, apply1(lookupOp("Prod")!, [dims, intVector([0])]));
  let isConnected: boolean[] = [];
  const { mapRows } = graphServices("loop over the elements of a target");
  const stacked = mapRows((i) => {
    const found = derive(reshape(cast(equal(numbers, i), dtype), dims));
    isConnected = found.map((g) => g !== null);
    // A loop must have results.
    return [i, ...found.filter((g) => g !== null)];
  }, numbers);
  let at = 1;
  return isConnected.map((is) => is ? stacked[at++] : null);
}

function zerosOf(parts: readonly Dims[], dtype: DType): Tensor {
  return withShape(fill(joined(parts), 0, dtype), parts);
}
function inShape(t: Tensor, parts: readonly Dims[]): Tensor {
  return withShape(reshape(t, joined(parts)), parts);
}
function withShape(t: Tensor, parts: readonly Dims[]): Tensor {
  if (t.isSymbolic) t.setShape(knownOf(parts));
  return t;
}

/** Returns all dimensions, computed where they are unknown. */
function joined(parts: readonly Dims[]): Shape | Tensor {
  const known = knownOf(parts);
  return isConcrete(known) ? known : concat(parts.map((p) => p.computed()));
}
function knownOf(parts: readonly Dims[]): PartialShape {
  return parts.some((p) => p.known === null) ? null : parts.flatMap((p) => p.known!);
}
