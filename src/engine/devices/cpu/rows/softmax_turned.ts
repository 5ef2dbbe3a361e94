/** Softmax of rows that are not long, and its logarithm: four rows at a time, one in each lane. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import * as lane from "../wasm/lane_math.ts";
import type { F4 } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import { alongRows, turn4 } from "../wasm/turned_rows.ts";
import type { Value } from "../wasm/value.ts";
import * as wide from "../wasm/wide_math.ts";

type I = Local<"i32">;

/** Longest rows for this kernel, which are summed in float32. */
export const LONGEST_ROW = 256;
export const ROWS_AT_ONCE = 4;

/**
 * `run(y, x, m, n, spare)` takes `m` rows, a multiple of four, of `n` elements, two at least: else more than four are
 * written. `log` computes the logarithm. `spare` has room for four rows.
 */
export function turnedSoftmax(engine: Engine, log: boolean): WasmFunction {
  return kernel(engine, `softmax turned ${log}`, 5, (s, [y, x, m, n, spare]) => {
    const { f } = s;
    const bytes = f.let(i32.shl(n, 2)), tail = f.variable("i32", i32.and(n, 3));
    const end = f.let(i32.add(spare, i32.shl(n, 4)));
    const rows = f.locals("i32", 4), at = f.local("i32");
    const top = f.local("f32x4"), sum = f.local("f32x4");
    const setRows = (first: Value<"i32">): void =>
      rows.forEach((p, k) => f.set(p, k === 0 ? first : i32.add(rows[k - 1], bytes)));
    const take = (columns: readonly F4[]): void => {
      columns.forEach((v, k) => {
        f.set(top, f32x4.pmax(top, v));
        f.store(at, v, 16 * k);
      });
      f.advance(at, 16 * columns.length);
    };
    f.countDown(m, ROWS_AT_ONCE, () => {
      setRows(x);
      f.set(at, spare);
      f.set(top, s.k(-Infinity));
      alongRows(f, { rows, n, four: take, one: (column) => take([column]) });
      f.set(sum, s.k(0));
      f.set(at, spare);
      f.while(i32.ltU(at, end), () => {
        const e = lane.expNegative(s, f.let(f32x4.sub(f32x4.load(at), top)));
        if (!log) f.store(at, e);
        f.set(sum, f32x4.add(sum, e));
        f.advance(at, 16);
      });
      const other = f.let(
        log ? s.wide([sum], (v) => wide.log(s, v)) : s.wide([sum], (v) => f64x2.div(s.d(1), v)),
      );
      const finish = (v: F4): F4 => log ? f32x4.sub(f32x4.sub(v, top), other) : f32x4.mul(v, other);
      // From the end of rows to their beginning: the excess of one row is overwritten by the next, which comes later.
      const store = (last: (to: I, v: F4) => void): void => {
        const results = turn4(f, [0, 1, 2, 3].map((k) => f.let(finish(f32x4.load(at, 16 * k)))));
        rows.forEach((p, k) => (k === 3 ? last(p, results[k]) : f.store(p, results[k])));
      };
      const whole = f.let(i32.sub(n, tail));
      setRows(i32.add(y, i32.shl(whole, 2)));
      f.set(at, i32.add(spare, i32.shl(whole, 4)));
      f.if(tail, () => store((to, v) => storePart(f, to, v, tail)));
      f.while(i32.gtU(at, spare), () => {
        f.advance(at, -64);
        rows.forEach((p) => f.advance(p, -16));
        store((to, v) => f.store(to, v));
      });
      [x, y].forEach((p) => f.advance(p, i32.shl(bytes, 2)));
    });
  });
}
