/**
 * Replaces Weft's own ops by TensorFlow's where their `expand` cannot: ops with kernels of their own, and ops whose
 * `expand` needs shapes that are known only at run time.
 */
import { apply1, type OpInput } from "../../engine/core/apply.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { lookupOp, type OpInit } from "../../engine/core/op.ts";
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { concat } from "../../engine/ops/array/join.ts";
import { reverse, transpose } from "../../engine/ops/array/move.ts";
import { pad } from "../../engine/ops/array/pad.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import {
  expandDims,
  hostInts,
  reshape,
  shape,
  size,
  squeeze,
} from "../../engine/ops/array/view.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike, zerosLike } from "../../engine/ops/array/creation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { asTensor, intScalar, intVector, shapeOfInput } from "../../engine/ops/input.ts";
import { parseEinsum } from "../../engine/ops/linalg/einsum_equation.ts";
import { matMul } from "../../engine/ops/linalg/matmul.ts";
import { add, div, mod, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater, greaterEqual, lessEqual } from "../../engine/ops/pointwise/compare.ts";
import { logicalOr } from "../../engine/ops/pointwise/logical.ts";
import { maximum, where } from "../../engine/ops/pointwise/select.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import { cumprod } from "../../engine/ops/reduce/scan.ts";
import { tensorScatterUpdate } from "../../engine/ops/array/scatter.ts";

/** Adds an op's replacement. */
type Expansion = NonNullable<OpInit["expand"]>;

function rankOf(x: OpInput, op: string): number {
  const rank = shapeOfInput(x)?.length;
  if (rank === undefined) {
    throw new UnimplementedError(`the rank of an input of ${op} is not known`);
  }
  return rank;
}

/** Returns a known axis, counted from the front. */
function axisOf(axis: OpInput, rank: number, op: string): number {
  if (axis instanceof NdArray) return normalizeAxis(hostInts(axis)[0], rank);
  throw new UnimplementedError(`the axis of ${op} is not a constant`);
}

/** Returns some elements of a vector: `[from, to)`. */
function part(vector: OpInput, from: number, to: number | null): Tensor {
  return slice(vector, [from], [to === null ? -1 : to - from]);
}

/** Returns one element of a vector, as a vector. */
function at(vector: OpInput, i: number): Tensor {
  return part(vector, i, i + 1);
}

function iota(n: Tensor): Tensor {
  return apply1(lookupOp("Range")!, [intScalar(0), reshape(n, []), intScalar(1)]);
}

/** Returns the product of a vector's elements. */
function product(dims: Tensor): Tensor {
  return apply1(lookupOp("Prod")!, [dims, intVector([0])]);
}

function zerosOf(dims: Tensor, dtype: Tensor["dtype"]): Tensor {
  return apply1(lookupOp("Fill")!, [dims, NdArray.zeros(dtype, [])]);
}

function intTensor(values: readonly number[]): Tensor {
  return asTensor(intVector([...values]));
}

/** Pads the last axis with zeros up to `n`, or takes its first `n` elements. */
function resized(x: OpInput, n: Tensor): Tensor {
  const rank = rankOf(x, "a Fourier transform"), dims = shape(x);
  const zeros = zerosOf(concat([part(dims, 0, rank - 1), n]), x.dtype);
  const all = concat([x, zeros], -1);
  return apply1(lookupOp("Slice")!, [
    all,
    intVector(new Array(rank).fill(0)),
    concat([part(dims, 0, rank - 1), n]),
  ]);
}

/** Returns the rows of a list in the shape `row`; zeros if the list's rows had no shape yet. */
function shapedRows(rows: OpInput, row: OpInput): Tensor {
  const wanted = concat([at(shape(rows), 0), row]);
  const missing = sub(reshape(product(wanted), [1]), reshape(size(rows), [1]));
  return reshape(concat([reshape(rows, [-1]), zerosOf(missing, rows.dtype)]), wanted);
}

/** Returns the first elements in another shape, and zeros after the last. */
function fitted(x: Tensor, dims: Tensor): Tensor {
  const n = reshape(product(dims), [1]), missing = maximum(sub(n, reshape(size(x), [1])), 0);
  const all = concat([reshape(x, [-1]), zerosOf(missing, x.dtype)]);
  return reshape(apply1(lookupOp("Slice")!, [all, intVector([0]), n]), dims);
}

function withRow(rows: Tensor, at: OpInput, row: Tensor): Tensor {
  return tensorScatterUpdate(rows, reshape(at, [1, 1]), expandDims(row, 0));
}

