/** Products of float64 that are subtracted from a block: tiles of four rows, which read all operands where they lie. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { I } from "../wasm/function_builder.ts";
import { f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Simd } from "../wasm/simd.ts";

const BYTES = 8, ROWS = 4;

/**
 * Returns the functions that subtract, of four columns at a time and of any number. Parameters: the block, its rows' factors, the rows
 * that these multiply, number of rows, of columns and of terms, bytes from row to row.
 */
export function blockUpdate(
  engine: Engine,
): { readonly wide: WasmFunction; readonly narrow: WasmFunction } {
  const made = (pairs: number): WasmFunction =>
    kernel(engine, `block update ${pairs}`, 7, (s, [c, l, u, rows, n, k, step]) => {
      const { f } = s;
      f.countDown(rows, ROWS, () => {
        writeTiles(s, [ROWS, pairs], [c, l, u, n, k, step]);
        f.advance(c, i32.mul(step, ROWS));
        f.advance(l, i32.mul(step, ROWS));
      });
      f.countDown(rows, 1, () => {
        writeTiles(s, [1, pairs], [c, l, u, n, k, step]);
        f.advance(c, step);
        f.advance(l, step);
      });
    });
  return { wide: made(2), narrow: made(1) };
}

/** Writes the loop over the columns of some rows; pairs of them beyond the last are stored in part. */
function writeTiles(
  s: Simd,
  [rows, pairs]: readonly [number, number],
  [c, l, u, n, k, step]: readonly I[],
): void {
  const { f } = s, sums = Array.from({ length: rows }, () => f.locals("f64x2", pairs));
  const left = f.variable("i32", n), to = f.variable("i32", c), from = f.variable("i32", u);
  f.while(i32.gt(left, 0), () => {
    const places = f.ramp(to, step, rows), factors = f.ramp(l, step, rows);
    const right = f.variable("i32", from), depth = f.variable("i32", k);
    sums.forEach((row, i) => row.forEach((sum, h) => f.set(sum, f64x2.load(places[i], 16 * h))));
    f.countDown(depth, 1, () => {
      const terms = sums[0].map((_, h) => f.let(f64x2.load(right, 16 * h)));
      factors.forEach((p, i) => {
        const x = f.let(f64x2.neg(f64x2.loadSplat(p)));
        sums[i].forEach((sum, h) => f.set(sum, s.madd(x, terms[h], sum)));
        f.advance(p, BYTES);
      });
      f.advance(right, step);
    });
    if (pairs > 1) {
      sums.forEach((row, i) => row.forEach((sum, h) => f.store(places[i], sum, 16 * h)));
    } else {
      f.if(i32.gt(left, 1), () => sums.forEach(([sum], i) => f.store(places[i], sum)), () => {
        sums.forEach(([sum], i) => f.storeLane(places[i], sum, BYTES, 0));
      });
    }
    f.advance(to, 2 * BYTES * pairs);
    f.advance(from, 2 * BYTES * pairs);
    f.advance(left, -2 * pairs);
  });
}
