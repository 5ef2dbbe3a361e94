/** Kernels that answer with truth or with places, or mark places, each with random cases and what they should give. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { eachIndex, type Expected, placeOf, Sums } from "./oracles.ts";

/** Small extents; often one that is long. */
function longShape(dice: Dice, rank: number): number[] {
  const shape = dice.shape(rank, rank < 3 ? 8 : 5);
  if (rank > 0 && dice.chance(0.4)) shape[dice.between(0, rank - 1)] = dice.between(1, 300);
  return shape;
}

function truth(kind: "Any" | "All") {
  return (dice: Dice): Case => {
    const shape = longShape(dice, dice.between(0, 4)), rare = dice.pick(0, 0.02, 0.5);
    const x = new NdArray(
      "bool",
      shape,
      Uint8Array.from(
        { length: sizeOf(shape) },
        () => Number(dice.chance(rare) === (kind === "Any")),
      ),
    );
    const axes = shape.map((_, d) => d).filter(() => dice.chance(0.5));
    const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
    const values = new Float64Array(sizeOf(kept)).fill(kind === "Any" ? 0 : 1);
    eachIndex(shape, (index, at) => {
      const to = placeOf(index, kept), v = Number(x.data[at]);
      values[to] = kind === "Any" ? Math.max(values[to], v) : Math.min(values[to], v);
    });
    return { inputs: [x, ints(...axes)], outputs: [{ values }] };
  };
}

/** Many are equal, so that the first of them matters; some arrays hold little but NaN and the least and greatest numbers. */
function contested(dice: Dice, shape: readonly number[], dtype: "float32" | "int32"): NdArray {
  const size = sizeOf(shape), kind = dice.between(0, 3);
  const extremes = dtype === "float32"
    ? [NaN, NaN, dice.pick(-Infinity, Infinity), -0, 0]
    : [2147483647, -2147483648];
  const few = kind === 0 ? extremes : kind === 1 ? [NaN, Infinity, -Infinity].slice(0, 2) : null;
  if (few && (dtype === "float32" || kind === 0)) {
    const data = Array.from({ length: size }, () => dice.pick(...few));
    return new NdArray(
      dtype,
      [...shape],
      dtype === "float32" ? Float32Array.from(data) : Int32Array.from(data),
    );
  }
  if (kind === 2) {
    const data = Int32Array.from({ length: size }, () => dice.between(-3, 3));
    return new NdArray(
      dtype,
      [...shape],
      dtype === "float32" ? Float32Array.from(data) : data,
    );
  }
  return dtype === "float32" ? dice.floats(shape) : dice.integers(shape);
}

function place(kind: "ArgMax" | "ArgMin", dtype: "float32" | "int32") {
  return (dice: Dice): Case => {
    const shape = longShape(dice, dice.between(1, 4)), axis = dice.between(0, shape.length - 1);
    if (shape[axis] === 0) shape[axis] = 1;
    // Wide enough for several blocks of columns.
    if (axis === 0 && shape.length < 3 && dice.chance(0.1)) {
      shape[shape.length - 1] = dice.between(1000, 2500);
    }
    const x = contested(dice, shape, dtype), data = x.data as Float32Array;
    const kept = shape.map((n, d) => (d === axis ? 1 : n)), size = sizeOf(kept);
    const best = new Float64Array(size).fill(NaN), values = new Float64Array(size);
    eachIndex(shape, (index, at) => {
      const to = placeOf(index, kept), v = data[at];
      const better = kind === "ArgMax" ? v > best[to] : v < best[to];
      if (better || (Number.isNaN(best[to]) && !Number.isNaN(v))) {
        [best[to], values[to]] = [v, index[axis]];
      }
    });
    const dimension = new NdArray("int32", [], Int32Array.of(axis));
    return { inputs: [x, dimension], attrs: { output_type: "int32" }, outputs: [{ values }] };
  };
}

/** Greater first, of equals the first, NaN last. */
function topK(dtype: "float32" | "int32") {
  return (dice: Dice): Case => {
    const n = dice.between(1, dice.chance(0.4) ? 300 : 20);
    const shape = [...dice.shape(dice.between(0, 2), 5), n], k = dice.between(0, n);
    const x = contested(dice, shape, dtype), lead = shape.slice(0, -1);
    const values = new Float64Array(sizeOf(lead) * k), places = new Float64Array(values.length);
    const keyOf = (v: number): number => Number.isNaN(v) ? -Infinity : v === -Infinity ? -1e39 : v;
    for (let r = 0; r < sizeOf(lead); r++) {
      const row = Array.from({ length: n }, (_, i) => Number(x.data[r * n + i]));
      const order = row.map((v, i) => [keyOf(v), i]).sort(([v, i], [w, j]) => w - v || i - j);
      order.slice(0, k).forEach(([, i], place) => {
        [values[r * k + place], places[r * k + place]] = [row[i], i];
      });
    }
    const count = new NdArray("int32", [], Int32Array.of(k));
    return { inputs: [x, count], outputs: [{ values }, { values: places }] };
  };
}

