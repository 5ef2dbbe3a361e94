/** Kernels of the CPU device, each with random cases and what they should give: products, convolutions, poolings, images. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Attrs } from "../../../src/engine/core/op.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Dice } from "./oracle_random.ts";
import {
  convolution,
  eachIndex,
  eachTap,
  type Expected,
  products,
  Sums,
  windowPlaces,
  type Windows,
} from "./oracles.ts";

/** One call of an op, and what it should give. */
export interface Case {
  readonly inputs: readonly NdArray[];
  readonly attrs?: Attrs;
  readonly outputs: readonly Expected[];
}

/** Makes random cases of an op. */
export type Kernel = readonly [op: string, make: (dice: Dice) => Case];

const floats = (x: NdArray): Float32Array => x.data as Float32Array;

function matMul(dice: Dice): Case {
  const [m, n, k] = [dice.extent(20), dice.extent(20), dice.extent(20)];
  const transpose_a = dice.chance(0.4), transpose_b = dice.chance(0.4);
  const a = dice.floats(transpose_a ? [k, m] : [m, k]);
  const b = dice.floats(transpose_b ? [n, k] : [k, n]);
  const outputs = [products(a, b, [transpose_a, transpose_b])];
  return { inputs: [a, b], attrs: { transpose_a, transpose_b }, outputs };
}

function batchMatMul(dice: Dice): Case {
  const most = dice.chance(0.2) ? 60 : 9;
  const [m, n, k] = [dice.extent(most), dice.extent(most), dice.extent(most)];
  const batch = dice.shape(dice.between(0, 2), 3);
  const ofBatch = (): number[] => {
    const own = batch.map((d) => (dice.chance(0.3) ? 1 : d));
    return own.slice(dice.chance(0.3) ? dice.between(0, own.length) : 0);
  };
  const adj_x = dice.chance(0.4), adj_y = dice.chance(0.4);
  const a = dice.floats([...ofBatch(), ...adj_x ? [k, m] : [m, k]]);
  const b = dice.floats([...ofBatch(), ...adj_y ? [n, k] : [k, n]]);
  const both = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  return {
    inputs: [a, b],
    attrs: { adj_x, adj_y },
    outputs: [products(a, b, [adj_x, adj_y], both)],
  };
}

/** The shape that two shapes broadcast to. */
export function broadcast(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, d) => {
    const [p, q] = [a[d - rank + a.length] ?? 1, b[d - rank + b.length] ?? 1];
    return p === 1 ? q : p;
  });
}

function fusedMatMul(dice: Dice): Case {
  const { inputs: [a, b], attrs } = matMul(dice);
  const { values, scale } = products(a, b, [attrs!.transpose_a, attrs!.transpose_b]) as Sums;
  const n = attrs!.transpose_b ? b.shape[0] : b.shape[1], bias = dice.plain([n]);
  const relu = dice.chance(0.5);
  values.forEach((v, i) => {
    const sum = v + floats(bias)[i % n];
    values[i] = relu && sum < 0 ? 0 : sum;
    scale[i] += Math.abs(floats(bias)[i % n]);
  });
  const fused = { fused_ops: relu ? ["BiasAdd", "Relu"] : ["BiasAdd"], num_args: 1 };
  return { inputs: [a, b, bias], attrs: { ...attrs, ...fused }, outputs: [{ values, scale }] };
}

/** Windows of some rank, of so many taps along an axis, over a small image. */
function randomWindows(
  dice: Dice,
  rank: number,
  {
    dilated = true,
    explicit = true,
    taps = 3,
    channels = 20,
    most = rank === 2 ? 9 : 5,
  } = {},
): Windows {
  const window = Array.from({ length: rank }, () => dice.between(1, dice.chance(0.2) ? taps : 3));
  const dilations = window.map(() => (dilated && dice.chance(0.25) ? dice.between(1, 2) : 1));
  const strides = window.map(() => dice.between(1, 3));
  const kind = dice.pick("SAME", "VALID", explicit ? "EXPLICIT" : "SAME");
  const padding = kind === "EXPLICIT"
    ? window.map((): [number, number] => [dice.between(0, 2), dice.between(0, 2)])
    : kind as "SAME" | "VALID";
  // The window fits: there is a result.
  const space = window.map((n, d) => (n - 1) * dilations[d] + dice.between(1, most));
  const input = [dice.extent(3), ...space, dice.between(1, dice.chance(0.2) ? channels : 5)];
  return { input, window, strides, dilations, padding };
}