/** Replacements by op. */
export const PARTS: Readonly<Record<string, Expansion>> = {
  _CheckedGradient: ([gradient, dims]) => [reshape(gradient, dims)],
  SumLike: ([dy, like]) => {
    const have = shape(dy), want = shape(like);
    const lead = apply1(lookupOp("Fill")!, [
      reshape(sub(size(have), size(want)), [1]),
      intScalar(1),
    ]);
    const ones = apply1(lookupOp("Where")!, [equal(concat([lead, want]), 1)]);
    return [reshape(sum(dy, reshape(ones, [-1])), want)];
  },
  _KeptShape: ([dims, axes]) => {
    const flat = cast(reshape(axes, [-1]), "int32");
    const places = mod(flat, size(dims));
    return [tensorScatterUpdate(dims, expandDims(places, -1), onesLike(flat))];
  },
  /** Multiplies pairs, as TensorFlow's own function does for longer products. */
  Einsum: ([first, ...others], { equation }) => {
    const { inputs: [given, ...more], output } = parseEinsum(equation);
    let x = asTensor(first), labels = given;
    others.forEach((y, i) => {
      const later = new Set([...output, ...more.slice(i + 1).flat()]);
      const all = new Set([...labels, ...more[i]]);
      const kept = i === others.length - 1 ? output : [...all].filter((l) => later.has(l));
      const text = `${labels.join("")},${more[i].join("")}->${kept.join("")}`;
      x = apply1(lookupOp("Einsum")!, [x, y], { equation: text });
      labels = kept;
    });
    return [x];
  },
  PickSegments: ([segments, ids]) => {
    const zero = zerosLike(ids);
    const picked = gather(segments, apply1(lookupOp("Maximum")!, [ids, zero]));
    const lead = shape(ids), missing = reshape(sub(size(shape(segments)), 1), [1]);
    const ones = apply1(lookupOp("Fill")!, [missing, intScalar(1)]);
    const inside = reshape(greaterEqual(ids, zero), concat([lead, ones]));
    return [where(inside, picked, zerosLike(picked))];
  },
  /** Moves rows to the front, numbers them through all batches, and sums them. */
  GatherGrad: ([dy, indices, given, axis], { batch_dims: b }) => {
    const dims = asTensor(given);
    const picked = rankOf(indices, "GatherGrad"), rank = rankOf(dy, "GatherGrad") - picked + b + 1;
    const a = axisOf(axis, rank, "GatherGrad");
    const before = a - b, own = picked - b;
    const axes = (from: number, n: number): number[] =>
      Array.from({ length: n }, (_, i) => from + i);
    const rows = transpose(asTensor(dy), [
      ...axes(0, b),
      ...axes(b + before, own),
      ...axes(b, before),
      ...axes(b + before + own, rank - a - 1),
    ]);
    const extent = at(dims, a), batches = reshape(product(part(dims, 0, b)), [1]);
    let numbers = cast(indices, "int32");
    if (b > 0) {
      const first = mul(iota(batches), extent);
      const wide = concat([part(dims, 0, b), intTensor(new Array(own).fill(1))]);
      numbers = add(numbers, reshape(first, wide));
    }
    const count = reshape(mul(batches, extent), []);
    const sums = apply1(lookupOp("UnsortedSegmentSum")!, [rows, numbers, count]);
    const parted = reshape(
      sums,
      concat([part(dims, 0, b), extent, part(dims, b, a), part(dims, a + 1, null)]),
    );
    return [
      transpose(parted, [...axes(0, b), ...axes(b + 1, before), b, ...axes(a + 1, rank - a - 1)]),
    ];
  },
  ResizeBilinearBack: ([dy, given], attrs) => {
    const dims = shape(dy);
    const image = zerosOf(concat([at(dims, 0), asTensor(given), at(dims, 3)]), attrs.T);
    const { align_corners, half_pixel_centers } = attrs;
    const back = lookupOp("ResizeBilinearGrad")!;
    return [apply1(back, [dy, image], { align_corners, half_pixel_centers })];
  },
  /** Multiplies by the matrix of windows. */
  _WindowSum: ([x], { radius }) => {
    const dims = shape(x), rank = rankOf(x, "_WindowSum");
    const i = iota(at(dims, rank - 1));
    const near = lessEqual(
      apply1(lookupOp("Abs")!, [sub(expandDims(i, 1), expandDims(i, 0))]),
      radius,
    );
    const flat = reshape(x, concat([intTensor([-1]), at(dims, rank - 1)]));
    return [reshape(matMul(flat, cast(near, x.dtype)), dims)];
  },
  /** Shifts `by` zeros in along an axis. */
  _Shift: ([x, axis], { by }) => {
    const rank = rankOf(x, "_Shift"), a = axisOf(axis, rank, "_Shift");
    const paddings = Array.from(
      { length: rank },
      (_, i): [number, number] => i === a ? [Math.max(by, 0), Math.max(-by, 0)] : [0, 0],
    );
    const wide = pad(x, paddings);
    const begin = Array.from({ length: rank }, (_, i) => (i === a ? Math.max(-by, 0) : 0));
    return [apply1(lookupOp("Slice")!, [wide, intVector(begin), shape(x)])];
  },
  /** Multiplies by the matrix of the products of `a` between each element and those before it. */
  _LinearScan: ([a, b, axis], attrs) => {
    const rank = rankOf(a, "_LinearScan"), along = axisOf(axis, rank, "_LinearScan");
    const perm = Array.from({ length: rank }, (_, i) => i).filter((i) => i !== along);
    const last = (x: OpInput): Tensor => {
      const moved = transpose(x, [...perm, along]);
      return attrs.reverse ? reverse(moved, -1) : moved;
    };
    const shifted = (x: Tensor): Tensor =>
      attrs.shift ? apply1(lookupOp("_Shift")!, [x, intScalar(rank - 1)], { by: 1 }) : x;
    const factors = shifted(last(a)), terms = last(b);
    const i = iota(at(shape(terms), rank - 1));
    const row = expandDims(i, 1), column = expandDims(i, 0);
    const full = expandDims(factors, -1);
    const between = where(greater(row, column), full, onesLike(full));
    const products = cumprod(between, -2);
    const lower = where(greaterEqual(row, column), products, zerosLike(products));
    const sums = squeeze(matMul(lower, expandDims(terms, -1)), [-1]);
    const ordered = attrs.reverse ? reverse(sums, -1) : sums;
    const back = [...perm, along].map((_, i, all) => all.indexOf(i));
    return [transpose(ordered, back)];
  },
  _RFFTAdjoint: ([g, length, n], { Treal }) => {
    const count = asTensor(length);
    const wide = resized(g, reshape(count, [1]));
    const sums = apply1(lookupOp("Real")!, [apply1(lookupOp("IFFT")!, [wide])], { Tout: Treal });
    return [resized(mul(sums, cast(reshape(count, []), Treal)), reshape(asTensor(n), [1]))];
  },
  _IRFFTAdjoint: ([g, length, n], { Treal, Tcomplex }) => {
    const count = reshape(asTensor(length), []);
    const bins = apply1(lookupOp("RFFT")!, [g, asTensor(length)], { Tcomplex });
    const k = iota(add(apply1(lookupOp("FloorDiv")!, [count, intScalar(2)]), 1));
    // An inner bin stands for itself and its conjugate.
    const single = logicalOr(equal(k, 0), equal(mul(k, 2), count));
    const weights = div(sub(2, cast(single, Treal)), cast(count, Treal));
    const scaled = mul(bins, cast(weights, Tcomplex));
    return [resized(scaled, reshape(asTensor(n), [1]))];
  },
  _Pick: ([x, indices]) => {
    const last = rankOf(x, "_Pick") - 1;
    return [gather(x, indices, last, last)];
  },
  _Place: ([indices, updates, n]) => {
    const last = rankOf(indices, "_Place") - 1;
    const dims = concat([part(shape(indices), 0, last), reshape(asTensor(n), [1])]);
    const inputs = [updates, indices, dims, intScalar(last)];
    return [apply1(lookupOp("GatherGrad")!, inputs, { batch_dims: last })];
  },
  _WriteRows: ([rows, places, values]) => {
    // Without rows there is still a row shape: the values' axes after the first.
    const dims = part(shape(values), 1, null);
    const row = zerosOf(dims, values.dtype);
    return [tensorScatterUpdate(shapedRows(rows, shape(row)), expandDims(places, -1), values)];
  },
  _FilledRows: ([rows, row]) => [shapedRows(rows, asTensor(row))],
  _ClearRows: ([have, places, dy]) => {
    const dims = concat([at(shape(asTensor(places)), 0), part(shape(dy), 1, null)]);
    const cleared = tensorScatterUpdate(dy, expandDims(places, -1), zerosOf(dims, dy.dtype));
    // If the rows had no elements, their gradient has none.
    return [fitted(cleared, asTensor(have))];
  },
  _PutRow: ([rows, index, row], { appended }) => {
    const n = at(shape(rows), 0), place = appended ? n : reshape(index, [1]);
    const shaped = shapedRows(rows, shape(row)), count = maximum(n, add(place, 1));
    const all = fitted(shaped, concat([count, part(shape(shaped), 1, null)]));
    return [withRow(all, place, asTensor(row)), shape(rows)];
  },
  _TakeRow: ([dy, before, index], { appended }) => {
    const place = reshape(appended ? at(before, 0) : index, []), row = gather(dy, place);
    return [fitted(withRow(asTensor(dy), place, zerosLike(row)), asTensor(before)), row];
  },
  _EmptyRows: ([n], { dtype, row }) => [
    zerosOf(concat([reshape(asTensor(n), [1]), intTensor(row)]), dtype),
  ],
  _CheckedIndices: ([indices]) => [asTensor(indices)],
  _CustomGradient: ([value]) => [asTensor(value)],
};
