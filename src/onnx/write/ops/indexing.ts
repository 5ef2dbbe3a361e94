/** Elements picked and placed by indices; order. */
import { DTYPES, INTEGER_ENDS, isShort } from "../../../engine/core/dtype.ts";
import {
  compare,
  concat,
  expand,
  extents,
  filled,
  iota,
  reshape,
  scalarOf,
  shapeOf,
  slice,
  transpose,
  unsqueeze,
  upTo,
  where,
} from "../helpers.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";

function gatherRule(n: NodeWriter): Ref {
  const [x, indices] = n.xs, [given] = n.ints(2, "the axis"), batch = n.attrs.batch_dims as number;
  const axis = given < 0 ? given + n.rank(x) : given;
  const b = batch < 0 ? batch + n.rank(indices) : batch;
  if (b === 0) {
    const at = indices.dtype === "int32" || indices.dtype === "int64" ? indices : n.wide(indices);
    return n.node("Gather", [x, at], { axis: BigInt(axis) }, { operands: [0] });
  }
  const rank = n.rank(x), own = n.rank(indices) - b, before = axis - b;
  // The gathered axis goes behind the batch, and the axes between go behind what is gathered.
  const perm = [...upTo(b), axis, ...upTo(rank).filter((a) => a >= b && a !== axis)];
  const picked = n.node("GatherND", [transpose(n, x, perm), unsqueeze(n, n.wide(indices), [-1])], {
    batch_dims: BigInt(b),
  }, { operands: [0] });
  const all = upTo(b + own + rank - b - 1);
  const middle = all.slice(b + own, b + own + before);
  return transpose(n, picked, [
    ...all.slice(0, b),
    ...middle,
    ...all.slice(b, b + own),
    ...all.slice(b + own + before),
  ]);
}

/** Compares the indices with the numbers along the new axis. */
function oneHot(n: NodeWriter): Ref {
  const [indices, depth, on, off] = n.xs, rank = n.rank(indices);
  const given = n.attrs.axis as number, axis = given < 0 ? rank : given;
  const at = unsqueeze(n, n.wide(indices), [axis]);
  const places = reshape(n, iota(n, scalarOf(n, n.wide(depth))), [
    -1,
    ...new Array<number>(rank - axis).fill(1),
  ]);
  return where(n, compare(n, "Equal", at, places), on, off);
}

/** Makes the rule of a scatter into a tensor. */
function scatter(reduction: "none" | "add" | "mul" | "max" | "min"): WriteRule {
  return (n) => scatterInto(n, n.xs[0], n.wide(n.xs[1]), n.xs[2], reduction);
}

function scatterInto(n: NodeWriter, x: Ref, indices: Ref, updates: Ref, reduction: string): Ref {
  if ((reduction === "max" || reduction === "min") && n.target.opset < 18) {
    n.lacks(`a scatter by ${reduction} is of version 18, pass { opset: 18 }`);
  }
  const isSum = reduction !== "none", half = isShort(x.dtype);
  if (!isSum || !half) {
    return n.node("ScatterND", [x, indices, updates], isSum ? { reduction } : {}, {
      operands: [0, 2],
    });
  }
  const wide = n.node("ScatterND", [n.cast(x, "float32"), indices, n.cast(updates, "float32")], {
    reduction,
  }, { operands: [0, 2] });
  return n.cast(wide, x.dtype);
}

function scatterNd(n: NodeWriter): Ref {
  const [indices, updates, shape] = n.xs;
  const zeros = filled(n, n.wide(shape), 0, updates.dtype);
  return scatterInto(n, zeros, n.wide(indices), updates, "add");
}

/** Makes the rule of the place of the greatest or least element. */
function place(op: "ArgMax" | "ArgMin"): WriteRule {
  return (n) => {
    const [x] = n.xs, axis = n.axis(1, n.rank(x));
    const at = n.node(op, [x], { axis: BigInt(axis), keepdims: 0n }, { dtype: "int64" });
    return n.narrow(at, n.dtype);
  };
}

function topK(n: NodeWriter): Ref[] {
  const [x, k] = n.xs;
  const [values, at] = n.nodes("TopK", [x, reshape(n, n.wide(k), [1])], {}, [
    { dtype: "T" },
    { dtype: "int64" },
  ], [0]);
  return [values, n.narrow(at, n.outputs[1].dtype)];
}

