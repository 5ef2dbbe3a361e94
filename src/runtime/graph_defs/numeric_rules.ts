/**
 * Rules for ops of numerics that only files have: diagonals as TensorFlow first had them, buckets, histograms, order statistics.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../../ops/array/cast.ts";
import { onesLike } from "../../ops/array/creation.ts";
import { gather } from "../../ops/array/gather.ts";
import { unstack } from "../../ops/array/join.ts";
import { tensorScatterAdd } from "../../ops/array/scatter.ts";
import { expandDims, reshape, shape } from "../../ops/array/view.ts";
import { intScalar } from "../../ops/input.ts";
import { div, neg, sub } from "../../ops/pointwise/arithmetic.ts";
import { greaterEqual } from "../../ops/pointwise/compare.ts";
import { floor } from "../../ops/pointwise/rounding.ts";
import { maximum, minimum } from "../../ops/pointwise/select.ts";
import { sum } from "../../ops/reduce/reduce.ts";
import type { ImportedNode, ImportRule } from "./import_rules.ts";

/** The version of an op that says how diagonals are aligned, with what the first version leaves out. */
function diagonals(name: string, missing: (x: Tensor) => readonly unknown[]): ImportRule {
  return ({ inputs }) => [
    apply1(lookupOp(name)!, [...inputs, ...missing(inputs[0]) as Tensor[]], { align: "LEFT_LEFT" }),
  ];
}

const zero = (x: Tensor): Tensor => cast(0, x.dtype);

/** How many of the boundaries, which increase, are not above an element. */
function bucketize({ inputs: [x], attr }: ImportedNode): Tensor[] {
  const boundaries = (attr.boundaries?.list?.f ?? []).map(Number);
  const values = x.dtype === "float32" ? x : cast(x, "float64");
  const passed = greaterEqual(expandDims(values, -1), cast(boundaries, values.dtype));
  return [sum(cast(passed, "int32"), -1)];
}

/** How many values lie in each of equal parts of a range; what is outside counts in the first and the last. */
function histogram({ inputs: [values, range, bins], attr }: ImportedNode): Tensor[] {
  const [low, high] = unstack(cast(range, "float64"), 0), count = cast(bins, "float64");
  const place = floor(
    div(sub(reshape(cast(values, "float64"), [-1]), low), div(sub(high, low), count)),
  );
  const bin = cast(minimum(maximum(place, 0), sub(count, 1)), "int32");
  const dtype = attr.dtype?.type === "DT_INT64" ? "int64" : "int32";
  return [cast(apply1(lookupOp("UnsortedSegmentSum")!, [onesLike(bin), bin, bins]), dtype)];
}

/** The n-th smallest of each row, or the n-th largest. */
function nthElement({ inputs: [x, n], attr }: ImportedNode): Tensor[] {
  const size = x.staticShape?.at(-1);
  if (size == null) {
    throw new ValueError("Cannot import: NthElement of rows of unknown length");
  }
  const [sorted] = apply(lookupOp("TopKV2")!, [x, intScalar(size)]);
  return [gather(sorted, attr.reverse?.b ? n : sub(size - 1, n), -1)];
}

/** Unique slices along an axis, where each slice is among them, and how often each is there. */
function uniqueWithCounts({ inputs: [x, axis], attr }: ImportedNode): Tensor[] {
  const out_idx = attr.out_idx?.type === "DT_INT64" ? "int64" : "int32";
  const [y, at] = apply(lookupOp("UniqueV2")!, [x, axis], { out_idx });
  const along = reshape(gather(shape(y), cast(axis, "int32")), []);
  const ones = onesLike(cast(at, "int32"));
  const counts = apply1(lookupOp("UnsortedSegmentSum")!, [ones, cast(at, "int32"), along]);
  return [y, at, cast(counts, out_idx)];
}

/** Rules by op. */
export const NUMERIC_RULES: readonly (readonly [string, ImportRule])[] = [
  [
    "MatrixDiag",
    diagonals("MatrixDiagV3", (x) => [intScalar(0), intScalar(-1), intScalar(-1), zero(x)]),
  ],
  ["MatrixDiagV2", diagonals("MatrixDiagV3", () => [])],
  ["MatrixDiagPart", diagonals("MatrixDiagPartV3", (x) => [intScalar(0), zero(x)])],
  ["MatrixDiagPartV2", diagonals("MatrixDiagPartV3", () => [])],
  ["MatrixSetDiag", diagonals("MatrixSetDiagV3", () => [intScalar(0)])],
  ["MatrixSetDiagV2", diagonals("MatrixSetDiagV3", () => [])],
  ["TensorScatterSub", ({ inputs: [x, at, updates] }) => [tensorScatterAdd(x, at, neg(updates))]],
  ["ScatterNdNonAliasingAdd", ({ inputs: [x, at, updates] }) => [tensorScatterAdd(x, at, updates)]],
  ["Bucketize", bucketize],
  ["HistogramFixedWidth", histogram],
  ["NthElement", nthElement],
  ["UniqueWithCountsV2", uniqueWithCounts],
];
