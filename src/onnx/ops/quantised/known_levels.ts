/** Matrices of levels that a file has: relative to their zero points once while loading, and in few bytes for products of few rows. */
import { currentInterpreter } from "../../../engine/core/apply.ts";
import { NdArray, sealArray } from "../../../engine/core/nd_array.ts";
import { sizeOf } from "../../../engine/core/shape.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { matMul } from "../products.ts";
import { put1 } from "../raw.ts";
import { largestColumn } from "./magnitudes.ts";
import { weightsLater } from "./weights.ts";
import * as tf from "../../build/tf.ts";

/** Rows up to which products read levels: as many as devices multiply as levels. */
const FEW_ROWS = 12;

/** Levels of a block in the form of products of few rows. */
const BLOCK = 128;

/** Side of the squares in which levels are transposed: they stay in the nearest cache. */
const SIDE = 64;

/** Sums below this are exact in float32. */
const MOST_EXACT = 2 ** 24;

/** Sums below this are within a half where levels are multiplied, which rounds each part of a sum to float32. */
const MOST_NEAR = 2 ** 21;

/** A matrix `[k, n]` of levels of 8 bits, with a zero point for all or one for each column. */
export class KnownLevels {
  readonly #levels: NdArray;
  readonly #zeros: readonly number[];
  #centred: NdArray | null = null;
  #rows: readonly [levels: NdArray, scales: NdArray, zeros: NdArray] | null = null;
  #most: number | null = null;
  #pieces: readonly KnownLevels[] | null = null;

  constructor(
    levels: NdArray,
    zero: NdArray | null,
    zeros: readonly number[] = zero === null ? [0] : Array.from(zero.data as Int8Array),
  ) {
    this.#levels = levels;
    this.#zeros = zeros.every((z) => z === zeros[0]) ? zeros.slice(0, 1) : zeros;
  }

