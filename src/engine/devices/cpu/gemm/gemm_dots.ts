/**
 * Products with one to four columns: vectors of elements of A times vectors of elements of B, whose lanes are added at last. A tile
 * of eight columns would be half empty or worse, and read A one element at a time.
 *
 * Rows are given by pointers and sums run over segments, as in gemm_kernel.ts, whose parameters these kernels take. B is laid out
 * as {@linkcode dotsPacking} does it.
 */
import type { Epilogue, EpilogueOperand } from "../../../core/fusion.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Lanes } from "../pointwise/lane_printer.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32, f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { type F4, type I4, laneNumbers, type Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import { applyEpilogue, epilogueKey, importEpilogue, loadOperand, operandAt } from "./epilogue.ts";
import { PANEL_PARAMS, type PanelCall, paramsOf } from "./gemm_kernel.ts";

/** Most columns. */
export const DOT_COLUMNS = 4;
/** Vectors that one turn of the inner loop takes from each row. */
const UNROLLED = 4;

/** Returns the rows of a panel: their sums and operands fit in the registers. */
export function dotRows(engine: Engine, columns: number): number {
  return [6, engine.features.relaxed ? 6 : 5, 3, 3][columns - 1];
}

/** Makes the kernel of `rows` rows and `columns` columns. */
export function dotsKernel(
  engine: Engine,
  rows: number,
  columns: number,
  epilogue: Epilogue | undefined,
): WasmFunction {
  const params = PANEL_PARAMS + (epilogue?.operands.length ?? 0);
  const key = `gemm dots ${rows} ${columns} ${epilogueKey(epilogue)}`;
  const write = (s: Simd, p: readonly I[]): void => {
    writeDots(s, rows, columns, paramsOf(p), epilogue);
  };
  return kernel(engine, key, params, write, importEpilogue(epilogue));
}

/** Returns a mask of the lanes left over after whole vectors. */
function restMask(f: FunctionBuilder, bytes: I): I4 {
  const rest = i32.shrU(i32.and(bytes, 15), 2);
  return f.let(i32x4.gt(i32x4.splat(rest), laneNumbers(f)));
}

function writeDots(
  s: Simd,
  rows: number,
  columns: number,
  p: PanelCall<I>,
  epilogue: Epilogue | undefined,
): void {
  const { f } = s;
  const mask = restMask(f, p.segmentBytes);
  const a = f.locals("i32", rows), sums = a.map(() => f.locals("f32x4", columns));
  const [b, segment, left, base, end] = f.locals("i32", 5);
  const step = (vector: number, read: (x: F4) => F4): void => {
    const row = sums[0].map((_, j) => f.let(f32x4.load(b, 16 * (columns * vector + j))));
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
  f.countDown(p.count, 1, () => {
    sums.flat().forEach((x) => f.set(x, s.k(0)));
    f.set(b, p.b);
    f.set(segment, p.segments);
    f.set(left, p.segmentCount);
    f.countDown(left, 1, () => {
      f.set(base, i32.add(p.aBase, i32.load(segment)));
      a.forEach((x, i) => f.set(x, i32.add(i32.load(p.panels, 4 * (rows + i)), base)));
      f.set(end, i32.add(a[0], i32.and(p.segmentBytes, -16 * UNROLLED)));
      f.while(i32.ltU(a[0], end), () => steps(UNROLLED));
      f.set(end, i32.add(a[0], i32.and(p.segmentBytes, 16 * UNROLLED - 16)));
      f.while(i32.ltU(a[0], end), () => steps(1));
      f.if(i32.and(p.segmentBytes, 15), () => {
        step(0, (x) => f32x4.and(x, f32x4.ofBits(mask)));
        f.advance(b, 16 * columns);
      });
      f.advance(segment, 4);
    });
    const c = a.map((_, i) => f.let(i32.add(i32.load(p.panels, 4 * i), p.cBase)));
    sums.forEach((row, i) => {
      const sum = lanesOf(f, row);
      const load = (operand: EpilogueOperand, k: number): readonly Lanes[] => {
        const pointer = p.operands[k];
        const at = operand.per === "element" ? operandAt(operand, pointer, c[i]) : pointer;
        return loadOperand(f, operand, at, 1);
      };
      const [result] = epilogue ? applyEpilogue(s, epilogue, [sum], load) : [sum];
      if (columns === 4) f.store(c[i], result);
      else storePart(f, c[i], result, columns);
    });
    f.advance(p.panels, 8 * rows);
  });
}

/** Returns the sums over the lanes of up to four vectors, as lanes. */
function lanesOf(f: FunctionBuilder, [a, b, c, d]: readonly F4[]): F4 {
  const pair = (x: F4, y: F4): F4 =>
    f.let(f32x4.add(f32x4.shuffle(x, y, [0, 4, 1, 5]), f32x4.shuffle(x, y, [2, 6, 3, 7])));
  const low = pair(a, b ?? a), high = c === undefined ? low : pair(c, d ?? c);
  return f.let(
    f32x4.add(f32x4.shuffle(low, high, [0, 1, 4, 5]), f32x4.shuffle(low, high, [2, 3, 6, 7])),
  );
}

/** Returns the bytes of a segment of this many rows of B. */
export function dotsSegmentBytes(length: number, columns: number): number {
  return 16 * columns * Math.ceil(length / 4);
}

/** True where B need not be copied: one column whose segments are whole vectors. */
export function dotsLie(length: number, columns: number): boolean {
  return columns === 1 && length % 4 === 0;
}

/**
 * `run(to, from, segments, length, step)` packs rows of B that are `step` bytes apart: from each segment four rows at a
 * time, of these one column after the other, zeros after the last.
 */
export function dotsPacking(engine: Engine, columns: number): WasmFunction {
  return kernel(engine, `gemm dots pack ${columns}`, 5, ({ f }, p) => {
    const [to, from, segments, length, step] = p;
    const bytes = f.variable("i32", i32.shl(length, 2)), left = f.local("i32");
    const mask = restMask(f, bytes);
    const lanes = f.locals("i32", 4);
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
    f.countDown(segments, 1, () => {
      f.set(left, length);
      f.countDown(left, 4, () => {
        four((x) => x);
        f.advance(from, i32.shl(step, 2));
      });
      f.if(i32.gt(left, 0), () => {
        four((x) => f32x4.and(x, f32x4.ofBits(mask)));
        f.advance(from, i32.mul(left, step));
      });
    });
  });
}
