/** Random numbers and resized images in vector code, against the ops' own loops. */

import { assert, assertEquals, fail } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { ENGINES, randomSource } from "./engines.ts";
import { ints, op, runFast, runLoops } from "./kernel_runs.ts";

for (const [name, engine] of ENGINES) {
  Deno.test(`random numbers are those of the loops: ${name}`, () => {
    for (
      const kind of ["StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"]
    ) {
      for (const size of [0, 1, 7, 8, 1000]) {
        const inputs = [ints(size), ints(123456789, -5)];
        const attrs = { dtype: "float32", Tseed: "int32" };
        const got = runFast(engine, op(kind), inputs, attrs),
          [want] = runLoops(op(kind), inputs, attrs);
        assert(got !== null, `no vector code for ${kind}`);
        for (let i = 0; i < size; i++) {
          const [a, b] = [got[0].data[i] as number, want.data[i] as number];
          if (!(Math.abs(a - b) <= 1e-6 * Math.abs(b))) {
            fail(`${kind}: element ${i} of ${size} is ${a}, wanted ${b}`);
          }
        }
      }
    }
  });

  Deno.test(`rows that are drawn by seeds of their own end where their block does: ${name}`, () => {
    for (
      const [rows, size] of [[1, 3], [4, 3], [5, 1], [16, 1], [2, 8], [3, 9], [7, 16], [64, 5]]
    ) {
      const seeds = new NdArray(
        "int32",
        [rows, 2],
        Int32Array.from({ length: 2 * rows }, (_, i) => i * 77),
      );
      for (const kind of ["Uniform", "Normal", "UniformFullInt"]) {
        const def = op(`_StatelessRandom${kind}Rows`), isInt = kind === "UniformFullInt";
        const inputs = [ints(rows, size), seeds];
        const attrs = { dtype: isInt ? "int32" : "float32", Tseed: "int32" };
        const got = runFast(engine, def, inputs, attrs), [want] = runLoops(def, inputs, attrs);
        assert(got !== null, `no vector code for ${kind}`);
        (want.data as Float32Array).forEach((b, i) => {
          const a = got[0].data[i] as number;
          assert(
            Math.abs(a - b) <= 1e-6 * Math.abs(b),
            `${kind} of ${rows} rows of ${size}: ${a} at ${i}, wanted ${b}`,
          );
        });
      }
    }
  });

  Deno.test(`random whole numbers are those of the loops: ${name}`, () => {
    const scalar = (x: number): NdArray => new NdArray("int32", [], new Int32Array([x]));
    for (const [low, high] of [[0, 10], [-5, 3], [-2147483648, 2147483647], [7, 8]]) {
      const inputs = [ints(999), ints(1, 2), scalar(low), scalar(high)];
      const attrs = { dtype: "int32", Tseed: "int32" };
      const [got] = runFast(engine, op("StatelessRandomUniformInt"), inputs, attrs)!;
      assertEquals(
        got.data,
        runLoops(op("StatelessRandomUniformInt"), inputs, attrs)[0].data,
        `${low} to ${high}`,
      );
    }
    const full = [ints(33), ints(1, 2)], attrs = { dtype: "int32", Tseed: "int32" };
    assertEquals(
      runFast(engine, op("StatelessRandomUniformFullInt"), full, attrs)![0].data,
      runLoops(op("StatelessRandomUniformFullInt"), full, attrs)[0].data,
    );
  });

  Deno.test(`indices are drawn as the loops draw them: ${name}`, () => {
    const random = randomSource(5), attrs = { Tseed: "int32", output_dtype: "int32" };
    for (const [batch, classes, samples] of [[1, 1, 3], [3, 2, 5], [2, 100, 101], [4, 7, 0]]) {
      const logits = NdArray.zeros("float32", [batch, classes]);
      for (const special of [0, NaN, -Infinity, Infinity]) {
        (logits.data as Float32Array).forEach((_, i, d) => d[i] = 6 * random());
        if (special !== 0) logits.data[classes >> 1] = special;
        const count = new NdArray("int32", [], Int32Array.of(samples));
        const inputs = [logits, count, ints(7, -8)];
        assertEquals(
          runFast(engine, op("StatelessMultinomial"), inputs, attrs)![0].data,
          runLoops(op("StatelessMultinomial"), inputs, attrs)[0].data,
          `${samples} of ${classes}, one of them ${special}`,
        );
      }
    }
  });

  Deno.test(`resized images are those of the loops: ${name}`, () => {
    const random = randomSource(13);
    for (
      const [shape, size] of [[[2, 3, 4, 5], [7, 9]], [[1, 8, 8, 1], [3, 5]], [[1, 4, 6, 8], [
        4,
        6,
      ]], [[0, 2, 2, 3], [4, 4]]]
    ) {
      for (const convention of [{}, { align_corners: true }, { half_pixel_centers: true }]) {
        const x = NdArray.zeros("float32", shape);
        (x.data as Float32Array).forEach((_, i, d) => d[i] = random());
        for (const kind of ["ResizeBilinear", "ResizeNearestNeighbor"]) {
          const inputs = [x, ints(...size)];
          const got = runFast(engine, op(kind), inputs, convention);
          assert(got !== null, `no vector code for ${kind}`);
          const [want] = runLoops(op(kind), inputs, convention);
          for (let i = 0; i < want.size; i++) {
            const [a, b] = [got[0].data[i] as number, want.data[i] as number];
            if (!(Math.abs(a - b) <= 1e-6)) {
              fail(`${kind} of [${shape}] to ${size}: element ${i} is ${a}, wanted ${b}`);
            }
          }
        }
      }
    }
  });
}
