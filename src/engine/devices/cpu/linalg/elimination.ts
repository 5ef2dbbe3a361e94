/**
 * Elimination with the largest pivot of each column, in float64 and vector code: halves of the columns one after the other (Toledo 1997),
 * so that almost all of the work is products of blocks that caches hold.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { blockUpdate } from "./block_update.ts";

const BYTES = 8;
/** Least rows that vector code is worth. */
const LEAST_ROWS = 24;
/** Columns that are eliminated one by one. */
const NARROW = 8;
/** Terms of the sums of one call: so many rows of a block of columns stay in the first cache. */
const DEPTH = 64;
/** Rows of which a triangle is solved row by row. */
const TRIANGLE = 32;

/** Prepares an elimination; null for small matrices, and dtypes that loops take. */
export function prepareElimination(
  engine: Engine,
  { inputs, outputs, attrs }: Problem,
  { gives }: MeaningOf<"elimination">,
): FastRun | null {
  const [{ dtype, shape }, rhs] = inputs, n = shape[shape.length - 1], [out, places] = outputs;
  const isFloat = dtype === "float32" || dtype === "float64";
  if (!isFloat || n < LEAST_ROWS || places && places.dtype !== "int32") return null;
  const k = gives === "factors" ? 0 : out.shape[out.shape.length - 1];
  const count = sizeOf(shape.slice(0, -2)), { heap } = engine, update = blockUpdate(engine);
  // Rows that are a power of two apart would meet in the caches; kernels load some columns more.
  const step = Math.ceil((n + k) / 8) * 8 + 8, bytes = BYTES * (n * step + 8);
  const numbers = (at: Pointer, size: number): Float32Array | Float64Array =>
    dtype === "float64"
      ? new Float64Array(heap.memory.buffer, at, size)
      : new Float32Array(heap.memory.buffer, at, size);
  return ([to, permutation], [from, right]) =>
    heap.lend(bytes, (at) => {
      const x = numbers(from, count * n * n), y = numbers(to, sizeOf(out.shape));
      const b = rhs && numbers(right, count * n * k);
      const rows = new Rows(update, new Float64Array(heap.memory.buffer, at, bytes / BYTES), {
        ...{ at, n, k, step },
      });
      for (let z = 0; z < count; z++) {
        rows.fill((i, j) => x[z * n * n + (attrs.adjoint ? j * n + i : i * n + j)]);
        if (k > 0) rows.fillRight((i, j) => b ? b[(z * n + i) * k + j] : Number(i === j));
        if (!rows.eliminate(0, n)) throw new InvalidArgumentError(ERRORS[gives]);
        if (gives === "factors") {
          rows.copy(0, n, y, z * n * n);
          heap.i32.set(rows.order, permutation / 4 + z * n);
        } else {
          rows.solve();
          rows.copy(n, k, y, z * n * k);
        }
      }
    });
}

/** The errors for singular matrices, as loops throw them. */
const ERRORS = {
  solution: "Input matrix is not invertible",
  inverse: "Input is not invertible",
  factors: "Input is not invertible.",
};

/** Rows of a matrix in the heap, with the right-hand sides beside it. */
class Rows {
  readonly order: Int32Array;
  readonly #update: { readonly wide: WasmFunction; readonly narrow: WasmFunction };
  readonly #a: Float64Array;
  readonly #at: Pointer;
  readonly #n: number;
  readonly #k: number;
  readonly #step: number;

  constructor(
    update: ReturnType<typeof blockUpdate>,
    a: Float64Array,
    { at, n, k, step }: {
      readonly at: Pointer;
      readonly n: number;
      readonly k: number;
      readonly step: number;
    },
  ) {
    this.#update = update;
    this.#a = a;
    this.#at = at;
    this.#n = n;
    this.#k = k;
    this.#step = step;
    this.order = new Int32Array(n);
  }

  /** Fills the matrix, and begins anew. */
  fill(element: (i: number, j: number) => number): void {
    this.#put(0, this.#n, element);
    for (let i = 0; i < this.#n; i++) this.order[i] = i;
  }

  fillRight(element: (i: number, j: number) => number): void {
    this.#put(this.#n, this.#k, element);
  }

  #put(from: number, width: number, element: (i: number, j: number) => number): void {
    for (let i = 0; i < this.#n; i++) {
      for (let j = 0; j < width; j++) this.#a[i * this.#step + from + j] = element(i, j);
    }
  }

