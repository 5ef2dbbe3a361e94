/**
 * Products with one to four columns: vectors of elements of A times vectors of elements of B, whose lanes are added at last. A tile
 * of eight columns would be half empty or worse, and read A one element at a time.
 *
 * Rows are given by pointers and sums run over segments, as in gemm_kernel.ts, whose parameters these kernels take. B is laid out
 * as {@linkcode dotsPacking} does it.
 */
import type { DType } from "../../../core/dtype.ts";
import { exprKey } from "../../../core/scalar/expr.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import { importHosts, printSimd } from "../pointwise/print_simd.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32, f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { type F4, type I4, laneNumbers, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import type { Epilogue } from "./epilogue.ts";
import { type PanelParams, paramsOf, RUN_PARAMS } from "./gemm_call.ts";

/** Most columns. */
export const DOT_COLUMNS = 4;
/** Vectors that one turn of the inner loop takes from each row. */
const UNROLLED = 4;

type I = Local<"i32">;

/** Rows of a panel: their sums, and what is multiplied, fit in the registers. */
export function dotRows(engine: Engine, columns: number): number {
  return [6, engine.features.relaxed ? 6 : 5, 3, 3][columns - 1];
}

/** The kernel of `rows` rows and `columns` columns. */
export function dotsKernel(
  engine: Engine,
  rows: number,
  columns: number,
  epilogue: Epilogue | undefined,
): WasmFunction {
  const key = epilogue ? `${exprKey(epilogue.expr)} ${epilogue.operands}` : "";
  return engine.compile(`gemm dots ${rows} ${columns} ${key}`, (m) => {
    const hosts = importHosts(m, epilogue ? [epilogue.expr] : []);
    const extra = new Array<"i32">(epilogue?.operands.length ?? 0).fill("i32");
    m.function("run", [...RUN_PARAMS, ...extra], null, (f, ...p) => {
      const s = new Simd(f, engine.features.relaxed, hosts);
      writeDots(s, rows, columns, paramsOf(p as I[]), epilogue);
    });
  }).run;
}

/** Lanes below the number of floats left over after whole vectors. */
function restMask(f: FunctionBuilder, bytes: I): I4 {
  const rest = i32.shrU(i32.and(bytes, 15), 2);
  return f.let(i32x4.gt(i32x4.splat(rest), laneNumbers(f)));
}

function writeDots(
  s: Simd,
  rows: number,
  columns: number,
  p: PanelParams,
  epilogue: Epilogue | undefined,
): void {
  const { f } = s;
  const each = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(i));
  const mask = restMask(f, p.segmentBytes);
  const sums = each(rows, () => each(columns, () => f.local("f32x4")));
  const a = each(rows, () => f.local("i32"));
  const b = f.local("i32"), segment = f.local("i32"), left = f.local("i32");
  const base = f.local("i32"), end = f.local("i32");
  const step = (vector: number, read: (x: F4) => F4): void => {
    const row = each(columns, (j) => f.let(f32x4.load(b, 16 * (columns * vector + j))));
    a.forEach((pointer, i) => {
      const x = f.let(read(f32x4.load(pointer, 16 * vector)));
      row.forEach((y, j) => f.set(sums[i][j], s.madd(x, y, sums[i][j])));
    });
  };
  const steps = (count: number): void => {
    for (let vector = 0; vector < count; vector++) step(vector, (x) => x);
    a.forEach((x) => f.advance(x, 16 * count));
    f.advance(b, 16 * columns * count);
  };
  f.while(i32.gt(p.count, 0), () => {
    sums.flat().forEach((x) => f.set(x, s.k(0)));
    f.set(b, p.b);
    f.set(segment, p.segments);
    f.set(left, p.segmentCount);
    f.while(i32.gt(left, 0), () => {
      f.set(base, i32.add(p.aBase, i32.load(segment)));
      a.forEach((x, i) => f.set(x, i32.add(i32.load(p.panel, 4 * (rows + i)), base)));
      f.set(end, i32.add(a[0], i32.and(p.segmentBytes, -16 * UNROLLED)));
      f.while(i32.ltU(a[0], end), () => steps(UNROLLED));
      f.set(end, i32.add(a[0], i32.and(p.segmentBytes, 16 * UNROLLED - 16)));
      f.while(i32.ltU(a[0], end), () => steps(1));
      f.if(i32.and(p.segmentBytes, 15), () => {
        step(0, (x) => f32x4.and(x, f32x4.ofBits(mask)));
        f.advance(b, 16 * columns);
      });
      f.advance(segment, 4);
      f.advance(left, -1);
    });
    const c = each(rows, (i) => f.let(i32.add(i32.load(p.panel, 4 * i), p.cBase)));
    sums.forEach((row, i) => {
      storeRow(f, columns, c[i], withEpilogue(s, epilogue, lanesOf(f, row), c[i], p.operands));
    });
    f.advance(p.panel, 8 * rows);
    f.advance(p.count, -1);
  });
}

