/** Products of very few rows: every element of B is used once or twice, so B is read in order and never copied. */
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import type { Product } from "./gemm_small.ts";
import { TERMS, type Terms } from "./gemm_terms.ts";

/** Columns of C that are summed at once: they stay in the nearest cache. */
const BLOCK = 2048;
/** Sums of one row that grow side by side. */
const SUMS = 4;

/** Prepares `C[m,n] = A[m,k] · B[k,n]` for few rows; `transB`: B is stored `[n, k]`. */
export function prepareThin(
  engine: Engine,
  { m, n, k, transB, terms = "float32" }: Omit<Product, "transA">,
): FastRun {
  // Reading B dominates: it takes as long as some four operations.
  const operations = 8 * n * k;
  if (transB) {
    const run = kernel(engine, `thin dot ${terms} ${m}`, 5, (s, p) => writeDots(s, m, terms, p));
    const columns = { count: n, work: m === 1 ? operations : 0, multiple: 8 };
    return ([c], [a, b]) => {
      if (engine.parts(columns.work) === 1) return void run(c, a, b, n, k);
      engine.inParts(run, columns, (at, size) => [c + 4 * at, a, b + 4 * k * at, size, k]);
    };
  }
  const run = kernel(engine, `thin sum ${terms} ${m}`, 6, (s, p) => writeSums(s, m, terms, p));
  return ([c], [a, b]) => {
    const most = Math.min(BLOCK, Math.ceil(n / engine.parts(operations)));
    if (n <= most) return void run(c, a, b, n, k, 4 * n);
    const calls = evenBlocks(n, most, 16)
      .map(({ from, size }): WasmCall => [run, [c + 4 * from, a, b + 4 * from, size, k, 4 * n]]);
    engine.callAll(calls);
  };
}

/** Adds multiples of rows of B to the rows of C. Parameters: C, A, B, columns, length of sums, bytes of a row of B. */
function writeSums(
  s: Simd,
  m: number,
  terms: Terms,
  [c, a, b, n, k, step]: readonly I[],
): void {
  const { f } = s, { madd } = TERMS[terms];
  const lengthA = f.let(i32.shl(k, 2));
  for (let i = 0; i < m; i++) f.fill(i32.add(c, i32.mul(step, i)), 0, i32.shl(n, 2));
  const pass = (depth: number): void => {
    const factors = f.ramp(a, lengthA, m).map((row) =>
      Array.from({ length: depth }, (_, u) => f.let(f32x4.loadSplat(row, 4 * u)))
    );
    const rows = f.ramp(b, step, depth), to = f.ramp(c, step, m);
    const left = f.variable("i32", n);
    for (const columns of [16, 4, 1]) {
      const load = columns === 1 ? f32x4.loadFirst : f32x4.load;
      f.countDown(left, columns, () => {
        for (let at = 0; at < 4 * columns; at += 16) {
          const values = rows.map((r) => f.let(load(r, at)));
          to.forEach((p, i) => {
            const sum = values.reduce((sum, x, u) => madd(s, factors[i][u], x, sum), load(p, at));
            if (columns === 1) f.storeLane(p, sum, 4, 0);
            else f.store(p, sum, at);
          });
        }
        [...rows, ...to].forEach((p) => f.advance(p, 4 * columns));
      });
    }
    f.advance(a, 4 * depth);
    f.advance(b, i32.mul(step, depth));
  };
  for (const depth of m === 1 ? [8, 1] : [4, 1]) f.countDown(k, depth, () => pass(depth));
}

/** Dot products of rows of A with rows of B. Parameters: C, A, B, rows of B, length of the rows. */
function writeDots(
  s: Simd,
  m: number,
  terms: Terms,
  [c, a, b, n, k]: readonly I[],
): void {
  const { f } = s, { madd, add } = TERMS[terms];
  const bytes = f.let(i32.shl(k, 2)), step = f.let(i32.shl(n, 2));
  const pass = (columns: number): void => {
    const rows = f.ramp(b, bytes, columns), left = f.ramp(a, bytes, m);
    // Several sums at once, so that additions do not wait for each other.
    const depth = Math.max(1, SUMS / columns);
    const sums = left.map(() =>
      rows.map(() => Array.from({ length: depth }, () => f.variable("f32x4", s.k(0))))
    );
    const terms = f.variable("i32", k);
    for (const step of depth > 1 ? [4 * depth, 4, 1] : [4, 1]) {
      const load = step === 1 ? f32x4.loadFirst : f32x4.load;
      f.countDown(terms, step, () => {
        for (let u = 0; 4 * u < step; u++) {
          const values = left.map((p) => f.let(load(p, 16 * u)));
          rows.forEach((r, j) => {
            const v = f.let(load(r, 16 * u));
            values.forEach((x, i) => f.set(sums[i][j][u], madd(s, x, v, sums[i][j][u])));
          });
        }
        [...rows, ...left].forEach((p) => f.advance(p, 4 * step));
      });
    }
    sums.forEach((row, i) => {
      const to = f.let(i32.add(c, i32.mul(step, i)));
      row.forEach(([first, ...others], j) => {
        const whole = others.reduce<F4>((sum, v) => add(sum, v), first);
        f.storeLane(to, total(f, whole, add), 4, 0, 4 * j);
      });
    });
    f.advance(b, i32.mul(bytes, columns));
    f.advance(c, 4 * columns);
  };
  for (const columns of [m === 1 ? 8 : 4, 1]) f.countDown(n, columns, () => pass(columns));
}

/** Returns the sum of four lanes in the first. */
function total(f: FunctionBuilder, v: F4, add: (x: F4, y: F4) => F4): F4 {
  const pair = f.let(add(v, f32x4.shuffle(v, v, [2, 3, 0, 1])));
  return add(pair, f32x4.shuffle(pair, pair, [1, 0, 3, 2]));
}
