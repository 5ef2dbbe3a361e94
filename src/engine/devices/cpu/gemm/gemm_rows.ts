/** Rows of a product as pointers: made once for each shape, copied into memory for each run. */
import type { Engine } from "../engine.ts";
import type { Heap, Pointer } from "../heap.ts";
import { panelRows } from "./gemm_tile.ts";

/** `count` panels of `rows` rows each, and their offset in the table, in bytes. */
export type PanelGroup = Readonly<Record<"rows" | "count" | "at", number>>;

/** Pointers of rows, panel by panel: those of C, then those of A. They are relative to bases given at run time. */
export class RowTable {
  /** Number of rows. */
  readonly rows: number;
  /** The panels by size. */
  readonly groups: readonly PanelGroup[];
  /** The words of the table. */
  readonly data: Int32Array;

  /** `a(i)` and `c(i)` are the offsets of row i in bytes. A panel has at most `most` rows. */
  constructor(
    engine: Engine,
    rows: number,
    a: (row: number) => number,
    c: (row: number) => number,
    most: number = panelRows(engine),
  ) {
    this.rows = rows;
    this.data = new Int32Array(2 * rows);
    const groups: PanelGroup[] = [];
    let row = 0, at = 0;
    for (const split of splitRows(rows, most)) {
      groups.push({ ...split, at: 4 * at });
      for (let panel = 0; panel < split.count; panel++) {
        for (let i = 0; i < split.rows; i++, row++) {
          this.data[at + i] = c(row);
          this.data[at + split.rows + i] = a(row);
        }
        at += 2 * split.rows;
      }
    }
    this.groups = groups;
  }

  /** Number of panels. */
  get panels(): number {
    return this.groups.reduce((n, g) => n + g.count, 0);
  }
  get bytes(): number {
    return this.data.byteLength;
  }

  /** Returns the table of the same rows where each element of A is a byte. */
  inBytes(engine: Engine): RowTable {
    const a: number[] = [], c: number[] = [];
    for (const { rows, count, at } of this.groups) {
      for (let panel = 0; panel < count; panel++) {
        const first = at / 4 + 2 * rows * panel;
        c.push(...this.data.subarray(first, first + rows));
        a.push(...this.data.subarray(first + rows, first + 2 * rows));
      }
    }
    return new RowTable(engine, this.rows, (i) => a[i] / 4, (i) => c[i]);
  }

  /** Copies it to memory. */
  put(heap: Heap, to: Pointer): void {
    heap.i32.set(this.data, to >>> 2);
  }
}

/** Returns the tables of blocks of rows, one for each size. */
export function tablesOf(
  engine: Engine,
  blocks: readonly { readonly size: number }[],
  a: (row: number) => number,
  c: (row: number) => number,
): ReadonlyMap<number, RowTable> {
  const sizes = [...new Set(blocks.map(({ size }) => size))];
  return new Map(sizes.map((size) => [size, new RowTable(engine, size, a, c)]));
}

/** Splits rows into panels: as large as possible, but without a panel of one or two rows beside others. */
export function splitRows(m: number, most: number): { count: number; rows: number }[] {
  const full = Math.floor(m / most), rest = m % most;
  const parts = (...list: [count: number, rows: number][]): { count: number; rows: number }[] =>
    list.filter(([count, rows]) => count > 0 && rows > 0).map(([count, rows]) => ({ count, rows }));
  if (full > 0 && (rest === 1 || rest === 2)) {
    const large = Math.ceil((most + rest) / 2), small = most + rest - large;
    const halves: [number, number][] = large === small ? [[2, large]] : [[1, large], [1, small]];
    return parts([full - 1, most], ...halves);
  }
  return parts([full, most], [1, rest]);
}
