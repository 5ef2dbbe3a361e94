/** Transforms of rows as values. */
import type { Pointer } from "../heap.ts";
import type { Wanted } from "./plans.ts";

/** Rows of complex numbers, and their transforms. */
export interface Rows {
  readonly to: Pointer;
  readonly from: Pointer;
  readonly rows: number;
  /** Bytes from row to row. */
  readonly toStep: number;
  readonly fromStep: number;
  readonly isInverse: boolean;
  /** A factor of the results. */
  readonly scale: number;
}

/** A transform of rows of one length. Rows may be transformed in place. */
export interface Transform {
  /** Bytes of work memory. */
  readonly room: number;
  /** Tables that a run reads. */
  readonly tables: readonly Wanted[];
  readonly run: (work: Pointer, tables: readonly Pointer[], rows: Rows) => void;
}
