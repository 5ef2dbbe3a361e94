/**
 * The comparisons that find each measurable constant of src/engine/devices/cpu/thresholds.ts.
 *
 * @module
 */

import type { Attrs } from "../../src/engine/core/op.ts";
import type { THRESHOLDS } from "../../src/engine/devices/cpu/thresholds.ts";

/** A constant's name. */
export type Name = keyof typeof THRESHOLDS;

/** Work on both sides of a constant. */
export interface Question {
  /** The constant. */
  readonly name: Name;
  /** Description of the comparison, for the note beside the constant. */
  readonly compared: string;
  /** Sizes of the work, in ascending order. */
  readonly sizes: readonly number[];
  /** Returns the number to compare with the constant, for work of a size. */
  value(size: number): number;
  /** The op and its inputs' shapes. */
  work(size: number): Work;
}

/** An op on inputs of noise. */
export interface Work {
  readonly op: string;
  readonly shapes: readonly (readonly number[])[];
  readonly attrs?: Attrs;
  /** Dtypes of inputs that are not float32, by their place. */
  readonly dtypes?: Readonly<Record<number, "int32">>;
  /** Inputs that the host reads, by their place. */
  readonly hosts?: Readonly<Record<number, readonly number[]>>;
}

function product(m: number, k: number, n: number): Work {
  const attrs = { transpose_a: false, transpose_b: false };
  return { op: "MatMul", shapes: [[m, k], [k, n]], attrs };
}

/** Products that are computed together. */
const BATCH = 32;

function batch(m: number, k: number, n: number, adj_y = false): Work {
  const shapes = [[BATCH, m, k], [BATCH, ...(adj_y ? [n, k] : [k, n])]];
  return { op: "BatchMatMulV2", shapes, attrs: { adj_x: false, adj_y } };
}

function conv(height: number, width: number, channels: number): Work {
  return {
    op: "Conv2D",
    shapes: [[1, height, width, channels], [3, 3, channels, channels]],
    attrs: {
      strides: [1, 1, 1, 1],
      padding: "SAME",
      data_format: "NHWC",
      dilations: [1, 1, 1, 1],
      explicit_paddings: [],
    },
  };
}

function columnSum(rows: number, columns: number): Work {
  const attrs = { keep_dims: false };
  return { op: "Sum", shapes: [[rows, columns], [1]], hosts: { 1: [0] }, attrs };
}

/** The questions. */
export const QUESTIONS: readonly Question[] = [
  {
    name: "smallProduct",
    compared: "32 products [n, n] × [n, n] by the small kernel and by panels",
    sizes: [6, 8, 12, 16, 20, 24, 28, 32, 40, 48],
    value: (n) => n ** 3,
    work: (n) => batch(n, n, n),
  },
  {
    name: "smallTurned",
    compared: "32 products [1, n] × [n, n]ᵀ by the small kernel and by dots",
    sizes: [4, 6, 8, 12, 16, 24, 32],
    value: (n) => n * n,
    work: (n) => batch(1, n, n, true),
  },
  {
    name: "smallRead",
    compared: "32 products [1, n] × [n, n] by the small kernel and in order",
    sizes: [8, 12, 16, 24, 32, 40, 48, 64],
    value: (n) => n * n,
    work: (n) => batch(1, n, n),
  },
  {
    name: "thinRows",
    compared: "products [m, 512] × [512, 512] in order and by panels",
    sizes: [1, 2, 3, 4, 5, 6, 7, 8],
    value: (m) => m,
    work: (m) => product(m, 512, 512),
  },
  {
    name: "levelsRows",
    compared: "products [m, 1024] with 1024 rows of 4 bits, by dots of integers and by panels",
    sizes: [2, 4, 6, 8, 12, 16, 24, 32],
    value: (m) => m,
    work: (m) => ({
      op: "_QuantizedMatMul",
      shapes: [[m, 1024], [1024, 32, 4], [1024, 32], []],
      dtypes: { 1: "int32" },
      attrs: { bits: 4, block: 32, inner: 1024 },
    }),
  },
  {
    name: "directRows",
    compared: "products [m, 128] × [128, 128] without and with packing",
    sizes: [4, 6, 8, 12, 16, 20, 24, 32, 48, 60],
    value: (m) => m,
    work: (m) => product(m, 128, 128),
  },
  {
    name: "nearBytes",
    compared: "products [64, n] × [n, n] without and with packing",
    sizes: [32, 40, 48, 56, 64, 80, 96, 112, 128],
    value: (n) => 4 * n * n,
    work: (n) => product(64, n, n),
  },
  {
    name: "convNearBytes",
    compared: "3×3 convolutions of 14×14×c to c, whole filters for few places and by blocks",
    sizes: [17, 20, 24, 28, 32, 40, 48, 64, 80, 96],
    value: (c) => 36 * c * c,
    work: (c) => conv(14, 14, c),
  },
  {
    name: "convFewPlaces",
    compared: "3×3 convolutions of 2×w×32 to 32, whole filters for few places and by blocks",
    sizes: [4, 6, 8, 12, 16, 24, 32, 48, 64, 96],
    value: (w) => 2 * w,
    work: (w) => conv(2, w, 32),
  },
  {
    name: "heldRows",
    compared: "sums over the m rows of [m, 4096], held and row by row",
    sizes: [2, 4, 6, 8, 12, 16, 24],
    value: (m) => m,
    work: (m) => columnSum(m, 4096),
  },
  {
    name: "heldElements",
    compared: "sums over the 32 rows of [32, n], held and row by row",
    sizes: [16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    value: (n) => 32 * n,
    work: (n) => columnSum(32, n),
  },
  {
    name: "sortedRow",
    compared: "whole rows of [64, n] by value, otherwise and by counting bytes",
    sizes: [132, 144, 160, 200, 300],
    value: (n) => n,
    work: (n) => ({
      op: "TopKV2",
      shapes: [[64, n], []],
      hosts: { 1: [n] },
      attrs: { sorted: true, index_type: "int32" },
    }),
  },
];
