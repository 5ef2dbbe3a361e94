/** Rules for numeric ops that only files have: older diagonals, buckets, histograms, order statistics. */
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { unstack } from "../../engine/ops/array/join.ts";
import { tensorScatterAdd } from "../../engine/ops/array/scatter.ts";
import { expandDims, reshape, shape } from "../../engine/ops/array/view.ts";
import { intScalar, intVector } from "../../engine/ops/input.ts";
import { div, neg, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { greaterEqual } from "../../engine/ops/pointwise/compare.ts";
import { floor } from "../../engine/ops/pointwise/rounding.ts";
import { maximum, minimum } from "../../engine/ops/pointwise/select.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import { type ImportedNode, type ImportRule, indexOf, put, put1, type RuleEntry } from "./rule.ts";

/** Converts a diagonal op to the version with alignment, and the defaults of the first version. */
function diagonals(name: string, missing: (x: Tensor) => readonly unknown[]): ImportRule {
  return ({ inputs }) => [
    put1(name, [...inputs, ...missing(inputs[0]) as Tensor[]], { align: "LEFT_LEFT" }),
  ];
}

const zero = (x: Tensor): Tensor => cast(0, x.dtype);

/** Counts the boundaries, which increase, up to each element. */
function bucketize({ inputs: [x], attr }: ImportedNode): Tensor[] {
  const boundaries = (attr.boundaries?.list?.f ?? []).map(Number);
  const values = x.dtype === "float32" ? x : cast(x, "float64");
  const passed = greaterEqual(expandDims(values, -1), cast(boundaries, values.dtype));
  return [sum(cast(passed, "int32"), -1)];
}

/** Counts values in equal parts of a range; outer values count in the first and last part. */
function histogram({ inputs: [values, range, bins], attr }: ImportedNode): Tensor[] {
  const [low, high] = unstack(cast(range, "float64"), 0), count = cast(bins, "float64");
  const place = floor(
    div(sub(reshape(cast(values, "float64"), [-1]), low), div(sub(high, low), count)),
  );
  const bin = cast(minimum(maximum(place, 0), sub(count, 1)), "int32");
  return [cast(put1("UnsortedSegmentSum", [onesLike(bin), bin, bins]), indexOf(attr.dtype))];
}

/** Returns the n-th smallest of each row, or the n-th largest. */
function nthElement({ inputs: [x, n], attr }: ImportedNode): Tensor[] {
  const size = x.staticShape?.at(-1);
  if (size == null) {
    throw new ValueError("Cannot import: NthElement of rows of unknown length");
  }
  const [sorted] = put("TopKV2", [x, intScalar(size)]);
  return [gather(sorted, attr.reverse?.b ? n : sub(size - 1, n), -1)];
}

/** Finds the unique slices along an axis (the first by default), the index of each slice, and their counts. */
function uniqueWithCounts({ inputs: [x, given], attr }: ImportedNode): Tensor[] {
  const axis = given ?? intVector([0]), out_idx = indexOf(attr.out_idx);
  const [y, at] = put("UniqueV2", [x, axis], { out_idx });
  const along = reshape(gather(shape(y), cast(axis, "int32")), []);
  const ones = onesLike(cast(at, "int32"));
  const counts = put1("UnsortedSegmentSum", [ones, cast(at, "int32"), along]);
  return [y, at, cast(counts, out_idx)];
}

export const NUMERIC_RULES: readonly RuleEntry[] = [
  [
    "MatrixDiag",
    diagonals("MatrixDiagV3", (x) => [intScalar(0), intScalar(-1), intScalar(-1), zero(x)]),
  ],
  ["MatrixDiagV2", diagonals("MatrixDiagV3", () => []), 5],
  ["MatrixDiagPart", diagonals("MatrixDiagPartV3", (x) => [intScalar(0), zero(x)])],
  ["MatrixDiagPartV2", diagonals("MatrixDiagPartV3", () => []), 3],
  ["MatrixSetDiag", diagonals("MatrixSetDiagV3", () => [intScalar(0)]), 2],
  ["MatrixSetDiagV2", diagonals("MatrixSetDiagV3", () => []), 3],
  [
    "TensorScatterSub",
    ({ inputs: [x, at, updates] }) => [tensorScatterAdd(x, at, neg(updates))],
    3,
  ],
  [
    "ScatterNdNonAliasingAdd",
    ({ inputs: [x, at, updates] }) => [tensorScatterAdd(x, at, updates)],
    3,
  ],
  ["Bucketize", bucketize],
  ["HistogramFixedWidth", histogram, 3],
  ["NthElement", nthElement, 2],
  ["UniqueWithCounts", uniqueWithCounts],
  ["UniqueWithCountsV2", uniqueWithCounts, 2],
];