function windowAttrs({ padding, strides, dilations }: Windows): Attrs {
  const explicit = typeof padding !== "string";
  return {
    strides: [1, ...strides, 1],
    dilations: [1, ...dilations, 1],
    padding: explicit ? "EXPLICIT" : padding,
    ...(explicit ? { explicit_paddings: [0, 0, ...padding.flat(), 0, 0] } : {}),
  };
}

/** Now and then large windows, whose gradient has no vector code, and so many channels that rows are cut into blocks. */
function depthwiseExtents(dice: Dice, wanted: string): { taps?: number; channels?: number } {
  if (dice.chance(0.25)) return { channels: 400 };
  return wanted !== "filter" && dice.chance(0.3) ? { taps: 9 } : {};
}

/** Images are padded with zeros, and a zero times infinity is no number: only what is padded has special values. */
function conv(rank: number, wanted: "result" | "input" | "filter", depthwise = false) {
  return (dice: Dice): Case => {
    // Some images are so large that only their sides are padded.
    const large = rank === 2 && !depthwise && dice.chance(0.04);
    const w = randomWindows(dice, rank, {
      explicit: rank === 2,
      dilated: rank === 2,
      ...(large ? { most: 56 } : {}),
      ...(depthwise ? depthwiseExtents(dice, wanted) : {}),
    });
    const channels = w.input[rank + 1];
    const most = dice.chance(0.25) ? dice.pick(20, large ? 8 : 70) : 5;
    const more = depthwise ? dice.pick(1, 1, 2, 3, 4) : dice.between(1, most);
    const filterShape = [...w.window, channels, more];
    const resultShape = [w.input[0], ...windowPlaces(w).out, depthwise ? channels * more : more];
    const x = wanted === "input" ? ints(...w.input) : dice.floats(w.input);
    const filter = wanted === "filter" ? ints(...filterShape) : dice.plain(filterShape);
    const attrs = windowAttrs(w);
    const expected = (a: NdArray, b: NdArray): Expected[] => [
      convolution(w, filterShape, wanted, [a, b], depthwise),
    ];
    if (wanted === "result") return { inputs: [x, filter], attrs, outputs: expected(x, filter) };
    const dy = wanted === "input" ? dice.floats(resultShape) : dice.plain(resultShape);
    const outputs = wanted === "input" ? expected(filter, dy) : expected(x, dy);
    return { inputs: [x, filter, dy], attrs, outputs };
  };
}

/** The members of each window, channel by channel. */
function members(w: Windows): { places: number; of: number[][] } {
  const channels = w.input[w.input.length - 1];
  const places = w.input[0] * sizeOf(windowPlaces(w).out);
  const of: number[][] = Array.from({ length: places * channels }, () => []);
  eachTap(w, (pixel, _, place) => {
    for (let c = 0; c < channels; c++) of[place * channels + c].push(pixel * channels + c);
  });
  return { places, of };
}

