/** A reduction as a nest of loops over groups of axes, innermost first, in the form of a table for its module. */
import { DTYPES } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ReduceLayout } from "../../../kernels/reduce/layout.ts";
import { roundUp } from "../blocks.ts";
import type { Pointer } from "../heap.ts";
import { isLight } from "../pointwise/lane_functions.ts";
import { workOf } from "../pointwise/pointwise.ts";
import type { RowSource } from "../pointwise/source_row.ts";
import { JOINED_COLUMNS, TABLE_ROOM } from "./reduce_kernel.ts";
import type { Reducer } from "./reducer.ts";

/** The nest of a reduction: the two innermost groups of axes are one call of a loop. */
export class ReduceNest {
  readonly source: RowSource;
  /** Calls of the innermost loop. */
  readonly calls: number;
  /** True where rows are reduced, false where columns are. */
  readonly isRows: boolean;
  /** Rows of the innermost loop, and their elements. */
  readonly m: number;
  readonly n: number;
  /** Bytes of operands from row to row, and from element to element. */
  readonly steps: readonly number[];
  readonly widths: readonly number[];
  /** The outermost level, and its extent. */
  readonly top: number;
  readonly count: number;
  /**
   * Bytes that operands and accumulators move with each member of it; 0 for accumulators where members share their
   * results.
   */
  readonly topSteps: readonly number[];
  readonly topAccStep: number;
  readonly work: number;
  /** Bytes of the table, with the room before it. */
  readonly bytes: number;
  readonly #table: readonly number[];

  constructor(
    { exprs, dtypes }: Omit<RowSource, "moves">,
    { dims, reduced, strides }: ReduceLayout,
    reducer: Reducer,
  ) {
    const last = dims.length - 1, isRows = reduced[last];
    const bytes = dtypes.map((t) => DTYPES[t].bytes);
    // Columns of a group that is kept are a group of their own.
    const taken = last > 0 && (isRows || reduced[last - 1]) ? 2 : 1;
    const n = dims[last], m = taken === 2 ? dims[last - 1] : 1;
    // A single array is walked as it lies, whatever its extents.
    const moves = strides.map((s) => strides.length === 1 || s[last] !== 0);
    const keepsRows = isRows && taken === 2 && !reduced[last - 1];
    this.source = { exprs, dtypes, moves };
    [this.isRows, this.m, this.n] = [isRows, m, n];
    this.steps = strides.map((s, k) => (taken === 2 ? s[last - 1] * bytes[k] : 0));
    this.widths = bytes.map((b, k) => (moves[k] ? b : 0));
    const outer = dims.slice(0, dims.length - taken);
    this.calls = m === 0 || n === 0 ? 0 : sizeOf(outer);
    this.work = this.calls * m * n * workOf(exprs, dtypes.length);

    const narrow = Math.floor(JOINED_COLUMNS / n);
    const dense = this.steps.every((step, k) => step === n * this.widths[k]);
    const joins = dense && isLight(exprs) && narrow >= 2 && m >= 4 * narrow;
    let accStep = keepsRows ? reducer.bytes : 0, steps = this.steps, results = isRows ? 0 : n;
    if (isRows) results = keepsRows ? m : 1;
    const table = [n, accStep, isRows ? 0 : joins ? narrow : 1, ...steps];
    for (let d = outer.length - 1, inner = m; d >= 0; d--) {
      steps = strides.map((s, k) => s[d] * bytes[k]);
      accStep = reduced[d] ? 0 : results * reducer.bytes;
      table.push(accStep, inner, 0, ...steps);
      if (!reduced[d]) results *= outer[d];
      inner = outer[d];
    }
    this.top = outer.length;
    // An empty reduction enters no level.
    this.count = this.calls === 0 ? 0 : outer.length > 0 ? outer[0] : m;
    [this.topSteps, this.topAccStep] = [steps, accStep];
    this.#table = table;
    this.bytes = roundUp(TABLE_ROOM + 4 * table.length);
  }

  /** Writes the table, with its room, from `at` on; returns its address. */
  write(words: Int32Array, at: Pointer): Pointer {
    const table = this.#table, begin = at + TABLE_ROOM, first = begin >>> 2;
    for (let i = 0; i < table.length; i++) words[first + i] = table[i];
    return begin;
  }
}
