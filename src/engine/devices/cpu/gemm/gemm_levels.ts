/** A B of levels of 8 bits: it stays so in memory, and blocks of it become panels of float32 at each run. */
import type { LevelMatrix } from "../../../core/arrays/level_matrix.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { PackedLevels } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i16x8, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { PackB } from "./gemm_sums.ts";
import { PANEL_BYTES, PANEL_COLUMNS } from "./gemm_tile.ts";

/** Levels of all of B, and how its blocks are made of them. */
export interface LevelsOfB extends PackedLevels {
  readonly unpack: PackB;
}

/** Prepares a B of so many rows and columns: first scales and zero points of each column lie in memory, then panels of levels. */
export function levelsOfB(engine: Engine, rows: number, columns: number): LevelsOfB {
  const wide = Math.ceil(columns / PANEL_COLUMNS) * PANEL_COLUMNS, numberBytes = roundUp(4 * wide);
  const panelBytes = PANEL_COLUMNS * rows, first = 2 * numberBytes;
  // Most B are no levels.
  let unpack: WasmFunction | null = null;
  return {
    key: `levels ${rows} ${columns}`,
    bytes: roundUp(first + wide * rows),
    pack: (to, matrix: LevelMatrix) => {
      engine.packings++;
      const { levels, scales, zeros, stride } = matrix, isSigned = levels instanceof Int8Array;
      const list = matrix.rows(), listBytes = roundUp(list.byteLength), { heap } = engine;
      // Rows of eight columns may end after the last level.
      const bytes = listBytes + roundUp(levels.length + PANEL_COLUMNS), given = heap.alloc(bytes);
      try {
        heap.i32.set(list, given >>> 2);
        heap.u8.set(isSigned ? bytesOf(levels) : levels, given + listBytes);
        const lay = kernel(
          engine,
          `lay levels ${stride === 1} ${isSigned}`,
          6,
          ({ f }, p) => writeLaying(f, stride === 1, isSigned ? 0 : 0x80808080 | 0, p),
        );
        lay(to + first, given + listBytes, given, rows, columns, stride);
      } finally {
        heap.free(given, bytes);
      }
      const lift = isSigned ? 0 : 128, { f32 } = heap, ends = [to >>> 2, (to + numberBytes) >>> 2];
      for (let j = 0; j < wide; j++) {
        f32[ends[0] + j] = scales[scales.length === 1 ? 0 : j] ?? 0;
        f32[ends[1] + j] = (zeros[zeros.length === 1 ? 0 : j] ?? 0) - lift;
      }
    },
    unpack: (to: Pointer, b: Pointer, depth, { from, size }, step) => {
      const at = b + first + from * rows + PANEL_COLUMNS * depth.from, own = b + 4 * from;
      unpack ??= kernel(engine, "levels of B", 8, ({ f }, p) => writeUnpacking(f, p));
      return [[unpack, [to, at, depth.size, size, panelBytes, step, own, own + numberBytes]]];
    },
  };
}

function bytesOf({ buffer, byteOffset, length }: Int8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

/**
 * Parameters: panels, levels, list of rows, their number, columns, bytes from column to column. Columns past the last repeat it, or
 * are of the next row: they are never stored. `flip` makes signed levels of unsigned ones.
 */
function writeLaying(
  f: FunctionBuilder,
  isDense: boolean,
  flip: number,
  [to, levels, list, rows, columns, stride]: readonly I[],
): void {
  const end = f.let(i32.add(list, i32.shl(rows, 2)));
  const last = f.let(i32.add(levels, i32.mul(stride, i32.sub(columns, 1))));
  f.while(i32.gt(columns, 0), () => {
    const from = Array.from({ length: isDense ? 1 : PANEL_COLUMNS }, () => {
      const at = f.variable("i32", levels);
      f.if(i32.gtU(at, last), () => f.set(at, last));
      f.advance(levels, stride);
      return at;
    });
    const row = f.variable("i32", list);
    f.while(i32.ltU(row, end), () => {
      const place = f.let(i32.load(row));
      for (const at of [0, 4]) {
        const four = isDense
          ? i32.load(i32.add(from[0], place), at)
          : [0, 1, 2, 3].map((i) => i32.shl(i32.load8u(i32.add(from[at + i], place)), 8 * i))
            .reduce((x, y) => i32.or(x, y));
        f.store(to, flip === 0 ? four : i32.xor(four, flip), at);
      }
      f.advance(to, PANEL_COLUMNS);
      f.advance(row, 4);
    });
    if (isDense) f.advance(levels, i32.mul(stride, PANEL_COLUMNS - 1));
    f.advance(columns, -PANEL_COLUMNS);
  });
}

/** Parameters: panels of float32, levels, rows, columns, bytes from panel to panel of both, scales, zero points. */
function writeUnpacking(
  f: FunctionBuilder,
  [to, levels, rows, columns, levelStep, step, scales, zeros]: readonly I[],
): void {
  f.while(i32.gt(columns, 0), () => {
    const [scale, zero] = [scales, zeros].map((p) => [0, 16].map((at) => f.let(f32x4.load(p, at))));
    const at = f.variable("i32", levels), target = f.variable("i32", to);
    const left = f.variable("i32", rows);
    for (const count of [4, 1]) {
      f.countDown(left, count, () => {
        for (let row = 0; row < count; row++) {
          const eight = f.let(i16x8.loadBytes(at, PANEL_COLUMNS * row));
          [i32x4.ofLow16(eight), i32x4.ofHigh16(eight)].forEach((four, h) => {
            const number = f32x4.mul(f32x4.sub(f32x4.ofI32(four), zero[h]), scale[h]);
            f.store(target, number, PANEL_BYTES * row + 16 * h);
          });
        }
        f.advance(at, PANEL_COLUMNS * count);
        f.advance(target, PANEL_BYTES * count);
      });
    }
    [scales, zeros].forEach((p) => f.advance(p, 4 * PANEL_COLUMNS));
    f.advance(levels, levelStep);
    f.advance(to, step);
    f.advance(columns, -PANEL_COLUMNS);
  });
}
