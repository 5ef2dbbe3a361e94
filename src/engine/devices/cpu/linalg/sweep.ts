/** Substitution in strips: solves for rows, and subtracts their products with factors from the rows that follow. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { I } from "../wasm/function_builder.ts";
import { f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { D2, Simd } from "../wasm/simd.ts";
import type { Operand } from "../wasm/value.ts";
import { ROW_BYTES, WIDTH } from "./strips.ts";

/** Bytes of four rows of a strip. */
const TILE_BYTES = ROW_BYTES * WIDTH;

/**
 * Place of the factors of four rows and four terms: "below" reads a lower triangle and "above" an upper one, from its last row upwards;
 * "turned" reads an upper triangle as the lower one that is its transpose.
 */
export type Side = "below" | "above" | "turned";

const PLACES: Readonly<Record<Side, (row: number, term: number) => number>> = {
  below: (row, term) => ROW_BYTES * row + 8 * term,
  above: (row, term) => ROW_BYTES * (WIDTH - 1 - row) + 8 * (WIDTH - 1 - term),
  turned: (row, term) => ROW_BYTES * term + 8 * row,
};

/**
 * Makes the function. Parameters: first row, and number of rows that are known; the factors of the four rows after these, at their lowest
 * address; numbers of fours of rows to solve for and then to subtract from, and how many more of these with each strip; 0 for a diagonal
 * of ones; number of strips, and bytes from one to the next.
 */
export function sweeping(engine: Engine, side: Side): WasmFunction {
  return kernel(engine, `strips sweep ${side}`, 9, (s, p) => writeSweep(s, side, p));
}

function writeSweep(
  s: Simd,
  side: Side,
  [x, known, factors, solves, updates, more, divides, strips, stripStep]: readonly I[],
): void {
  const { f } = s, sign = side === "above" ? -1 : 1, isTurned = side === "turned";
  const along = f.let(i32.mul(stripStep, sign)), step = sign * ROW_BYTES;
  f.countDown(strips, 1, () => {
    const to = f.variable("i32", i32.add(x, i32.mul(known, step)));
    const at = f.variable("i32", factors), depth = f.variable("i32", known);
    for (const isSolved of [true, false]) {
      const left = f.variable("i32", isSolved ? solves : updates);
      f.countDown(left, 1, () => {
        const termStep = isTurned ? TILE_BYTES : along;
        writeTile(s, [x, to, at, depth], {
          step,
          termStep,
          side,
          divides: isSolved ? divides : null,
        });
        f.advance(to, WIDTH * step);
        f.advance(at, isTurned ? along : sign * TILE_BYTES);
        if (isSolved) f.advance(depth, WIDTH);
      });
    }
    f.advance(x, stripStep);
    f.advance(updates, more);
  });
}

/** Subtracts the product of factors and the first rows from four rows, and solves the triangle of factors that follows. */
function writeTile(
  s: Simd,
  [x, to, factors, depth]: readonly I[],
  { step, termStep, side, divides }: {
    readonly step: number;
    readonly termStep: Operand<"i32">;
    readonly side: Side;
    readonly divides: I | null;
  },
): void {
  const { f } = s, places = f.ramp(to, step, WIDTH), halves = [0, 16];
  const sums = places.map((p) => halves.map((h) => f.variable("f64x2", f64x2.load(p, h))));
  const right = f.variable("i32", x), at = f.variable("i32", factors);
  const left = f.variable("i32", depth);
  const factor = (row: number, term: number): D2 =>
    f.let(f64x2.loadSplat(at, PLACES[side](row, term)));
  /** Negates by a sign in a register: engines make that of the instruction each time. */
  const negative = (x: D2): D2 => f.let(f64x2.xor(x, s.d(-0)));
  const add = (row: number, by: D2, terms: readonly D2[]): void =>
    sums[row].forEach((sum, h) => f.set(sum, s.madd(by, terms[h], sum)));
  f.countDown(left, WIDTH, () => {
    for (let term = 0; term < WIDTH; term++) {
      const terms = halves.map((h) => negative(f64x2.load(right, h)));
      sums.forEach((_, row) => add(row, factor(row, term), terms));
      f.advance(right, step);
    }
    f.advance(at, termStep);
  });
  if (divides) {
    sums.forEach((row, i) => {
      for (let term = 0; term < i; term++) add(i, negative(factor(i, term)), sums[term]);
      f.if(divides, () => {
        const head = factor(i, i);
        row.forEach((sum) => f.set(sum, f64x2.div(sum, head)));
      });
    });
  }
  sums.forEach((row, i) => row.forEach((sum, h) => f.store(places[i], sum, halves[h])));
}