  copy(from: number, width: number, to: Float32Array | Float64Array, at: number): void {
    for (let i = 0; i < this.#n; i++) {
      const row = i * this.#step + from;
      to.set(this.#a.subarray(row, row + width), at + i * width);
    }
  }

  /** Eliminates columns; false for a singular matrix. */
  eliminate(from: number, to: number): boolean {
    if (to - from <= NARROW) return this.#eliminateOne(from, to);
    const middle = from + Math.ceil((to - from) / 8) * 4, width = to - middle;
    if (!this.eliminate(from, middle)) return false;
    this.#solveLower(from, middle, middle, width);
    this.#subtract([middle, this.#n - middle], [middle, width], [from, middle - from]);
    return this.eliminate(middle, to);
  }

  /** Eliminates a few columns, one by one. */
  #eliminateOne(from: number, to: number): boolean {
    const a = this.#a, step = this.#step, n = this.#n;
    for (let c = from; c < to; c++) {
      let pivot = c;
      for (let i = c + 1; i < n; i++) {
        if (Math.abs(a[i * step + c]) > Math.abs(a[pivot * step + c])) pivot = i;
      }
      if (pivot !== c) this.#exchange(c, pivot);
      const row = c * step, head = a[row + c];
      if (head === 0) return false;
      for (let i = c + 1; i < n; i++) {
        const own = i * step, factor = a[own + c] /= head;
        for (let j = c + 1; j < to; j++) a[own + j] -= factor * a[row + j];
      }
    }
    return true;
  }

  #exchange(i: number, j: number): void {
    const { order } = this, width = this.#n + this.#k, [x, y] = [i, j].map((r) => r * this.#step);
    [order[i], order[j]] = [order[j], order[i]];
    const kept = this.#a.slice(x, x + width);
    this.#a.copyWithin(x, y, y + width);
    this.#a.set(kept, y);
  }

  /** Solves for the right-hand sides, after elimination. */
  solve(): void {
    const n = this.#n, k = this.#k, a = this.#a;
    for (let i = 0; i < n; i += TRIANGLE) {
      const end = Math.min(n, i + TRIANGLE);
      this.#subtract([i, end - i], [n, k], [0, i]);
      this.#solveLower(i, end, n, k);
    }
    for (let end = n; end > 0; end -= TRIANGLE) {
      const begin = Math.max(0, end - TRIANGLE);
      this.#subtract([begin, end - begin], [n, k], [end, n - end]);
      for (let i = end - 1; i >= begin; i--) {
        this.#subtract([i, 1], [n, k], [i + 1, end - i - 1]);
        const row = i * this.#step, head = a[row + i];
        for (let j = n; j < n + k; j++) a[row + j] /= head;
      }
    }
  }

  /** Solves a lower triangle with a diagonal of ones for columns of its rows. */
  #solveLower(from: number, to: number, column: number, width: number): void {
    for (let i = from + 1; i < to; i++) {
      this.#subtract([i, 1], [column, width], [from, i - from]);
    }
  }

  /** Subtracts from a block the product of the columns `terms` of its rows and the rows `terms` of its columns. */
  #subtract(
    [row, rows]: readonly [number, number],
    [column, columns]: readonly [number, number],
    [first, terms]: readonly [number, number],
  ): void {
    const place = (i: number, j: number): Pointer => this.#at + BYTES * (i * this.#step + j);
    const whole = columns - columns % 4;
    for (let t = first; t < first + terms; t += DEPTH) {
      const depth = Math.min(DEPTH, first + terms - t);
      for (
        const [update, j, width] of [
          [this.#update.wide, column, whole],
          [this.#update.narrow, column + whole, columns - whole],
        ] as const
      ) {
        if (width === 0 || rows === 0) continue;
        update(place(row, j), place(row, t), place(t, j), rows, width, depth, BYTES * this.#step);
      }
    }
  }
}