function oneHot(dice: Dice): Case {
  const shape = dice.shape(dice.between(0, 3), 9), axis = dice.between(-1, shape.length);
  const at = axis < 0 ? shape.length : axis, depth = dice.extent(dice.chance(0.3) ? 70 : 6);
  const T = dice.pick<"float32" | "int32">("float32", "int32");
  const x = new NdArray(
    "int32",
    shape,
    Int32Array.from({ length: sizeOf(shape) }, () => dice.between(-2, depth + 1)),
  );
  const [on, off] = [1, 0].map((usual) => {
    const value = NdArray.zeros(T, []);
    (value.data as Float32Array)[0] = dice.chance(0.5) ? usual : dice.between(-9, 9);
    return value;
  });
  const result = [...shape.slice(0, at), depth, ...shape.slice(at)];
  const values = new Float64Array(sizeOf(result));
  eachIndex(result, (index, place) => {
    const source = placeOf(index.filter((_, d) => d !== at), shape);
    values[place] = Number((x.data[source] === index[at] ? on : off).data[0]);
  });
  const count = new NdArray("int32", [], Int32Array.of(depth));
  return { inputs: [x, count, on, off], attrs: { axis, T, TI: "int32" }, outputs: [{ values }] };
}

/** Index vectors into the leading axes, one a row: often the same place twice. */
function scatter(start: "zeros" | "added to" | "written over") {
  return (dice: Dice): Case => {
    const rank = dice.between(1, 4), shape = Array.from({ length: rank }, () => dice.between(1, 5));
    const depth = dice.between(1, rank), count = dice.extent(7), isInt = dice.chance(0.5);
    const isBool = start === "written over" && dice.chance(0.3);
    if (depth < rank && dice.chance(0.3)) shape[rank - 1] = dice.between(1, 40);
    const of = (own: readonly number[]): NdArray =>
      isBool ? dice.truths(own) : isInt ? dice.integers(own) : dice.plain(own);
    const inner = shape.slice(depth), width = sizeOf(inner), updates = of([count, ...inner]);
    const vectors = Array.from(
      { length: count },
      () => shape.slice(0, depth).map((n) => dice.between(0, n - 1)),
    );
    const indices = new NdArray("int32", [count, depth], Int32Array.from(vectors.flat()));
    const before = start === "zeros" ? NdArray.zeros(updates.dtype, shape) : of(shape);
    const sums = new Sums(sizeOf(shape)), { values } = sums;
    (before.data as Float32Array).forEach((v, i) => sums.add(i, v));
    vectors.forEach((vector, row) => {
      const to = width * dense(vector, shape.slice(0, depth));
      for (let i = 0; i < width; i++) {
        const v = Number(updates.data[row * width + i]);
        if (start === "written over") values[to + i] = v;
        else if (isInt) values[to + i] = (values[to + i] + v) | 0;
        else sums.add(to + i, v);
      }
    });
    const outputs = [isInt || start === "written over" ? { values } : sums];
    if (start === "zeros") return { inputs: [indices, updates, ints(...shape)], outputs };
    return { inputs: [before, indices, updates], outputs };
  };
}

function segmentSum(dice: Dice): Case {
  const lead = dice.shape(dice.between(1, 2), 6), inner = dice.shape(dice.between(0, 2), 7);
  const segments = dice.between(1, 6), x = dice.plain([...lead, ...inner]), width = sizeOf(inner);
  const ids = Int32Array.from({ length: sizeOf(lead) }, () => dice.between(-2, segments - 1));
  const sums = new Sums(segments * width);
  ids.forEach((id, row) => {
    for (let i = 0; id >= 0 && i < width; i++) {
      sums.add(id * width + i, Number(x.data[row * width + i]));
    }
  });
  const num = new NdArray("int32", [], Int32Array.of(segments));
  return { inputs: [x, new NdArray("int32", lead, ids), num], outputs: [sums] };
}

/** Along any axis, with indices of their own for each batch. */
function gatherGrad(dice: Dice): Case {
  const shape = Array.from({ length: dice.between(1, 4) }, () => dice.between(1, 5));
  const axis = dice.between(0, shape.length - 1), batch_dims = dice.between(0, axis);
  const own = dice.shape(dice.between(0, 2), 5), batch = shape.slice(0, batch_dims);
  const indices = new NdArray(
    "int32",
    [...batch, ...own],
    Int32Array.from(
      { length: sizeOf(batch) * sizeOf(own) },
      () => dice.between(0, shape[axis] - 1),
    ),
  );
  const dy = dice.plain([...shape.slice(0, axis), ...own, ...shape.slice(axis + 1)]);
  const sums = new Sums(sizeOf(shape));
  eachIndex(dy.shape, (index, at) => {
    const pick = [...index.slice(0, batch_dims), ...index.slice(axis, axis + own.length)];
    const place = Number(indices.data[dense(pick, indices.shape)]);
    const to = [...index.slice(0, axis), place, ...index.slice(axis + own.length)];
    sums.add(dense(to, shape), Number(dy.data[at]));
  });
  const where = new NdArray("int32", [], Int32Array.of(axis));
  return {
    inputs: [dy, indices, ints(...shape), where],
    attrs: { batch_dims, Tindices: "int32" },
    outputs: [sums],
  };
}