/** The sums over the lanes of up to four vectors, as lanes. */
function lanesOf(f: FunctionBuilder, [a, b, c, d]: readonly F4[]): F4 {
  const pair = (x: F4, y: F4): F4 =>
    f.let(f32x4.add(f32x4.shuffle(x, y, [0, 4, 1, 5]), f32x4.shuffle(x, y, [2, 6, 3, 7])));
  const low = pair(a, b ?? a), high = c === undefined ? low : pair(c, d ?? c);
  return f.let(
    f32x4.add(f32x4.shuffle(low, high, [0, 1, 4, 5]), f32x4.shuffle(low, high, [2, 3, 6, 7])),
  );
}

function withEpilogue(
  s: Simd,
  epilogue: Epilogue | undefined,
  sum: F4,
  c: Value<"i32">,
  pointers: readonly I[],
): F4 {
  if (epilogue === undefined) return sum;
  const { f } = s;
  const args = epilogue.operands.map((per, i) => {
    if (per === "all") return f.let(f32x4.loadSplat(pointers[i]));
    return f.let(f32x4.load(per === "column" ? pointers[i] : i32.add(c, pointers[i])));
  });
  const dtypes: DType[] = ["float32", ...args.map((): DType => "float32")];
  return f.let(printSimd(s, [epilogue.expr], dtypes, [sum, ...args])[0] as F4);
}

function storeRow(f: FunctionBuilder, columns: number, c: Value<"i32">, x: F4): void {
  if (columns === 4) return f.store(c, x);
  if (columns > 1) f.storeLane(c, x, 8, 0);
  if (columns !== 2) f.storeLane(c, x, 4, columns - 1, 4 * (columns - 1));
}

/** Bytes of a segment of this many rows of B. */
export function dotsSegmentBytes(length: number, columns: number): number {
  return 16 * columns * Math.ceil(length / 4);
}

/** True where B need not be copied: one column whose segments are whole vectors. */
export function dotsLie(length: number, columns: number): boolean {
  return columns === 1 && length % 4 === 0;
}

/**
 * `run(to, from, segments, length, step)` lays out rows of B that are `step` bytes apart: from each segment four rows at a time, of
 * these one column after the other, zeros after the last.
 */
export function dotsPacking(engine: Engine, columns: number): WasmFunction {
  return engine.compile(`gemm dots pack ${columns}`, (m) => {
    const types = ["i32", "i32", "i32", "i32", "i32"] as const;
    m.function("run", types, null, (f, to, from, segments, length, step) => {
      const bytes = f.variable("i32", i32.shl(length, 2)), left = f.local("i32");
      const mask = restMask(f, bytes);
      const lanes = [0, 1, 2, 3].map(() => f.local("i32"));
      const column = (j: number): F4 =>
        [1, 2, 3].reduce<F4>(
          (v, lane) => f32x4.withLane(v, lane, f32.load(lanes[lane], 4 * j)),
          f32x4.loadFirst(lanes[0], 4 * j),
        );
      const four = (write: (x: F4) => F4): void => {
        lanes.forEach((l, i) => f.set(l, i === 0 ? from : i32.add(lanes[i - 1], step)));
        for (let j = 0; j < columns; j++) f.store(to, write(column(j)), 16 * j);
        f.advance(to, 16 * columns);
      };
      f.while(i32.gt(segments, 0), () => {
        f.set(left, length);
        f.while(i32.ge(left, 4), () => {
          four((x) => x);
          f.advance(from, i32.shl(step, 2));
          f.advance(left, -4);
        });
        f.if(i32.gt(left, 0), () => {
          four((x) => f32x4.and(x, f32x4.ofBits(mask)));
          f.advance(from, i32.mul(left, step));
        });
        f.advance(segments, -1);
      });
    });
  }).run;
}
