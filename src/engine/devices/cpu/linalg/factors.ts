/**
 * Triangular factors by elimination with the largest pivot of each column: halves of the columns one after the other (Toledo 1997), so
 * that almost all of the work is products of blocks that caches hold.
 */
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { Block, TOGETHER } from "./block.ts";
import { ROW_BYTES, WIDTH } from "./strips.ts";

/** A square matrix that becomes its factors, in one. */
export class Factors {
  readonly bytes: number;
  /** The row of the matrix that stands in each row. */
  readonly order: Int32Array;
  readonly #engine: Engine;
  readonly #block: Block;
  readonly #n: number;
  /** The row from which each column's pivot came. */
  readonly #pivots: Int32Array;
  readonly #panelBytes: number;
  #panels: Pointer = 0;
  #pairs: Pointer = 0;

  constructor(engine: Engine, dtype: "float32" | "float64", n: number) {
    this.#engine = engine;
    this.#n = n;
    const block = this.#block = new Block(engine, dtype, n, n);
    this.order = new Int32Array(n);
    this.#pivots = new Int32Array(n);
    this.#panelBytes = ROW_BYTES * WIDTH * block.strips * Math.min(TOGETHER, block.strips);
    this.bytes = block.bytes + this.#panelBytes + 8 * n;
  }

  /** Uses memory that nothing moves from now on. */
  moveTo(at: Pointer): void {
    this.#block.moveTo(at);
    this.#panels = at + this.#block.bytes;
    this.#pairs = this.#panels + this.#panelBytes;
  }

