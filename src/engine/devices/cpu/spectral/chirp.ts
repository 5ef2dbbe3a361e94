/** Fourier transforms of lengths with great factors: convolutions with a chirp (Bluestein 1970). */
import { fftPlan, root } from "../../../kernels/host/spectral/fft.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import { i32 } from "../wasm/instructions.ts";
import type { C, Part } from "./lanes.ts";
import { partBytes, partsAt, type Wanted } from "./plans.ts";
import { SCALE_BYTES, writeScales } from "./scales.ts";
import { define, SCALES } from "./stages.ts";
import type { Transform } from "./transform.ts";

/**
 * Multiplies numbers: `(to, from, factors, count, scales)`. Whole vectors are written; the last begins early where it would end late.
 */
function multiplying(engine: Engine, part: Part): WasmFunction {
  return engine.compile(`fourier product ${part}`, (m) => {
    define(
      { m, part, relaxed: engine.features.relaxed },
      5,
      (v, [to, from, factors, count, scales]) => {
        const { f } = v;
        const [sign, re, im] = [SCALES.sign, SCALES.re, SCALES.im].map((n) =>
          v.let(v.ops.loadSplat(scales, n * v.bytes))
        );
        const done = f.variable("i32", 0), last = f.let(i32.add(count, -v.width));
        f.while(i32.lt(done, count), () => {
          f.if(i32.gt(done, last), () => f.set(done, last));
          const offset = f.let(i32.mul(done, 2 * v.bytes));
          const [a, b] = v.loadNumbers(i32.add(from, offset));
          const [c, s] = v.loadNumbers(i32.add(factors, offset));
          const x: C = [a, v.let(v.ops.mul(b, sign))];
          const [p, q] = v.times(x, [c, s, v.neg(s)]);
          const y: C = [v.let(v.ops.mul(p, re)), v.let(v.ops.mul(q, im))];
          v.storeNumbers(i32.add(to, offset), y);
          f.advance(done, v.width);
        });
      },
      "run",
    );
  }).run;
}

/** Returns a length of a fast transform, at least `n`: few threes and fives, the rest twos. */
function fastLength(n: number): number {
  let best = Infinity;
  for (const odd of [1, 3, 5, 9, 15, 25]) {
    best = Math.min(best, odd * 2 ** Math.max(4, Math.ceil(Math.log2(n / odd))));
  }
  return best;
}

/** Makes the transform; `innerOf` makes that of the convolution. */
export function chirped(
  engine: Engine,
  part: Part,
  n: number,
  innerOf: (length: number) => Transform,
): Transform {
  const m = fastLength(2 * n - 1), inner = innerOf(m), bytes = partBytes(part);
  const multiply = multiplying(engine, part), row = 2 * bytes * m, ownRow = roundUp(2 * bytes * n);
  const chirp: Wanted = {
    key: `${part} chirp ${n}`,
    bytes: ownRow + row,
    write(at, memory) {
      const own = partsAt(part, memory, at, 2 * n), plan = fftPlan(m);
      plan.re.fill(0);
      plan.im.fill(0);
      // Angles are halves of squares, which repeat after 2 n.
      for (let j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), j++) {
        const [c, s] = root(square, 2 * n);
        own[2 * j] = c;
        own[2 * j + 1] = s;
        for (const k of [j, (m - j) % m]) [plan.re[k], plan.im[k]] = [c, -s];
      }
      const spectrum = partsAt(part, memory, at + ownRow, 2 * m), { re, im } = plan.run();
      for (let k = 0; k < m; k++) {
        spectrum[2 * k] = re[k] / m;
        spectrum[2 * k + 1] = im[k] / m;
      }
    },
  };
  const first = 3 * SCALE_BYTES, second = first + row;
  return {
    room: second + row + inner.room,
    tables: [chirp, ...inner.tables],
    run(work, [factors, ...tables], { rows, isInverse, scale, ...at }) {
      const sign = isInverse ? -1 : 1, a = work + first, b = work + second, rest = b + row;
      const scales = [[sign, 1, 1], [1, 1, 1], [1, scale, sign * scale]] as const;
      const [before, between, after] = scales.map((three, i) => {
        writeScales(engine, part, work + i * SCALE_BYTES, three);
        return work + i * SCALE_BYTES;
      });
      engine.zero(a, row);
      const one = { rows: 1, toStep: row, fromStep: row, scale: 1 };
      for (let r = 0; r < rows; r++) {
        multiply(a, at.from + r * at.fromStep, factors, n, before);
        inner.run(rest, tables, { ...one, to: b, from: a, isInverse: false });
        multiply(b, b, factors + ownRow, m, between);
        inner.run(rest, tables, { ...one, to: b, from: b, isInverse: true });
        multiply(at.to + r * at.toStep, b, factors, n, after);
      }
    },
  };
}
