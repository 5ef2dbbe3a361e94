/**
 * A call of an inner kernel: panels of rows against panels of columns, as numbers and as the parameters of the code.
 */
import type { Local } from "../wasm/function_builder.ts";

/** Runs panels of rows against panels of columns. */
export interface PanelCall<T = number> {
  /** First panel of pointers, and how many there are. */
  readonly panels: T;
  readonly count: T;
  /** Offsets of the segments in memory, how many there are, and bytes of each. */
  readonly segments: T;
  readonly segmentCount: T;
  readonly segmentBytes: T;
  /** Added to the pointers of A, and to those of C. */
  readonly aBase: T;
  readonly cBase: T;
  /** First panel of B, bytes from row to row within a panel, and from panel to panel. */
  readonly b: T;
  readonly bStep: T;
  readonly bPanelStep: T;
  /** Columns to compute. */
  readonly columns: T;
  /** Bits: `ADD` to what C holds, and whether this is the `LAST` part of the sums. */
  readonly mode: T;
  /** Addresses of the operands of {@linkcode Epilogue}; those per column begin at the first column. */
  readonly operands: readonly T[];
}

/** Parameters of an inner kernel; the operands of the epilogue follow. */
export const PANEL_PARAMS = 12;

/** The arguments of a call. */
export function panelArguments(c: PanelCall): number[] {
  const rows = [c.panels, c.segments, c.segmentCount, c.segmentBytes, c.aBase];
  const fixed = [...rows, c.b, c.bStep, c.cBase, c.columns, c.mode, c.count, c.bPanelStep];
  return [...fixed, ...c.operands];
}

/** Names the parameters. */
export function paramsOf<T extends Local>(p: readonly T[]): PanelCall<T> {
  const [panels, segments, segmentCount, segmentBytes, aBase, b, bStep, ...more] = p;
  const [cBase, columns, mode, count, bPanelStep, ...operands] = more;
  const rows = { panels, count, segments, segmentCount, segmentBytes, aBase };
  return { ...rows, b, bStep, bPanelStep, cBase, columns, mode, operands };
}