  /** Computes the factors of a matrix; false for a singular one. */
  of(from: Pointer, steps: readonly [column: number, row: number]): boolean {
    this.#block.pack(from, steps);
    for (let i = 0; i < this.#n; i++) this.order[i] = i;
    return this.#eliminate(0, this.#block.strips);
  }

  unpack(to: Pointer, steps: readonly [column: number, row: number]): void {
    this.#block.unpack(to, steps);
  }

  /** Sign and absolute value of the determinant, or the logarithm of this. */
  determinant(isLog: boolean): [sign: number, size: number] {
    let sign = 1, size = isLog ? 0 : 1;
    for (let i = 0; i < this.#n; i++) {
      const x = this.#block.elements[this.#block.index(i, i)];
      // NaN has no sign, and stays.
      sign *= (x < 0 ? -1 : x > 0 ? 1 : NaN) * (this.#pivots[i] === i ? 1 : -1);
      if (isLog) size += Math.log(Math.abs(x));
      else size *= Math.abs(x);
    }
    return [sign, size];
  }

  /** Eliminates the columns of strips; false for a singular matrix. */
  #eliminate(from: number, to: number): boolean {
    if (to - from === 1) return this.#eliminateOne(from);
    const middle = from + to + 1 >> 1;
    if (!this.#eliminate(from, middle)) return false;
    this.#below([from, middle], this.#block, [middle, to - middle]);
    return this.#eliminate(middle, to);
  }

  /** Eliminates the columns of one strip, one by one. */
  #eliminateOne(strip: number): boolean {
    const n = this.#n, a = this.#block.elements, zero = this.#block.index(0, WIDTH * strip);
    const first = WIDTH * strip, width = Math.min(WIDTH, n - first), end = zero + WIDTH * n;
    for (let k = 0; k < width; k++) {
      const c = first + k, head = zero + WIDTH * c;
      let pivot = head, most = Math.abs(a[head + k]);
      for (let i = head + WIDTH; i < end; i += WIDTH) {
        const size = Math.abs(a[i + k]);
        if (size > most) {
          most = size;
          pivot = i;
        }
      }
      const row = this.#pivots[c] = (pivot - zero) / WIDTH;
      if (row !== c) {
        for (let j = 0; j < WIDTH; j++) {
          [a[head + j], a[pivot + j]] = [a[pivot + j], a[head + j]];
        }
        [this.order[c], this.order[row]] = [this.order[row], this.order[c]];
      }
      const by = a[head + k];
      if (by === 0) return false;
      for (let i = head + WIDTH; i < end; i += WIDTH) {
        const factor = a[i + k] /= by;
        for (let j = k + 1; j < width; j++) a[i + j] -= factor * a[head + j];
      }
    }
    this.#exchange(this.#block, [first, first + width], [0, strip]);
    this.#exchange(this.#block, [first, first + width], [strip + 1, this.#block.strips]);
    return true;
  }

  /** Exchanges rows in strips as pivots did. */
  #exchange(
    block: Block,
    [first, end]: readonly [number, number],
    [from, to]: readonly [number, number],
  ): void {
    if (from === to) return;
    const { i32 } = this.#engine.heap;
    let next = this.#pairs / 4;
    for (let c = first; c < end; c++) {
      const row = this.#pivots[c];
      if (row === c) continue;
      i32[next++] = ROW_BYTES * c;
      i32[next++] = ROW_BYTES * row;
    }
    const count = (next - this.#pairs / 4) / 2;
    if (count === 0) return;
    block.kernels.exchange(block.place(from, 0), to - from, block.stripBytes, this.#pairs, count);
  }

  /** Solves the systems of the right sides. */
  solve(rhs: Block): void {
    const { strips } = this.#block;
    this.#exchange(rhs, [0, this.#n], [0, rhs.strips]);
    this.#below([0, strips], rhs, [0, rhs.strips]);
    this.#above(rhs);
  }

  /** Makes the inverse, with columns in the order of the rows. */
  invert(rhs: Block): void {
    const { strips } = this.#block;
    rhs.elements.fill(0);
    for (let i = 0; i < this.#n; i++) rhs.elements[rhs.index(i, i)] = 1;
    for (let from = 0; from < strips; from += TOGETHER) {
      const to = Math.min(strips, from + TOGETHER);
      // Columns to the right are zero so far.
      this.#below([from, to], rhs, [0, to]);
    }
    this.#above(rhs);
  }

  /** Solves the lower triangle of strips for the rows of others, and subtracts their products from the rows below. */
  #below(
    [first, end]: readonly [number, number],
    target: Block,
    [strip, count]: readonly [number, number],
  ): void {
    const { strips, kernels } = this.#block;
    for (let from = first; from < end; from += TOGETHER) {
      const to = Math.min(end, from + TOGETHER), depth = WIDTH * (to - from);
      const panelStep = ROW_BYTES * depth, panels = this.#panels;
      for (let s = from; s < to; s++) {
        const at = panels + ROW_BYTES * WIDTH * (s - from);
        kernels.turn(
          ...[at, this.#block.place(s, WIDTH * from), WIDTH * (strips - from)],
          ...[WIDTH, ROW_BYTES, 8, panelStep],
        );
      }
      this.#putOnes(depth);
      target.sweep({
        ...{ row: WIDTH * from, first: strip, count, panels, panelStep },
        ...{ solves: to - from, updates: strips - to },
      });
    }
  }

  /** Puts ones on the diagonal of the triangle in panels. */
  #putOnes(depth: number): void {
    const a = new Float64Array(this.#engine.heap.memory.buffer, this.#panels, depth * depth);
    for (let i = 0; i < depth; i++) a[((i >> 2) * depth + i) * WIDTH + (i & 3)] = 1;
  }

  /** Solves the upper triangle. */
  #above(rhs: Block): void {
    const block = this.#block, n = this.#n, { strips } = block, panels = this.#panels;
    // Rows and columns past the last are those of a matrix of ones.
    rhs.clearRest();
    for (let j = n; j < WIDTH * strips; j++) {
      for (let i = 0; i < j; i++) block.elements[block.index(i, j)] = 0;
      block.elements[block.index(j, j)] = 1;
    }
    for (let to = strips; to > 0; to -= TOGETHER) {
      const from = Math.max(0, to - TOGETHER), last = WIDTH * to - 1;
      const panelStep = ROW_BYTES * WIDTH * (to - from);
      for (let s = to - 1; s >= from; s--) {
        const at = panels + ROW_BYTES * WIDTH * (to - 1 - s);
        block.kernels.turn(
          ...[at, block.place(s, last) + 8 * (WIDTH - 1), WIDTH * to],
          ...[WIDTH, -ROW_BYTES, -8, panelStep],
        );
      }
      rhs.sweep({
        ...{ row: last, step: -ROW_BYTES, first: 0, count: rhs.strips, panels, panelStep },
        ...{ solves: to - from, updates: from },
      });
    }
  }

  /** Writes an inverse whose columns are in the order of the rows. */
  putInOrder(inverse: Block, to: Float32Array | Float64Array, at: number): void {
    const n = this.#n, places = new Int32Array(n), { elements } = inverse;
    for (let i = 0; i < n; i++) places[this.order[i]] = inverse.index(0, i);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) to[at + i * n + j] = elements[places[j] + WIDTH * i];
    }
  }
}
