/** Reductions of few rows, or of small blocks of them: results stay in registers until they are complete. */
import { type Engine, type WasmFunction, words } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { F4 } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { highHalf, type Lane4, lowHalf, type Reducer } from "./reducer.ts";
import { THRESHOLDS } from "../thresholds.ts";

type I = Local<"i32">;

/** True where `m` rows of `n` columns are best reduced so. */
export function isHeld(m: number, n: number): boolean {
  return m > 0 && n >= 4 && (m <= THRESHOLDS.heldRows || m * n <= THRESHOLDS.heldElements);
}

/**
 * `run(x, outer, m, step, width, out, divisor)` reduces blocks of `m` rows, `step` bytes apart, to `width` results
 * each. The last vector of a block may overlap the one before.
 */
export function heldReduction(engine: Engine, name: string, reducer: Reducer): WasmFunction {
  return engine.compile(`reduce held ${name}`, (b) => {
    b.function("run", [...words(6), "f64"] as "i32"[], null, (f, ...p) => {
      const [x, outer, m, step, width, out, divisor] = p;
      const from = f.local("i32"), to = f.local("i32"), left = f.local("i32");
      const strip = (vectors: number): void => {
        const by = divisor as unknown as Local<"f64">;
        const results = columnsHeld(f, reducer, vectors, { from, m, step, by });
        results.forEach((v, u) => f.store(to, v, 16 * u));
        [from, to].forEach((p) => f.advance(p, 16 * vectors));
        f.advance(left, -4 * vectors);
      };
      f.countDown(outer, 1, () => {
        f.set(from, x);
        f.set(to, out);
        f.set(left, width);
        f.while(i32.ge(left, 16), () => strip(4));
        f.while(i32.gt(left, 0), () => {
          f.if(i32.lt(left, 4), () => {
            const back = f.let(i32.sub(16, i32.shl(left, 2)));
            [from, to].forEach((p) => f.set(p, i32.sub(p, back)));
          });
          strip(1);
        });
        f.advance(x, i32.mul(m, step));
        f.advance(out, i32.shl(width, 2));
      });
    });
  }).run;
}

/**
 * Computes the results of some vectors of columns; sums are divided by `by`. With `wide`, runs of elements are summed
 * in their own type, and the runs in float64.
 */
function columnsHeld<T extends Lane4>(
  f: FunctionBuilder,
  { type, table, identity, quick, run, wide, watchesNaN }: Reducer<T>,
  vectors: number,
  { from, m, step, by }: Readonly<Record<"from" | "m" | "step", I>> & { by: Local<"f64"> },
): Value[] {
  const each = Array.from({ length: vectors }, (_, u) => u), none = f.constant(type, identity);
  const at = f.variable("i32", from), left = f.variable("i32", m), end = f.variable("i32", 0);
  const found = each.map(() => f.variable(type, none));
  const bad = each.map(() => f.variable("i32x4", f.constant("i32x4", 0)));
  const sums = each.map(() =>
    [lowHalf, highHalf].map((half) => {
      return { half, sum: f.variable("f64x2", f.constant("f64x2", identity)) };
    })
  );
  f.while(i32.gt(left, 0), () => {
    if (wide) {
      f.set(end, i32.sub(left, Math.max(run, 1)));
      f.if(i32.lt(end, 0), () => f.set(end, i32.const(0)));
    }
    f.while(i32.gt(left, end), () => {
      each.forEach((u) => {
        const v = f.let(table.load(at, 16 * u)), float = v as unknown as F4;
        f.set(found[u], quick(found[u], v));
        if (watchesNaN) f.set(bad[u], i32x4.or(bad[u], f32x4.ne(float, float)));
      });
      f.advance(at, step);
      f.advance(left, -1);
    });
    if (!wide) return;
    each.forEach((u) => {
      const part = found[u] as unknown as F4;
      sums[u].forEach(({ half, sum }) => f.set(sum, wide(sum, half(part))));
      f.set(found[u], none);
    });
  });
  if (watchesNaN) return each.map((u) => table.select(f.constant(type, NaN), found[u], bad[u]));
  if (!wide) return found;
  f.if(f64.ne(by, 1), () => {
    const divisor = f.let(f64x2.splat(by));
    sums.flat().forEach(({ sum }) => f.set(sum, f64x2.div(sum, divisor)));
  });
  return sums.map((halves) => {
    const [low, high] = halves.map(({ sum }) => f32x4.ofF64(sum));
    return f32x4.shuffle(low, high, [0, 1, 4, 5]);
  });
}
