/** Elimination in a strip, and exchanges of rows as pivots demand. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { I } from "../wasm/function_builder.ts";
import { f64, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Value } from "../wasm/value.ts";
import { ROW_BYTES, WIDTH } from "./strips.ts";

const HALVES = [0, 16];

/**
 * Makes the function that eliminates the columns of a strip, one by one, each with its largest element from the diagonal down. Parameters:
 * the strip, its first column's number, number of rows, number of columns, where to put the numbers of the pivots' rows, and where to put
 * 1 where a pivot is 0.
 */
export function eliminating(engine: Engine): WasmFunction {
  return kernel(engine, "strips eliminate", 6, (s, [strip, first, rows, columns, pivots, flag]) => {
    const { f } = s, end = f.let(i32.add(strip, i32.mul(rows, ROW_BYTES)));
    const head = f.variable("i32", i32.add(strip, i32.mul(first, ROW_BYTES)));
    const [p, pivot] = f.locals("i32", 2), [most, own] = f.locals("f64", 2);
    /** Visits the rows from `head` on; the first pivot is searched for on the way, the others by the column before. */
    const eachRow = (body: () => void): void =>
      f.while(i32.ltU(p, end), () => {
        body();
        f.advance(p, ROW_BYTES);
      });
    const size = (row: I, column: number): Value<"f64"> =>
      f64x2.lane(f64x2.abs(f64x2.loadSplat(row, 8 * column)), 0);
    const search = (column: number): void => {
      f.set(own, size(p, column));
      f.if(f64.gt(own, most), () => {
        f.set(most, own);
        f.set(pivot, p);
      });
    };
    f.advance(pivots, i32.mul(first, 4));
    for (let k = 0; k < WIDTH; k++) {
      f.if(i32.gt(columns, k), () => {
        f.set(pivot, head);
        f.set(most, size(head, k));
        f.set(p, i32.add(head, ROW_BYTES));
        eachRow(() => search(k));
        f.store(pivots, i32.div(i32.sub(pivot, strip), ROW_BYTES), 4 * k);
        const two = [head, pivot];
        const held = two.map((q) => HALVES.map((h) => f.let(f64x2.load(q, h))));
        two.forEach((q, i) => HALVES.forEach((h, n) => f.store(q, held[1 - i][n], h)));
        const by = f.let(f64.load(head, 8 * k));
        f.if(f64.eq(by, 0), () => f.store(flag, i32.const(1)));
        const right = [0, 1, 2, 3].slice(k + 1).map((j) =>
          [j, f.let(f64.load(head, 8 * j))] as const
        );
        f.set(p, i32.add(head, ROW_BYTES));
        eachRow(() => {
          const factor = f.let(f64.div(f64.load(p, 8 * k), by));
          f.store(p, factor, 8 * k);
          for (const [j, x] of right) {
            f.store(p, f64.sub(f64.load(p, 8 * j), f64.mul(factor, x)), 8 * j);
          }
        });
        f.advance(head, ROW_BYTES);
      });
    }
  });
}

/** Makes the function that exchanges rows of strips. Parameters: strips, number of them, bytes from one to the next, the pivots, the first column, and the one after the last. */
export function exchanging(engine: Engine): WasmFunction {
  return kernel(
    engine,
    "strips exchange",
    6,
    ({ f }, [strip, strips, stripStep, pivots, first, end]) => {
      f.countDown(strips, 1, () => {
        const column = f.variable("i32", first);
        f.until(column, end, 1, () => {
          const row = f.let(i32.load(i32.add(pivots, i32.shl(column, 2))));
          f.if(i32.ne(row, column), () => {
            const two = [column, row].map((n) =>
              f.variable("i32", i32.add(strip, i32.mul(n, ROW_BYTES)))
            );
            const held = two.map((q) => HALVES.map((h) => f.let(f64x2.load(q, h))));
            two.forEach((q, i) => HALVES.forEach((h, n) => f.store(q, held[1 - i][n], h)));
          });
        });
        f.advance(strip, stripStep);
      });
    },
  );
}
