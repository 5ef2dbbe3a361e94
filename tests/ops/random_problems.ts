/** Problems of random shapes, for forcing kernels: sides lie around the edges of tiles, vectors and workgroups. */

import type { DType, NdArray } from "@weft/weft";
import { filled, noise, number, random, vector } from "./values.ts";

/** One application of an op. */
export interface RandomProblem {
  /** Inputs in the op's order. */
  readonly inputs: readonly NdArray[];
  /** Attributes. */
  readonly attrs?: Readonly<Record<string, unknown>>;
  /** Absolute tolerance of small results, if larger than rounding. */
  readonly absolute?: number;
}

/** Sides at which kernels go wrong. */
const EDGES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257];

/** Draws what a problem is made of; equal seeds draw the same. */
export class Draw {
  readonly #next: () => number;
  #arrays = 0;

  /** Starts a sequence. */
  constructor(seed: number) {
    this.#next = random(seed * 2654435761 + 1);
    for (let i = 0; i < 4; i++) this.#next();
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }
  /** One of some values. */
  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)];
  }
  /** True half of the time. */
  coin(): boolean {
    return this.#next() < 0.5;
  }
  /** A side up to `most`, often at an edge; now and then 0 where `least` allows. */
  side(most: number, least = 1): number {
    if (least === 0 && this.#next() < 0.04) return 0;
    const edges = EDGES.filter((n) => n <= most);
    return this.#next() < 0.7 ? this.pick(edges) : this.whole(1, most);
  }
  /** A shape of at most so many elements, with sides up to `side`. */
  shape(rank: number, elements: number, side = 257): number[] {
    const shape: number[] = [];
    let left = elements;
    for (let i = 0; i < rank; i++) {
      const d = this.side(Math.max(1, Math.min(side, left)), 0);
      shape.push(d);
      left = Math.floor(left / Math.max(1, d));
    }
    for (let i = rank - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [shape[i], shape[j]] = [shape[j], shape[i]];
    }
    return shape;
  }
  /** Some of the axes of a shape, maybe counted from the end. */
  axes(rank: number): number[] {
    const axes = Array.from({ length: rank }, (_, i) => i).filter(() => this.coin());
    return axes.map((a) => (this.coin() ? a : a - rank));
  }
  /** Values between -1 and 1, or small whole numbers. */
  values(shape: readonly number[], dtype: DType = "float32"): NdArray {
    return noise(dtype, shape, this.#arrays++ + this.whole(0, 1e6));
  }
  /** Whole numbers from `low` to `high`. */
  ints(shape: readonly number[], low: number, high: number): NdArray {
    return filled("int32", shape, () => this.whole(low, high));
  }
}

/** A shape that broadcasts to another: axes left out in front, and sides of 1. */
export function broadcastOf(shape: readonly number[], d: Draw): number[] {
  const cut = d.coin() ? 0 : d.whole(0, shape.length);
  return shape.slice(cut).map((n) => (d.whole(0, 3) === 0 ? 1 : n));
}

/** Dtypes of four bytes. */
export const NUMBERS = ["float32", "int32", "uint32"] as const;
const ADDED = ["float32", "int32", "complex64"] as const;

function pointwise(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 4), 5000), dtype = d.pick(NUMBERS);
  return { inputs: [d.values(broadcastOf(shape, d), dtype), d.values(shape, dtype)] };
}

function reduction(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 6000);
  const axes = d.axes(shape.length);
  return {
    inputs: [d.values(shape, d.pick(["float32", "int32"])), vector(...axes)],
    attrs: { keep_dims: d.coin() },
  };
}

function truth(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 6000);
  return {
    inputs: [d.values(shape, "bool"), vector(...d.axes(shape.length))],
    attrs: { keep_dims: d.coin() },
  };
}

function place(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 6000).map((n) => Math.max(1, n));
  return {
    inputs: [d.values(shape, d.pick(["float32", "int32"])), number(d.whole(0, shape.length - 1))],
    attrs: { output_type: "int32" },
  };
}

