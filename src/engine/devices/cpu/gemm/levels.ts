/** Products with rows of levels: few rows by dots of integers, more by panels that are dequantised block by block. */
import type { Epilogue } from "../../../core/fusion.ts";
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { LevelsLayout } from "../../../kernels/matmul/levels_layout.ts";
import { evenBlocks } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { THRESHOLDS } from "../thresholds.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i16x8, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { constantLanes, type Value } from "../wasm/value.ts";
import { finished } from "./gemm.ts";
import { tablesOf } from "./gemm_rows.ts";
import { operandsFrom, prepareSums } from "./gemm_sums.ts";
import { BLOCK_ROWS, PANEL_BYTES, PANEL_COLUMNS, panelRows } from "./gemm_tile.ts";
import { fitsDots, type LevelsProduct, prepareDots } from "./levels_dots.ts";

/** Prepares the product of x, levels, scales and zeros; `epilogue` reads the inputs after these. */
export function prepareLevels(
  engine: Engine,
  { inputs: [x, levels, , zeros], outputs: [out], attrs: { bits, block, inner: k } }: Problem,
  epilogue?: Epilogue,
): FastRun | null {
  if (x.dtype !== "float32" || out.dtype !== "float32") return null;
  const n = levels.shape[0], m = sizeOf(x.shape.slice(0, -1));
  if (m === 0 || n === 0) return () => {};
  const product: LevelsProduct = {
    m,
    n,
    k,
    bits,
    block,
    isOneZero: zeros.shape.length === 0,
  };
  if (m > THRESHOLDS.levelsRows || !fitsDots(product)) {
    return prepareWhole(engine, product, epilogue);
  }
  const dots = prepareDots(engine, product, prepareWhole(engine, product));
  return epilogue ? finished(engine, dots, { m, n, own: 4, epilogue }) : dots;
}

/** Prepares blocks of dequantised panels. */
function prepareWhole(engine: Engine, product: LevelsProduct, epilogue?: Epilogue): FastRun {
  const { m, n, k, bits, block, isOneZero } = product, blocks = Math.ceil(k / block);
  const rows = evenBlocks(m, BLOCK_ROWS, panelRows(engine));
  const tables = tablesOf(engine, rows, (i) => 4 * k * i, (i) => 4 * n * i);
  const pack = kernel(
    engine,
    `levels pack ${bits} ${block} ${isOneZero}`,
    9,
    (s, p) => writePack(s, product, p),
  );
  let scalesAt: Pointer = 0, zerosAt: Pointer = 0;
  const rowBytes = blocks * block * bits / 8;
  const sums = prepareSums(engine, {
    columns: n,
    segments: k === 0 ? [] : [0],
    length: k,
    tables: [...tables.values()],
    pack: (to, levels, depth, { from, size }, step) => {
      const zeros = isOneZero ? zerosAt : zerosAt + 4 * blocks * from;
      const own = [to, levels + rowBytes * from, scalesAt + 4 * blocks * from, zeros];
      return [[pack, [...own, depth.from, depth.size, size, blocks, step]]];
    },
    epilogue,
  });
  return ([c], [a, levels, scales, zeros, ...operands]) => {
    [scalesAt, zerosAt] = [scales, zeros];
    const work = engine.scratch(sums.bytes(1));
    const items = rows.map(({ from, size }) => ({
      table: tables.get(size)!,
      c: c + 4 * n * from,
      a: () => a + 4 * k * from,
    }));
    sums.run(work, [{ b: levels, rows: items }], operandsFrom(epilogue, operands, c));
  };
}

/**
 * Dequantises rows of levels into columns of panels. Parameters: to, levels, scales, zeros, first level of a row and their number, rows,
 * blocks of a row, bytes of a panel. The first level is a multiple of four. Columns past the last repeat it: they are never stored.
 */
function writePack(
  s: Simd,
  { bits, block, isOneZero }: LevelsLayout & { readonly isOneZero: boolean },
  [to, levels, scales, zeros, first, size, n, blocks, step]: readonly I[],
): void {
  const { f } = s;
  const rowBytes = f.let(i32.mul(blocks, block * bits / 8)), scaleBytes = f.let(i32.shl(blocks, 2));
  const zero = isOneZero ? f.let(f32x4.loadSplat(zeros)) : null;
  const row = f.local("i32"), place = f.local("i32");
  f.while(i32.gt(n, 0), () => {
    const numbers = Array.from({ length: PANEL_COLUMNS }, (_, j) => {
      const own = f.variable("i32", i32.sub(n, 1));
      f.if(i32.gt(own, j), () => f.set(own, j));
      return own;
    });
    const level = f.variable("i32", first),
      left = f.variable("i32", size),
      at = f.variable("i32", to);
    f.while(i32.gt(left, 0), () => {
      const byte = f.variable("i32", i32.shrU(i32.mul(level, bits), 3));
      const inRow = f.variable("i32", i32.shl(i32.divU(level, block), 2));
      const four = numbers.map((number): F4 => {
        f.set(row, i32.add(levels, i32.add(i32.mul(rowBytes, number), byte)));
        f.set(place, i32.add(i32.mul(scaleBytes, number), inRow));
        const z = zero ?? f32x4.loadSplat(i32.add(zeros, place));
        return f.let(f32x4.mul(
          f32x4.sub(fourLevels(row, bits), z),
          f32x4.loadSplat(i32.add(scales, place)),
        ));
      });
      const halves = [four.slice(0, 4), four.slice(4)].map((rows) => turned(f, rows));
      for (let k = 0; k < 4; k++) {
        const store = (): void =>
          halves.forEach((v, h) => f.store(at, v[k], PANEL_BYTES * k + 16 * h));
        if (k === 0) store();
        else f.if(i32.gt(left, k), store);
      }
      f.advance(at, 4 * PANEL_BYTES);
      f.advance(level, 4);
      f.advance(left, -4);
    });
    f.advance(to, step);
    f.advance(levels, i32.mul(rowBytes, PANEL_COLUMNS));
    f.advance(scales, i32.mul(scaleBytes, PANEL_COLUMNS));
    if (!zero) f.advance(zeros, i32.mul(scaleBytes, PANEL_COLUMNS));
    f.advance(n, -PANEL_COLUMNS);
  });
}

/** Loads four levels as float32. */
function fourLevels(at: Value<"i32">, bits: number): F4 {
  if (bits === 8) return f32x4.ofI32(i32x4.ofLowU16(i16x8.ofLowU8(i8x16.loadFour(at))));
  const word = i32x4.splat(bits === 4 ? i32.load16u(at) : i32.load8u(at));
  const lanes = [0, 1, 2, 3], masks = lanes.map((i) => (2 ** bits - 1) * 2 ** (bits * i));
  const kept = i32x4.and(word, constantLanes("i32x4", masks));
  return f32x4.mul(f32x4.ofI32(kept), constantLanes("f32x4", lanes.map((i) => 2 ** (-bits * i))));
}

/** Transposes four vectors. */
function turned(f: FunctionBuilder, [a, b, c, d]: readonly F4[]): F4[] {
  const low = [f.let(f32x4.shuffle(a, b, [0, 4, 1, 5])), f.let(f32x4.shuffle(c, d, [0, 4, 1, 5]))];
  const high = [f.let(f32x4.shuffle(a, b, [2, 6, 3, 7])), f.let(f32x4.shuffle(c, d, [2, 6, 3, 7]))];
  return [low, high].flatMap(([x, y]) => [
    f32x4.shuffle(x, y, [0, 1, 4, 5]),
    f32x4.shuffle(x, y, [2, 3, 6, 7]),
  ]);
}
