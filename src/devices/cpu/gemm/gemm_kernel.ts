/**
 * The inner kernels of every matrix product and convolution: tiles of up to six rows of C by eight columns, kept in registers.
 *
 * Rows are given by pointers: a panel begins with one pointer per row of C, then one per row of A. Each sum runs over segments of
 * the row of A, at offsets that are the same for all rows: a plain product has one, a convolution one per row of its filter. So
 * patches of an image are never copied.
 */
import { exprKey } from "../../../core/scalar/expr.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import { importHosts } from "../pointwise/print_simd.ts";
import type { FunctionBuilder, FunctionRef, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";
import type { Epilogue } from "./epilogue.ts";
import { type PanelParams, paramsOf, RUN_PARAMS } from "./gemm_call.ts";
import { PANEL_BYTES, PANEL_COLUMNS, Tile } from "./gemm_tile.ts";

/** How panels are read: rows of B that follow each other as eight floats, or rows of B where they lie. */
export type PanelSource = "packed" | "direct";

/** The kernel of `rows` rows. */
export function panelKernel(
  engine: Engine,
  rows: number,
  source: PanelSource,
  epilogue: Epilogue | undefined,
): WasmFunction {
  const key = epilogue ? `${exprKey(epilogue.expr)} ${epilogue.operands}` : "";
  return engine.compile(`gemm ${rows} ${source} ${key}`, (m) => {
    const hosts = importHosts(m, epilogue ? [epilogue.expr] : []);
    const relaxed = engine.features.relaxed;
    const extra = new Array<"i32">(epilogue?.operands.length ?? 0).fill("i32");
    const micro = m.function(null, [...MICRO_PARAMS, ...extra], null, (f, ...p) => {
      // Sums of few rows would wait for each other: several grow side by side.
      const tiles = Array.from(
        { length: SIDE_BY_SIDE[rows] ?? 1 },
        () => new Tile(new Simd(f, relaxed, hosts), rows, epilogue),
      );
      writeTile(f, tiles, source === "packed", p as Local<"i32">[]);
    });
    m.function("run", [...RUN_PARAMS, ...extra], null, (f, ...p) => {
      writePanels(f, micro, rows, paramsOf(p as Local<"i32">[]), epilogue);
    });
  }).run;
}

/** Tiles that take turns, by rows. */
const SIDE_BY_SIDE: Readonly<Record<number, number>> = { 1: 4, 2: 2 };

const MICRO_PARAMS = new Array<"i32">(10).fill("i32");

/** Calls `micro` for each tile: a panel of rows stays in the nearest cache while all panels of B pass by it. */
function writePanels(
  f: FunctionBuilder,
  micro: FunctionRef,
  rows: number,
  { bStep, bPanelStep, mode, operands, ...p }: PanelParams,
  epilogue: Epilogue | undefined,
): void {
  const b = f.local("i32"), c = f.local("i32"), left = f.local("i32");
  const perColumn = operands.map((_, i) => epilogue!.operands[i] === "column");
  const moving = operands.map((o, i) => (perColumn[i] ? f.local("i32") : o));
  f.while(i32.gt(p.count, 0), () => {
    f.set(b, p.b);
    f.set(c, p.cBase);
    moving.forEach((x, i) => perColumn[i] && f.set(x, operands[i]));
    f.set(left, p.columns);
    f.while(i32.gt(left, 0), () => {
      f.run(
        micro as FunctionRef<readonly "i32"[], null>,
        ...[p.panel, p.segments, p.segmentCount, p.segmentBytes, p.aBase, b, bStep, c, left, mode],
        ...moving,
      );
      f.advance(b, bPanelStep);
      f.advance(c, PANEL_BYTES);
      moving.forEach((x, i) => perColumn[i] && f.advance(x, PANEL_BYTES));
      f.advance(left, -PANEL_COLUMNS);
    });
    f.advance(p.panel, 8 * rows);
    f.advance(p.count, -1);
  });
}

/** The kernel of one panel of rows and one of columns. */
function writeTile(
  f: FunctionBuilder,
  tiles: readonly Tile[],
  packed: boolean,
  p: Local<"i32">[],
): void {
  const [tile, ...others] = tiles;
  const [panel, segments, segmentCount, segmentBytes, aBase, b, bStep, cBase, columns, mode] = p;
  const a = tile.rows.map(() => f.local("i32"));
  const end = f.local("i32"), base = f.local("i32");
  const steps = (count: number): void => {
    for (let k = 0; k < count; k++) {
      const at = packed ? PANEL_BYTES * k : 0;
      const row = [f.let(f32x4.load(b, at)), f.let(f32x4.load(b, at + 16))] as const;
      tiles[k % tiles.length].step((i) => f32x4.loadSplat(a[i], 4 * k), row);
      if (!packed) f.advance(b, bStep);
    }
    if (packed) f.advance(b, PANEL_BYTES * count);
    a.forEach((x) => f.advance(x, 4 * count));
  };
  f.while(i32.gt(segmentCount, 0), () => {
    f.set(base, i32.add(aBase, i32.load(segments)));
    a.forEach((x, i) => f.set(x, i32.add(i32.load(panel, 4 * (a.length + i)), base)));
    // Long steps leave the fewest instructions beside the multiply-adds, where B is read at fixed distances.
    for (const [count, bytes] of packed ? [[8, -32], [4, 16]] : [[4, -16]]) {
      f.set(end, i32.add(a[0], i32.and(segmentBytes, bytes)));
      f.while(i32.ltU(a[0], end), () => steps(count));
    }
    f.set(end, i32.add(a[0], i32.and(segmentBytes, 15)));
    f.while(i32.ltU(a[0], end), () => steps(1));
    f.advance(segments, 4);
    f.advance(segmentCount, -1);
  });
  others.forEach((other) => tile.add(other));
  tile.store({ panel, cBase, columns, mode, operands: p.slice(MICRO_PARAMS.length) });
}
