/**
 * Blocks of a product of rows given by pointers: the order in which parts of B are packed and panels run against them.
 */
import type { Epilogue } from "../../../core/fusion.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { PackedForm } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { movedOperands } from "./epilogue.ts";
import { panelArguments, type PanelCall, panelKernel } from "./gemm_kernel.ts";
import { type LevelsOfB, levelsOfB, QUAD } from "./gemm_levels.ts";
import { packing } from "./gemm_pack.ts";
import type { RowTable } from "./gemm_rows.ts";
import type { Terms } from "./gemm_terms.ts";
import { THRESHOLDS } from "../thresholds.ts";
import { ADD, BLOCK_COLUMNS, BLOCK_DEPTH, LAST, PANEL_BYTES, PANEL_COLUMNS } from "./gemm_tile.ts";

export type ColumnBlock = Readonly<Record<"from" | "size", number>>;

/** Rows of B: whole segments, or `length` elements of one from `start` on. */
export interface DepthBlock extends ColumnBlock {
  /** First segment, and number of segments. */
  readonly segment: number;
  readonly segments: number;
  readonly start: number;
  readonly length: number;
}

/** Makes the calls that copy rows and columns of B into panels of eight columns, {@linkcode panelStep} bytes apart. */
export type PackB = (
  to: Pointer,
  b: Pointer,
  depth: DepthBlock,
  columns: ColumnBlock,
  panelStep: number,
) => readonly WasmCall[];

export interface SumsSpec {
  readonly columns: number;
  /** Offsets of the segments of a row of A in bytes, and elements of each. */
  readonly segments: readonly number[];
  readonly length: number;
  /** Tables of all rows. */
  readonly tables: readonly RowTable[];
  /** Packing of B. "rows": B has dense rows, which are packed; null: B has dense rows, which are never packed. */
  readonly pack: PackB | "rows" | null;
  /** Bytes from panel to panel of a B that lies in panels of all rows: nothing packs it. */
  readonly panels?: number | undefined;
  readonly epilogue?: Epilogue | undefined;
  readonly terms?: Terms | undefined;
}

/** Rows of one of the tables, and the bases of their C and, for a block of depth, of their A. */
export interface RowsHere {
  readonly table: RowTable;
  readonly c: Pointer;
  readonly a: (depth: DepthBlock) => Pointer;
  /** Makes the calls that bring their A there, where it has another layout. */
  readonly turn?: (depth: DepthBlock) => readonly WasmCall[];
}

/** A product among several of one kind: its B, and its rows in equal numbers of blocks. */
export interface SumsItem {
  readonly b: Pointer;
  readonly rows: readonly RowsHere[];
}

/**
 * Returns the bytes of a panel of B plus a cache line: else the same rows of all panels would collide in the same cache
 * lines.
 */
export function panelStep(depth: number): number {
  return 32 * depth + 64;
}

function depthBlocks(segments: number, length: number): DepthBlock[] {
  if (segments === 0) return [{ from: 0, size: 0, segment: 0, segments: 0, start: 0, length: 0 }];
  if (length < BLOCK_DEPTH) {
    return evenBlocks(segments, Math.floor(BLOCK_DEPTH / length), 1).map(({ from, size }) => (
      { from: from * length, size: size * length, segment: from, segments: size, start: 0, length }
    ));
  }
  const pieces = evenBlocks(length, BLOCK_DEPTH, 4);
  return Array.from(
    { length: segments },
    (_, segment) =>
      pieces.map(({ from: start, size }): DepthBlock => (
        { from: segment * length + start, size, segment, segments: 1, start, length: size }
      )),
  ).flat();
}

/** Makes the packing of a B with dense rows. */
function packRows(engine: Engine, { columns: width }: SumsSpec): PackB {
  const { rows } = packing(engine);
  return (to, b, depth, columns, step) => {
    const from = b + 4 * (depth.from * width + columns.from);
    return [[rows, [to, from, depth.size, columns.size, 4 * width, step]]];
  };
}

