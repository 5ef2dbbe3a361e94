/** Products with rows of levels in vector code, against their parts in float64. */
import "@weft/weft";
import { assert, fail } from "@std/assert";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import { ENGINES, randomSource } from "./cpu/engines.ts";
import { op, runFast, runLoops } from "./cpu/kernel_runs.ts";

/** Rows of x, rows of levels, and the extent of both: whole panels and blocks, and rests of them. */
const SIZES = [[1, 8, 64], [3, 13, 70], [9, 17, 150], [40, 30, 128]] as const;

for (const [name, engine] of ENGINES) {
  Deno.test(`products with levels are those of their numbers: ${name}`, () => {
    const random = randomSource(4);
    const floats = (...shape: number[]): NdArray => {
      const x = NdArray.zeros("float32", shape);
      return x.map(() => random() - 0.5);
    };
    for (const bits of [2, 4, 8]) {
      for (const block of [16, 32, 64]) {
        for (const [m, n, inner] of SIZES) {
          for (const isOneZero of [true, false]) {
            const blocks = Math.ceil(inner / block), words = block * bits / 32;
            const levels = NdArray.zeros("int32", [n, blocks, words]).map(() =>
              Math.floor(random() * 2 ** 32) | 0
            );
            const zeros = isOneZero
              ? new NdArray("float32", [], Float32Array.of(2 ** (bits - 1)))
              : NdArray.zeros("float32", [n, blocks]).map(() => Math.floor(random() * 2 ** bits));
            const inputs = [floats(m, inner), levels, floats(n, blocks), zeros];
            const attrs = { bits, block, inner }, def = op("_QuantizedMatMul");
            const text = `${bits} bits, blocks of ${block}, ${m} x ${inner} x ${n}, ${isOneZero}`;
            const got = runFast(engine, def, inputs, attrs)?.[0];
            assert(got !== undefined, `no vector code for ${text}`);
            const wanted = runLoops(def, inputs, attrs)[0]!.data as Float32Array;
            const most = wanted.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
            wanted.forEach((w, i) => {
              if (!(Math.abs(Number(got.data[i]) - w) <= 1e-5 * most)) {
                fail(`${text}: element ${i} is ${got.data[i]}, wanted ${w}`);
              }
            });
          }
        }
      }
    }
  });
}