function scan(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 8000, 3000);
  return {
    inputs: [d.values(shape, d.pick(ADDED)), number(d.whole(0, shape.length - 1))],
    attrs: { exclusive: d.coin(), reverse: d.coin() },
  };
}

function rows(d: Draw): RandomProblem {
  return { inputs: [d.values([...d.shape(d.whole(1, 2), 40), d.side(600)])] };
}

function matMul(d: Draw): RandomProblem {
  // Long sums are cut into parts, where they are few.
  const long = d.whole(0, 5) === 0;
  const [m, n] = long ? [d.side(17), d.side(33)] : [d.side(140), d.side(140)];
  const k = long ? d.whole(512, 1300) : d.side(140, 0);
  const dtype = d.pick(ADDED);
  // One matrix times few vectors: kernels of their own.
  const thin = d.whole(0, 2) === 0, rows = thin ? d.whole(1, 4) : m;
  const transpose_a = !thin && d.coin(), transpose_b = thin || d.coin();
  return {
    inputs: [
      d.values(transpose_a ? [k, rows] : [rows, k], dtype),
      d.values(transpose_b ? [n, k] : [k, n], dtype),
    ],
    attrs: { transpose_a, transpose_b },
    absolute: roundings(k),
  };
}

/** Returns the tolerance of a sum of this many products of numbers up to 1, which may be near 0. */
function roundings(terms: number): number {
  return Math.max(1e-6, terms * 2 ** -23);
}

function batchMatMul(d: Draw): RandomProblem {
  const thin = d.whole(0, 2) === 0;
  const [m, n, k] = [thin ? d.whole(1, 4) : d.side(40), d.side(70), d.side(70)];
  const batch = d.shape(d.whole(1, 2), 6, 3).map((b) => Math.max(1, b));
  const adj_x = !thin && d.coin(), adj_y = thin || d.coin();
  const dtype = d.pick(["float32", "float32", "complex64"] as const);
  const a = d.values([...batch, ...(adj_x ? [k, m] : [m, k])], dtype);
  const b = d.values([...broadcastOf(batch, d), ...(adj_y ? [n, k] : [k, n])], dtype);
  return { inputs: [a, b], attrs: { adj_x, adj_y } };
}

/** A window over images. */
export interface Window {
  readonly x: number[];
  readonly filter: [number, number];
  readonly out: [number, number];
  readonly attrs: { strides: number[]; dilations: number[]; padding: string };
}

/** Features of random windows. */
interface WindowOptions {
  /** Leave elements out between those they see. Default: yes. */
  readonly dilates?: boolean;
  /** Step differently along each axis. Default: no. */
  readonly uneven?: boolean;
}

/** Images and a window that has at least one place in them. */
export function window(
  d: Draw,
  channels: number,
  { dilates = true, uneven = false }: WindowOptions = {},
): Window {
  const filter: [number, number] = [d.whole(1, 4), d.whole(1, 4)];
  const padding = d.pick(["SAME", "VALID"]);
  const [step, wide] = [d.whole(1, 3), dilates && d.coin() ? 2 : 1];
  const steps = [step, uneven && d.coin() ? d.whole(1, 3) : step];
  const reach = filter.map((f) => (f - 1) * wide + 1);
  const [h, w] = reach.map((r) => r - 1 + d.side(17));
  const out = [h, w].map((n, i) =>
    padding === "SAME" ? Math.ceil(n / steps[i]) : Math.floor((n - reach[i]) / steps[i]) + 1
  ) as [number, number];
  return {
    x: [d.whole(1, 2), h, w, channels],
    filter,
    out,
    attrs: {
      strides: [1, ...steps, 1],
      dilations: [1, wide, wide, 1],
      padding,
    },
  };
}

/** Channels that are summed: now and then so many that sums are cut into parts. */
function depth(d: Draw): number {
  return d.whole(0, 7) === 0 ? d.whole(33, 80) : d.side(9);
}

