/**
 * The walk of a call of an inner kernel: panels of rows, and for each all panels of columns.
 * May import devices/cpu.
 */
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import type { Finish } from "./finish.ts";
import { PANEL_BYTES, PANEL_COLUMNS, type TileTarget } from "./gemm_tile.ts";

/** Types of the parameters; addresses of the operands of the finish follow. */
export const RUN_PARAMS: readonly "i32"[] = new Array<"i32">(13).fill("i32");

type I = Local<"i32">;

/** The parameters by name: see `PanelCall`. */
export interface PanelParams {
  readonly panel: I;
  readonly segments: I;
  readonly segmentCount: I;
  readonly segmentBytes: I;
  readonly aBase: I;
  readonly b: I;
  readonly bStep: I;
  readonly cBase: I;
  readonly columns: I;
  readonly mode: I;
  readonly count: I;
  readonly bPanelStep: I;
  readonly block: I;
  readonly operands: readonly I[];
}

/** Names the parameters. */
export function paramsOf(p: readonly I[]): PanelParams {
  const [panel, segments, segmentCount, segmentBytes, aBase, b, bStep, ...more] = p;
  const [cBase, columns, mode, count, bPanelStep, block, ...operands] = more;
  const a = { panel, segments, segmentCount, segmentBytes, aBase, b, bStep };
  return { ...a, cBase, columns, mode, count, bPanelStep, block, operands };
}

/** Writes the loops: `begin` for each panel of `rows` rows, which stays in the nearest cache while panels of B pass by it. */
export function eachTile(
  f: FunctionBuilder,
  rows: number,
  { panel, cBase, columns, mode, count, operands }: PanelParams,
  finish: Finish | undefined,
  begin: () => void,
  tile: (target: TileTarget) => void,
): void {
  const c = f.local("i32"), left = f.local("i32");
  const perColumn = operands.map((_, i) => finish!.operands[i] === "column");
  const moving = operands.map((o, i) => (perColumn[i] ? f.local("i32") : o));
  f.while(i32.gt(count, 0), () => {
    begin();
    f.set(c, cBase);
    moving.forEach((x, i) => perColumn[i] && f.set(x, operands[i]));
    f.set(left, columns);
    f.while(i32.gt(left, 0), () => {
      tile({ panel, cBase: c, columns: left, mode, operands: moving });
      f.advance(c, PANEL_BYTES);
      moving.forEach((x, i) => perColumn[i] && f.advance(x, PANEL_BYTES));
      f.advance(left, -PANEL_COLUMNS);
    });
    f.advance(panel, 8 * rows);
    f.advance(count, -1);
  });
}
