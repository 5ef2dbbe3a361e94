/** Sums, parts, orders and reductions of sparse tensors, given by indices, values and dense shapes. On the host. */
import { apply } from "../../core/apply.ts";
import { defineOp, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import {
  normalizeAxes,
  type PartialShape,
  sameShape,
  sizeOf,
  stridesOf,
} from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { iota, sumInto, unsortedSegmentSum } from "../array/segment.ts";
import { hostInts, reshape, shape as shapeOf } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { intScalar } from "../input.ts";
import { add, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { any, sum } from "../reduce/reduce.ts";
import { cumprod } from "../reduce/scan.ts";

/** Adds two elements of a dtype. */
function addElements(x: unknown, y: unknown): unknown {
  return Array.isArray(x)
    ? [x[0] + (y as number[])[0], x[1] + (y as number[])[1]]
    : x as number + (y as number);
}

/** The place of a sparse tensor's entry, and its number. */
export interface Entry {
  readonly at: readonly number[];
  readonly i: number;
}

/**
 * Returns the entries of indices. Throws `InvalidArgumentError` for another shape than a matrix with one column per
 * axis.
 */
export function entriesOf(indices: NdArray, extents: readonly number[]): Entry[] {
  const all = hostInts(indices), rank = extents.length;
  if (indices.rank !== 2 || indices.shape[1] !== rank) {
    refuse(
      `Input indices should be a matrix of ${rank} columns but received shape [${indices.shape}]`,
    );
  }
  return Array.from(
    { length: indices.shape[0] },
    (_, i) => ({ at: all.slice(i * rank, (i + 1) * rank), i }),
  );
}

/** Compares two places, as a sort does. */
export function order(a: readonly number[], b: readonly number[]): number {
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return a[d] - b[d];
  return 0;
}

/** Makes the indices of places. */
export const matrix = (rows: readonly (readonly number[])[], rank: number): NdArray =>
  wholeArray("int64", rows.flat(), [rows.length, rank]);

function picked(values: NdArray, entries: readonly Entry[]): NdArray {
  const out = NdArray.zeros(values.dtype, [entries.length]);
  entries.forEach(({ i }, to) => setElement(out, to, values.at(i)));
  return out;
}

/** Returns the gradient of values of which an op takes some, whose numbers it also returns. */
function pickedGradient(
  indices: Tensor,
  dy: Tensor,
  take: (numbers: Tensor) => readonly Tensor[],
): Tensor {
  const count = reshape(gather(shapeOf(indices), intScalar(0)), []);
  return sumInto(dy, take(iota(count))[1], count);
}

/** Entries in the order of their indices. */
export const SparseReorder: OpDef = defineOp({
  name: "SparseReorder",
  inputs: ["input_indices: int64", "input_values: T", "input_shape: int64"],
  outputs: ["output_indices: int64", "output_values: T"],
  attrs: ["T: type"],
  infer: ([indices, values]) => [indices.shape, values.shape],
  grad: {
    saves: ["input_indices", "input_shape"],
    vjp: ({ input_indices: at, input_shape: dims }, [, dy]) => [
      null,
      pickedGradient(at, dy, (numbers) => apply(SparseReorder, [at, numbers, dims])),
      null,
    ],
  },
  cpu: ([indices, values, dims]) => {
    const extents = hostInts(dims);
    const entries = entriesOf(indices, extents).sort((a, b) => order(a.at, b.at));
    return [matrix(entries.map(({ at }) => at), extents.length), picked(values, entries)];
  },
});

/** Entries of a box. */
export const SparseSlice: OpDef = defineOp({
  name: "SparseSlice",
  inputs: ["indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"],
  outputs: ["output_indices: int64", "output_values: T", "output_shape: int64"],
  attrs: ["T: type"],
  infer: ([indices, , dims]) => [[null, indices.shape?.[1] ?? null], [null], dims.shape],
  grad: {
    saves: ["indices", "shape", "start", "size"],
    vjp: ({ indices, shape: dims, start, size }, [, dy]) => [
      null,
      pickedGradient(
        indices,
        dy,
        (numbers) => apply(SparseSlice, [indices, numbers, dims, start, size]),
      ),
      null,
      null,
      null,
    ],
  },
  cpu: ([indices, values, dims, start, size]) => {
    const extents = hostInts(dims), from = hostInts(start), most = hostInts(size);
    if (from.length !== extents.length || most.length !== extents.length) {
      refuse(
        `Expected start and size to have ${extents.length} elements but received ${from.length} and ${most.length}`,
      );
    }
    const negative = most.find((n) => n < 0);
    if (negative !== undefined) refuse(`Expected a non-negative size, received ${negative}`);
    const to = extents.map((d, k) => Math.max(0, Math.min(most[k], d - from[k])));
    const entries = entriesOf(indices, extents).filter(({ at }) =>
      at.every((v, k) => v >= from[k] && v < from[k] + to[k])
    );
    const places = entries.map(({ at }) => at.map((v, k) => v - from[k]));
    return [matrix(places, extents.length), picked(values, entries), wholeArray("int64", to)];
  },
});

const SparseAddGrad = defineOp({
  name: "SparseAddGrad",
  inputs: ["backprop_val_grad: T", "a_indices: int64", "b_indices: int64", "sum_indices: int64"],
  outputs: ["a_val_grad: T", "b_val_grad: T"],
  attrs: ["T: numeric"],
  infer: ([, a, b]) => [[a.shape?.[0] ?? null], [b.shape?.[0] ?? null]],
  grad: {
    saves: ["a_indices", "b_indices", "sum_indices"],
    vjp: ({ a_indices: a, b_indices: b, sum_indices: all }, dys) => {
      const count = gather(shapeOf(all), 0) as Tensor,
        numbers = range(1, add(count, 1), 1, "int32");
      // Elements that the sum has not stand at place -1, which segments leave out.
      const places = apply(lookupOp("SparseAddGrad")!, [numbers, a, b, all], { T: "int32" });
      const [da, db] = places.map((p, i) => unsortedSegmentSum(dys[i], sub(p, 1), count));
      return [add(da, db), null, null, null];
    },
  },
  cpu: ([dy, a, b, sum]) => {
    const rows = (x: NdArray): string[] => {
      const at = hostInts(x), [count, rank] = x.shape;
      return Array.from({ length: count }, (_, i) => at.slice(i * rank, (i + 1) * rank).join());
    };
    const places = new Map(rows(sum).map((key, i) => [key, i]));
    return [a, b].map((x) => {
      const out = NdArray.zeros(dy.dtype, [x.shape[0]]);
      rows(x).forEach((key, i) => {
        const from = places.get(key);
        if (from !== undefined) setElement(out, i, dy.at(from));
      });
      return out;
    });
  },
});

function sizeOfElement(x: unknown): number {
  return Array.isArray(x) ? Math.hypot(x[0], x[1]) : Math.abs(Number(x));
}

/** Sums of the entries of two sparse tensors. */
export const SparseAdd: OpDef = defineOp({
  name: "SparseAdd",
  inputs: [
    ...["a_indices: int64", "a_values: T", "a_shape: int64"],
    ...["b_indices: int64", "b_values: T", "b_shape: int64"],
    "thresh: Treal",
  ],
  outputs: ["sum_indices: int64", "sum_values: T", "sum_shape: int64"],
  attrs: ["T: numeric", "Treal: real"],
  infer: ([a, , dims]) => [[null, a.shape?.[1] ?? null], [null], dims.shape],
  grad: {
    saves: ["a_indices", "b_indices", "sum_indices"],
    vjp: ({ a_indices, b_indices, sum_indices }, [, dy]) => {
      const [da, db] = apply(SparseAddGrad, [dy, a_indices, b_indices, sum_indices]);
      return [null, da, null, null, db, null, null];
    },
  },
  cpu: ([aIndices, a, aShape, bIndices, b, bShape, thresh]) => {
    const extents = hostInts(aShape), others = hostInts(bShape);
    if (!sameShape(extents, others)) {
      refuse(`Operands' shapes do not match: received [${extents}] and [${others}]`);
    }
    const left = entriesOf(aIndices, extents);
    const right = entriesOf(bIndices, extents);
    const least = Number(thresh.item()), kept: (readonly number[])[] = [], values: unknown[] = [];
    for (let i = 0, j = 0; i < left.length || j < right.length;) {
      const x = left[i], y = right[j];
      const side = x === undefined ? 1 : y === undefined ? -1 : order(x.at, y.at);
      const value = side < 0 ? a.at(x.i) : side > 0 ? b.at(y.i) : addElements(a.at(x.i), b.at(y.i));
      // Only sums are compared with the threshold, as in TensorFlow.
      if (side !== 0 || sizeOfElement(value) >= least) {
        kept.push((side > 0 ? y : x).at);
        values.push(value);
      }
      if (side <= 0) i++;
      if (side >= 0) j++;
    }
    const out = NdArray.zeros(a.dtype, [values.length]);
    values.forEach((v, k) => setElement(out, k, v as number));
    return [matrix(kept, extents.length), out, wholeArray("int64", extents)];
  },
});

/** Returns the remaining axes, and the shape with ones for the reduced ones. */
function reduced(shape: readonly number[], axes: NdArray): { kept: number[]; ones: number[] } {
  const gone = normalizeAxes(hostInts(axes), shape.length);
  const kept = shape.map((_, i) => i).filter((i) => !gone.includes(i));
  return { kept, ones: shape.map((d, i) => (gone.includes(i) ? 1 : d)) };
}

function defineSparseReduce(
  name: string,
  { types, combine, grad }: {
    readonly types: "numeric" | "real";
    readonly combine: (a: unknown, b: unknown) => unknown;
    readonly grad: GradRule | null;
  },
): OpDef {
  return defineOp({
    name,
    inputs: [
      "input_indices: int64",
      "input_values: T",
      "input_shape: int64",
      "reduction_axes: int32",
    ],
    outputs: ["output: T"],
    attrs: ["keep_dims: bool = false", `T: ${types}`],
    hostInputs: ["input_shape", "reduction_axes"],
    infer: ([, , { value: dims }, { value: axes }], { keep_dims }): PartialShape[] => {
      if (dims === undefined || axes === undefined) return [null];
      const shape = hostInts(dims), { kept, ones } = reduced(shape, axes);
      return [keep_dims ? ones : kept.map((i) => shape[i])];
    },
    grad,
    cpu: ([indices, values, dims, axes], _, { attrs }) => {
      const shape = hostInts(dims), { kept, ones } = reduced(shape, axes);
      const rank = shape.length, at = hostInts(indices), strides = stridesOf(ones);
      const out = NdArray.zeros(values.dtype, attrs.keep_dims ? ones : kept.map((i) => shape[i]));
      const seen = new Uint8Array(sizeOf(ones));
      for (let i = 0; i < indices.shape[0]; i++) {
        const index = at.slice(i * rank, (i + 1) * rank);
        const wrong = index.findIndex((v, d) => v < 0 || v >= shape[d]);
        if (wrong >= 0) {
          refuse(
            `Index ${
              index[wrong]
            } of axis ${wrong} at row ${i} is out of range of shape [${shape}]`,
          );
        }
        const place = kept.reduce((sum, d) => sum + index[d] * strides[d], 0);
        const value = values.at(i), before = out.at(place);
        setElement(out, place, (seen[place] ? combine(before, value) : value) as number);
        seen[place] = 1;
      }
      return [out];
    },
  });
}

/** Returns the gradient of entries that were summed along axes. */
export function sumGradient(dy: Tensor, indices: Tensor, dims: Tensor, axes: Tensor): Tensor {
  const extents = cast(dims, "int32"), rank = reshape(shapeOf(extents), []);
  const places = reshape(mod(add(axes, rank), rank), [-1, 1]);
  const isGone = cast(any(equal(places, iota(rank)), 0), "int32"), stays = sub(1, isGone);
  // Places in the flat sums, as a scalar has no index.
  const strides = cumprod(add(mul(extents, stays), isGone), 0, true, true);
  return gather(reshape(dy, [-1]), sum(mul(cast(indices, "int32"), mul(stays, strides)), 1));
}

/** Sums of entries along axes, as a dense tensor. */
export const SparseReduceSum: OpDef = defineSparseReduce("SparseReduceSum", {
  types: "numeric",
  combine: addElements,
  grad: {
    saves: ["input_indices", "input_shape", "reduction_axes"],
    vjp: ({ input_indices, input_shape, reduction_axes }, [dy]) => [
      null,
      sumGradient(dy, input_indices, input_shape, reduction_axes),
      null,
      null,
    ],
  },
});
/** Maxima of entries along axes, as a dense tensor. */
export const SparseReduceMax: OpDef = defineSparseReduce("SparseReduceMax", {
  types: "real",
  // Both are numbers, or both are 64-bit.
  combine: (a, b) => (b as number > (a as number) ? b : a),
  grad: null,
});