/** Computes products of one kind, in blocks. */
export interface Sums {
  /** The packing of all of B, for repeated use; null where B is read in place. */
  readonly packed: PackedForm | null;
  /** The packing of a B of levels, for repeated use; null where it may as well be numbers. */
  readonly levels: LevelsOfB | null;
  /** Returns the bytes of working memory for so many items at once that are not packed; memory after that is the caller's. */
  bytes(items: number): number;
  /**
   * Computes the items. `operands` are from {@linkcode operandsFrom}, `work` is as much memory as {@linkcode bytes}
   * returns. With `add` onto the contents of their C; with `isPacked` their B are packed, and `work` is that of no
   * items; with `isLevels` their B are packed levels.
   */
  run(
    work: Pointer,
    items: readonly SumsItem[],
    operands: readonly Pointer[],
    how?: { readonly add?: boolean; readonly isPacked?: boolean; readonly isLevels?: boolean },
  ): void;
}

/** Prepares the sums `C[i] = Σ over segments A[i][segment] · B`. */
export function prepareSums(engine: Engine, spec: SumsSpec): Sums {
  const { columns: width, segments, length, epilogue, tables, terms } = spec;
  const pack = spec.pack === "rows" ? packRows(engine, spec) : spec.pack, { panels: lying } = spec;
  const inPanels = pack !== null || lying !== undefined;
  const depths = depthBlocks(segments.length, length), last = depths.at(-1);
  const depth = segments.length * length;
  const isMuch = 4 * depth * width >= THRESHOLDS.levelsBytes ||
    tables.some((t) => t.rows >= THRESHOLDS.levelsManyRows);
  const levels: LevelsOfB | null = spec.pack === "rows" && (terms ?? "float32") === "float32" &&
      length % QUAD === 0 && isMuch
    ? levelsOfB(engine, depth, width)
    : null;
  const columns = inPanels
    ? evenBlocks(width, BLOCK_COLUMNS, PANEL_COLUMNS)
    : [{ from: 0, size: width }];
  const blocks = columns.flatMap((columns) => depths.map((depth) => ({ columns, depth })));
  const kernels = new Map(
    tables.flatMap((t) => t.groups).map(({ rows }) => [
      rows,
      panelKernel(engine, rows, inPanels ? "packed" : "direct", epilogue, terms),
    ]),
  );
  // The segments, and then the tables.
  const numbers = Int32Array.from(segments), tablesAt = new Map<RowTable, number>();
  let tableBytes = roundUp(numbers.byteLength);
  for (const table of tables) {
    tablesAt.set(table, tableBytes);
    tableBytes += roundUp(table.bytes);
  }
  const [most, deepest] = [columns, depths].map((list) => Math.max(...list.map((b) => b.size)));
  const blockBytes = pack ? Math.ceil(most / PANEL_COLUMNS) * panelStep(deepest) : 0;

  /** Packs a block, in parts of some panels. */
  const packBlock = (
    to: Pointer,
    b: Pointer,
    { depth, columns: { from, size } }: SumsBlock,
    parts: number,
    by = pack,
  ): WasmCall[] => {
    const step = panelStep(depth.size);
    return evenBlocks(size, Math.ceil(size / parts), PANEL_COLUMNS).flatMap((part) => {
      const at = to + part.from / PANEL_COLUMNS * step;
      return [...by!(at, b, depth, { from: from + part.from, size: part.size }, step)];
    });
  };
  /** Runs the panels of a block of rows against a block of B, in parts. */
  const panels = (
    { table, a, c }: RowsHere,
    { depth, columns }: SumsBlock,
    parts: number,
    at: Pick<PanelCall, "operands" | "mode" | "b"> & { readonly work: Pointer },
  ): WasmCall[] => {
    const each = Math.ceil(table.panels / parts), calls: WasmCall[] = [];
    const tableAt = at.work + tablesAt.get(table)!, aBase = a(depth) + 4 * depth.start;
    for (const { rows, count, at: first } of table.groups) {
      for (let from = 0; from < count; from += each) {
        const args = panelArguments({
          panels: tableAt + first + 8 * rows * from,
          count: Math.min(each, count - from),
          segments: at.work + 4 * depth.segment,
          segmentCount: depth.segments,
          segmentBytes: 4 * depth.length,
          aBase,
          b: at.b,
          bStep: inPanels ? PANEL_BYTES : 4 * width,
          bPanelStep: lying ?? (pack ? panelStep(depth.size) : PANEL_BYTES),
          cBase: c + 4 * columns.from,
          columns: columns.size,
          mode: at.mode,
          operands: at.operands,
        });
        calls.push([kernels.get(rows)!, args]);
      }
    }
    return calls;
  };
  return {
    bytes: (items) => tableBytes + roundUp(blockBytes * items),
    packed: pack && {
      key: `${spec.pack === "rows" ? "rows" : "columns"} ${width} ${segments.length} ${length}`,
      bytes: roundUp(blockBytes * blocks.length),
      pack: (to, b) => {
        engine.packings++;
        blocks.forEach((block, i) => engine.callAll(packBlock(to + i * blockBytes, b, block, 1)));
      },
    },
    levels,
    run: (work, items, operands, { add = false, isPacked = false, isLevels = false } = {}) => {
      engine.heap.i32.set(numbers, work >>> 2);
      for (const [table, at] of tablesAt) table.put(engine.heap, work + at);
      const rows = items.reduce((n, item) => item.rows.reduce((m, r) => m + r.table.rows, n), 0);
      const packs = pack !== null && !isPacked;
      if (packs && !isLevels) engine.packings++;
      // Lists of calls would take as long as a small product itself.
      const only = items.length === 1 && items[0].rows.length === 1 && !packs
        ? items[0].rows[0]
        : null;
      blocks.forEach((block, number) => {
        const { depth, columns } = block;
        const mode = (add || depth !== depths[0] ? ADD : 0) | (depth === last ? LAST : 0);
        const own = movedOperands(epilogue, operands, "column", 4 * columns.from);
        const shares = engine.parts(2 * rows * columns.size * depth.size);
        const placed = ({ b }: { readonly b: Pointer }): Pointer =>
          lying !== undefined
            ? b + columns.from / PANEL_COLUMNS * lying + PANEL_BYTES * depth.from
            : isPacked
            ? b + number * blockBytes
            : b + 4 * (depth.from * width + columns.from);
        if (only !== null && shares === 1) {
          const at = { work, b: placed(items[0]), mode, operands: own };
          for (const [run, args] of only.turn?.(depth) ?? []) run(...args);
          for (const [run, args] of panels(only, block, 1, at)) run(...args);
          return;
        }
        const bAt = items.map((item, i) =>
          packs ? work + tableBytes + i * blockBytes : placed(item)
        );
        const parts = Math.ceil(shares / items.length);
        if (packs) {
          const by = isLevels ? levels!.unpack : pack;
          engine.callAll(items.flatMap(({ b }, i) => packBlock(bAt[i], b, block, parts, by)));
        }
        for (let part = 0; part < items[0].rows.length; part++) {
          const turns = items.flatMap(({ rows }) => [...rows[part].turn?.(depth) ?? []]);
          if (turns.length > 0) engine.callAll(turns);
          engine.callAll(
            items.flatMap(({ rows }, i) =>
              panels(rows[part], block, parts, { work, b: bAt[i], mode, operands: own })
            ),
          );
        }
      });
    },
  };
}

/** A block of B. */
type SumsBlock = Readonly<{ depth: DepthBlock; columns: ColumnBlock }>;

/** Converts the operands of an epilogue: those per element to their distance from C, the others unchanged. */
export function operandsFrom(
  epilogue: Epilogue | undefined,
  operands: readonly Pointer[],
  c: Pointer,
): readonly number[] {
  return movedOperands(epilogue, operands, "element", -c);
}
