/** A matrix in strips of columns in the heap, and what becomes of its rows. */
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { ROW_BYTES, stripBytes, type Strips, stripsOf, WIDTH } from "./strips.ts";

/** Most strips of factors that are multiplied at once: their panels stay in the second cache. */
export const TOGETHER = 32;

/** Bytes from one column, and from one row, to the next. */
export type Steps = readonly [column: number, row: number];

/** Rows that are solved for, and rows below or above them from which their products are subtracted. */
export interface Sweep {
  /** The first row; `step` is negative where rows above it follow. */
  readonly row: number;
  readonly step?: number;
  /** Rows from there on that are known. */
  readonly known?: number;
  /** First strip, and number of them. */
  readonly first: number;
  readonly count: number;
  readonly panels: Pointer;
  readonly panelStep: number;
  /** Panels of rows to solve for, and to subtract from; `more` of these with each strip. */
  readonly solves: number;
  readonly updates: number;
  readonly more?: number;
}

/** The rows are rounded up to whole panels. */
export class Block {
  readonly rows: number;
  readonly columns: number;
  readonly strips: number;
  readonly bytes: number;
  readonly kernels: Strips;
  readonly #engine: Engine;
  readonly #stripBytes: number;
  #at: Pointer = 0;
  #elements: Float64Array = new Float64Array();

  constructor(engine: Engine, dtype: "float32" | "float64", rows: number, columns: number) {
    this.#engine = engine;
    this.kernels = stripsOf(engine, dtype);
    this.rows = rows;
    this.columns = columns;
    this.strips = Math.ceil(columns / WIDTH);
    this.#stripBytes = stripBytes(rows);
    this.bytes = this.strips * this.#stripBytes;
  }

  /** Puts the block into memory that nothing moves from now on. */
  moveTo(at: Pointer): void {
    this.#at = at;
    this.#elements = new Float64Array(this.#engine.heap.memory.buffer, at, this.bytes / 8);
  }

  /** All elements, strip by strip. */
  get elements(): Float64Array {
    return this.#elements;
  }

  get stripBytes(): number {
    return this.#stripBytes;
  }

  /** Returns the number of an element. */
  index(row: number, column: number): number {
    return (column >> 2) * (this.#stripBytes / 8) + WIDTH * row + (column & 3);
  }

  place(strip: number, row: number): Pointer {
    return this.#at + strip * this.#stripBytes + ROW_BYTES * row;
  }

  /** Reads all elements. */
  pack(from: Pointer, [column, row]: Steps): void {
    this.kernels.pack(this.#at, from, this.columns, this.rows, column, row, this.#stripBytes);
    this.clearRest();
  }

  /** Fills the rows past the last with zeros. */
  clearRest(): void {
    const rest = -this.rows & WIDTH - 1;
    for (let s = 0; s < this.strips && rest > 0; s++) {
      const at = this.index(this.rows, WIDTH * s);
      this.#elements.fill(0, at, at + WIDTH * rest);
    }
  }

  /** Writes all elements. */
  unpack(to: Pointer, [column, row]: Steps): void {
    this.kernels.unpack(to, this.#at, this.columns, this.rows, column, row, this.#stripBytes);
  }

  sweep(
    { row, step = ROW_BYTES, known = 0, more = 0, ...given }: Sweep,
  ): void {
    const { first, count, panels, panelStep, solves, updates } = given;
    const before = known / WIDTH, below = 2 * updates + more * count;
    const work = 64 * count * (solves * (2 * before + solves) + (before + solves) * below);
    this.#engine.inParts(this.kernels.sweep, { count, work }, (from, size) => [
      ...[this.place(first + from, row), known, panels, panelStep],
      ...[solves, updates + more * from, more, step, size, this.#stripBytes],
    ]);
  }
}
