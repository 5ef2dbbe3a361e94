/**
 * Matrices in strips of four columns, in float64: a strip has its rows one after the other, of four elements each. Of a strip with rows
 * for columns, so that it holds four rows of a matrix column by column, this text speaks as a panel.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32, f32x4, f64, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { D2, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

/** Columns of a strip, and rows of a panel. */
export const WIDTH = 4;
/** Bytes of a row of a strip. */
export const ROW_BYTES: number = 8 * WIDTH;

/** Returns the bytes from strip to strip for so many rows: no power of two, which would meet itself in the caches. */
export function stripBytes(rows: number): number {
  return ROW_BYTES * (Math.ceil(rows / WIDTH) * WIDTH + 2);
}

/** The functions on strips. */
export type Strips = Readonly<
  Record<"pack" | "turn" | "unpack" | "sweep" | "exchange", WasmFunction>
>;

/** Compiles the functions on strips whose elements come from and go to one dtype. */
export function stripsOf(engine: Engine, dtype: "float32" | "float64"): Strips {
  const compiled = (name: string, params: number, write: (s: Simd, p: readonly I[]) => void) =>
    kernel(engine, `strips ${name}`, params, write);
  return {
    /**
     * Copies lanes into strips, the last with zeros for lanes that are not there. Parameters: to, from, number of lanes, rows, bytes
     * from lane to lane and from row to row of the source, bytes from strip to strip.
     */
    pack: compiled(`pack ${dtype}`, 7, (s, p) => writePack(s, dtype, p)),
    /** The same for elements of strips. */
    turn: compiled("pack float64", 7, (s, p) => writePack(s, "float64", p)),
    /** Copies strips back. Parameters: to, from, number of lanes, rows, bytes from lane to lane and row to row of the target, and from strip to strip. */
    unpack: compiled(`unpack ${dtype}`, 7, (s, p) => writeUnpack(s, dtype, p)),
    /**
     * Solves for rows of strips, and subtracts the products of these rows from those below. Parameters: first row, and number of rows
     * that are known; the panels of the factors of the rows after these, and bytes from one to the next; numbers of panels to solve and
     * then to subtract, and how many more of these with each strip; bytes from row to row; number of strips and bytes from one to the next.
     */
    sweep: compiled("sweep", 10, writeSweep),
    /** Exchanges rows of strips. Parameters: strips, number of them, bytes from one to the next, pairs of bytes from their start, number of pairs. */
    exchange: compiled("exchange", 5, writeExchange),
  };
}

function writeSweep(
  s: Simd,
  [x, known, panels, panelStep, solves, updates, more, step, strips, stripStep]: readonly I[],
): void {
  const { f } = s;
  f.countDown(strips, 1, () => {
    const to = f.variable("i32", i32.add(x, i32.mul(known, step)));
    const panel = f.variable("i32", panels), depth = f.variable("i32", known);
    for (const isSolved of [true, false]) {
      const left = f.variable("i32", isSolved ? solves : updates);
      f.countDown(left, 1, () => {
        writeTile(s, { x, to, panel, depth, step }, isSolved);
        f.advance(to, i32.mul(step, WIDTH));
        f.advance(panel, panelStep);
        if (isSolved) f.advance(depth, WIDTH);
      });
    }
    f.advance(x, stripStep);
    f.advance(updates, more);
  });
}

/** Subtracts the product of a panel and the first rows from four rows, and solves the triangle that follows in the panel. */
function writeTile(
  s: Simd,
  { x, to, panel, depth, step }: Readonly<Record<"x" | "to" | "panel" | "depth" | "step", I>>,
  isSolved: boolean,
): void {
  const { f } = s, places = f.ramp(to, step, WIDTH), halves = [0, 16];
  const sums = places.map((p) => halves.map((h) => f.variable("f64x2", f64x2.load(p, h))));
  const right = f.variable("i32", x), at = f.variable("i32", panel);
  const left = f.variable("i32", depth);
  const factor = (row: number, term: number): D2 =>
    f.let(f64x2.loadSplat(at, ROW_BYTES * term + 8 * row));
  const subtract = (row: number, by: D2, terms: readonly D2[]): void =>
    sums[row].forEach((sum, h) => f.set(sum, s.nmadd(by, terms[h], sum)));
  f.countDown(left, WIDTH, () => {
    for (let term = 0; term < WIDTH; term++) {
      const terms = halves.map((h) => f.let(f64x2.load(right, h)));
      sums.forEach((_, row) => subtract(row, factor(row, term), terms));
      f.advance(right, step);
    }
    f.advance(at, ROW_BYTES * WIDTH);
  });
  if (isSolved) {
    sums.forEach((row, i) => {
      for (let term = 0; term < i; term++) subtract(i, factor(i, term), sums[term]);
      const head = factor(i, i);
      row.forEach((sum) => f.set(sum, f64x2.div(sum, head)));
    });
  }
  sums.forEach((row, i) => row.forEach((sum, h) => f.store(places[i], sum, halves[h])));
}

