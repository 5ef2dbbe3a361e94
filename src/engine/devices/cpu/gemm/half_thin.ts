/**
 * Products of very few rows of float16: B is read in order, at half the bytes of float32. Its elements are float32 times 2⁻¹¹² once
 * their bits are in place, so that A is multiplied by 2¹¹² instead of each of them. Infinities and NaN in B have no such place: the
 * kernel looks for them as it goes, and another one computes the product where there are any.
 */
import type { DType } from "../../../core/dtype.ts";
import type { Epilogue } from "../../../core/fusion.ts";
import { argument, castTo } from "../../../core/scalar/expr.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i16x8, i32, i32x4 } from "../wasm/instructions.ts";
import { ofHalves, scaledHalves } from "../wasm/half_lanes.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import type { Product } from "./gemm_small.ts";

/** Columns of C that are summed at once: they stay in the nearest cache. */
const BLOCK = 2048;
/** Factor of A. */
const SCALE = 2 ** 112;

type I8 = Value<"i16x8">;

/** A product of float16, and the expression over its sums, which are float32. */
export interface HalfProduct extends Product {
  readonly epilogue: Epilogue | undefined;
  /** Computes the sums where an element of B is not finite. */
  readonly otherwise: FastRun;
  /** Dtype of the result. */
  readonly result: DType;
}

/** Prepares a product of few rows. */
export function prepareHalfThin(
  engine: Engine,
  { m, n, k, transB, epilogue, otherwise, result }: HalfProduct,
): FastRun | null {
  const widen = kernel(engine, "half widen", 3, writeWidened);
  const write = transB ? writeDots : writeSums;
  const run = kernel(engine, `half thin ${transB} ${m}`, 7, (s, p) => write(s, m, p));
  const shapes = { all: [], column: [n], element: [m, n] };
  const sums: ConcreteSpec = { dtype: "float32", shape: [m, n] };
  const further = epilogue?.operands.map(({ dtype, per }) => ({ dtype, shape: shapes[per] })) ?? [];
  const expr = castTo(epilogue?.expr ?? argument(0), result);
  const finish = preparePointwise(engine, [expr], [sums, ...further], [m, n]);
  if (finish === null) return null;
  const { heap } = engine, rowBytes = transB ? 2 * k : 2;
  return (outs, [a, b, ...operands]) =>
    heap.lend(4 * m * n, (c) => {
      const flag = engine.scratch(64 + 4 * m * k + 16), wide = flag + 64;
      heap.i32[flag >>> 2] = 0;
      widen(wide, a, m * k);
      const most = Math.min(transB ? n : BLOCK, Math.ceil(n / engine.parts(6 * n * k)));
      const calls = evenBlocks(n, most, 16).map(({ from, size }): WasmCall => [
        run,
        [c + 4 * from, wide, b + rowBytes * from, size, k, n, flag],
      ]);
      engine.callAll(calls);
      if (heap.i32[flag >>> 2] !== 0) otherwise([c], [a, b]);
      finish(outs, [c, ...operands]);
    });
}

/** Widens elements of A, four at a time. Parameters: to, from, their number. */
function writeWidened({ f }: Simd, [to, from, n]: readonly I[]): void {
  f.while(i32.gt(n, 0), () => {
    const x = ofHalves(f, i32x4.loadHalves(from));
    f.store(to, f32x4.mul(x, f.constant("f32x4", SCALE)));
    f.advance(to, 16);
    f.advance(from, 8);
    f.advance(n, -4);
  });
}

/** Returns eight elements of B as two vectors, and notes the largest of their bits. */
function eight(f: FunctionBuilder, raw: I8, most: ReturnType<typeof mostOf>): readonly [F4, F4] {
  const x = f.let(raw);
  f.set(most, i16x8.max(most, i16x8.and(x, f.constant("i16x8", 0x7fff))));
  return [scaledHalves(f, i32x4.ofLow16(x)), scaledHalves(f, i32x4.ofHigh16(x))];
}

function mostOf(f: FunctionBuilder) {
  return f.variable("i16x8", i16x8.const(0));
}

/** Leaves a mark where an element of B was infinite or no number. */
function mark(f: FunctionBuilder, most: I8, at: I): void {
  const bad = i16x8.gt(most, f.constant("i16x8", 0x7bff));
  f.if(i32.anyTrue(i32x4.ofBits(bad)), () => f.store8(at, 1));
}

