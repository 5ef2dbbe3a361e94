/** Ops that ONNX has not, by others of Weft's. */
import { apply1, type OpInput } from "../../../engine/core/apply.ts";
import { lookupOp, type OpInit } from "../../../engine/core/op.ts";
import { hostInts } from "../../../engine/ops/array/view.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { isolated } from "../../../engine/runtime/eager/isolated.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { PARTS as PORTABLE } from "../../../tensorflow/graph_def/portable_parts.ts";
import * as tf from "../../../../mod.ts";

type Expansion = NonNullable<OpInit["expand"]>;

function tensor(x: OpInput): Tensor {
  return tf.identity(x as Tensor);
}

function rankOf(x: OpInput): number {
  const rank = x instanceof NdArray ? x.shape.length : (x as Tensor).staticShape?.length;
  if (rank === undefined) throw new UnimplementedError("the rank of an input is not known");
  return rank;
}

function axisOf(axis: OpInput, rank: number): number {
  if (!(axis instanceof NdArray)) throw new UnimplementedError("the axis is not a constant");
  const [a] = hostInts(axis);
  return a < 0 ? a + rank : a;
}

/** Returns an extent as a scalar. */
function extent(x: Tensor, axis: number): Tensor {
  const known = x.staticShape?.[axis];
  return known == null ? tf.gather(tf.shape(x), axis) : tf.scalar(known, "int32");
}

function iota(n: Tensor): Tensor {
  return apply1(lookupOp("Range")!, [tf.scalar(0, "int32"), n, tf.scalar(1, "int32")]);
}

/** Returns a number in the dtype of a tensor. */
function like(x: Tensor, value: number): Tensor {
  return tf.cast(tf.scalar(value, "int32"), x.dtype);
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

/**
 * Makes a resize whose weights ONNX has not: a product with a matrix along each axis, which Weft's own op makes of the
 * pictures of single rows.
 */
function resizeByMatrix(op: string): Expansion {
  return ([given, size], attrs) => {
    const x = tensor(given);
    const [height, width] = x.staticShape?.slice(1, 3) ?? [null, null];
    if (height == null || width == null || !(size instanceof NdArray)) {
      throw new UnimplementedError("the extents of its images are not known");
    }
    const { align_corners, half_pixel_centers } = attrs;
    const matrix = (from: number, to: number): Tensor => {
      const rows = new NdArray("float32", [1, from, 1, from], new Float32Array(from * from));
      for (let i = 0; i < from; i++) (rows.data as Float32Array)[i * from + i] = 1;
      const made = isolated({ device: "/CPU:0" }, () => {
        const of = { align_corners, ...(op === "ResizeBicubic" && { half_pixel_centers }) };
        const weights = apply1(lookupOp(op)!, [rows, hostVector([to, 1])], of);
        const array = weights.ndarraySync();
        weights.dispose();
        return array;
      });
      return tf.constant(new NdArray("float32", [to, from], made.data));
    };
    const [tall, broad] = hostInts(size), floats = tf.cast(x, "float32");
    return [tf.einsum("ph,qw,bhwc->bpqc", matrix(height, tall), matrix(width, broad), floats)];
  };
}

function hostVector(values: readonly number[]): NdArray {
  return new NdArray("int32", [values.length], Int32Array.from(values));
}

/** Samples each box by a product with the weights of the rows and the columns that it reads. */
const cropAndResize: Expansion = ([given, boxes, which, size], { method, extrapolation_value }) => {
  if (!(size instanceof NdArray)) {
    throw new UnimplementedError("the size of crops is not a constant");
  }
  const image = tf.cast(tensor(given), "float32"), corners = tensor(boxes), crop = hostInts(size);
  const axis = (k: 0 | 1): { readonly weights: Tensor; readonly inside: Tensor } => {
    const extents = tf.cast(extent(image, k + 1), "float32"), last = tf.sub(extents, 1);
    const [from, to] = [k, k + 2].map((i) => tf.slice(corners, [0, i], [-1, 1]));
    const steps = tf.tensor([
      Array.from({ length: crop[k] }, (_, i) => crop[k] > 1 ? i / (crop[k] - 1) : 0.5),
    ]);
    const at = tf.mul(tf.add(from, tf.mul(tf.sub(to, from), steps)), last);
    const inside = tf.logicalAnd(tf.greaterEqual(at, 0), tf.lessEqual(at, last));
    const place = tf.cast(iota(extent(image, k + 1)), "float32");
    const read = tf.expandDims(method === "nearest" ? tf.round(at) : at, -1);
    const weights = tf.maximum(tf.sub(1, tf.abs(tf.sub(read, place))), 0);
    return { weights, inside };
  };
  const rows = axis(0), columns = axis(1);
  const picked = tf.gather(image, tensor(which)) as Tensor;
  const made = tf.einsum("nph,nqw,nhwc->npqc", rows.weights, columns.weights, picked);
  const inside = tf.logicalAnd(tf.expandDims(rows.inside, 2), tf.expandDims(columns.inside, 1));
  return [tf.where(tf.expandDims(inside, -1), made, tf.scalar(extrapolation_value as number))];
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

/** Expansions by op: those of a portable GraphDef, and of ops that TensorFlow has. */
export const PARTS: Readonly<Record<string, Expansion>> = {
  ...PORTABLE,
  Bincount: bincount,
  CropAndResize: cropAndResize,
  Cumprod: cumprod,
  DenseBincount: denseBincount,
  Diag: diag,
  DiagPart: diagPart,
  LowerBound: bound(tf.less),
  MatrixBandPart: bandPart,
  MatrixDiagPartV3: diagonalPart,
  ResizeArea: resizeByMatrix("ResizeArea"),
  ResizeBicubic: resizeByMatrix("ResizeBicubic"),
  MatrixSetDiagV3: setDiagonal,
  SegmentMax: sortedSegments("SegmentMax"),
  SegmentMean: segmentMean,
  SegmentMin: sortedSegments("SegmentMin"),
  SegmentProd: sortedSegments("SegmentProd"),
  SegmentSum: sortedSegments("SegmentSum"),
  SparseSoftmaxCrossEntropyWithLogits: sparseCrossEntropy,
  UpperBound: bound(tf.lessEqual),
};
