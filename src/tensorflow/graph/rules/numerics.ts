/** Rules for numeric ops that only files have: older diagonals, buckets, histograms, order statistics. */
import { ValueError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { onesLike } from "../../../engine/ops/array/creation.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { histogramOf } from "../../../engine/ops/of_files.ts";
import { expandDims, reshape, shape } from "../../../engine/ops/array/view.ts";
import { intScalar, intVector } from "../../../engine/ops/input.ts";
import { sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { greater, greaterEqual, less } from "../../../engine/ops/pointwise/compare.ts";
import { logicalAnd } from "../../../engine/ops/pointwise/logical.ts";
import { abs } from "../../../engine/ops/pointwise/rounding.ts";
import { sum } from "../../../engine/ops/reduce/reduce.ts";
import { type ImportedNode, type ImportRule, indexOf, intOf, put, put1 } from "../rule.ts";

/** Converts a diagonal op to the version with alignment, and the defaults of the first version. */
export function diagonals(name: string, missing: (x: Tensor) => readonly unknown[]): ImportRule {
  return ({ inputs }) => [
    put1(name, [...inputs, ...missing(inputs[0]) as Tensor[]], { align: "LEFT_LEFT" }),
  ];
}

/** A zero of the dtype of a tensor. */
export const zero = (x: Tensor): Tensor => cast(0, x.dtype);

/** Counts the boundaries, which increase, up to each element. */
export function bucketize({ inputs: [x], attr }: ImportedNode): Tensor[] {
  const boundaries = (attr.boundaries?.list?.f ?? []).map(Number);
  const values = x.dtype === "float32" ? x : cast(x, "float64");
  const passed = greaterEqual(expandDims(values, -1), cast(boundaries, values.dtype));
  return [sum(cast(passed, "int32"), -1)];
}

/** Counts values in equal parts of a range; outer values count in the first and last part. */
export const histogram: ImportRule = ({ inputs: [values, range, bins], attr }) => [
  cast(histogramOf(values, range, bins), indexOf(attr.dtype)),
];

/** Returns the n-th smallest of each row, or the n-th largest. */
export function nthElement({ inputs: [x, n], attr }: ImportedNode): Tensor[] {
  const size = x.staticShape?.at(-1);
  if (size == null) {
    throw new ValueError("Cannot import: NthElement of rows of unknown length");
  }
  const [sorted] = put("TopKV2", [x, intScalar(size)]);
  return [gather(sorted, attr.reverse?.b ? n : sub(size - 1, n), -1)];
}

/** Finds the unique slices along an axis (the first by default), the index of each slice, and their counts. */
export function uniqueWithCounts({ inputs: [x, given], attr }: ImportedNode): Tensor[] {
  const axis = given ?? intVector([0]), out_idx = indexOf(attr.out_idx);
  const [y, at] = put("UniqueV2", [x, axis], { out_idx });
  const along = reshape(gather(shape(y), cast(axis, "int32")), []);
  const ones = onesLike(cast(at, "int32"));
  const counts = put1("UnsortedSegmentSum", [ones, cast(at, "int32"), along]);
  return [y, at, cast(counts, out_idx)];
}

/** True where the score of the right class is among the k best. */
export function inTopK({ inputs: [scores, targets, given], attr }: ImportedNode): Tensor[] {
  const k = given ?? cast(intOf(attr.k, 0), "int32");
  const own = gather(scores, expandDims(targets, -1), 1, 1);
  const better = sum(cast(greater(scores, own), "int32"), 1);
  const isNumber = less(reshape(abs(own), [-1]), Infinity);
  return [logicalAnd(less(better, cast(k, "int32")), isNumber)];
}
