/**
 * Sums windows that overlap into the rows of an image: what each place gives to its window lies side by side, line by line.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4 } from "../wasm/simd.ts";

type I = Local<"i32">;

/** Vectors of a line of a window that are kept in variables while places pass by. */
const MOST_VECTORS = 8;

/** The first lanes of one vector, and the others of a second. */
const FIRST_LANES = [[4, 5, 6, 7], [0, 5, 6, 7], [0, 1, 6, 7], [0, 1, 2, 7]] as const;

/** What the code is written for, in floats. */
export interface FoldCode {
  /** Lines of windows that meet in a row of the image. */
  readonly lines: number;
  /** A line of a window. */
  readonly window: number;
  /** From the window of a place to that of the next. */
  readonly step: number;
}

/** True where there is code for it: whole vectors, or a line that is kept in variables. */
export function canFold({ window, step }: FoldCode): boolean {
  return (window % 4 === 0 && step % 4 === 0) || Math.max(window, step) <= 4 * MOST_VECTORS;
}

/**
 * `run(to, rows, lines, base, zeros, stage, places, placeBytes, skip, rowBytes, stageBytes, images, imageBytes, windowBytes,
 * stepBytes)`: for each row of the image, `lines` has the distances from `base` of the lines that meet there; those below 0 are
 * `zeros`. The row is summed in `stage`, which has `stageBytes` and a few vectors more, and copied from `skip` on.
 */
export function foldKernel(engine: Engine, code: FoldCode): WasmFunction {
  const inVariables = Math.max(code.window, code.step) <= 4 * MOST_VECTORS;
  const key = inVariables ? `${code.lines} ${code.window} ${code.step}` : `${code.lines}`;
  return kernel(engine, `conv fold ${key}`, 15, ({ f }, p) => {
    const [to, rows, table, base, zeros, stage, places, placeBytes, ...more] = p;
    const [skip, rowBytes, stageBytes, images, imageBytes, windowBytes, stepBytes] = more;
    const lines = f.locals("i32", code.lines), [at, entry] = f.locals("i32", 2);
    f.times(images, () => {
      f.set(entry, table);
      f.times(rows, () => {
        lines.forEach((line, k) => {
          f.set(line, i32.load(entry, 4 * k));
          f.if(
            i32.lt(line, 0),
            () => f.set(line, zeros),
            () => f.set(line, i32.add(line, base)),
          );
        });
        f.advance(entry, 4 * code.lines);
        f.set(at, stage);
        if (inVariables) {
          inRegisters(f, code, { lines, at, places, placeBytes });
          f.if(
            i32.ltU(at, i32.add(stage, stageBytes)),
            () => f.fill(at, 0, i32.sub(i32.add(stage, stageBytes), at)),
          );
        } else {
          f.fill(stage, 0, stageBytes);
          inMemory(f, { lines, at, places, placeBytes, windowBytes, stepBytes });
        }
        f.copy(to, i32.add(stage, skip), rowBytes);
        f.advance(to, rowBytes);
      });
      f.advance(base, imageBytes);
    });
  });
}

/** Addresses and numbers of a row. */
interface FoldRow {
  readonly lines: readonly I[];
  readonly at: I;
  readonly places: I;
  readonly placeBytes: I;
}

/** The window of a place and what has been given to it stays in variables, and moves on by a step. */
function inRegisters(
  f: FunctionBuilder,
  { window, step }: FoldCode,
  { lines, at, places, placeBytes }: FoldRow,
): void {
  const given = Math.ceil(window / 4), count = Math.max(given, Math.ceil(step / 4));
  const sums = f.locals("f32x4", count), rest = window % 4;
  const none: F4 = f.constant("f32x4", 0);
  for (const sum of sums) f.set(sum, none);
  const store = (vectors: number): void =>
    sums.slice(0, vectors).forEach((sum, v) => f.store(at, sum, 16 * v));
  f.times(places, () => {
    for (let v = 0; v < given; v++) {
      const [first, ...others] = lines.map((line): F4 => f32x4.load(line, 16 * v));
      const all = others.reduce<F4>((a, b) => f32x4.add(a, b), first);
      // The last vector goes on with the next line of the window.
      const own = v === given - 1 && rest > 0 ? f32x4.shuffle(all, none, FIRST_LANES[rest]) : all;
      f.set(sums[v], f32x4.add(sums[v], own));
    }
    // What it writes too far is written again by the next place.
    store(Math.ceil(step / 4));
    sums.forEach((sum, v) => {
      const from = Math.floor((step + 4 * v) / 4), lane = step % 4;
      const low = sums[from] ?? none, high = sums[from + 1] ?? none;
      const order = [lane, lane + 1, lane + 2, lane + 3] as const;
      f.set(sum, lane === 0 ? low : f32x4.shuffle(low, high, order));
    });
    lines.forEach((line) => f.advance(line, placeBytes));
    f.advance(at, 4 * step);
  });
  store(count);
  f.advance(at, 16 * count);
}

/** Vectors of the window are added to those in memory. */
function inMemory(
  f: FunctionBuilder,
  { lines, at, places, placeBytes, windowBytes, stepBytes }: FoldRow & {
    readonly windowBytes: I;
    readonly stepBytes: I;
  },
): void {
  const here = f.local("i32"), end = f.local("i32");
  const beyond = f.variable("i32", i32.sub(placeBytes, windowBytes));
  f.times(places, () => {
    f.set(here, at);
    f.set(end, i32.add(at, windowBytes));
    f.while(i32.ltU(here, end), () => {
      const [first, ...others] = lines.map((line): F4 => f32x4.load(line));
      const all = others.reduce<F4>((a, b) => f32x4.add(a, b), first);
      f.store(here, f32x4.add(f32x4.load(here), all));
      f.advance(here, 16);
      lines.forEach((line) => f.advance(line, 16));
    });
    lines.forEach((line) => f.advance(line, beyond));
    f.advance(at, stepBytes);
  });
}
