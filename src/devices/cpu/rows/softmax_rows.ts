/**
 * Softmax of rows of some vectors, and its logarithm: a few rows at a time, so that while one waits for its sum the others go on.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import { highHalf, lowHalf } from "../reduce/reducer.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import * as lane from "../wasm/lane_math.ts";
import { type F4, laneNumbers, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";
import * as wide from "../wasm/wide_math.ts";

/** Rows that are taken at once. */
export const ROWS_AT_ONCE = 4;
/**
 * Rows up to this long are taken so, and summed in float32. Measured against one row after the other: 1.3 times as fast at 32 elements,
 * 1.15 at 64 and 128, 1.05 at 256, and slower from 512 on.
 */
export const LONGEST_ROW = 256;

/**
 * `run(y, x, m, n)` takes `m` rows, a multiple of {@linkcode ROWS_AT_ONCE}, of `n` elements, at most {@linkcode LONGEST_ROW}; `log` gives
 * the logarithm.
 */
export function softmaxRows(engine: Engine, log: boolean): WasmFunction {
  return engine.compile(`softmax rows ${log}`, (b) => {
    b.function("run", ["i32", "i32", "i32", "i32"], null, (f, y, x, m, n) => {
      const s = new Simd(f, engine.features.relaxed);
      const rows = Array.from({ length: ROWS_AT_ONCE }, (_, k) => k);
      const bytes = f.let(i32.shl(n, 2)), tail = f.variable("i32", i32.and(n, 3));
      const end = f.let(i32.and(bytes, -16)),
        mask = f.let(i32x4.lt(laneNumbers(f), i32x4.splat(tail)));
      const at = f.local("i32");
      const from = rows.map(() => f.local("i32")), to = rows.map(() => f.local("i32"));
      const tops = rows.map(() => f.local("f32x4")), sums = rows.map(() => f.local("f32x4"));
      const vector = (pointers: readonly Local<"i32">[], k: number): Value<"i32"> =>
        i32.add(pointers[k], at);
      const store = (k: number, v: F4): void => f.store(vector(to, k), v);
      const storeTail = (k: number, v: F4): void => storePart(f, vector(to, k), f.let(v), tail);

      const exponentials = (isTail: boolean): void =>
        rows.forEach((k) => {
          const v = f32x4.load(vector(from, k));
          const known = isTail ? f32x4.select(v, s.k(-Infinity), mask) : v;
          const e = lane.expNegative(s, f.let(f32x4.sub(known, tops[k])));
          if (!log) (isTail ? storeTail : store)(k, e);
          f.set(sums[k], f32x4.add(sums[k], e));
        });
      const results = (factors: readonly F4[], isTail: boolean): void =>
        rows.forEach((k) => {
          const v = f32x4.load(vector(log ? from : to, k));
          (isTail ? storeTail : store)(
            k,
            log ? f32x4.sub(f32x4.sub(v, tops[k]), factors[k]) : f32x4.mul(v, factors[k]),
          );
        });

      f.while(i32.gt(m, 0), () => {
        rows.forEach((k) => {
          f.set(from[k], k === 0 ? x : i32.add(from[k - 1], bytes));
          f.set(to[k], k === 0 ? y : i32.add(to[k - 1], bytes));
          f.set(tops[k], s.k(-Infinity));
          f.set(sums[k], s.k(0));
        });
        const greatest = (k: number, v: F4): void => f.set(tops[k], f32x4.pmax(tops[k], v));
        f.set(at, 0);
        f.until(at, end, 16, () => rows.forEach((k) => greatest(k, f32x4.load(vector(from, k)))));
        f.if(tail, () => {
          rows.forEach((k) =>
            greatest(k, f32x4.select(f32x4.load(vector(from, k)), s.k(-Infinity), mask))
          );
        });
        rows.forEach((k) => {
          greatest(k, f32x4.shuffle(tops[k], tops[k], [2, 3, 0, 1]));
          greatest(k, f32x4.shuffle(tops[k], tops[k], [1, 0, 3, 2]));
        });

        f.set(at, 0);
        f.until(at, end, 16, () => exponentials(false));
        f.if(tail, () => exponentials(true));

        const factors = rows.map((k) => {
          const halves = f.let(f64x2.add(lowHalf(sums[k]), highHalf(sums[k])));
          const total = f.let(
            f64x2.add(f64x2.splat(f64x2.lane(halves, 0)), f64x2.splat(f64x2.lane(halves, 1))),
          );
          const narrow = f.let(f32x4.ofF64(log ? wide.log(s, total) : f64x2.div(s.d(1), total)));
          return f.let(f32x4.shuffle(narrow, narrow, [0, 0, 0, 0]));
        });
        f.set(at, 0);
        f.until(at, end, 16, () => results(factors, false));
        f.if(tail, () => results(factors, true));
        [x, y].forEach((p) => f.advance(p, i32.mul(bytes, ROWS_AT_ONCE)));
        f.advance(m, -ROWS_AT_ONCE);
      });
    });
  }).run;
}
