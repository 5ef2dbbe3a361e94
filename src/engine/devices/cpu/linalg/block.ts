/** A matrix in strips of columns in the heap, and substitution in it. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { packing, ROW_BYTES, stripBytes, unpacking, WIDTH } from "./strips.ts";
import { type Side, sweeping } from "./sweep.ts";

/** Most strips of factors whose products are subtracted at once: they stay in the second cache. */
const TOGETHER = 16;

/** Bytes from one column, and from one row, to the next. */
export type Steps = readonly [column: number, row: number];

/** Rows that are solved for, and others from which their products are subtracted. */
export interface Sweep {
  readonly side: Side;
  /** The first row, and number of rows from there on that are known. */
  readonly row: number;
  readonly known?: number;
  /** First strip, and number of them. */
  readonly first: number;
  readonly count: number;
  /** Factors of the first four rows that are not known. */
  readonly factors: Pointer;
  /** Fours of rows to solve for, and to subtract from; `more` of these with each strip. */
  readonly solves: number;
  readonly updates: number;
  readonly more?: number;
  /** True where the diagonal is ones, and not the factors'. */
  readonly unit?: boolean;
}

/** Rows are rounded up to whole fours: those past the last are zeros. */
export class Block {
  readonly rows: number;
  readonly columns: number;
  readonly strips: number;
  readonly stripBytes: number;
  readonly bytes: number;
  /** All elements, strip by strip. */
  elements: Float64Array = new Float64Array();
  readonly #engine: Engine;
  readonly #pack: WasmFunction;
  readonly #unpack: WasmFunction;
  readonly #sweeps = new Map<Side, WasmFunction>();
  #at: Pointer = 0;

  constructor(engine: Engine, dtype: "float32" | "float64", rows: number, columns: number) {
    this.#engine = engine;
    this.#pack = packing(engine, dtype);
    this.#unpack = unpacking(engine, dtype);
    this.rows = rows;
    this.columns = columns;
    this.strips = Math.ceil(columns / WIDTH);
    this.stripBytes = stripBytes(rows);
    this.bytes = this.strips * this.stripBytes;
  }

  /** Uses memory that nothing moves from now on. */
  moveTo(at: Pointer): void {
    this.#at = at;
    this.elements = new Float64Array(this.#engine.heap.memory.buffer, at, this.bytes / 8);
  }

  /** Returns the number of an element. */
  index(row: number, column: number): number {
    return (column >> 2) * (this.stripBytes >> 3) + WIDTH * row + (column & 3);
  }

  /** Returns the address of the first element of a strip's row. */
  place(strip: number, row: number): Pointer {
    return this.#at + strip * this.stripBytes + ROW_BYTES * row;
  }

  /** Reads all elements. */
  pack(from: Pointer, [column, row]: Steps): void {
    this.#pack(this.#at, from, this.columns, this.rows, column, row, this.stripBytes);
    this.clearRest();
  }

  /** Writes all elements. */
  unpack(to: Pointer, [column, row]: Steps): void {
    this.#unpack(to, this.#at, this.columns, this.rows, column, row, this.stripBytes);
  }

  /** Reads a triangle of a square matrix, and the tiles on its diagonal. */
  packTriangle(from: Pointer, steps: Steps, isLower: boolean): void {
    this.#eachStrip(steps, isLower, (strip, at, counts) => {
      this.#pack(strip, from + at, ...counts, ...steps, 0);
    });
    this.clearRest();
  }

  /** Writes a triangle, and the tiles on its diagonal. */
  unpackTriangle(to: Pointer, steps: Steps, isLower: boolean): void {
    this.#eachStrip(steps, isLower, (strip, at, counts) => {
      this.#unpack(to + at, strip, ...counts, ...steps, 0);
    });
  }

  /** Visits the parts of strips that a triangle has, with their distances in the matrix. */
  #eachStrip(
    [column, row]: Steps,
    isLower: boolean,
    visit: (strip: Pointer, at: number, counts: readonly [lanes: number, rows: number]) => void,
  ): void {
    for (let s = 0; s < this.strips; s++) {
      const c = WIDTH * s, first = isLower ? c : 0, end = isLower ? this.rows : c + WIDTH;
      visit(this.place(s, first), c * column + first * row, [
        Math.min(WIDTH, this.columns - c),
        Math.min(this.rows, end) - first,
      ]);
    }
  }

  clearRest(): void {
    const rest = -this.rows & WIDTH - 1;
    for (let s = 0; s < this.strips && rest > 0; s++) {
      const at = this.index(this.rows, WIDTH * s);
      this.elements.fill(0, at, at + WIDTH * rest);
    }
  }

  /** Makes a square matrix end with ones on the diagonal, as far as its rows are rounded up. */
  endWithOnes(): void {
    for (let j = this.columns; j < WIDTH * this.strips; j++) {
      for (let i = 0; i < j; i++) this.elements[this.index(i, j)] = 0;
      this.elements[this.index(j, j)] = 1;
    }
  }

  /** Solves for rows, and subtracts from others. */
  sweep(
    { side, row, known = 0, first, count, factors, solves, updates, more = 0, unit }: Sweep,
  ): void {
    let run = this.#sweeps.get(side);
    if (!run) this.#sweeps.set(side, run = sweeping(this.#engine, side));
    const strip = this.stripBytes, divides = unit ? 0 : 1, before = known / WIDTH;
    const all = solves * (2 * before + solves) +
        (before + solves) * (2 * updates + more * count),
      work = 64 * count * all;
    if (work < this.#engine.worthSharing) {
      const x = this.place(first, row);
      return void run(x, known, factors, solves, updates, more, divides, count, strip);
    }
    this.#engine.inParts(run, { count, work }, (from, size) => {
      const x = this.place(first + from, row);
      return [x, known, factors, solves, updates + more * from, more, divides, size, strip];
    });
  }

  /** Solves systems of the lower triangle of some columns, and subtracts from the rows below. */
  below(
    [start, end]: readonly [number, number],
    target: Block,
    [first, count]: readonly [number, number],
    unit: boolean,
  ): void {
    for (let from = start; from < end; from += TOGETHER) {
      const to = Math.min(end, from + TOGETHER), row = WIDTH * from;
      target.sweep({
        ...{ side: "below", row, first, count, factors: this.place(from, row) },
        ...{ solves: to - from, updates: this.strips - to, unit },
      });
    }
  }

  /** Solves systems of the upper triangle. */
  above(target: Block): void {
    for (let to = this.strips; to > 0; to -= TOGETHER) {
      const from = Math.max(0, to - TOGETHER), row = WIDTH * to - 1;
      target.sweep({
        ...{ side: "above", row, first: 0, count: target.strips },
        ...{ factors: this.place(to - 1, WIDTH * (to - 1)), solves: to - from, updates: from },
      });
    }
  }
}
