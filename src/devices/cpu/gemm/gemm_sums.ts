/**
 * Blocks of a product of rows given by pointers: which part of B is packed when, which panels run against it.
 */
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { PackedForm } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { Epilogue } from "./epilogue.ts";
import { panelArguments } from "./gemm_call.ts";
import { panelKernel } from "./gemm_kernel.ts";
import { packing } from "./gemm_pack.ts";
import type { RowTable } from "./gemm_rows.ts";
import { ADD, BLOCK_COLUMNS, BLOCK_DEPTH, LAST, PANEL_BYTES, PANEL_COLUMNS } from "./gemm_tile.ts";

/** Part of the rows of B: some segments whole, or a piece of one. */
export interface DepthBlock {
  /** First row of B. */
  readonly from: number;
  /** Rows of B. */
  readonly size: number;
  /** First segment. */
  readonly segment: number;
  /** Segments. */
  readonly segments: number;
  /** First element within the segments. */
  readonly start: number;
  /** Elements of each segment. */
  readonly length: number;
}

/** Columns of B. */
export interface ColumnBlock {
  readonly from: number;
  readonly size: number;
}

/** What copies rows and columns of B into panels of eight columns, {@linkcode panelStep} bytes apart. */
export type PackB = (
  to: Pointer,
  b: Pointer,
  depth: DepthBlock,
  columns: ColumnBlock,
  panelStep: number,
) => readonly WasmCall[];

/** What is summed. */
export interface SumsSpec {
  /** Columns of C. */
  readonly columns: number;
  /** Offsets of the segments of a row of A, in bytes. */
  readonly segments: readonly number[];
  /** Elements of each segment. */
  readonly length: number;
  /** Panel sizes that will run. */
  readonly tables: readonly RowTable[];
  /** How B is packed. "rows": it lies as dense rows, which are packed where that pays; null: so it does, and never is. */
  readonly pack: PackB | "rows" | null;
  /** Applied to each sum. */
  readonly epilogue?: Epilogue | undefined;
}

/** Rows in memory, and where their A and C are. */
export interface RowsHere {
  /** The rows. */
  readonly table: RowTable;
  /** Their table in memory. */
  readonly at: Pointer;
  /** Base of their C. */
  readonly c: Pointer;
  /** Base of their A for a block of depth. */
  readonly a: (depth: DepthBlock) => Pointer;
  /** What brings their A there, where it lies otherwise. */
  readonly turn?: (depth: DepthBlock) => readonly WasmCall[];
}

/** A product among several of one kind: its B, and its rows in blocks. */
export interface SumsItem {
  /** B. */
  readonly b: Pointer;
  /** Blocks of rows; all items have the same number. */
  readonly rows: readonly RowsHere[];
}

/** Bytes of a panel of B, and a cache line more: else the same rows of all panels would meet in the same cache lines. */
export function panelStep(depth: number): number {
  return 32 * depth + 64;
}

function depthBlocks(segments: number, length: number): DepthBlock[] {
  if (segments === 0) return [{ from: 0, size: 0, segment: 0, segments: 0, start: 0, length: 0 }];
  const blocks: DepthBlock[] = [];
  if (length >= BLOCK_DEPTH) {
    for (let segment = 0; segment < segments; segment++) {
      for (const { from, size } of evenBlocks(length, BLOCK_DEPTH, 4)) {
        blocks.push({
          from: segment * length + from,
          size,
          segment,
          segments: 1,
          start: from,
          length: size,
        });
      }
    }
    return blocks;
  }
  for (const { from, size } of evenBlocks(segments, Math.floor(BLOCK_DEPTH / length), 1)) {
    blocks.push({
      from: from * length,
      size: size * length,
      segment: from,
      segments: size,
      start: 0,
      length,
    });
  }
  return blocks;
}

/** Packs B that lies as dense rows. */
function packRows(engine: Engine, { columns: width }: SumsSpec): PackB {
  const { rows } = packing(engine);
  return (to, b, depth, columns, step) => {
    const from = b + 4 * (depth.from * width + columns.from);
    return [[rows, [to, from, depth.size, columns.size, 4 * width, step]]];
  };
}

/** The sums `C[i] = Σ over segments A[i][segment] · B`, in blocks. */
export class Sums {
  readonly #engine: Engine;
  readonly #spec: SumsSpec;
  readonly #pack: PackB | null;
  readonly #depths: readonly DepthBlock[];
  readonly #columns: readonly ColumnBlock[];
  readonly #kernels: ReadonlyMap<number, WasmFunction>;
  readonly #segments: Int32Array;
  readonly #blockBytes: number;