function conv(d: Draw): RandomProblem {
  const channels = depth(d);
  const { x, filter, attrs } = window(d, channels, { uneven: true });
  return {
    inputs: [d.values(x), d.values([...filter, channels, d.side(33)])],
    attrs,
    absolute: roundings(filter[0] * filter[1] * channels),
  };
}

function convInput(d: Draw): RandomProblem {
  const channels = d.side(9), made = depth(d);
  const { x, filter, out, attrs } = window(d, channels, { uneven: true });
  return {
    inputs: [vector(...x), d.values([...filter, channels, made]), d.values([x[0], ...out, made])],
    attrs,
    absolute: roundings(filter[0] * filter[1] * made),
  };
}

function convFilter(d: Draw): RandomProblem {
  const channels = d.side(9), made = d.side(17);
  const { x, filter, out, attrs } = window(d, channels, { uneven: true });
  return {
    inputs: [d.values(x), vector(...filter, channels, made), d.values([x[0], ...out, made])],
    attrs,
    absolute: roundings(x[0] * out[0] * out[1]),
  };
}

function depthwise(d: Draw): RandomProblem {
  const channels = d.side(9);
  const { x, filter, attrs } = window(d, channels);
  return { inputs: [d.values(x), d.values([...filter, channels, d.whole(1, 3)])], attrs };
}

function pool(d: Draw): RandomProblem {
  const { x, filter, attrs } = window(d, d.side(9), { dilates: false });
  const { strides, padding } = attrs;
  return { inputs: [d.values(x)], attrs: { ksize: [1, ...filter, 1], strides, padding } };
}

function avgPoolGrad(d: Draw): RandomProblem {
  const { x, filter, out, attrs } = window(d, d.side(9), { dilates: false });
  const { strides, padding } = attrs;
  return {
    inputs: [vector(...x), d.values([x[0], ...out, x[3]])],
    attrs: { ksize: [1, ...filter, 1], strides, padding },
  };
}

function gather(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 3000).map((n) => Math.max(1, n));
  const axis = d.whole(0, shape.length - 1);
  const indices = d.ints(d.shape(d.whole(0, 2), 40), 0, shape[axis] - 1);
  return { inputs: [d.values(shape, d.pick(NUMBERS)), indices, number(axis)] };
}

function gatherNd(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 3000).map((n) => Math.max(1, n));
  const depth = d.whole(1, shape.length), count = d.side(40);
  const places = Array.from(
    { length: count },
    () => shape.slice(0, depth).map((n) => d.whole(0, n - 1)),
  );
  const indices = filled(
    "int32",
    [count, depth],
    (i) => places[Math.floor(i / depth)][i % depth],
  );
  return { inputs: [d.values(shape), indices] };
}

/** Indices that may repeat; updates are whole numbers, whose sums do not depend on the order. */
function scatterNd(d: Draw): RandomProblem {
  const rows = d.side(65), columns = d.side(70), count = d.side(40);
  const dtype = d.pick(["float32", "int32"] as const);
  const updates = filled(dtype, [count, columns], () => d.whole(-9, 9));
  return { inputs: [d.ints([count, 1], 0, rows - 1), updates, vector(rows, columns)] };
}

function scatterAdd(d: Draw): RandomProblem {
  const { inputs: [indices, updates, shape] } = scatterNd(d);
  const table = filled(updates.dtype, shape.toArray() as number[], () => d.whole(-9, 9));
  return { inputs: [table, indices, updates] };
}

function segments(d: Draw): RandomProblem {
  const rows = d.side(129), count = d.side(33);
  const data = filled("float32", [rows, d.side(33)], () => d.whole(-9, 9));
  return { inputs: [data, d.ints([rows], -1, count - 1), number(count)] };
}

function concat(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 900), axis = d.whole(0, shape.length - 1);
  const dtype = d.pick(NUMBERS);
  const parts = Array.from(
    { length: d.whole(1, 11) },
    () => d.values(shape.map((n, i) => (i === axis ? d.side(17, 0) : n)), dtype),
  );
  return { inputs: [...parts, number(axis)] };
}

