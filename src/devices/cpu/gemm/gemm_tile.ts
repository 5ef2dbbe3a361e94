/**
 * The tile of C that an inner kernel keeps in registers: up to six rows by eight columns, from zeros to what is stored.
 */
import type { Engine } from "../engine.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { applyEpilogue, type Epilogue } from "./epilogue.ts";

/** Most rows of a panel: as many as registers hold. Products that are not fused with sums take one for themselves. */
export function panelRows({ features }: Engine): number {
  return features.relaxed ? 6 : 5;
}
/** Columns of a panel of B. */
export const PANEL_COLUMNS = 8;
/** Bytes of a row of one. */
export const PANEL_BYTES: number = 4 * PANEL_COLUMNS;

/** Length of the sums of one block: a panel of A stays in the nearest cache. */
export const BLOCK_DEPTH = 256;
/** Columns of one block: the block of B stays in the second cache. */
export const BLOCK_COLUMNS = 512;

/** Bits of what {@linkcode TileTarget} calls the mode. */
export const ADD = 1, LAST = 2;

/** Where a tile goes. */
export interface TileTarget {
  /** Panel of pointers: those of C come first. */
  readonly panel: Local<"i32">;
  /** Added to the pointers of C. */
  readonly cBase: Local<"i32">;
  /** Columns to store. */
  readonly columns: Local<"i32">;
  /** Whether C is added to, and whether these are the last sums. */
  readonly mode: Local<"i32">;
  /** Addresses of the operands of the epilogue. */
  readonly operands: readonly Local<"i32">[];
}

/** Writes what is done with a tile. */
export class Tile {
  readonly #s: Simd;
  readonly #epilogue: Epilogue | undefined;
  readonly #sums: readonly (readonly Local<"f32x4">[])[];

  /** A tile of this many rows. */
  constructor(s: Simd, rows: number, epilogue: Epilogue | undefined) {
    this.#s = s;
    this.#epilogue = epilogue;
    this.#sums = Array.from({ length: rows }, () => s.f.locals("f32x4", 2));
  }

  /** Begins again with zeros. */
  clear(): void {
    const zero = this.#s.k(0) as Local<"f32x4">;
    for (const sum of this.#sums.flat()) this.#s.f.set(sum, zero);
  }

  /** Adds the product of a column of A, given element by element in four lanes, and a row of B. */
  step(a: (row: number) => F4, [b0, b1]: readonly [F4, F4]): void {
    const { f } = this.#s;
    this.#sums.forEach(([s0, s1], i) => {
      const x = f.let(a(i));
      f.set(s0, this.#s.madd(x, b0, s0));
      f.set(s1, this.#s.madd(x, b1, s1));
    });
  }

  /** Adds the sums of another one. */
  add(other: Tile): void {
    const { f } = this.#s;
    this.#sums.forEach((row, i) =>
      row.forEach((s, h) => f.set(s, f32x4.add(s, other.#sums[i][h])))
    );
  }

  /** Adds what C holds, applies the epilogue, stores. */
  store({ panel, cBase, columns, mode, operands }: TileTarget): void {
    const { f } = this.#s;
    const c = this.#sums.map((_, i) => f.variable("i32", i32.add(i32.load(panel, 4 * i), cBase)));
    f.if(i32.and(mode, ADD), () => {
      this.#sums.forEach((row, i) =>
        row.forEach((s, h) => f.set(s, f32x4.add(s, f32x4.load(c[i], 16 * h))))
      );
    });
    const epilogue = this.#epilogue;
    if (epilogue) f.if(i32.and(mode, LAST), () => this.#applyEpilogue(epilogue, c, operands));
    f.if(i32.ge(columns, PANEL_COLUMNS), () => {
      this.#sums.forEach((row, i) => row.forEach((s, h) => f.store(c[i], s, 16 * h)));
    }, () => this.#sums.forEach((row, i) => this.#storePart(c[i], row[0], row[1], columns)));
  }

  /** The first one to seven columns of a row. */
  #storePart(
    c: Local<"i32">,
    low: Local<"f32x4">,
    high: Local<"f32x4">,
    columns: Local<"i32">,
  ): void {
    const { f } = this.#s;
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

  #applyEpilogue(
    epilogue: Epilogue,
    c: readonly Local<"i32">[],
    pointers: readonly Local<"i32">[],
  ): void {
    const { f } = this.#s;
    // Operands per column are the same for all rows; those per element lie as C does, at another base.
    const shared = epilogue.operands.map((per, i) => {
      if (per === "all") return [0, 1].map(() => f.let(f32x4.loadSplat(pointers[i])));
      return per === "column" ? [0, 1].map((h) => f.let(f32x4.load(pointers[i], 16 * h))) : null;
    });
    this.#sums.forEach((row, i) => {
      row.forEach((s, h) => {
        const operand = (_: string, k: number): F4 =>
          shared[k]?.[h] ?? f.let(f32x4.load(i32.add(c[i], pointers[k]), 16 * h));
        f.set(s, applyEpilogue(this.#s, epilogue, s, operand));
      });
    });
  }
}
