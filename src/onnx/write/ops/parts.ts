/** Ops that ONNX has not, by others of Weft's. */
import { apply1, type OpInput } from "../../../engine/core/apply.ts";
import { lookupOp } from "../../../engine/core/op.ts";
import { hostInts } from "../../../engine/ops/array/view.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { PARTS as PORTABLE } from "../../../tensorflow/graph_def/portable_parts.ts";
import * as tf from "../../../../mod.ts";
import { IMAGE_PARTS } from "./image_parts.ts";
import { type Expansion, extent, iota, like, rankOf, tensor } from "./part_helpers.ts";

function axisOf(axis: OpInput, rank: number): number {
  if (!(axis instanceof NdArray)) throw new UnimplementedError("the axis is not a constant");
  const [a] = hostInts(axis);
  return a < 0 ? a + rank : a;
}

/** The products of elements up to each, by a matrix of which take part. */
const cumprod: Expansion = ([given, axis], { exclusive, reverse }) => {
  const x = tensor(given), rank = rankOf(x), along = axisOf(axis, rank);
  const others = Array.from({ length: rank }, (_, i) => i).filter((i) => i !== along);
  const last = tf.expandDims(tf.transpose(x, [...others, along]), -2);
  const i = iota(extent(x, along)), row = tf.expandDims(i, 1), column = tf.expandDims(i, 0);
  const [a, b] = reverse ? [row, column] : [column, row];
  const takesPart = exclusive ? tf.less(a, b) : tf.lessEqual(a, b);
  const y = tf.prod(tf.where(takesPart, last, like(x, 1)), -1);
  const perm = [...others, along];
  return [tf.transpose(y, perm.map((_, k) => perm.indexOf(k)))];
};

const bandPart: Expansion = ([given, lower, upper]) => {
  const x = tensor(given), rank = rankOf(x);
  const row = tf.expandDims(iota(extent(x, rank - 2)), 1);
  const column = tf.expandDims(iota(extent(x, rank - 1)), 0);
  const within = (n: OpInput, distance: Tensor): Tensor => {
    const most = tf.cast(tensor(n), "int32");
    return tf.logicalOr(tf.less(most, 0), tf.lessEqual(distance, most));
  };
  const isIn = tf.logicalAnd(
    within(lower, tf.sub(row, column)),
    within(upper, tf.sub(column, row)),
  );
  return [tf.where(isIn, x, tf.zerosLike(x))];
};

const diag: Expansion = ([given]) => {
  const x = tensor(given), flat = tf.reshape(x, [-1]), i = iota(extent(flat, 0));
  const isOn = tf.equal(tf.expandDims(i, 0), tf.expandDims(i, 1));
  const square = tf.where(isOn, tf.expandDims(flat, 0), tf.zerosLike(tf.expandDims(flat, 0)));
  return [tf.reshape(square, tf.concat([tf.shape(x), tf.shape(x)]) as unknown as number[])];
};

const diagPart: Expansion = ([given]) => {
  const x = tensor(given), half = rankOf(x) / 2, dims = tf.slice(tf.shape(x), [0], [half]);
  const n = tf.prod(dims), flat = tf.reshape(x, [-1]);
  const picked = tf.gather(flat, tf.mul(iota(n), tf.add(n, 1)));
  return [tf.reshape(picked, dims as unknown as number[])];
};

/** Makes the place of each value among sorted ones, from the number of those before it. */
function bound(isBefore: (a: Tensor, b: Tensor) => Tensor): Expansion {
  return ([sorted, values], { out_type }) => {
    const before = isBefore(tf.expandDims(tensor(sorted), -2), tf.expandDims(tensor(values), -1));
    return [tf.sum(tf.cast(before, out_type as "int32"), -1)];
  };
}

/** Counts along the last axis of the given values. */
function counts(values: Tensor, size: OpInput, weights: Tensor, isBinary: boolean): Tensor {
  const n = tf.cast(tensor(size), "int32");
  const bins = iota(tf.reshape(n, []));
  const isHere = tf.equal(tf.expandDims(values, -1), tf.cast(bins, values.dtype));
  if (isBinary) return tf.cast(tf.any(isHere, -2), weights.dtype);
  if (weights.staticShape?.includes(null) !== false) {
    throw new UnimplementedError("it is not known if it has weights");
  }
  const hasWeights = !weights.staticShape.includes(0);
  const weight = hasWeights ? tf.expandDims(weights, -1) : like(weights, 1);
  return tf.sum(tf.where(isHere, weight, like(weights, 0)), -2);
}