function split(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 2000).map((n) => Math.max(1, n));
  const axis = d.whole(0, shape.length - 1), num_split = d.whole(1, 9);
  shape[axis] *= num_split;
  return { inputs: [number(axis), d.values(shape, d.pick(NUMBERS))], attrs: { num_split } };
}

function transpose(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 6000);
  const perm = shape.map((_, i) => i);
  for (let i = perm.length - 1; i > 0; i--) {
    const j = d.whole(0, i);
    [perm[i], perm[j]] = [perm[j], perm[i]];
  }
  return { inputs: [d.values(shape, d.pick(NUMBERS)), vector(...perm)] };
}

function slice(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 6000);
  const begin = shape.map((n) => d.whole(0, n));
  const size = shape.map((n, i) => d.whole(0, n - begin[i]));
  return { inputs: [d.values(shape, d.pick(NUMBERS)), vector(...begin), vector(...size)] };
}

function pad(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 2000);
  const widths = d.ints([shape.length, 2], 0, 3);
  return { inputs: [d.values(shape, d.pick(NUMBERS)), widths] };
}

function tile(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 600);
  return { inputs: [d.values(shape), vector(...shape.map(() => d.whole(0, 3)))] };
}

function reverse(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 4), 4000);
  return { inputs: [d.values(shape, d.pick(NUMBERS)), vector(...d.axes(shape.length))] };
}

function topK(d: Draw): RandomProblem {
  const columns = d.side(1500), shape = [...d.shape(d.whole(0, 2), 9), columns];
  const k = d.coin() ? d.whole(1, Math.min(4, columns)) : d.whole(1, columns);
  return { inputs: [d.values(shape, d.pick(["float32", "int32"])), number(k)] };
}

function sorted(d: Draw): RandomProblem {
  const n = d.side(200), rows = d.side(5);
  const steps = Array.from({ length: n * rows }, () => d.whole(0, 2));
  steps.forEach((_, i) => i % n > 0 && (steps[i] += steps[i - 1]));
  return {
    inputs: [filled("int32", [rows, n], (i) => steps[i]), d.ints([rows, d.side(33)], -1, 2 * n)],
    attrs: { out_type: "int32" },
  };
}

function counts(d: Draw): RandomProblem {
  const size = d.whole(1, 200);
  return {
    inputs: [d.ints([d.side(900, 0)], 0, size + 5), number(size), filled("int32", [0], () => 0)],
  };
}

/** Generators by op. */
export const RANDOM_PROBLEMS: Readonly<Record<string, (d: Draw) => RandomProblem>> = {
  AddV2: pointwise,
  Maximum: pointwise,
  Less: pointwise,
  Sum: reduction,
  Mean: (d) => ({ ...reduction(d), inputs: [d.values(d.shape(3, 5000)), vector(...d.axes(3))] }),
  Max: reduction,
  Min: reduction,
  Prod: reduction,
  Any: truth,
  All: truth,
  ArgMax: place,
  ArgMin: place,
  Cumsum: scan,
  Cumprod: scan,
  Softmax: rows,
  LogSoftmax: rows,
  MatMul: matMul,
  BatchMatMulV2: batchMatMul,
  Conv2D: conv,
  Conv2DBackpropInput: convInput,
  Conv2DBackpropFilter: convFilter,
  DepthwiseConv2dNative: depthwise,
  MaxPool: pool,
  AvgPool: pool,
  AvgPoolGrad: avgPoolGrad,
  GatherV2: gather,
  GatherNd: gatherNd,
  ScatterNd: scatterNd,
  TensorScatterAdd: scatterAdd,
  UnsortedSegmentSum: segments,
  ConcatV2: concat,
  Split: split,
  Transpose: transpose,
  Slice: slice,
  Pad: pad,
  Tile: tile,
  ReverseV2: reverse,
  TopKV2: topK,
  LowerBound: sorted,
  UpperBound: sorted,
  Bincount: counts,
};