/** Calls `four` for each four lanes, and `some` for fewer at the end. */
function byLanes(
  f: FunctionBuilder,
  lanes: I,
  four: () => void,
  some: () => void,
): void {
  f.countDown(lanes, WIDTH, four);
  f.if(lanes, some);
}

function writePack(
  { f }: Simd,
  dtype: "float32" | "float64",
  [to, from, lanes, rows, laneStep, step, stripStep]: readonly I[],
): void {
  const isWide = dtype === "float64", bytes = isWide ? 8 : 4;
  const one = (p: I): Value<"f64"> => isWide ? f64.load(p) : f64.ofF32(f32.load(p));
  const copy = (count: number, row: (at: I, sources: readonly I[]) => void): void => {
    const at = f.variable("i32", to), left = f.variable("i32", rows);
    const sources = f.ramp(from, laneStep, count);
    f.countDown(left, 1, () => {
      row(at, sources);
      sources.forEach((p) => f.advance(p, step));
      f.advance(at, ROW_BYTES);
    });
  };
  byLanes(f, lanes, () => {
    f.if(i32.eq(laneStep, bytes), () => {
      copy(1, (at, [p]) => {
        if (isWide) { for (const h of [0, 16]) f.store(at, f64x2.load(p, h), h); }
        else {
          const four = f.let(f32x4.load(p));
          f.store(at, f64x2.ofF32(four));
          f.store(at, f64x2.ofF32(f32x4.shuffle(four, four, [2, 3, 2, 3])), 16);
        }
      });
    }, () => copy(WIDTH, (at, all) => all.forEach((p, l) => f.store(at, one(p), 8 * l))));
    f.advance(to, stripStep);
    f.advance(from, i32.mul(laneStep, WIDTH));
  }, () => {
    f.fill(to, 0, i32.mul(rows, ROW_BYTES));
    f.countDown(lanes, 1, () => {
      copy(1, (at, [p]) => f.store(at, one(p)));
      f.advance(to, 8);
      f.advance(from, laneStep);
    });
  });
}

function writeUnpack(
  { f }: Simd,
  dtype: "float32" | "float64",
  [to, from, lanes, rows, laneStep, step, stripStep]: readonly I[],
): void {
  const isWide = dtype === "float64", bytes = isWide ? 8 : 4;
  const put = (p: I, value: Value<"f64">): void => f.store(p, isWide ? value : f32.ofF64(value));
  const copy = (count: number, row: (at: I, targets: readonly I[]) => void): void => {
    const at = f.variable("i32", from), left = f.variable("i32", rows);
    const targets = f.ramp(to, laneStep, count);
    f.countDown(left, 1, () => {
      row(at, targets);
      targets.forEach((p) => f.advance(p, step));
      f.advance(at, ROW_BYTES);
    });
  };
  byLanes(f, lanes, () => {
    f.if(i32.eq(laneStep, bytes), () => {
      copy(1, (at, [p]) => {
        const [low, high] = [0, 16].map((h) => f.let(f64x2.load(at, h)));
        if (isWide) [low, high].forEach((half, i) => f.store(p, half, 16 * i));
        else f.store(p, f32x4.shuffle(f32x4.ofF64(low), f32x4.ofF64(high), [0, 1, 4, 5]));
      });
    }, () => copy(WIDTH, (at, all) => all.forEach((p, l) => put(p, f64.load(at, 8 * l)))));
    f.advance(from, stripStep);
    f.advance(to, i32.mul(laneStep, WIDTH));
  }, () => {
    f.countDown(lanes, 1, () => {
      copy(1, (at, [p]) => put(p, f64.load(at)));
      f.advance(from, 8);
      f.advance(to, laneStep);
    });
  });
}

function writeExchange({ f }: Simd, [strip, strips, stripStep, pairs, count]: readonly I[]): void {
  f.countDown(strips, 1, () => {
    const pair = f.variable("i32", pairs), left = f.variable("i32", count);
    f.countDown(left, 1, () => {
      const rows = [0, 4].map((o) => f.variable("i32", i32.add(strip, i32.load(pair, o))));
      const held = rows.map((p) => [0, 16].map((h) => f.let(f64x2.load(p, h))));
      rows.forEach((p, i) => held[1 - i].forEach((half, h) => f.store(p, half, 16 * h)));
      f.advance(pair, 8);
    });
    f.advance(strip, stripStep);
  });
}
