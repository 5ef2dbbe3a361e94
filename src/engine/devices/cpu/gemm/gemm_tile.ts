/**
 * The tile of C that an inner kernel keeps in registers: up to six rows by eight columns, from zeros to the stored
 * results.
 */
import type { Epilogue, EpilogueOperand } from "../../../core/fusion.ts";
import type { Engine } from "../engine.ts";
import type { Lanes } from "../pointwise/lane_printer.ts";
import type { FunctionBuilder, I, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { applyEpilogue, loadOperand, operandAt } from "./epilogue.ts";
import { TERMS, type Terms } from "./gemm_terms.ts";

/** Returns the most rows of a panel: as many as registers hold. Unfused products need one register themselves. */
export function panelRows({ features }: Engine): number {
  return features.relaxed ? 6 : 5;
}
export const PANEL_COLUMNS = 8;
/** Bytes of a panel's row. */
export const PANEL_BYTES: number = 4 * PANEL_COLUMNS;

/** Length of the sums of one block: a panel of A stays in the nearest cache. */
export const BLOCK_DEPTH = 256;
/** Most rows whose pointers are in memory at once. */
export const BLOCK_ROWS = 6144;
/** Columns of one block: the block of B stays in the second cache. */
export const BLOCK_COLUMNS = 512;

/** Bits of the mode of a {@linkcode TileTarget}. */
export const ADD = 1, LAST = 2;

/** Target of a tile: a panel of pointers, the base of C, columns to store, mode bits, operands of the epilogue. */
export type TileTarget = Readonly<Record<"panel" | "cBase" | "columns" | "mode", I>> & {
  readonly operands: readonly I[];
};

/** Number of sums that grow side by side, by rows: those of few rows would wait for each other. */
const SIDE_BY_SIDE: Readonly<Record<number, number>> = { 1: 4, 2: 2 };

/** Makes a tile of this many rows, with its operations. */
export function tileOf(
  s: Simd,
  rows: number,
  epilogue?: Epilogue,
  terms: Terms = "float32",
) {
  const { f } = s, { madd, add } = TERMS[terms];
  const tiles = Array.from(
    { length: SIDE_BY_SIDE[rows] ?? 1 },
    () => Array.from({ length: rows }, () => f.locals("f32x4", 2)),
  );
  const [sums, ...others] = tiles;
  /** Visits the two vectors of each row. */
  const each = (visit: (sum: Local<"f32x4">, row: number, half: number) => void): void =>
    sums.forEach((row, i) => row.forEach((sum, h) => visit(sum, i, h)));
  return {
    /** Adds the product of column `k` of A, given element by element in four lanes, and a row of B. */
    step: (k: number, a: (row: number) => F4, b: readonly F4[]): void =>
      tiles[k % tiles.length].forEach((row, i) => {
        const x = f.let(a(i));
        row.forEach((sum, h) => f.set(sum, madd(s, x, b[h], sum)));
      }),
    /** Adds the contents of C, applies the epilogue, stores. */
    store: ({ panel, cBase, columns, mode, operands }: TileTarget): void => {
      others.forEach((other) => each((sum, i, h) => f.set(sum, add(sum, other[i][h]))));
      const c = sums.map((_, i) => f.variable("i32", i32.add(i32.load(panel, 4 * i), cBase)));
      f.if(i32.and(mode, ADD), () => {
        each((sum, i, h) => f.set(sum, add(sum, f32x4.load(c[i], 16 * h))));
      });
      if (epilogue) {
        f.if(i32.and(mode, LAST), () => {
          const load = operandsOf(f, epilogue, operands);
          sums.forEach((row, i) => {
            const results = applyEpilogue(s, epilogue, row, (o, k) => load(o, k, c[i]));
            row.forEach((sum, h) => f.set(sum, results[h]));
          });
        });
      }
      f.if(i32.ge(columns, PANEL_COLUMNS), () => {
        each((sum, i, h) => f.store(c[i], sum, 16 * h));
      }, () => sums.forEach(([low, high], i) => storeSome(f, c[i], low, high, columns)));
    },
  };
}

/** Returns the two vectors of an operand for a row of C. Those per column are the same for all rows. */
function operandsOf(f: FunctionBuilder, { operands }: Epilogue, pointers: readonly I[]) {
  const shared = operands.map((o, k) =>
    o.per === "element" ? null : loadOperand(f, o, pointers[k], 2)
  );
  return (operand: EpilogueOperand, k: number, c: I): readonly Lanes[] =>
    shared[k] ?? loadOperand(f, operand, operandAt(operand, pointers[k], c), 2);
}

/** Stores the first one to seven columns of a row. */
function storeSome(f: FunctionBuilder, c: I, low: Local<"f32x4">, high: F4, columns: I): void {
  f.if(i32.and(columns, 4), () => {
    f.store(c, low);
    f.set(low, high);
    f.advance(c, 16);
  });
  f.if(i32.and(columns, 2), () => {
    f.storeLane(c, low, 8, 0);
    f.set(low, f32x4.shuffle(low, low, [2, 3, 2, 3]));
    f.advance(c, 8);
  });
  f.if(i32.and(columns, 1), () => f.storeLane(c, low, 4, 0));
}
