/** Transposed blocks: the loops of transposes. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder } from "../wasm/function_builder.ts";
import { f32x4, i32, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4 } from "../wasm/simd.ts";
import { turn4 } from "../wasm/turned_rows.ts";
import type { Value } from "../wasm/value.ts";
import type { Unit } from "./copy_rows.ts";

/**
 * `run(to, from, rows, columns, rowStep, columnStep)`: `to[r][c] = from[c][r]`; rows of `from` are `columnStep` bytes
 * apart. Bands of rows, each over all columns. Whole vectors are read, up to 15 bytes past the end.
 */
export function turnRun(engine: Engine, unit: Unit): WasmFunction {
  return kernel(engine, `copy turn ${unit}`, 6, ({ f }, p) => {
    const [to, from, rows, columns, rowStep, columnStep] = p;
    // Source of the current columns, and target of their part of the next row.
    const [source, row] = f.locals("i32", 2);
    /** Stores to a row, and advances to the next. */
    const put = (store: () => void): void => {
      store();
      f.advance(row, rowStep);
    };
    /** Returns the addresses of the next four columns. */
    const nextLines = (): Value<"i32">[] =>
      [0, 1, 2, 3].map(() => {
        const line = f.variable("i32", source);
        f.advance(source, columnStep);
        return line;
      });
    const putWords = (words: readonly F4[]): void => {
      for (const v of turn4(f, words)) put(() => f.store(row, v));
    };
    const fourWords = (groups: number): void => {
      const lines = nextLines();
      for (let g = 0; g < groups; g++) putWords(lines.map((l) => f.let(f32x4.load(l, 16 * g))));
    };
    const fourBytes = (groups: number): void => {
      for (const v of bytesOf(f, nextLines(), groups)) {
        for (let r = 0; r < 4; r++) put(() => f.storeLane(row, v, 4, r));
      }
    };
    const sixteenBytes = (groups: number): void => {
      const quads = [0, 1, 2, 3].map(() => bytesOf(f, nextLines(), groups));
      for (let g = 0; g < groups; g++) putWords(quads.map((q): F4 => f32x4.ofBits(q[g])));
    };
    const oneColumn = (count: number): void => {
      for (let r = 0; r < count; r++) {
        put(() => {
          if (unit === 4) f.store(row, i32.load(source, 4 * r));
          else f.store8(row, i32.load8u(source, r));
        });
      }
      f.advance(source, columnStep);
    };
    // Sixteen words are a cache line.
    for (const count of [16, 4, 1]) {
      f.while(count === 1 ? i32.gt(rows, 0) : i32.ge(rows, count), () => {
        const target = f.variable("i32", to), left = f.variable("i32", columns), groups = count / 4;
        f.set(source, from);
        const loop = (width: number, body: () => void): void =>
          f.while(i32.ge(left, width), () => {
            f.set(row, target);
            body();
            f.advance(target, unit * width);
            f.advance(left, -width);
          });
        if (count > 1 && unit === 1) loop(16, () => sixteenBytes(groups));
        if (count > 1) loop(4, () => unit === 4 ? fourWords(groups) : fourBytes(groups));
        loop(1, () => oneColumn(count));
        f.advance(to, i32.mul(rowStep, count));
        f.advance(from, unit * count);
        f.advance(rows, -count);
      });
    }
  });
}

/** Transposes four columns of bytes: a vector for each four rows, with the bytes of a row in a lane. */
function bytesOf(
  f: FunctionBuilder,
  lines: readonly Value<"i32">[],
  groups: number,
): Value<"i8x16">[] {
  const [a, b, c, d] = lines.map((l) => f.let(groups === 1 ? i8x16.loadFour(l) : i8x16.load(l)));
  const halves = groups === 1 ? [0] : [0, 8];
  return halves.flatMap((half) => {
    const ab = f.let(i8x16.shuffle(a, b, zipped(1, half)));
    const cd = f.let(i8x16.shuffle(c, d, zipped(1, half)));
    return halves.map((h) => f.let(i8x16.shuffle(ab, cd, zipped(2, h))));
  });
}

/** Returns lanes that alternate between the bytes of two vectors from `first` on, `size` bytes at a time. */
function zipped(size: number, first: number): number[] {
  return Array.from({ length: 16 }, (_, i) => {
    const pair = Math.floor(i / (2 * size)), rest = i % (2 * size);
    return first + pair * size + (rest < size ? rest : 16 + rest - size);
  });
}