/** Returns the places of elements that are not zero, a row for each. */
function places(n: NodeWriter): Ref {
  const rank = n.rank(n.xs[0]), x = rank === 0 ? reshape(n, n.xs[0], [1]) : n.xs[0];
  const isAny = x.dtype === "bool" || x.dtype === "float32" ? x : n.cast(x, "bool");
  const found = n.node("NonZero", [isAny], {}, {
    dtype: "int64",
    shape: [Math.max(rank, 1), null],
  });
  const rows = transpose(n, found, [1, 0]);
  // The place of a scalar has no numbers.
  return n.narrow(rank > 0 ? rows : slice(n, rows, { begin: [0], end: [0], axes: [1] }), n.dtype);
}

function unique(n: NodeWriter): Ref[] {
  const [x] = n.xs, axes = n.ints(1, "the axis");
  const axis = axes.length === 0 ? {} : { axis: BigInt(axes[0]) };
  const [values, , inverse] = n.nodes("Unique", [x], { sorted: 0n, ...axis }, [
    { dtype: "T" },
    { dtype: "int64" },
    { dtype: "int64" },
    { dtype: "int64" },
  ], [0]);
  return [values, n.narrow(inverse, n.outputs[1].dtype)];
}

/** Sums the rows of each segment: rows of negative segments go into one more row, which is cut off. */
function unsortedSegments(
  reduction: "add" | "mul" | "max" | "min",
  start: (n: NodeWriter) => number | bigint,
): WriteRule {
  return (n) => {
    const [data, ids, count] = n.xs, rank = n.rank(ids), segments = reshape(n, n.wide(count), [1]);
    const at = n.wide(ids), isAway = compare(n, "Less", at, n.scalar(0, "int64"));
    const rows = n.node("Add", [segments, n.int64s([1])]);
    const rest = extents(n, data, rank);
    const dims = concat(n, [rows, rest], 0);
    const empty = expand(n, n.scalar(start(n), data.dtype), dims);
    const sums = scatterInto(
      n,
      empty,
      unsqueeze(n, where(n, isAway, segments, at), [-1]),
      data,
      reduction,
    );
    return n.node("Slice", [sums, n.int64s([0]), segments, n.int64s([0])], {}, { operands: [0] });
  };
}

/** Returns the least number of the result's dtype, or the greatest. */
function endOf({ dtype }: NodeWriter, isLeast: boolean): number | bigint {
  const greatest = DTYPES[dtype].float?.greatest;
  if (greatest !== undefined) return isLeast ? -greatest : greatest;
  return INTEGER_ENDS[dtype]![isLeast ? 0 : 1];
}

export const INDEXING: WriteRules = {
  ArgMax: place("ArgMax"),
  ArgMin: place("ArgMin"),
  DynamicPartition: (n) => {
    const [x, parts] = n.xs;
    if (n.rank(parts) !== 1) return n.lacks("its partitions are no vector");
    return n.outputs.map((_, k) =>
      n.node("Compress", [x, compare(n, "Equal", parts, n.scalar(k, parts.dtype))], { axis: 0n }, {
        operands: [0],
      })
    );
  },
  GatherNd: (n) => n.node("GatherND", [n.xs[0], n.wide(n.xs[1])], {}, { operands: [0] }),
  GatherV2: gatherRule,
  InvertPermutation: (n) => {
    const [x] = n.xs, count = shapeOf(n, x);
    const places = n.cast(iota(n, scalarOf(n, count)), x.dtype);
    return n.node("ScatterElements", [x, n.wide(x), places], {}, { operands: [0, 2] });
  },
  OneHot: oneHot,
  ScatterNd: scatterNd,
  TensorScatterAdd: scatter("add"),
  TensorScatterMax: scatter("max"),
  TensorScatterMin: scatter("min"),
  TensorScatterUpdate: scatter("none"),
  _TensorScatterMul: scatter("mul"),
  TopKV2: topK,
  UniqueV2: unique,
  UnsortedSegmentMax: unsortedSegments("max", (n) => endOf(n, true)),
  UnsortedSegmentMin: unsortedSegments("min", (n) => endOf(n, false)),
  UnsortedSegmentProd: unsortedSegments("mul", () => 1),
  UnsortedSegmentSum: unsortedSegments("add", () => 0),
  Where: places,
};
