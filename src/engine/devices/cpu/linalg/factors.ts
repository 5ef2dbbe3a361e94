/**
 * Triangular factors by elimination with the largest pivot of each column: halves of the columns one after the other (Toledo 1997), so
 * that almost all of the work is products of blocks that caches hold.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { Block, type Steps } from "./block.ts";
import { eliminating, exchanging } from "./pivots.ts";
import { WIDTH } from "./strips.ts";

/** A square matrix that becomes its factors, in one. */
export class Factors {
  readonly bytes: number;
  readonly #engine: Engine;
  readonly #block: Block;
  readonly #n: number;
  readonly #eliminate: WasmFunction;
  readonly #exchange: WasmFunction;
  /** The numbers of the rows from which each column's pivot came, and then 1 where one was 0. */
  #pivots: Pointer = 0;

  constructor(engine: Engine, dtype: "float32" | "float64", n: number) {
    this.#engine = engine;
    this.#n = n;
    this.#block = new Block(engine, dtype, n, n);
    this.#eliminate = eliminating(engine);
    this.#exchange = exchanging(engine);
    this.bytes = this.#block.bytes + 64 * Math.ceil((n + 1) / 16);
  }

  /** Uses memory that nothing moves from now on. */
  moveTo(at: Pointer): void {
    this.#block.moveTo(at);
    this.#pivots = at + this.#block.bytes;
  }

  /** Computes the factors of a matrix; false for a singular one. */
  of(from: Pointer, steps: Steps): boolean {
    const n = this.#n, block = this.#block, { strips } = block;
    const flag = this.#pivots + 4 * n, { i32 } = this.#engine.heap;
    block.pack(from, steps);
    i32[flag / 4] = 0;
    for (let s = 0; s < strips; s++) {
      const first = WIDTH * s, width = Math.min(WIDTH, n - first);
      this.#eliminate(block.place(s, 0), first, n, width, this.#pivots, flag);
      if (i32[flag / 4] !== 0) return false;
      const columns = [first, first + width] as const, next = s + 1;
      this.#turn(block, columns, [0, s]);
      this.#turn(block, columns, [next, strips]);
      // The halves that end here: as many strips as the lowest bit of their number says, and as many after them.
      const half = next & -next, right = Math.min(half, strips - next);
      block.below([next - half, next], block, [next, right], true);
    }
    return true;
  }

  /** Exchanges rows of strips as the pivots of columns were. */
  #turn(
    block: Block,
    [first, end]: readonly [number, number],
    [from, to]: readonly [number, number],
  ): void {
    const step = block.stripBytes;
    if (from < to) this.#exchange(block.place(from, 0), to - from, step, this.#pivots, first, end);
  }

  unpack(to: Pointer, steps: Steps): void {
    this.#block.unpack(to, steps);
  }

  #pivot(column: number): number {
    return this.#engine.heap.i32[this.#pivots / 4 + column];
  }

  /** The row of the matrix that stands in each row. */
  order(): Int32Array {
    const order = Int32Array.from({ length: this.#n }, (_, i) => i);
    for (let i = 0; i < this.#n; i++) {
      const row = this.#pivot(i);
      [order[i], order[row]] = [order[row], order[i]];
    }
    return order;
  }

  /** Sign and absolute value of the determinant, or the logarithm of this. */
  determinant(isLog: boolean): [sign: number, size: number] {
    let sign = 1, size = isLog ? 0 : 1;
    for (let i = 0; i < this.#n; i++) {
      const x = this.#block.elements[this.#block.index(i, i)];
      // NaN has no sign, and stays.
      sign *= (x < 0 ? -1 : x > 0 ? 1 : NaN) * (this.#pivot(i) === i ? 1 : -1);
      if (isLog) size += Math.log(Math.abs(x));
      else size *= Math.abs(x);
    }
    return [sign, size];
  }

  /** Solves the systems of the right sides. */
  solve(rhs: Block): void {
    const block = this.#block, all = [0, rhs.strips] as const;
    this.#turn(rhs, [0, this.#n], all);
    block.below([0, block.strips], rhs, all, true);
    this.#above(rhs);
  }

  /** Makes the inverse, with columns in the order of the rows. */
  invert(rhs: Block): void {
    const block = this.#block, { strips } = block;
    rhs.elements.fill(0);
    for (let i = 0; i < this.#n; i++) rhs.elements[rhs.index(i, i)] = 1;
    for (let from = 0; from < strips; from += OF_INVERSE) {
      const to = Math.min(strips, from + OF_INVERSE);
      // Columns to the right are zero so far.
      block.below([from, to], rhs, [0, to], true);
    }
    this.#above(rhs);
  }

  #above(rhs: Block): void {
    rhs.clearRest();
    this.#block.endWithOnes();
    this.#block.above(rhs);
  }

  /** Writes an inverse whose columns are in the order of the rows. */
  putInOrder(inverse: Block, to: Float32Array | Float64Array, at: number): void {
    const n = this.#n, places = new Int32Array(n), { elements } = inverse, order = this.order();
    for (let i = 0; i < n; i++) places[order[i]] = inverse.index(0, i);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) to[at + i * n + j] = elements[places[j] + WIDTH * i];
    }
  }
}

/** Strips of factors that an inverse meets at once. */
const OF_INVERSE = 16;