  /** The levels relative to their zero points, float32. */
  get centred(): NdArray {
    if (this.#centred !== null) return this.#centred;
    const zero = new NdArray("int32", [this.#zeros.length], Int32Array.from(this.#zeros));
    const given = { levels: this.#levels, scale: null, zero, axis: 1 };
    return this.#centred = weightsLater(given, [0, 1]);
  }

  /** The largest sum of magnitudes of a column: bounds sums of products. */
  get most(): number {
    if (this.#most !== null) return this.#most;
    const { shape: [, columns], data } = this.#levels;
    return this.#most = largestColumn(data as Int8Array, columns, this.#zeros);
  }

  /** Pieces of rows whose sums of products with levels of 8 bits float32 holds exactly. */
  get pieces(): readonly KnownLevels[] {
    if (this.#pieces !== null) return this.#pieces;
    const count = Math.ceil(this.most * 255 / MOST_EXACT), { dtype, shape: [k, n] } = this.#levels;
    if (count <= 1) return this.#pieces = [this];
    const each = Math.ceil(k / count), pieces: KnownLevels[] = [];
    for (let from = 0; from < k; from += each) {
      const rows = Math.min(each, k - from), levels = this.#levels.data as Int8Array;
      const part = levels.subarray(from * n, (from + rows) * n);
      const own = new KnownLevels(new NdArray(dtype, [rows, n], part), null, this.#zeros);
      pieces.push(...own.pieces);
    }
    return this.#pieces = pieces;
  }

  /** Number of rows. */
  get rows(): number {
    return this.#levels.shape[0];
  }

  /** Multiplies rows of float32 by them: few rows read the levels themselves. */
  times(x: Tensor): Tensor {
    return this.#times(x, true);
  }

  /** Multiplies rows of whole numbers of 8 bits by them: results are exact once they are rounded, for pieces. */
  timesWhole(x: Tensor): Tensor {
    return this.#times(x, this.most * 255 < MOST_NEAR);
  }

  #times(x: Tensor, byLevels: boolean): Tensor {
    const { constant } = interpreter();
    if (!byLevels || !isFew(x)) {
      return matMul(x, constant(this.centred), [x.staticShape?.length ?? 2, 2]);
    }
    const isVector = x.staticShape!.length === 1, from = isVector ? tf.expandDims(x, 0) : x;
    const attrs = { bits: 8, block: BLOCK, inner: this.#levels.shape[0] };
    const y = put1("_QuantizedMatMul", [from, ...this.#inRows().map(constant)], attrs);
    return isVector ? tf.squeeze(y, 0) : y;
  }

  /** Returns the columns as rows of blocks of unsigned levels. */
  #inRows(): readonly NdArray[] {
    if (this.#rows !== null) return this.#rows;
    const { dtype, shape: [k, n] } = this.#levels, levels = this.#levels.data as Int8Array;
    const blocks = Math.ceil(k / BLOCK), width = blocks * BLOCK, bytes = new Uint8Array(n * width);
    const lift = dtype === "int8" ? 128 : 0, zeros = this.#zeros;
    for (let from = 0; from < k; from += SIDE) {
      for (let first = 0; first < n; first += SIDE) {
        const end = Math.min(k, from + SIDE), last = Math.min(n, first + SIDE);
        for (let j = first; j < last; j++) {
          for (let i = from; i < end; i++) bytes[j * width + i] = levels[i * n + j] + lift;
        }
      }
    }
    const zeroOf = (j: number): number => zeros[zeros.length === 1 ? 0 : j] + lift;
    const each = zeros.length === 1
      ? new NdArray("float32", [], Float32Array.of(zeroOf(0)))
      : new NdArray(
        "float32",
        [n, blocks],
        Float32Array.from({ length: n * blocks }, (_, i) => zeroOf(Math.floor(i / blocks))),
      );
    const words = new NdArray("int32", [n, blocks, BLOCK / 4], new Int32Array(bytes.buffer));
    const ones = new NdArray("float32", [n, blocks], new Float32Array(n * blocks).fill(1));
    return this.#rows = [words, ones, each].map(sealArray) as unknown as [
      NdArray,
      NdArray,
      NdArray,
    ];
  }
}

/** True for rows that are multiplied as levels: few, and how many is known. */
export function isFew(x: Tensor): boolean {
  const before = x.staticShape?.slice(0, -1);
  return before !== undefined && !before.includes(null) && sizeOf(before as number[]) <= FEW_ROWS;
}

function interpreter(): { readonly constant: (array: NdArray) => Tensor } {
  const now = currentInterpreter();
  return { constant: (array) => now.constant(array) };
}

/** Matrices by their levels and zero points: several traces need the same. */
const made = new WeakMap<NdArray, Map<NdArray | null, KnownLevels>>();

/** Returns a matrix of levels of 8 bits that is known while building; null for other inputs. `zero`: the input of its zero points. */
export function knownLevels(n: NodeCall, w: number, zero: number): KnownLevels | null {
  const levels = n.value(w).known, zeros = n.has(zero) ? n.value(zero).known : null;
  if (levels === null || n.has(zero) && zeros === null || n.value(w).data !== null) return null;
  return levelsOfMatrix(levels, zeros);
}

/** Returns a matrix of levels of 8 bits with these zero points; null for other arrays. */
export function levelsOfMatrix(levels: NdArray, zeros: NdArray | null): KnownLevels | null {
  if (levels.rank !== 2 || levels.dtype !== "int8" && levels.dtype !== "uint8") return null;
  if (zeros !== null && zeros.rank > 1) return null;
  if (zeros !== null && zeros.size !== 1 && zeros.size !== levels.shape[1]) return null;
  const by = made.get(levels) ?? new Map<NdArray | null, KnownLevels>();
  made.set(levels, by);
  const found = by.get(zeros);
  if (found !== undefined) return found;
  const matrix = new KnownLevels(levels, zeros);
  by.set(zeros, matrix);
  return matrix;
}
