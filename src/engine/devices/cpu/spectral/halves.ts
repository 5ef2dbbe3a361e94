/** Real rows of even length from and to half spectra: their pairs are complex numbers, whose transform is split or joined. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { I } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { root } from "../../../kernels/host/spectral/fft.ts";
import type { C, Lanes, Part } from "./lanes.ts";
import { partBytes, partsAt, type Wanted } from "./plans.ts";
import { define } from "./stages.ts";

/** Returns the table of `exp(-2πi k / length)` for the lower half of the bins. */
export function turnsOf(part: Part, length: number): Wanted {
  const count = (length >> 2) + 1;
  return {
    key: `${part} turns ${length}`,
    bytes: 2 * partBytes(part) * count,
    write(at, memory) {
      const turns = partsAt(part, memory, at, 2 * count);
      for (let k = 0; k < count; k++) [turns[2 * k], turns[2 * k + 1]] = root(k, length);
    },
  };
}

/**
 * Makes the function that changes rows of `size` numbers and one more in place: `(rows, bytes from row to row, count, size, turns,
 * scales)`, with factors of the numbers at the ends and of the inner ones. "split" makes bins, the inner ones times 2, from the transform of
 * pairs; "join" makes numbers whose inverse transform is the pairs, times 2.
 */
export function halving(engine: Engine, part: Part, way: "split" | "join"): WasmFunction {
  return engine.compile(`fourier ${way} ${part}`, (m) => {
    const w = { m, part, relaxed: engine.features.relaxed };
    define(w, 6, (v, p) => writeRows(v, way, p), "run");
  }).run;
}

function writeRows(
  v: Lanes,
  way: "split" | "join",
  [row, rowStep, rows, size, turns, scales]: readonly I[],
): void {
  const { f, bytes } = v, number = 2 * bytes, { add, sub, mul } = v.ops;
  const [ends, inner] = [0, 1].map((n) => v.let(v.ops.loadSplat(scales, n * bytes)));
  const sides = (a: C, b: C, turn: C): readonly [C, C] => {
    const by = way === "split" ? turn : [turn[0], v.neg(turn[1])] as const;
    // Sums and differences of a number and the conjugate of the other; the differences are turned by a quarter.
    const er = v.let(add(a[0], b[0])), ei = v.let(sub(a[1], b[1]));
    const dr = v.let(add(a[1], b[1])), di = v.let(sub(b[0], a[0]));
    const [tr, ti] = v.times(way === "split" ? [dr, di] : [v.neg(dr), v.neg(di)], [
      by[0],
      by[1],
      v.neg(by[1]),
    ]);
    const scaled = (x: ReturnType<typeof add>) => v.let(mul(x, inner));
    return [
      [scaled(add(er, tr)), scaled(add(ei, ti))],
      [scaled(sub(er, tr)), scaled(sub(ti, ei))],
    ];
  };
  f.countDown(rows, 1, () => {
    const low = f.variable("i32", row), turn = f.variable("i32", turns);
    const high = f.variable("i32", i32.add(row, i32.mul(size, number)));
    writeEnds(v, way, { low, high, factor: ends });
    f.advance(low, number);
    f.advance(turn, number);
    f.advance(high, -number);
    // Whole vectors from both ends, as long as they are apart.
    const back = number * (v.width - 1), whole = number * (2 * v.width - 1);
    f.while(i32.ge(i32.sub(high, low), whole), () => {
      const b = v.reverse(v.loadNumbers(i32.add(high, -back)));
      const [x, y] = sides(v.loadNumbers(low), b, v.loadNumbers(turn));
      v.storeNumbers(low, x);
      v.storeNumbers(i32.add(high, -back), v.reverse(y));
      f.advance(low, number * v.width);
      f.advance(turn, number * v.width);
      f.advance(high, -number * v.width);
    });
    f.while(i32.ge(i32.sub(high, low), 0), () => {
      const all = (p: I) => v.gather(new Array<I>(v.width).fill(p));
      const [x, y] = sides(all(low), all(high), all(turn));
      v.scatter(new Array<I>(v.width).fill(high), y);
      v.scatter(new Array<I>(v.width).fill(low), x);
      f.advance(low, number);
      f.advance(turn, number);
      f.advance(high, -number);
    });
    f.advance(row, rowStep);
  });
}

/** Changes the first number, and the one after the last. */
function writeEnds(
  v: Lanes,
  way: "split" | "join",
  { low, high, factor }: { low: I; high: I; factor: C[0] },
): void {
  const { add, sub, mul } = v.ops, zero = v.k(0);
  const all = (p: I) => v.gather(new Array<I>(v.width).fill(p));
  const put = (p: I, x: C) => v.scatter(new Array<I>(v.width).fill(p), x);
  const [a, b] = all(low);
  const other = way === "split" ? b : all(high)[0];
  const sum = v.let(mul(add(a, other), factor)), difference = v.let(mul(sub(a, other), factor));
  if (way === "split") {
    put(low, [sum, zero]);
    put(high, [difference, zero]);
  } else put(low, [sum, difference]);
}