function pool(rank: number, kind: "max" | "average", gradient: boolean) {
  return (dice: Dice): Case => {
    const flat = rank === 2;
    const w = randomWindows(dice, rank, {
      explicit: flat,
      dilated: flat,
      taps: flat ? 7 : 4,
      channels: 70,
    });
    const attrs = { ...windowAttrs(w), ksize: [1, ...w.window, 1] };
    const x = gradient ? dice.plain(w.input) : dice.floats(w.input);
    const { of } = members(w), data = floats(x);
    // Few values, so that the greatest is there more than once: the first counts.
    if (dice.chance(0.5)) data.forEach((v, i) => data[i] = Math.round(4 * v));
    const results = of.map((list) =>
      kind === "max"
        // NaN is passed over.
        ? Math.max(...list.map((i) => data[i]).filter((v) => !Number.isNaN(v)))
        : list.reduce((s, i) => s + data[i], 0) / Math.max(1, list.length)
    );
    const shape = [w.input[0], ...windowPlaces(w).out, w.input[rank + 1]];
    if (!gradient) {
      const scale = Float64Array.from(results, () => (kind === "max" ? 0 : 4));
      return { inputs: [x], attrs, outputs: [{ values: Float64Array.from(results), scale }] };
    }
    const dy = dice.plain(shape), sums = new Sums(x.size);
    of.forEach((list, i) => {
      const g = floats(dy)[i];
      if (kind === "average") list.forEach((at) => sums.add(at, g / list.length));
      else if (list.length > 0) sums.add(list.find((at) => data[at] === results[i])!, g);
    });
    if (kind === "average") {
      return { inputs: [ints(...w.input), dy], attrs, outputs: [sums] };
    }
    const y = new NdArray("float32", shape, Float32Array.from(results));
    return { inputs: [x, y, dy], attrs, outputs: [sums] };
  };
}

function resize(nearest: boolean) {
  return (dice: Dice): Case => {
    const [batch, h, w, c] = [
      dice.extent(3),
      dice.between(1, 6),
      dice.between(1, 6),
      dice.extent(9),
    ];
    const to = [dice.between(1, 9), dice.between(1, 9)];
    const align_corners = dice.chance(0.3), half_pixel_centers = !align_corners && dice.chance(0.5);
    const x = nearest || dice.chance(0.7)
      ? dice.plain([batch, h, w, c])
      : dice.integers([batch, h, w, c]);
    const shape = [batch, ...to, c];
    // TensorFlow finds the places in float32.
    const place = (at: number, from: number, extent: number): number => {
      const meet = align_corners && extent > 1;
      const scale = Math.fround(meet ? (from - 1) / (extent - 1) : from / extent);
      if (nearest) return Math.fround((half_pixel_centers ? at + 0.5 : at) * scale);
      return half_pixel_centers
        ? Math.fround(Math.fround((at + 0.5) * scale) - 0.5)
        : Math.fround(at * scale);
    };
    const inside = (at: number, extent: number): number => Math.max(0, Math.min(extent - 1, at));
    const values = new Float64Array(sizeOf(shape));
    eachIndex(shape, ([n, i, j, d], at) => {
      const [y, z] = [place(i, h, to[0]), place(j, w, to[1])];
      const pixel = (a: number, b: number): number =>
        floats(x)[((n * h + inside(a, h)) * w + inside(b, w)) * c + d];
      if (nearest) {
        const round = (p: number): number => Math.floor(align_corners ? p + 0.5 : p);
        values[at] = pixel(round(y), round(z));
        return;
      }
      const [a, b] = [Math.floor(y), Math.floor(z)], [p, q] = [y - a, z - b];
      values[at] = (1 - p) * ((1 - q) * pixel(a, b) + q * pixel(a, Math.ceil(z))) +
        p * ((1 - q) * pixel(Math.ceil(y), b) + q * pixel(Math.ceil(y), Math.ceil(z)));
    });
    const scale = values.map(() => (nearest ? 0 : mixedScale(x)));
    const size = new NdArray("int32", [2], Int32Array.from(to));
    return {
      inputs: [x, size],
      attrs: { align_corners, half_pixel_centers },
      outputs: [{ values, scale }],
    };
  };
}

/** Scale of allowed errors of interpolation. */
function mixedScale(x: NdArray): number {
  return x.dtype === "int32" ? 2 ** 34 : 4;
}

