/** Kernels that answer with truth or with places, or mark places, each with random cases and what they should give. */

import { NdArray } from "../../../src/core/nd_array.ts";
import { sizeOf } from "../../../src/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { eachIndex, placeOf } from "./oracles.ts";

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

/** Kernels of truth and places. */
export const INDEX_KERNELS: readonly Kernel[] = [
  ["Any", truth("Any")],
  ["All", truth("All")],
  ["ArgMax", place("ArgMax", "float32")],
  ["ArgMin", place("ArgMin", "float32")],
  ["ArgMax", place("ArgMax", "int32")],
  ["ArgMin", place("ArgMin", "int32")],
  ["OneHot", oneHot],
];
