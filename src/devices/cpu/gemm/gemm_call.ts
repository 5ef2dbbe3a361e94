/**
 * A call of an inner kernel: panels of rows against panels of columns, as numbers and as the parameters of the code.
 */
import type { Local } from "../wasm/function_builder.ts";
import { ADD, LAST } from "./gemm_tile.ts";

/** Runs panels of rows against panels of columns. */
export interface PanelCall {
  /** First panel of pointers. */
  readonly panels: number;
  /** How many panels of rows. */
  readonly count: number;
  /** Offsets of the segments, in memory. */
  readonly segments: number;
  /** How many segments. */
  readonly segmentCount: number;
  /** Bytes of a segment. */
  readonly segmentBytes: number;
  /** Added to the pointers of A. */
  readonly aBase: number;
  /** First panel of B. */
  readonly b: number;
  /** Bytes from row to row of B within a panel. */
  readonly bStep: number;
  /** Bytes from panel to panel of B. */
  readonly bPanelStep: number;
  /** Added to the pointers of C. */
  readonly cBase: number;
  /** Columns to compute. */
  readonly columns: number;
  /** Adds to what C holds. */
  readonly add: boolean;
  /** This is the last part of the sums. */
  readonly last: boolean;
  /** Addresses of the operands of {@linkcode Epilogue}; those per column begin at the first column. */
  readonly operands: readonly number[];
}

/** The arguments of a call. */
export function panelArguments(c: PanelCall): number[] {
  const mode = (c.add ? ADD : 0) | (c.last ? LAST : 0);
  const rows = [c.panels, c.segments, c.segmentCount, c.segmentBytes, c.aBase];
  const fixed = [...rows, c.b, c.bStep, c.cBase, c.columns, mode, c.count, c.bPanelStep];
  return [...fixed, ...c.operands];
}

/** Types of the parameters; addresses of the operands of the epilogue follow. */
export const RUN_PARAMS: readonly "i32"[] = new Array<"i32">(12).fill("i32");

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
  readonly operands: readonly I[];
}

/** Names the parameters. */
export function paramsOf(p: readonly I[]): PanelParams {
  const [panel, segments, segmentCount, segmentBytes, aBase, b, bStep, ...more] = p;
  const [cBase, columns, mode, count, bPanelStep, ...operands] = more;
  const a = { panel, segments, segmentCount, segmentBytes, aBase, b, bStep };
  return { ...a, cBase, columns, mode, count, bPanelStep, operands };
}
