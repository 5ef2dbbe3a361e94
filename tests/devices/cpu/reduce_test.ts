/** Reductions in vector code, against the ops' own loops, which sum in float64. */

import { assert, assertEquals, fail } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { argument, type Expr, scalar } from "../../../src/engine/core/scalar/expr.ts";
import { fusedReduction } from "../../fusions.ts";
import { ENGINES, randomSource, threadedEngine, ulps } from "./engines.ts";
import { ints, op, runFast, runLoops } from "./kernel_runs.ts";

const CASES: readonly (readonly [number[], number[]])[] = [
  [[], []],
  [[1], [0]],
  [[7], [0]],
  [[1000], [0]],
  [[5000], [0]],
  [[3, 5], [1]],
  [[3, 5], [0]],
  [[3, 5], [0, 1]],
  [[37, 3], [0]],
  [[100, 1], [0]],
  [[1, 100], [0]],
  [[64, 17], [1]],
  [[67, 130], [0]],
  [[9, 4100], [0]],
  [[2, 3, 4, 5], [1, 3]],
  [[2, 3, 4, 5], [0, 2]],
  [[3, 2, 40, 2], [1, 3]],
  [[0, 3], [0]],
  [[3, 0], [1]],
  [[2, 0, 3], [1]],
  [[300, 2, 3], [0]],
  [[5, 300, 3], [1]],
  [[7, 40, 21], [1]],
  [[9, 5, 40, 3], [1, 3]],
  [[40, 6, 3, 5], [0, 2]],
  [[3, 2, 4100], [1]],
];

for (const [name, engine] of ENGINES) {
  Deno.test(`reductions agree with float64 loops in all layouts: ${name}`, () => {
    const random = randomSource(2);
    for (const [shape, axes] of CASES) {
      for (const kind of ["Sum", "Mean", "Prod", "Max", "Min"]) {
        for (const dtype of ["float32", "int32"] as const) {
          if (kind === "Mean" && dtype === "int32") continue;
          const x = NdArray.zeros(dtype, shape);
          (x.data as Float32Array).forEach((_, i, d) => {
            d[i] = dtype === "int32"
              ? random() * 2 ** 32 - 2 ** 31
              : kind === "Prod"
              ? 0.9 + 0.2 * random()
              : random();
          });
          const got = runFast(engine, op(kind), [x, ints(...axes)])![0];
          const want = runLoops(op(kind), [x, ints(...axes)])[0];
          for (let i = 0; i < want.size; i++) {
            const [a, b] = [got.data[i] as number, want.data[i] as number];
            const same = dtype === "int32" || kind === "Max" || kind === "Min"
              ? a === b
              : ulps(a, b) <= (kind === "Prod" ? 0 : 8);
            if (!same) {
              fail(`${kind} of ${dtype}[${shape}] over ${axes}: element ${i} is ${a}, wanted ${b}`);
            }
          }
        }
      }
    }
  });

  Deno.test(`reductions hand NaN on, and long sums stay exact: ${name}`, () => {
    for (const [shape, axis] of [[[3, 37], 1], [[37, 3], 0], [[37, 20], 0]] as const) {
      for (const at of [0, 5, 36]) {
        for (
          const [value, results] of [[NaN, [NaN, NaN, NaN, NaN]], [Infinity, [
            Infinity,
            Infinity,
            Infinity,
            0,
          ]]] as const
        ) {
          const x = NdArray.zeros("float32", [...shape]);
          (x.data as Float32Array)[axis === 1 ? at : at * shape[1]] = value;
          ["Sum", "Mean", "Max", "Min"].forEach((kind, i) => {
            const got = runFast(engine, op(kind), [x, ints(axis)])![0];
            assertEquals(
              [got.data[0], got.data[1]],
              [results[i], 0],
              `${kind} over axis ${axis} with ${value} at ${at}`,
            );
          });
        }
      }
    }
    const long = new NdArray("float32", [1 << 20], new Float32Array(1 << 20).fill(0.1));
    const want = Math.fround(0.1) * 2 ** 20;
    assert(
      Math.abs(runFast(engine, op("Sum"), [long, ints(0)])![0].data[0] as number - want) <
        want * 1e-6,
    );
    const tall = new NdArray("float32", [1 << 19, 2], long.data);
    assert(
      Math.abs(runFast(engine, op("Sum"), [tall, ints(0)])![0].data[1] as number - want / 2) <
        want * 1e-6,
    );
  });
}

/** Enough for parts that are folded: short rows, one row, rows that go into one, columns. */
const LARGE = [
  [[1003, 10], [1]],
  [[2, 700], [0]],
  [[3, 2, 65], [0, 2]],
  [[20, 301, 3], [1]],
  [
    [20, 6, 30, 2],
    [1, 3],
  ],
  [[400_001], [0]],
  [[
    700,
    601,
  ], [0, 1]],
  [
    [50_001, 4],
    [0],
  ],
];

/** The reduction of an op of these operands, computed on the way. */
function fused(kind: string, expr: Expr, operands: readonly NdArray[], axes: readonly number[]) {
  return { def: op(kind), ...fusedReduction({ operands, expr, axes: ints(...axes) }) };
}

Deno.test("reductions in parts are near those in one piece, and the same bits with threads and without", async () => {
  const random = randomSource(3);
  const array = (...shape: number[]): NdArray => {
    const x = NdArray.zeros("float32", shape);
    (x.data as Float32Array).forEach((_, i, d) => d[i] = random());
    return x;
  };
  const engines = [await threadedEngine(), ...ENGINES.map(([, e]) => e)].filter((e) => e !== null);
  const [a, b] = [argument(0), argument(1)];
  const light = scalar.mul(a, b), costly = scalar.exp(light);
  for (
    const [shape, axes] of [...CASES, ...LARGE] as typeof CASES
  ) {
    if (shape.includes(0)) continue;
    const x = array(...shape), y = array(...shape.map((n, i) => (i % 2 ? 1 : n)));
    const runs = ["Sum", "Max"].flatMap((kind) => [
      { def: op(kind), inputs: [x, ints(...axes)], attrs: {} },
      fused(kind, light, [x, y], axes),
      fused(kind, costly, [x, y], axes),
    ]);
    for (const { def, inputs, attrs } of runs) {
      const results = engines.map((engine) => {
        const before = engine.worthSharing;
        const whole = runFast(engine, def, inputs, attrs);
        engine.worthSharing = 16;
        const parts = runFast(engine, def, inputs, attrs);
        engine.worthSharing = before;
        assertEquals(parts === null, whole === null);
        (parts?.[0].data as Float32Array | undefined)?.forEach((v, i) => {
          const w = whole![0].data[i] as number;
          if (!(ulps(v, w) <= 2)) fail(`${def.name} of [${shape}] over ${axes}: ${v}, ${w}`);
        });
        return { parts, features: engine.features };
      });
      for (const { parts, features } of results) {
        if (features.relaxed === results[0].features.relaxed) {
          assertEquals(parts, results[0].parts, `${def.name} of [${shape}] over ${axes}`);
        }
      }
    }
  }
});
