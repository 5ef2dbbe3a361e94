/** Operands of a product's inner kernel: panels of B, rows of a transposed A, lists of row pointers. */
import type { Engine, WasmExports } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { turnInto } from "../wasm/turned_rows.ts";
import type { Operand, Value } from "../wasm/value.ts";
import { PANEL_BYTES, PANEL_COLUMNS } from "./gemm_tile.ts";

const I6 = ["i32", "i32", "i32", "i32", "i32", "i32"] as const;

/** Exports `rows`, `columns` and `turn`, as they are written below, and `ramp`: evenly rising pointers. */
export function packing(engine: Engine): WasmExports {
  return engine.compile("gemm pack", (m) => {
    m.function("rows", I6, null, packRows);
    m.function("columns", I6, null, packColumns);
    m.function("turn", I6, null, turnRows);
    m.function("ramp", ["i32", "i32", "i32", "i32"], null, (f, to, count, from, step) => {
      f.countDown(count, 1, () => {
        f.store(to, from);
        f.advance(to, 4);
        f.advance(from, step);
      });
    });
  });
}

/**
 * Packs `k` rows of `n` floats, `step` bytes apart, into panels of eight columns each, including the floats past the
 * last column.
 */
function packRows(f: FunctionBuilder, to: I, from: I, k: I, n: I, step: I, panelStep: I): void {
  const [target, left] = f.locals("i32", 2);
  // Along the rows, four at a time: memory is read in order.
  for (const count of [4, 1]) {
    f.countDown(k, count, () => {
      const rows = f.ramp(from, step, count);
      f.set(target, to);
      f.set(left, n);
      f.while(i32.gt(left, 0), () => {
        rows.forEach((r, i) => {
          f.store(target, f32x4.load(r), 32 * i);
          f.store(target, f32x4.load(r, 16), 32 * i + 16);
          f.advance(r, 32);
        });
        f.advance(target, panelStep);
        f.advance(left, -PANEL_COLUMNS);
      });
      f.advance(to, 32 * count);
      f.advance(from, i32.mul(step, count));
    });
  }
}

/** Packs a matrix stored transposed: `n` rows of `k` floats. */
function packColumns(f: FunctionBuilder, to: I, from: I, k: I, n: I, step: I, panelStep: I): void {
  turnPanels(f, { to, from, k, n, step, count: PANEL_COLUMNS, rowStep: PANEL_BYTES, panelStep });
}

/** Source, target and sizes of a transposed packing: `to`, `from` and `n` are used up. */
interface Turned extends Readonly<Record<"to" | "from" | "k" | "n", I>> {
  readonly step: Value<"i32">;
  readonly count: number;
  /** Bytes from row to row of a panel, and from panel to panel. */
  readonly rowStep: Operand<"i32">;
  readonly panelStep: Operand<"i32">;
}

/** Transposes `n` rows of `k` floats into columns of panels. Columns past the last repeat it: they are never stored. */
export function turnPanels(
  f: FunctionBuilder,
  { to, from, k, n, step, count, rowStep, panelStep }: Turned,
): void {
  const last = f.let(i32.add(from, i32.mul(i32.sub(n, 1), step)));
  f.while(i32.gt(n, 0), () => {
    const rows = Array.from({ length: count }, () => {
      const row = f.variable("i32", from);
      f.if(i32.gtU(row, last), () => f.set(row, last));
      f.advance(from, step);
      return row;
    });
    turnInto(f, { rows, n: k, to: f.variable("i32", to), step: rowStep });
    f.advance(to, panelStep);
    f.advance(n, -count);
  });
}

/** `to[j][i] = row[i][j]` for rows given by pointers. */
function turnRows(f: FunctionBuilder, to: I, toStep: I, pointers: I, base: I, left: I, n: I): void {
  for (const count of [4, 1]) {
    f.countDown(left, count, () => {
      const rows = Array.from(
        { length: count },
        (_, i) => f.variable("i32", i32.add(i32.load(pointers, 4 * i), base)),
      );
      turnInto(f, { rows, n, to: f.variable("i32", to), step: toStep });
      f.advance(pointers, 4 * count);
      f.advance(to, 4 * count);
    });
  }
}
