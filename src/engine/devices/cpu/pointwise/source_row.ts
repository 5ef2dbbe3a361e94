/** Expressions along a row of their operands, vector by vector. */
import { type DType, DTYPES } from "../../../core/dtype.ts";
import type { Expr } from "../../../core/scalar/expr.ts";
import type { Local } from "../wasm/function_builder.ts";
import type { Simd } from "../wasm/simd.ts";
import { loadGroup, loadSplat } from "./lane_memory.ts";
import type { Lanes } from "./lane_printer.ts";
import { printSimdGroup } from "./print_simd.ts";

/** Expressions of operands that move along a row or are constant. */
export interface RowSource {
  readonly exprs: readonly Expr[];
  readonly dtypes: readonly DType[];
  readonly moves: readonly boolean[];
}

/** Computes the elements of one row. */
export class SourceRow {
  readonly #s: Simd;
  readonly #source: RowSource;
  readonly #at: readonly Local<"i32">[];
  readonly #still: readonly (Lanes | null)[];

  /** Loads the constant operands. `at` are variables: the next address of each operand. */
  constructor(s: Simd, source: RowSource, at: readonly Local<"i32">[]) {
    const { dtypes, moves } = source;
    this.#s = s;
    this.#source = source;
    this.#at = at;
    this.#still = at.map((p, k) => (moves[k] ? null : loadSplat(s.f, dtypes[k], p)));
  }

  /** Loads the next `count` vectors of each expression, 1 or 4. */
  load(count: number): (readonly Lanes[])[] {
    const { exprs, dtypes } = this.#source;
    const args = this.#at.map((p, k) => {
      const fixed = this.#still[k];
      return fixed
        ? new Array<Lanes>(count).fill(fixed)
        : loadGroup(this.#s.f, dtypes[k], p, count);
    });
    return printSimdGroup(this.#s, exprs, dtypes, args, count);
  }

  advance(elements: number): void {
    const { dtypes, moves } = this.#source;
    this.#at.forEach((p, k) => {
      if (moves[k]) this.#s.f.advance(p, elements * DTYPES[dtypes[k]].bytes);
    });
  }
}