const bincount: Expansion = ([values, size, weights]) => {
  const x = tensor(values), w = tensor(weights);
  const flat = tf.reshape(x, [-1]);
  const own = w.staticShape?.includes(0) ? w : tf.reshape(w, [-1]);
  return [counts(flat, size, own, false)];
};

const denseBincount: Expansion = ([values, size, weights], { binary_output }) => [
  counts(tensor(values), size, tensor(weights), binary_output as boolean),
];

const sparseCrossEntropy: Expansion = ([given, labels]) => {
  const x = tensor(given), classes = extent(x, 1);
  const marks = tf.equal(
    tf.expandDims(tf.cast(tensor(labels), "int32"), 1),
    tf.expandDims(iota(classes), 0),
  );
  const logs = tf.logSoftmax(x), zero = like(x, 0);
  const loss = tf.neg(tf.sum(tf.where(marks, logs, zero), 1));
  return [loss, tf.sub(tf.softmax(x), tf.cast(marks, x.dtype))];
};

/** Makes the rule of sorted segments by that of segments in any order. */
function sortedSegments(op: string): Expansion {
  return ([data, ids], attrs) => {
    const at = tensor(ids), count = tf.add(tf.max(at), tf.cast(tf.scalar(1, "int32"), at.dtype));
    const sums = apply1(lookupOp(`Unsorted${op}`)!, [data, ids, count], {
      Tindices: attrs.Tindices,
    });
    if (op === "SegmentSum" || op === "SegmentProd") return [sums];
    const rank = rankOf(data), ones = tf.onesLike(at);
    const rows = apply1(lookupOp("UnsortedSegmentSum")!, [ones, ids, count]);
    const wide = tf.reshape(rows, [-1, ...new Array<number>(rank - 1).fill(1)]);
    return [tf.where(tf.greater(wide, 0), sums, tf.zerosLike(sums))];
  };
}

const segmentMean: Expansion = ([data, ids], attrs) => {
  const [sums] = sortedSegments("SegmentSum")([data, ids], attrs);
  const [rows] = sortedSegments("SegmentSum")([tf.onesLike(tensor(data)), ids], attrs);
  return [tf.div(sums, tf.maximum(rows, like(rows, 1)))];
};

/** A real matrix's diagonal, or one beside it. */
const diagonalPart: Expansion = ([given, k]) => {
  const x = tensor(given), rank = rankOf(x);
  if (!(k instanceof NdArray) || k.size !== 1) throw new UnimplementedError("it takes a band");
  const [by] = hostInts(k), rows = extent(x, rank - 2), columns = extent(x, rank - 1);
  const [top, left] = [Math.max(-by, 0), Math.max(by, 0)];
  const n = tf.minimum(tf.sub(rows, top), tf.sub(columns, left));
  const flat = tf.reshape(
    x,
    tf.concat([
      tf.slice(tf.shape(x), [0], [rank - 2]),
      tf.tensor([-1], [1], "int32"),
    ]) as unknown as number[],
  );
  const at = tf.add(tf.mul(iota(n), tf.add(columns, 1)), tf.add(tf.mul(columns, top), left));
  return [tf.gather(flat, at, -1)];
};

/** Sets the diagonal of matrices; that alone, not a band. */
const setDiagonal: Expansion = ([given, diagonal, k]) => {
  if (!(k instanceof NdArray) || hostInts(k).some((d) => d !== 0)) {
    throw new UnimplementedError("it sets other diagonals than the main one");
  }
  const x = tensor(given), rank = rankOf(x), columns = extent(x, rank - 1);
  const isOn = tf.equal(
    tf.expandDims(iota(extent(x, rank - 2)), 1),
    tf.expandDims(iota(columns), 0),
  );
  const last = tensor(diagonal), short = tf.sub(columns, extent(last, rankOf(last) - 1));
  const pads = [...new Array<number>(2 * rankOf(last) - 1).fill(0)].map((v) =>
    tf.scalar(v, "int32")
  );
  const paddings = tf.reshape(tf.stack([...pads, short]), [-1, 2]);
  const wide = apply1(lookupOp("Pad")!, [last, paddings]);
  return [tf.where(isOn, tf.expandDims(wide, -2), x)];
};