function crop(dice: Dice): Case {
  const [h, w, c] = [dice.between(1, 6), dice.between(1, 6), dice.extent(9)];
  const batch = dice.between(1, 3), count = dice.extent(4);
  const to = [dice.between(1, 7), dice.between(1, 7)], shape = [count, ...to, c];
  const nearest = dice.chance(0.4), rest = dice.pick(0, -2.5);
  const pixels = [batch, h, w, c], plain = nearest ? dice.floats(pixels) : dice.plain(pixels);
  const x = dice.chance(0.3) ? dice.integers(pixels) : plain;
  const owners = Int32Array.from({ length: count }, () => dice.between(0, batch - 1));
  // Edges inside and outside, in either order, and now and then none.
  const edges = Float32Array.from(
    { length: 4 * count },
    () => dice.chance(0.03) ? NaN : dice.between(-2, 12) / 10,
  );
  const place = (begin: number, end: number, extent: number, at: number, steps: number): number =>
    steps === 1
      ? 0.5 * (begin + end) * (extent - 1)
      : begin * (extent - 1) + at * (end - begin) * (extent - 1) / (steps - 1);
  const values = new Float64Array(sizeOf(shape));
  eachIndex(shape, ([k, i, j, d], at) => {
    const [y1, x1, y2, x2] = edges.subarray(4 * k, 4 * k + 4);
    const y = place(y1, y2, h, i, to[0]), z = place(x1, x2, w, j, to[1]);
    const pixel = (a: number, b: number): number =>
      Math.fround(floats(x)[((owners[k] * h + a) * w + b) * c + d]);
    const [a, b] = [Math.floor(y), Math.floor(z)], [p, q] = [y - a, z - b];
    if (!(y >= 0 && y <= h - 1 && z >= 0 && z <= w - 1)) values[at] = rest;
    else if (nearest) values[at] = pixel(Math.floor(y + 0.5), Math.floor(z + 0.5));
    else {
      values[at] = (1 - p) * ((1 - q) * pixel(a, b) + q * pixel(a, Math.ceil(z))) +
        p * ((1 - q) * pixel(Math.ceil(y), b) + q * pixel(Math.ceil(y), Math.ceil(z)));
    }
  });
  return {
    inputs: [
      x,
      new NdArray("float32", [count, 4], edges),
      new NdArray("int32", [count], owners),
      ints(...to),
    ],
    attrs: { method: nearest ? "nearest" : "bilinear", extrapolation_value: rest },
    outputs: [{ values, scale: values.map(() => (nearest ? 0 : mixedScale(x))) }],
  };
}

/** Kernels whose work is sums over pairs of arrays, and windows. */
export const PRODUCT_KERNELS: readonly Kernel[] = [
  ["MatMul", matMul],
  ["BatchMatMulV2", batchMatMul],
  ["_FusedMatMul", fusedMatMul],
  ["Conv2D", conv(2, "result")],
  ["Conv2DBackpropInput", conv(2, "input")],
  ["Conv2DBackpropFilter", conv(2, "filter")],
  ["Conv3D", conv(3, "result")],
  ["Conv3DBackpropInputV2", conv(3, "input")],
  ["Conv3DBackpropFilterV2", conv(3, "filter")],
  ["DepthwiseConv2dNative", conv(2, "result", true)],
  ["DepthwiseConv2dNativeBackpropInput", conv(2, "input", true)],
  ["DepthwiseConv2dNativeBackpropFilter", conv(2, "filter", true)],
  ["MaxPool", pool(2, "max", false)],
  ["MaxPoolGrad", pool(2, "max", true)],
  ["AvgPool", pool(2, "average", false)],
  ["AvgPoolGrad", pool(2, "average", true)],
  ["MaxPool3D", pool(3, "max", false)],
  ["MaxPool3DGrad", pool(3, "max", true)],
  ["AvgPool3D", pool(3, "average", false)],
  ["AvgPool3DGrad", pool(3, "average", true)],
  ["ResizeBilinear", resize(false)],
  ["ResizeNearestNeighbor", resize(true)],
  ["CropAndResize", crop],
];