/** Parameters: C, A, B, columns, length of the sums, columns of all of C, the mark. */
function writeSums(s: Simd, m: number, [c, a, b, n, k, width, flag]: readonly I[]): void {
  const { f } = s, lengthA = f.let(i32.shl(k, 2)), most = mostOf(f);
  const step = f.let(i32.shl(width, 1)), rowC = f.let(i32.shl(width, 2));
  for (let i = 0; i < m; i++) f.fill(i32.add(c, i32.mul(rowC, i)), 0, i32.shl(n, 2));
  const pass = (depth: number): void => {
    const factors = f.ramp(a, lengthA, m).map((row) =>
      Array.from({ length: depth }, (_, u) => f.let(f32x4.loadSplat(row, 4 * u)))
    );
    const rows = f.ramp(b, step, depth), to = f.ramp(c, rowC, m), left = f.variable("i32", n);
    f.countDown(left, 8, () => {
      const values = rows.map((r) => eight(f, i16x8.load(r), most));
      to.forEach((p, i) => {
        for (const h of [0, 1]) {
          const sum = values.reduce(
            (sum, x, u) => s.madd(factors[i][u], x[h], sum),
            f32x4.load(p, 16 * h),
          );
          f.store(p, sum, 16 * h);
        }
        f.advance(p, 32);
      });
      rows.forEach((r) => f.advance(r, 16));
    });
    f.countDown(left, 1, () => {
      const values = rows.map((r) => one(f, r, most));
      to.forEach((p, i) => {
        const sum = values.reduce((sum, x, u) => s.madd(factors[i][u], x, sum), f32x4.loadFirst(p));
        f.storeLane(p, sum, 4, 0);
        f.advance(p, 4);
      });
      rows.forEach((r) => f.advance(r, 2));
    });
    f.advance(a, 4 * depth);
    f.advance(b, i32.mul(step, depth));
  };
  for (const depth of [4, 1]) f.countDown(k, depth, () => pass(depth));
  mark(f, most, flag);
}

/** Loads one element of B into all lanes. */
function one(f: FunctionBuilder, at: I, most: ReturnType<typeof mostOf>): F4 {
  const x = f.let(i32x4.splat(i32.load16s(at)));
  f.set(most, i16x8.max(most, i16x8.and(i16x8.ofBits(x), f.constant("i16x8", 0x7fff))));
  return scaledHalves(f, x);
}

/** Parameters: C, A, B, rows of B, length of the rows, columns of all of C, the mark. */
function writeDots(s: Simd, m: number, [c, a, b, n, k, width, flag]: readonly I[]): void {
  const { f } = s, lengthA = f.let(i32.shl(k, 2)), most = mostOf(f);
  const bytes = f.let(i32.shl(k, 1)), rowC = f.let(i32.shl(width, 2));
  const pass = (columns: number): void => {
    const rows = f.ramp(b, bytes, columns), left = f.ramp(a, lengthA, m);
    const sums = left.map(() => rows.map(() => [0, 1].map(() => f.variable("f32x4", s.k(0)))));
    const terms = f.variable("i32", k);
    f.countDown(terms, 8, () => {
      const x = left.map((p) => [0, 16].map((at) => f.let(f32x4.load(p, at))));
      rows.forEach((r, j) => {
        const y = eight(f, i16x8.load(r), most);
        x.forEach((halves, i) =>
          halves.forEach((v, h) => f.set(sums[i][j][h], s.madd(v, y[h], sums[i][j][h])))
        );
        f.advance(r, 16);
      });
      left.forEach((p) => f.advance(p, 32));
    });
    f.countDown(terms, 1, () => {
      const x = left.map((p) => f.let(f32x4.loadFirst(p)));
      rows.forEach((r, j) => {
        const y = one(f, r, most);
        x.forEach((v, i) => f.set(sums[i][j][0], s.madd(v, y, sums[i][j][0])));
        f.advance(r, 2);
      });
      left.forEach((p) => f.advance(p, 4));
    });
    sums.forEach((row, i) =>
      row.forEach(([low, high], j) => {
        const v = f.let(f32x4.add(low, high));
        const pair = f.let(f32x4.add(v, f32x4.shuffle(v, v, [2, 3, 0, 1])));
        const total = f32x4.add(pair, f32x4.shuffle(pair, pair, [1, 0, 3, 2]));
        f.storeLane(i32.add(c, i32.mul(rowC, i)), total, 4, 0, 4 * j);
      })
    );
    f.advance(b, i32.mul(bytes, columns));
    f.advance(c, 4 * columns);
  };
  for (const columns of [4, 1]) f.countDown(n, columns, () => pass(columns));
  mark(f, most, flag);
}
