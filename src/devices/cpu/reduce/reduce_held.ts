/**
 * Reductions of few rows, or of small blocks of them: results stay in registers until they are whole.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, f64, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { D2, F4 } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { highHalf, type Lane4, lowHalf, type Reducer } from "./reducer.ts";
import { THRESHOLDS } from "../thresholds.ts";

type I = Local<"i32">;

/** True where `m` rows of `n` columns are best reduced so. */
export function isHeld(m: number, n: number): boolean {
  return m > 0 && n >= 4 && (m <= THRESHOLDS.heldRows || m * n <= THRESHOLDS.heldElements);
}

/** Rows of a block, one after another. */
class Rows {
  readonly #f: FunctionBuilder;
  readonly #from: I;
  readonly #count: I;
  readonly #step: I;
  readonly #at: I;
  readonly #left: I;
  readonly #end: I;

  /** `count` rows from `from` on. */
  constructor(f: FunctionBuilder, from: I, count: I, step: I) {
    this.#f = f;
    [this.#from, this.#count, this.#step] = [from, count, step];
    [this.#at, this.#left, this.#end] = [f.local("i32"), f.local("i32"), f.local("i32")];
  }

  /** Runs `body` for runs of at most so many rows; its argument goes through what is left of the run. */
  runs(most: number, body: (each: (row: (at: I) => void) => void) => void): void {
    const f = this.#f, left = this.#left, end = this.#end;
    f.set(this.#at, this.#from);
    f.set(left, this.#count);
    f.while(i32.gt(left, 0), () => {
      f.set(end, i32.sub(left, most));
      f.if(i32.lt(end, 0), () => f.set(end, i32.const(0)));
      body((row) => {
        f.while(i32.gt(left, end), () => {
          row(this.#at);
          f.advance(this.#at, this.#step);
          f.advance(left, -1);
        });
      });
    });
  }
}

/**
 * `run(x, outer, m, step, width, out, divisor)` reduces blocks of `m` rows, `step` bytes apart, to `width` results each. The last vector of
 * a block may be one that was done in part.
 */
export function heldReduction(engine: Engine, name: string, reducer: Reducer): WasmFunction {
  return engine.compile(`reduce held ${name}`, (m) => {
    m.function(
      "run",
      ["i32", "i32", "i32", "i32", "i32", "i32", "f64"],
      null,
      (f, x, outer, m, step, width, out, divisor) => {
        const from = f.local("i32"), to = f.local("i32"), left = f.local("i32");
        const rows = new Rows(f, from, m, step);
        const strip = (vectors: number): void => {
          if (reducer.wide) {
            const sums = wideSums(f, reducer as unknown as Reducer<"f32x4">, vectors, rows);
            f.if(f64.ne(divisor, 1), () => {
              const by = f.let(f64x2.splat(divisor));
              sums.flat().forEach((sum) => f.set(sum, f64x2.div(sum, by)));
            });
            sums.forEach(([low, high], u) => {
              const v = f32x4.shuffle(f32x4.ofF64(low), f32x4.ofF64(high), [0, 1, 4, 5]);
              f.store(to, v, 16 * u);
            });
          } else {
            ownResults(f, reducer, vectors, rows).forEach((v, u) => f.store(to, v, 16 * u));
          }
          [from, to].forEach((p) => f.advance(p, 16 * vectors));
          f.advance(left, -4 * vectors);
        };
        f.while(i32.gt(outer, 0), () => {
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
          f.advance(outer, -1);
        });
      },
    );
  }).run;
}

/** Sums or products of some vectors of columns, in float64. */
function wideSums(
  f: FunctionBuilder,
  { run, quick, wide, identity }: Reducer<"f32x4">,
  vectors: number,
  rows: Rows,
): (readonly [Local<"f64x2">, Local<"f64x2">])[] {
  const each = Array.from({ length: vectors }, (_, u) => u);
  const sums = each.map(() => {
    const half = (): Local<"f64x2"> => f.variable("f64x2", f.constant("f64x2", identity));
    return [half(), half()] as const;
  });
  const take = (u: number, v: F4): void => {
    const halves: readonly D2[] = [lowHalf(v), highHalf(v)];
    sums[u].forEach((sum, h) => f.set(sum, wide!(sum, halves[h])));
  };
  rows.runs(run || 1 << 30, (eachRow) => {
    if (run === 0) {
      return eachRow((at) => each.forEach((u) => take(u, f.let(f32x4.load(at, 16 * u)))));
    }
    const parts = each.map(() => f.variable("f32x4", f.constant("f32x4", identity)));
    eachRow((at) => each.forEach((u) => f.set(parts[u], quick(parts[u], f32x4.load(at, 16 * u)))));
    each.forEach((u) => take(u, parts[u]));
  });
  return sums;
}

/** Results of some vectors of columns, in the elements' own type. */
function ownResults<T extends Lane4>(
  f: FunctionBuilder,
  r: Reducer<T>,
  vectors: number,
  rows: Rows,
): Value<T>[] {
  const each = Array.from({ length: vectors }, (_, u) => u);
  const found = each.map(() => f.variable(r.type, f.constant(r.type, r.identity)));
  const bad = each.map(() => f.variable("i32x4", f.constant("i32x4", 0)));
  rows.runs(1 << 30, (eachRow) =>
    eachRow((at) =>
      each.forEach((u) => {
        const v = f.let(r.table.load(at, 16 * u));
        f.set(found[u], r.quick(found[u], v));
        const float = v as unknown as F4;
        if (r.watchesNaN) f.set(bad[u], i32x4.or(bad[u], f32x4.ne(float, float)));
      })
    ));
  if (!r.watchesNaN) return found;
  return each.map((u) => r.table.select(f.constant(r.type, NaN), found[u], bad[u]));
}