/** Along any axis, or by index vectors. */
function gather(by: "axis" | "vectors") {
  return (dice: Dice): Case => {
    const rank = dice.between(1, 4), shape = Array.from({ length: rank }, () => dice.between(1, 5));
    if (dice.chance(0.3)) shape[rank - 1] = dice.between(1, 40);
    const table = dice.anything(shape);
    const of = (own: readonly number[], extent: (last: number) => number): NdArray => {
      const data = Int32Array.from(
        { length: sizeOf(own) },
        (_, i) => dice.between(0, extent(i % (own[own.length - 1] ?? 1)) - 1),
      );
      return new NdArray("int32", [...own], data);
    };
    const pick = (result: readonly number[], from: (index: number[]) => number[]): Expected => {
      const values = new Float64Array(sizeOf(result));
      eachIndex(result, (index, at) => values[at] = Number(table.data[dense(from(index), shape)]));
      return { values };
    };
    const own = dice.shape(dice.between(0, 2), 6);
    if (by === "vectors") {
      const depth = dice.between(1, rank);
      const indices = of([...own, depth], (k) => shape[k]);
      const from = (index: number[]): number[] => {
        const first = dense(index.slice(0, own.length), own) * depth;
        const vector = Array.from({ length: depth }, (_, k) => Number(indices.data[first + k]));
        return [...vector, ...index.slice(own.length)];
      };
      const attrs = { Tindices: "int32" };
      const outputs = [pick([...own, ...shape.slice(depth)], from)];
      return { inputs: [table, indices], attrs, outputs };
    }
    const axis = dice.between(0, rank - 1), batch_dims = dice.between(0, axis);
    const batch = shape.slice(0, batch_dims);
    const indices = of([...batch, ...own], () => shape[axis]);
    const from = (index: number[]): number[] => {
      const at = [...index.slice(0, batch_dims), ...index.slice(axis, axis + own.length)];
      const place = Number(indices.data[dense(at, indices.shape)]);
      return [...index.slice(0, axis), place, ...index.slice(axis + own.length)];
    };
    return {
      inputs: [table, indices, new NdArray("int32", [], Int32Array.of(axis))],
      attrs: { batch_dims, Tindices: "int32" },
      outputs: [pick([...shape.slice(0, axis), ...own, ...shape.slice(axis + 1)], from)],
    };
  };
}

/** The place of an index; unlike `placeOf`, nothing is broadcast. */
function dense(index: readonly number[], shape: readonly number[]): number {
  return shape.reduce((at, n, d) => at * n + index[d], 0);
}

function bincount(dense: boolean) {
  return (dice: Dice): Case => {
    const shape = dice.shape(dense ? dice.between(1, 2) : dice.between(0, 3), 40);
    const size = dice.between(0, 12), T = dice.pick<"float32" | "int32">("float32", "int32");
    const binary_output = dense && dice.chance(0.3), own = dice.chance(0.5) ? shape : [0];
    const x = new NdArray(
      "int32",
      shape,
      Int32Array.from({ length: sizeOf(shape) }, () => dice.between(0, 15)),
    );
    const weights = T === "int32" ? dice.integers(own) : dice.plain(own);
    const lead = shape.length === 2 && dense ? [shape[0]] : [];
    const sums = new Sums(sizeOf(lead) * size), { values } = sums;
    (x.data as Int32Array).forEach((v, i) => {
      if (v >= size) return;
      const at = v + (lead.length ? Math.floor(i / shape[1]) * size : 0);
      const weight = weights.data.length ? Number(weights.data[i]) : 1;
      if (binary_output) values[at] = 1;
      else if (T === "int32") values[at] = (values[at] + weight) | 0;
      else sums.add(at, weight);
    });
    const count = new NdArray("int32", [], Int32Array.of(size));
    return {
      inputs: [x, count, weights],
      attrs: dense ? { binary_output } : {},
      outputs: [T === "int32" ? { values } : sums],
    };
  };
}

/** Kernels of truth and places. */
export const INDEX_KERNELS: readonly Kernel[] = [
  ["Any", truth("Any")],
  ["All", truth("All")],
  ["ArgMax", place("ArgMax", "float32")],
  ["ArgMin", place("ArgMin", "float32")],
  ["ArgMax", place("ArgMax", "int32")],
  ["ArgMin", place("ArgMin", "int32")],
  ["TopKV2", topK("float32")],
  ["TopKV2", topK("int32")],
  ["OneHot", oneHot],
  ["Bincount", bincount(false)],
  ["DenseBincount", bincount(true)],
  ["ScatterNd", scatter("zeros")],
  ["TensorScatterAdd", scatter("added to")],
  ["TensorScatterUpdate", scatter("written over")],
  ["UnsortedSegmentSum", segmentSum],
  ["GatherGrad", gatherGrad],
  ["GatherV2", gather("axis")],
  ["GatherNd", gather("vectors")],
];