  constructor(engine: Engine, spec: SumsSpec) {
    this.#engine = engine;
    this.#spec = spec;
    this.#depths = depthBlocks(spec.segments.length, spec.length);
    this.#columns = spec.pack
      ? evenBlocks(spec.columns, BLOCK_COLUMNS, PANEL_COLUMNS)
      : [{ from: 0, size: spec.columns }];
    const width = Math.max(...this.#columns.map((c) => c.size));
    this.#pack = spec.pack === "rows" ? packRows(engine, spec) : spec.pack;
    const source = this.#pack ? "packed" : "direct";
    const sizes = new Set(spec.tables.flatMap((t) => t.groups.map((g) => g.rows)));
    this.#kernels = new Map(
      [...sizes].map((rows) => [rows, panelKernel(engine, rows, source, spec.epilogue)]),
    );
    this.#segments = Int32Array.from(spec.segments);
    const depth = Math.max(...this.#depths.map((d) => d.size));
    this.#blockBytes = this.#pack ? Math.ceil(width / PANEL_COLUMNS) * panelStep(depth) : 0;
  }

  /** Bytes of memory it works in for this many items at once, none of which is {@linkcode packed}: from there on it is the caller's. */
  bytes(items: number): number {
    return roundUp(this.#segments.byteLength) + roundUp(this.#blockBytes * items);
  }

  /** All of B packed, for who reads it more than once; null where it is read as it lies. */
  get packed(): PackedForm | null {
    const { pack, columns, segments: { length } } = this.#spec;
    if (this.#pack === null) return null;
    return {
      key: `${pack === "rows" ? "rows" : "columns"} ${columns} ${length} ${this.#spec.length}`,
      bytes: roundUp(this.#blockBytes * this.#columns.length * this.#depths.length),
      pack: (to, b) => {
        this.#engine.packings++;
        this.#eachBlock((depth, columns, block) => {
          const at = to + block * this.#blockBytes;
          this.#engine.callAll(this.#packing(at, b, depth, columns, 1));
        });
      },
    };
  }

  #eachBlock(visit: (depth: DepthBlock, columns: ColumnBlock, block: number) => void): void {
    let block = 0;
    for (const columns of this.#columns) {
      for (const depth of this.#depths) visit(depth, columns, block++);
    }
  }

  /** Packs a block, in parts of some panels. */
  #packing(
    at: Pointer,
    b: Pointer,
    depth: DepthBlock,
    { from, size }: ColumnBlock,
    parts: number,
  ): WasmCall[] {
    const step = panelStep(depth.size);
    return evenBlocks(size, Math.ceil(size / parts), PANEL_COLUMNS).flatMap((part) => {
      const to = at + part.from / PANEL_COLUMNS * step;
      return [...this.#pack!(to, b, depth, { from: from + part.from, size: part.size }, step)];
    });
  }

  /**
   * Computes the items. `operands` are from {@linkcode operandsFrom}, `work` is as much memory as {@linkcode bytes} says. With `add`
   * onto what their C hold; with `isPacked` their B are {@linkcode packed}, and `work` is that of no items.
   */
  run(
    work: Pointer,
    items: readonly SumsItem[],
    operands: readonly Pointer[],
    { add = false, isPacked = false }: { readonly add?: boolean; readonly isPacked?: boolean } = {},
  ): void {
    const engine = this.#engine;
    engine.heap.i32.set(this.#segments, work >>> 2);
    const rows = items.reduce((n, item) => item.rows.reduce((m, r) => m + r.table.rows, n), 0);
    const packs = this.#pack !== null, room = work + roundUp(this.#segments.byteLength);
    if (packs && !isPacked) engine.packings++;
    this.#eachBlock((depth, columns, number) => {
      const packedAt = (item: number): Pointer =>
        isPacked ? items[item].b + number * this.#blockBytes : room + item * this.#blockBytes;
      const parts = engine.parts(2 * rows * columns.size * depth.size);
      const each = Math.ceil(parts / items.length);
      if (packs && !isPacked) {
        engine.callAll(
          items.flatMap(({ b }, i) => this.#packing(packedAt(i), b, depth, columns, each)),
        );
      }
      for (let block = 0; block < items[0].rows.length; block++) {
        const turns = items.flatMap((item) => [...item.rows[block].turn?.(depth) ?? []]);
        if (turns.length > 0) engine.callAll(turns);
        engine.callAll(items.flatMap(({ b, rows }, i) => {
          return this.#panels(
            work,
            b,
            packs ? packedAt(i) : null,
            rows[block],
            { depth, columns },
            operands,
            add,
            each,
          );
        }));
      }
    });
  }

  /** The panels of a block of rows against a block of B. */
  #panels(
    work: Pointer,
    b: Pointer,
    packed: Pointer | null,
    { table, at: panels, a, c }: RowsHere,
    { depth, columns }: { depth: DepthBlock; columns: ColumnBlock },
    operands: readonly Pointer[],
    add: boolean,
    parts: number,
  ): WasmCall[] {
    const { epilogue, columns: width } = this.#spec;
    const most = Math.ceil(table.panels / parts);
    const calls: WasmCall[] = [];
    for (const group of table.groups) {
      for (let first = 0; first < group.count; first += most) {
        const args = panelArguments({
          panels: panels + group.at + 8 * group.rows * first,
          count: Math.min(most, group.count - first),
          segments: work + 4 * depth.segment,
          segmentCount: depth.segments,
          segmentBytes: 4 * depth.length,
          aBase: a(depth) + 4 * depth.start,
          b: packed ?? b + 4 * (depth.from * width + columns.from),
          bStep: packed === null ? 4 * width : PANEL_BYTES,
          bPanelStep: packed === null ? PANEL_BYTES : panelStep(depth.size),
          cBase: c + 4 * columns.from,
          columns: columns.size,
          mode: (add || depth !== this.#depths[0] ? ADD : 0) |
            (depth === this.#depths.at(-1) ? LAST : 0),
          operands: epilogue ? operandsAt(epilogue, operands, columns.from) : operands,
        });
        calls.push([this.#kernels.get(group.rows)!, args]);
      }
    }
    return calls;
  }
}

/** What {@linkcode Sums.run} takes as operands: those per element as their distance from C, the others as they are. */
export function operandsFrom(
  epilogue: Epilogue | undefined,
  operands: readonly Pointer[],
  c: Pointer,
): readonly number[] {
  return epilogue
    ? epilogue.operands.map((per, i) => (per === "element" ? operands[i] - c : operands[i]))
    : operands;
}

/** Operands per column begin at the block's first column. */
function operandsAt(
  epilogue: Epilogue,
  operands: readonly number[],
  column: number,
): readonly number[] {
  return epilogue.operands.map((
    per,
    i,
  ) => (per === "column" ? operands[i] + 4 * column : operands[i]));
}
