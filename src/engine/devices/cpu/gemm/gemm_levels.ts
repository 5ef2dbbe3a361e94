/**
 * Products whose second operand B is a matrix of levels of 8 bits, which stays so in memory. A word holds four rows of a column, the
 * operand of the instruction that multiplies bytes; other products convert one block at a time to float32.
 */
import type { LevelMatrix } from "../../../core/arrays/level_matrix.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { PackedLevels } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, f64x2, i32, i32x4, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Value } from "../wasm/value.ts";
import type { PackB } from "./gemm_sums.ts";
import { PANEL_BYTES, PANEL_COLUMNS } from "./gemm_tile.ts";

/** Rows in a word. */
export const QUAD = 4;
/** Flips the highest bits of four levels: unsigned ones become signed, less 128. */
const FLIP = 0x80808080 | 0;

/** Levels of all of B, and how its blocks are made of them. */
export interface LevelsOfB extends PackedLevels {
  readonly unpack: PackB;
  /** Places of its parts. */
  readonly parts: LevelsLayout;
}

/** Offsets in bytes from the beginning of packed levels to scales, zero points, sums of the levels of columns, and panels. */
interface LevelsLayout {
  readonly scales: number;
  readonly zeros: number;
  readonly sums: number;
  readonly panels: number;
  /** Bytes from panel to panel: a cache line more, else the same rows of all panels would collide. */
  readonly step: number;
}

/** Prepares a B of so many rows, a multiple of {@linkcode QUAD}, and columns. A word tells first if all zero points are 0. */
export function levelsOfB(engine: Engine, rows: number, columns: number): LevelsOfB {
  const panels = Math.ceil(columns / PANEL_COLUMNS), wide = panels * PANEL_COLUMNS;
  const numberBytes = roundUp(4 * wide), scales = 64, zeros = scales + numberBytes;
  const sums = zeros + numberBytes, step = PANEL_COLUMNS * rows + 64;
  const parts: LevelsLayout = { scales, zeros, sums, panels: sums + numberBytes, step };
  // Most B are no levels.
  let unpack: WasmFunction | null = null;
  return {
    key: `levels ${rows} ${columns}`,
    bytes: roundUp(parts.panels + panels * step),
    parts,
    pack: (to, matrix: LevelMatrix) => {
      engine.packings++;
      const { levels, stride } = matrix, isSigned = levels instanceof Int8Array;
      const list = matrix.rows(), listBytes = roundUp(list.byteLength), { heap } = engine;
      // Eight columns may end after the last level.
      const bytes = listBytes + roundUp(levels.length + PANEL_COLUMNS), given = heap.alloc(bytes);
      try {
        heap.i32.set(list, given >>> 2);
        heap.u8.set(isSigned ? bytesOf(levels) : levels, given + listBytes);
        const lay = kernel(
          engine,
          `lay levels ${stride === 1} ${isSigned}`,
          6,
          ({ f }, p) => writeLaying(f, stride === 1, isSigned ? 0 : FLIP, p),
        );
        lay(to + parts.panels, given + listBytes, given, rows, columns, stride);
      } finally {
        heap.free(given, bytes);
      }
      putNumbers(engine, to, parts, matrix, isSigned ? 0 : 128);
      if (engine.features.relaxed) {
        const sum = kernel(engine, "sums of levels", 4, ({ f }, p) => writeSums(f, p));
        sum(to + sums, to + parts.panels, rows, columns);
      }
    },
    unpack: (to: Pointer, b: Pointer, depth, { from, size }, panelStep) => {
      const at = b + parts.panels + from / PANEL_COLUMNS * step + PANEL_COLUMNS * depth.from;
      const own = b + 4 * from;
      unpack ??= kernel(engine, "levels of B", 8, ({ f }, p) => writeUnpacking(f, p));
      return [[unpack, [to, at, depth.size, size, step, panelStep, own + scales, own + zeros]]];
    },
  };
}

