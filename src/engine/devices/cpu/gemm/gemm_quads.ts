/**
 * Products of whole numbers of 8 bits, which come as float32, with levels: in bytes, where the machine multiplies sixteen of them at
 * once. Their sums are exact.
 */
import { remembered } from "../../../core/collections/recent_map.ts";
import type { Epilogue, EpilogueOperand } from "../../../core/fusion.ts";
import { argument, castTo, scalar, substitute } from "../../../core/scalar/expr.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i16x8, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { LevelsOfB } from "./gemm_levels.ts";
import { QUAD } from "./gemm_levels.ts";
import { tablesOf } from "./gemm_rows.ts";
import { operandsFrom, prepareSums } from "./gemm_sums.ts";
import { BLOCK_ROWS, panelRows } from "./gemm_tile.ts";

/** Largest magnitude of an element, and most elements of a sum that fits in 32 bits. */
const MOST = 255, MOST_DEPTH = 2 ** 16;

/** Elements of B that are multiplied as signed bytes, and of A, as unsigned ones. */
const SAMPLES: readonly (readonly [number, number])[] = [[127, 255], [-128, 255], [-128, 1], [
  5,
  128,
]];

/** True where the relaxed product of bytes takes the second as unsigned, without limits to parts of its sums. */
export const multipliesBytes: (engine: Engine) => boolean = remembered((engine) => {
  if (!engine.features.relaxed) return false;
  const run = kernel(engine, "probe quads", 1, ({ f }, [at]) => {
    const [b, a] = [0, 16].map((p) => i8x16.load(at, p));
    f.store(at, i32x4.relaxedDot(b, a, i32x4.load(at, 32)), 48);
  });
  const at = engine.scratch(64), { heap } = engine;
  return SAMPLES.every(([b, a]) => {
    heap.u8.fill(b, at, at + 16);
    heap.u8.fill(a, at + 16, at + 32);
    heap.i32.fill(7, (at + 32) >>> 2, (at + 48) >>> 2);
    run(at);
    return heap.i32[(at + 48) >>> 2] === QUAD * a * b + 7;
  });
});

/** A product, with what is done to its results, and the kernel of other elements. */
export interface QuadsProduct extends Readonly<Record<"m" | "n" | "k", number>> {
  readonly levels: LevelsOfB;
  readonly epilogue: Epilogue | undefined;
  readonly otherwise: FastRun;
}

/** Prepares the product of a dense A with levels, which looks at the elements of A in each run. */
export function prepareQuads(engine: Engine, product: QuadsProduct): FastRun {
  const { m, k, otherwise } = product;
  if (k > MOST_DEPTH) return otherwise;
  let whole: ReturnType<typeof prepareWhole> | null = null;
  return (outs, ins) => {
    const least = isWhole(engine, ins[1])
      ? leastOf(engine, engine.scratch(64), ins[0], m * k)
      : null;
    if (least === null) return otherwise(outs, ins);
    whole ??= prepareWhole(engine, product);
    whole(outs, ins, least);
  };
}

function prepareWhole(engine: Engine, { m, n, k, levels: { parts }, epilogue }: QuadsProduct) {
  const blocks = evenBlocks(m, BLOCK_ROWS, panelRows(engine));
  const tables = tablesOf(engine, blocks, (i) => k * i, (i) => 4 * n * i);
  const own = wholeEpilogue(epilogue);
  const sums = prepareSums(engine, {
    columns: n,
    segments: [0],
    length: k / QUAD,
    tables: [...tables.values()],
    pack: null,
    panels: parts.step,
    epilogue: own,
    terms: "quads",
  });
  const work = roundUp(sums.bytes(0)), bytes = work + 64 + roundUp(m * k);
  return ([c]: readonly Pointer[], [a, b, ...more]: readonly Pointer[], least: number): void => {
    const at = engine.scratch(bytes), number = at + work, quads = number + 64;
    engine.heap.i32[number >>> 2] = least;
    bytesOfA(engine, quads, a, m * k, least);
    const operands = [...more, b + parts.sums, b + parts.scales, number];
    const rows = blocks.map(({ from, size }) => ({
      table: tables.get(size)!,
      c: c + 4 * n * from,
      a: () => quads + k * from,
    }));
    sums.run(at, [{ b: b + parts.panels, rows }], operandsFrom(own, operands, c));
  };
}

