/**
 * Rows of a product as pointers: made once for each shape, copied into memory for each run.
 */
import type { Engine } from "../engine.ts";
import type { Heap, Pointer } from "../heap.ts";
import { panelRows } from "./gemm_tile.ts";

/** So many panels of as many rows each, and where they begin in the table, in bytes. */
export type PanelGroup = Readonly<Record<"rows" | "count" | "at", number>>;

/** Pointers of rows, panel by panel: those of C, then those of A. They are relative to bases given at run time. */
export class RowTable {
  /** How many rows. */
  readonly rows: number;
  /** The panels by size. */
  readonly groups: readonly PanelGroup[];
  /** What lies in memory. */
  readonly data: Int32Array;

  /** `a(i)` and `c(i)` are the places of row i in bytes. A panel has at most `most` rows. */
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

  /** How many panels. */
  get panels(): number {
    return this.groups.reduce((n, g) => n + g.count, 0);
  }
  /** Bytes it takes in memory. */
  get bytes(): number {
    return this.data.byteLength;
  }

  /** Copies it to memory. */
  put(heap: Heap, to: Pointer): void {
    heap.i32.set(this.data, to >>> 2);
  }
}

/** The tables of blocks of rows, one for each size. */
export function tablesOf(
  engine: Engine,
  blocks: readonly { readonly size: number }[],
  a: (row: number) => number,
  c: (row: number) => number,
): ReadonlyMap<number, RowTable> {
  const sizes = [...new Set(blocks.map(({ size }) => size))];
  return new Map(sizes.map((size) => [size, new RowTable(engine, size, a, c)]));
}

/** How many panels of how many rows: as many as may be, but no panel of one or two rows beside those. */
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