function bytesOf({ buffer, byteOffset, length }: Int8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

/** Writes the scales and the zero points of signed levels for each column, and if all these are 0. */
function putNumbers(
  { heap: { f32, i32 } }: Engine,
  to: Pointer,
  parts: LevelsLayout,
  { columns, scales, zeros }: LevelMatrix,
  lift: number,
): void {
  const [first, second] = [to + parts.scales, to + parts.zeros].map((p) => p >>> 2);
  for (let j = 0; j < columns; j++) {
    f32[first + j] = scales[scales.length === 1 ? 0 : j];
    f32[second + j] = zeros[zeros.length === 1 ? 0 : j] - lift;
  }
  i32[to >>> 2] = zeros.every((zero) => zero === lift) ? 1 : 0;
}

/**
 * Parameters: panels, levels, list of rows, their number, columns, bytes from column to column. Columns past the last repeat it, or
 * are of the next row: they are never stored.
 */
function writeLaying(
  f: FunctionBuilder,
  isDense: boolean,
  flip: number,
  [to, levels, list, rows, columns, stride]: readonly I[],
): void {
  const end = f.let(i32.add(list, i32.shl(rows, 2)));
  const last = f.let(i32.add(levels, i32.mul(stride, i32.sub(columns, 1))));
  const flipped = (v: Value<"i8x16">): Value<"i8x16"> =>
    flip === 0 ? v : i8x16.ofBits(i32x4.xor(i32x4.ofBits(v), f.constant("i32x4", flip)));
  f.while(i32.gt(columns, 0), () => {
    const from = Array.from({ length: isDense ? 1 : PANEL_COLUMNS }, () => {
      const at = f.variable("i32", levels);
      f.if(i32.gtU(at, last), () => f.set(at, last));
      f.advance(levels, stride);
      return at;
    });
    const row = f.variable("i32", list);
    f.while(i32.ltU(row, end), () => {
      const places = [0, 4, 8, 12].map((i) => f.let(i32.load(row, i)));
      if (isDense) {
        const [a, b, c, d] = places.map((place) =>
          f.let(i8x16.ofBits(f64x2.loadSplat(i32.add(from[0], place))))
        );
        const pairs = [[a, b], [c, d]].map(([x, y]) => f.let(i8x16.shuffle(x, y, PAIRS)));
        [0, 8].forEach((first) => {
          const lanes = [0, 2, 4, 6].flatMap((i) => [0, 1, 16, 17].map((l) => l + i + first));
          f.store(to, flipped(i8x16.shuffle(pairs[0], pairs[1], lanes)), 2 * first);
        });
      } else {
        from.forEach((at, column) => {
          const bytes = places.map((place, i) => i32.shl(i32.load8u(i32.add(at, place)), 8 * i));
          const word = bytes.reduce((x, y) => i32.or(x, y));
          f.store(to, flip === 0 ? word : i32.xor(word, flip), 4 * column);
        });
      }
      f.advance(to, PANEL_BYTES);
      f.advance(row, 4 * QUAD);
    });
    if (isDense) f.advance(levels, i32.mul(stride, PANEL_COLUMNS - 1));
    f.advance(to, 64);
    f.advance(columns, -PANEL_COLUMNS);
  });
}

/** Adds the levels of each column. Parameters: sums, panels, rows, columns. */
function writeSums(f: FunctionBuilder, [to, panels, rows, columns]: readonly I[]): void {
  const ones = f.constant("i32x4", 0x01010101);
  f.while(i32.gt(columns, 0), () => {
    const sums = [0, 1].map(() => f.variable("i32x4", i32x4.const(0)));
    const left = f.variable("i32", rows);
    f.countDown(left, QUAD, () => {
      sums.forEach((sum, half) => {
        const levels = i8x16.load(panels, 16 * half);
        f.set(sum, i32x4.relaxedDot(levels, i8x16.ofBits(ones), sum));
      });
      f.advance(panels, PANEL_BYTES);
    });
    sums.forEach((sum, half) => f.store(to, sum, 16 * half));
    f.advance(to, PANEL_BYTES);
    f.advance(panels, 64);
    f.advance(columns, -PANEL_COLUMNS);
  });
}

/** The first eight bytes of two vectors, by turns. */
const PAIRS = Array.from({ length: 16 }, (_, i) => (i >> 1) + 16 * (i & 1));

/** Parameters: panels of float32, levels, rows, columns, bytes from panel to panel of both, scales, zero points. */
function writeUnpacking(
  f: FunctionBuilder,
  [to, levels, rows, columns, levelStep, step, scales, zeros]: readonly I[],
): void {
  f.while(i32.gt(columns, 0), () => {
    const [scale, zero] = [scales, zeros].map((p) => [0, 16].map((at) => f.let(f32x4.load(p, at))));
    const at = f.variable("i32", levels), target = f.variable("i32", to);
    const left = f.variable("i32", rows);
    f.countDown(left, QUAD, () => {
      for (const half of [0, 1]) {
        const word = f.let(i32x4.load(at, 16 * half));
        for (let row = 0; row < QUAD; row++) {
          const level = i32x4.shr(i32x4.shl(word, 24 - 8 * row), 24);
          const number = f32x4.mul(f32x4.sub(f32x4.ofI32(level), zero[half]), scale[half]);
          f.store(target, number, PANEL_BYTES * row + 16 * half);
        }
      }
      f.advance(at, PANEL_BYTES);
      f.advance(target, PANEL_BYTES * QUAD);
    });
    [scales, zeros].forEach((p) => f.advance(p, 4 * PANEL_COLUMNS));
    f.advance(levels, levelStep);
    f.advance(to, step);
    f.advance(columns, -PANEL_COLUMNS);
  });
}
