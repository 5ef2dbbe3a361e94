/** Ops that sort, and whose results have data-dependent size. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { isFloat, like, put1, to } from "./raw.ts";
import { lastAxis, permuted } from "./indexing.ts";
import { counted } from "./shapes.ts";
import * as tf from "../build/tf.ts";

function topK(n: NodeCall): RuleOutput[] {
  const { attributes } = n, rank = n.rank(0), axis = n.axis("axis", -1, rank);
  const perm = lastAxis(rank, axis), x = permuted(n.x(0), perm);
  const k = n.version < 10 ? attributes.int("k", 1) : n.ints(1)?.[0] ?? tf.reshape(n.index(1), []);
  const isLargest = attributes.flag("largest", true);
  // The least are the greatest of the negated.
  const ordered = isLargest ? x : isFloat(x.dtype) ? tf.neg(x) : put1("Invert", [x]);
  const { values, indices } = tf.topk(ordered, k, attributes.flag("sorted", true));
  const found = isLargest ? values : isFloat(x.dtype) ? tf.neg(values) : put1("Invert", [values]);
  return [permuted(found, perm), counted(permuted(indices, perm))];
}

/** Sorts the rows of a matrix: by the first column, then by the next. */
function orderOfRows(rows: Tensor): Tensor {
  const [count, columns] = rows.staticShape!;
  let order = tf.range(0, count!, 1, "int32");
  // The sort is stable: the last column comes first.
  for (let c = columns! - 1; c >= 0; c--) {
    const column = tf.gather(tf.reshape(tf.slice(rows, [0, c], [-1, 1]), [-1]), order);
    order = tf.gather(order, tf.argsort(column));
  }
  return order;
}

/** Finds unique elements or slices, the first place of each, the index of each element among them, and their counts. */
export function unique(
  n: NodeCall,
  isSorted: boolean = n.attributes.flag("sorted", true),
): RuleOutput[] {
  const { attributes } = n;
  const hasAxis = attributes.has("axis"), rank = hasAxis ? n.rank(0) : 1;
  const axis = hasAxis ? n.axis("axis", 0, rank) : 0;
  const x = hasAxis ? n.x(0) : tf.reshape(n.x(0), [-1]);
  const { values: y, indices: raw } = tf.unique(x, axis);
  const inverse = to(raw, "int32"), total = tf.size(inverse);
  const found = tf.reshape(tf.slice(tf.shape(y), [axis], [1]), []);
  const ones = tf.onesLike(inverse);
  const numbers = tf.range(0, tf.reshape(total, []), 1, "int32");
  const counts = put1("UnsortedSegmentSum", [ones, inverse, found]);
  const first = tf.unsortedSegmentMin(numbers, inverse, found);
  if (!isSorted) return [y, counted(first), counted(inverse), counted(counts)];
  let order: Tensor;
  if (rank === 1) order = tf.argsort(to(y, y.dtype === "bfloat16" ? "float32" : y.dtype));
  else {
    const shape = y.staticShape ?? [];
    if (shape.includes(null)) n.needs("how many different slices there are");
    const perm = [axis, ...shape.map((_, i) => i).filter((i) => i !== axis)];
    order = orderOfRows(tf.reshape(tf.transpose(y, perm), [shape[axis]!, -1]));
  }
  const places = tf.argsort(order);
  return [
    tf.gather(y, order, axis),
    counted(tf.gather(first, order)),
    counted(tf.gather(places, inverse)),
    counted(tf.gather(counts, order)),
  ];
}

/** Returns the kept boxes of each image and class: rows of image, class and box. */
function nonMaxSuppression(n: NodeCall): RuleOutput {
  const scores = n.x(1), [batch, classes] = n.dims(1);
  if (batch === null || classes === null) n.needs("how many images and classes there are");
  let boxes = n.x(0);
  if (n.attributes.flag("center_point_box")) {
    const [x, y, width, height] = tf.split(boxes, 4, -1);
    const half = like(boxes, 0.5), dx = tf.mul(width, half), dy = tf.mul(height, half);
    boxes = tf.concat([tf.sub(y, dy), tf.sub(x, dx), tf.add(y, dy), tf.add(x, dx)], -1);
  }
  const scalar = (i: number, otherwise: number) =>
    n.has(i) ? tf.reshape(n.x(i), []) : tf.scalar(otherwise, "float32");
  const most = n.has(2) ? tf.reshape(n.index(2), []) : tf.scalar(0, "int32");
  const limits = [scalar(3, 0), scalar(4, -Infinity)];
  const rows: Tensor[] = [];
  for (let b = 0; b < batch!; b++) {
    const own = tf.reshape(tf.slice(boxes, [b, 0, 0], [1, -1, -1]), [-1, 4]);
    for (let c = 0; c < classes!; c++) {
      const score = tf.reshape(tf.slice(scores, [b, c, 0], [1, 1, -1]), [-1]);
      const kept = put1("NonMaxSuppressionV3", [own, score, most, ...limits]);
      const place = tf.tensor2d([[b, c]], [1, 2], "int32");
      const column = tf.expandDims(kept, 1);
      const beside = tf.tile(place, tf.concat([tf.shape(kept), tf.tensor1d([1], "int32")]));
      rows.push(tf.concat([beside, column], 1));
    }
  }
  return counted(rows.length === 0 ? tf.zeros([0, 3], "int32") : tf.concat(rows, 0));
}

/** Ops that order and select. */
export const ORDERING: readonly OpEntry[] = [
  op("NonMaxSuppression", 10, nonMaxSuppression),
  op("TopK", 1, topK, { known: [1] }),
  op("Unique", 11, unique),
];
