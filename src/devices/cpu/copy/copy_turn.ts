/**
 * Blocks turned: the loops of transposes.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32, i8x16 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4 } from "../wasm/simd.ts";
import { turn4 } from "../wasm/turned_rows.ts";
import type { Value } from "../wasm/value.ts";
import type { Unit } from "./copy_rows.ts";

/** `run(to, from, rows, columns, rowStep, columnStep)`: `to[r][c] = from[c][r]`; rows of `from` are `columnStep` bytes apart. */
export function turnRun(engine: Engine, unit: Unit): WasmFunction {
  return kernel(engine, `copy turn ${unit}`, 6, ({ f }, p) => new TurnWriter(f, unit, p).write());
}

/** Writes the loops: bands of rows, each over all columns. Whole vectors are read, up to 15 bytes past the end. */
class TurnWriter {
  readonly #f: FunctionBuilder;
  readonly #unit: Unit;
  readonly #params: readonly I[];
  /** Where the columns at hand are read. */
  readonly #source: I;
  /** Where their part of the next row goes. */
  readonly #row: I;

  constructor(f: FunctionBuilder, unit: Unit, params: readonly I[]) {
    this.#f = f;
    this.#unit = unit;
    this.#params = params;
    this.#source = f.local("i32");
    this.#row = f.local("i32");
  }

  write(): void {
    const f = this.#f, rows = this.#params[2];
    // Sixteen words are a cache line.
    f.while(i32.ge(rows, 16), () => this.#band(16));
    f.while(i32.ge(rows, 4), () => this.#band(4));
    f.while(i32.gt(rows, 0), () => this.#band(1));
  }

  #band(count: 16 | 4 | 1): void {
    const f = this.#f, unit = this.#unit, source = this.#source;
    const [to, from, rows, columns, rowStep] = this.#params;
    const target = f.variable("i32", to), left = f.variable("i32", columns);
    f.set(source, from);
    const groups = count / 4;
    const loop = (width: number, body: () => void): void =>
      f.while(i32.ge(left, width), () => {
        f.set(this.#row, target);
        body();
        f.advance(target, unit * width);
        f.advance(left, -width);
      });
    if (count >= 4) {
      if (unit === 4) loop(4, () => this.#words(groups));
      else {
        loop(16, () => this.#sixteenBytes(groups));
        loop(4, () => {
          for (const v of this.#fourBytes(groups)) {
            for (let r = 0; r < 4; r++) this.#put(() => f.storeLane(this.#row, v, 4, r));
          }
        });
      }
    }
    loop(1, () => {
      for (let r = 0; r < count; r++) {
        this.#put(() => {
          if (unit === 4) f.store(this.#row, i32.load(source, 4 * r));
          else f.store8(this.#row, i32.load8u(source, r));
        });
      }
      this.#nextColumn();
    });
    f.advance(to, i32.mul(rowStep, count));
    f.advance(from, unit * count);
    f.advance(rows, -count);
  }

  /** Stores to a row, and goes to the next. */
  #put(store: () => void): void {
    store();
    this.#f.advance(this.#row, this.#params[4]);
  }

  #nextColumn(): void {
    this.#f.advance(this.#source, this.#params[5]);
  }

  /** Four columns of words. */
  #words(groups: number): void {
    const f = this.#f, lines = this.#lines();
    for (let g = 0; g < groups; g++) {
      for (const v of turn4(f, lines.map((l) => f.let(f32x4.load(l, 16 * g))))) {
        this.#put(() => f.store(this.#row, v));
      }
    }
  }

  /** Where the next four columns are read. */
  #lines(): I[] {
    return [0, 1, 2, 3].map(() => {
      const line = this.#f.variable("i32", this.#source);
      this.#nextColumn();
      return line;
    });
  }

  /** Four columns of bytes: a vector for each four rows, with the bytes of a row in a lane. */
  #fourBytes(groups: number): Value<"i8x16">[] {
    const f = this.#f;
    const [a, b, c, d] = this.#lines().map((l) =>
      f.let(groups === 1 ? i8x16.loadFour(l) : i8x16.load(l))
    );
    const halves = groups === 1 ? [0] : [0, 8];
    return halves.flatMap((half) => {
      const ab = f.let(i8x16.shuffle(a, b, zipped(1, half)));
      const cd = f.let(i8x16.shuffle(c, d, zipped(1, half)));
      return (groups === 1 ? [0] : [0, 8]).map((h) => f.let(i8x16.shuffle(ab, cd, zipped(2, h))));
    });
  }

  /** Sixteen columns of bytes. */
  #sixteenBytes(groups: number): void {
    const f = this.#f;
    const quads = [0, 1, 2, 3].map(() => this.#fourBytes(groups));
    for (let g = 0; g < groups; g++) {
      const words = quads.map((q): F4 => f32x4.ofBits(q[g]));
      for (const v of turn4(f, words)) this.#put(() => f.store(this.#row, v));
    }
  }
}

/** Lanes that take turns between the bytes of two vectors from `first` on, `size` bytes at a time. */
function zipped(size: number, first: number): number[] {
  return Array.from({ length: 16 }, (_, i) => {
    const pair = Math.floor(i / (2 * size)), rest = i % (2 * size);
    return first + pair * size + (rest < size ? rest : 16 + rest - size);
  });
}