/** Makes matrices with one diagonal, not a band. */
const diagonalMatrix: Expansion = ([given, k, numRows, numColumns, padding]) => {
  if (!(k instanceof NdArray) || new Set(hostInts(k)).size !== 1) {
    throw new UnimplementedError("it makes a band");
  }
  const x = tensor(given), last = rankOf(x) - 1, n = extent(x, last), [by] = hostInts(k);
  const [ownRows, ownColumns] = [numRows, numColumns].map((x) =>
    x instanceof NdArray ? hostInts(x)[0] : -1
  );
  const below = Math.max(-by, 0), beside = Math.max(by, 0), most = Math.max(below, beside);
  // Matrices of no given extent are square.
  const [more, wider] = ownRows < 0 && ownColumns < 0 ? [most, most] : [below, beside];
  const count = (own: number, least: number): Tensor =>
    own < 0 ? tf.add(n, least) : tf.scalar(own, "int32");
  const rows = count(ownRows, more), columns = count(ownColumns, wider);
  const isOn = tf.equal(
    tf.sub(tf.expandDims(iota(columns), 0), tf.expandDims(iota(rows), 1)),
    by,
  );
  // An element stands in the row of its number, below the main diagonal in the column.
  const pads = [...new Array<number>(2 * last + 1).fill(0)].map((v) => tf.scalar(v, "int32"));
  const short = tf.sub(by < 0 ? columns : rows, n);
  const wide = apply1(lookupOp("Pad")!, [x, tf.reshape(tf.stack([...pads, short]), [-1, 2])]);
  return [tf.where(isOn, tf.expandDims(wide, by < 0 ? -2 : -1), tf.reshape(tensor(padding), []))];
};

/** Puts each element back to the number that the slice has of it. */
const stridedSliceGrad: Expansion = ([shape, begin, end, strides, dy], attrs) => {
  const dims = tf.cast(tensor(shape), "int32"), size = tf.prod(dims);
  const masks = Object.fromEntries(Object.entries(attrs).filter(([key]) => key.endsWith("_mask")));
  const places = tf.reshape(iota(size), dims as unknown as number[]);
  const taken = apply1(lookupOp("StridedSlice")!, [places, begin, end, strides], masks);
  const none = apply1(lookupOp("Fill")!, [tf.reshape(size, [1]), like(tensor(dy), 0)]);
  const sums = tf.tensorScatterUpdate(
    none,
    tf.reshape(taken, [-1, 1]),
    tf.reshape(tensor(dy), [-1]),
  );
  return [tf.reshape(sums, dims as unknown as number[])];
};

/** Makes the sums or means of picked rows. */
function pickedSegments(op: "SegmentSum" | "SegmentMean"): Expansion {
  return ([data, indices, ids]) => [
    apply1(lookupOp(op)!, [tf.gather(tensor(data), tensor(indices)) as Tensor, ids]),
  ];
}

/** Expansions by op: those of a portable GraphDef, and of ops that TensorFlow has. */
export const PARTS: Readonly<Record<string, Expansion>> = {
  ...PORTABLE,
  ...IMAGE_PARTS,
  Bincount: bincount,
  Cumprod: cumprod,
  DenseBincount: denseBincount,
  Diag: diag,
  DiagPart: diagPart,
  LowerBound: bound(tf.less),
  MatrixBandPart: bandPart,
  MatrixDiagPartV3: diagonalPart,
  MatrixDiagV3: diagonalMatrix,
  MatrixSetDiagV3: setDiagonal,
  SegmentMax: sortedSegments("SegmentMax"),
  SegmentMean: segmentMean,
  SegmentMin: sortedSegments("SegmentMin"),
  SegmentProd: sortedSegments("SegmentProd"),
  SegmentSum: sortedSegments("SegmentSum"),
  SparseSegmentMean: pickedSegments("SegmentMean"),
  SparseSegmentSum: pickedSegments("SegmentSum"),
  SparseSoftmaxCrossEntropyWithLogits: sparseCrossEntropy,
  StridedSliceGrad: stridedSliceGrad,
  UpperBound: bound(tf.lessEqual),
};