/** Returns an epilogue of int32 sums: they become the operand of the given epilogue. Sums of columns, scales and the least element follow. */
export function wholeEpilogue(epilogue: Epilogue | undefined): Epilogue {
  const given = epilogue?.operands ?? [], next = given.length + 1, buffer = { input: -1 };
  const more: EpilogueOperand[] = [
    { dtype: "int32", buffer, per: "column" },
    { dtype: "float32", buffer, per: "column" },
    { dtype: "int32", buffer, per: "all" },
  ];
  const [sums, scale, least] = more.map((_, i) => argument(next + i));
  const whole = scalar.add(argument(0), scalar.mul(sums, least));
  const sum = scalar.mul(castTo(whole, "float32"), scale);
  const args = [sum, ...given.map((_, i) => argument(i + 1))];
  const expr = epilogue === undefined ? sum : substitute(epilogue.expr, args);
  return { expr, operands: [...given, ...more], sums: "int32" };
}

/** True where packed levels have no zero points, and the machine multiplies bytes. */
export function isWhole(engine: Engine, b: Pointer): boolean {
  return engine.heap.i32[b >>> 2] !== 0 && multipliesBytes(engine);
}

/** Writes whole numbers, a multiple of four, as bytes relative to the least. */
export function bytesOfA(
  engine: Engine,
  to: Pointer,
  a: Pointer,
  ...[count, least]: readonly [count: number, least: number]
): void {
  kernel(engine, "quads of A", 4, ({ f }, p) => writeConversion(f, p))(to, a, count, least);
}

/**
 * Returns the least of some elements, a multiple of four; null where they are no whole numbers in the range of a byte. `at` has room for
 * 64 bytes.
 */
export function leastOf(engine: Engine, at: Pointer, a: Pointer, count: number): number | null {
  const run = kernel(engine, "range of A", 3, ({ f }, p) => writeRange(f, p));
  const { f32, i32 } = engine.heap, first = at >>> 2;
  run(at, a, count);
  let least = Infinity, most = -Infinity;
  for (let i = first; i < first + 4; i++) {
    if (i32[i + 8] !== 0) return null;
    least = Math.min(least, f32[i]);
    most = Math.max(most, f32[i + 4]);
  }
  return least >= -MOST && most <= MOST && most - least <= MOST ? least : null;
}

/** Parameters: four least elements, four most, and four masks of what is no whole number; elements, their number. */
function writeRange(f: FunctionBuilder, [to, x, count]: readonly I[]): void {
  const least = f.variable("f32x4", f32x4.const(Infinity));
  const most = f.variable("f32x4", f32x4.const(-Infinity));
  const others = f.variable("i32x4", i32x4.const(0));
  for (const each of [4, 1]) {
    f.countDown(count, 4 * each, () => {
      for (let i = 0; i < each; i++) {
        const v = f.let(f32x4.load(x, 16 * i));
        f.set(least, f32x4.min(least, v));
        f.set(most, f32x4.max(most, v));
        f.set(others, i32x4.or(others, f32x4.ne(v, f32x4.nearest(v))));
      }
      f.advance(x, 16 * each);
    });
  }
  f.store(to, least);
  f.store(to, most, 16);
  f.store(to, others, 32);
}

/** Parameters: bytes, elements, their number, the least of them. */
function writeConversion(f: FunctionBuilder, [to, x, count, least]: readonly I[]): void {
  const first = f.let(f32x4.ofI32(i32x4.splat(least)));
  const four = (i: number) => i32x4.ofF32(f32x4.sub(f32x4.load(x, 16 * i), first));
  f.countDown(count, 16, () => {
    const halves = [0, 2].map((i) => i16x8.narrow(four(i), four(i + 1)));
    f.store(to, i8x16.narrowU(halves[0], halves[1]));
    f.advance(to, 16);
    f.advance(x, 64);
  });
  f.countDown(count, 4, () => {
    const half = f.let(i16x8.narrow(four(0), four(0)));
    f.storeLane(to, i8x16.narrowU(half, half), 4, 0);
    f.advance(to, 4);
    f.advance(x, 16);
  });
}
