/** Products of float32 that read a matrix of float16 as it is stored: where plans make them, and that results are as with a cast. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { optimized } from "../graph/graph_text.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

type Build = () => tf.Tensor | tf.Tensor[];

const place = (shape: (number | null)[], name: string, dtype: tf.DType = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape, name);
const wide = (x: tf.Tensor): tf.Tensor => tf.cast(x, "float32");
const half = (...shape: number[]): tf.Tensor => place(shape, "w", "float16");
const big = new tf.NdArray("float16", [256, 256], new Float16Array(256 * 256).fill(0.5));

const CASES: readonly (readonly [string, readonly string[], Build])[] = [
  ["a cast matrix", ["_HalfMatMul"], () => tf.matMul(place([5, 8], "x"), wide(half(8, 6)))],
  [
    "a transposed one",
    ["_HalfMatMul"],
    () => tf.matMul(place([5, 8], "x"), wide(half(6, 8)), false, true),
  ],
  [
    "rows of an unknown number",
    ["_HalfMatMul"],
    () => tf.matMul(place([null, 8], "x"), wide(half(8, 6))),
  ],
  [
    "batches of an unknown number",
    ["_HalfMatMul"],
    () => tf.matMul(place([null, 5, 8], "x"), wide(half(8, 6))),
  ],
  [
    "a bias and an activation",
    ["_HalfMatMul"],
    () => tf.relu(tf.add(tf.matMul(place([5, 8], "x"), wide(half(8, 6))), place([6], "b"))),
  ],
  [
    "normalized rows",
    ["_NormMatMul"],
    () =>
      tf.matMul(
        tf.layerNorm(place([2, 8], "x"), place([8], "s"), place([8], "o")),
        wide(half(8, 6)),
      ),
  ],
  [
    "a large constant",
    ["_HalfMatMul"],
    () => tf.matMul(place([5, 256], "x"), wide(tf.tensor(big))),
  ],
  ["a cast that is fetched", ["Cast", "_HalfMatMul"], () => {
    const w = wide(half(8, 6));
    return [w, tf.matMul(place([5, 8], "x"), w)];
  }],
  [
    "float16 on the left",
    ["Cast", "MatMul"],
    () => tf.matMul(wide(half(5, 8)), place([8, 6], "x")),
  ],
  [
    "float16 on both sides",
    ["Cast", "_HalfMatMul"],
    () => tf.matMul(wide(half(8, 8)), wide(half(8, 8))),
  ],
  ["float16", ["MatMul"], () => tf.matMul(half(8, 8), place([8, 6], "x", "float16"))],
];

for (const [what, ops, build] of CASES) {
  Deno.test(`a plan for the GPU has ${ops.join(", ")} of ${what}`, () => {
    const lines = optimized(build, undefined, "GPU");
    const found = lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
      .filter((op) => op !== "Placeholder" && op !== "Const");
    assertEquals(found, ops, lines.join("\n"));
  });
}

Deno.test("plans for the CPU keep cast and product apart", () => {
  const lines = optimized(() => tf.matMul(place([5, 8], "x"), wide(half(8, 6))));
  assertEquals(lines.filter((l) => l.includes("_HalfMatMul")), [], lines.join("\n"));
});

testOnGpu(
  "products that read float16 are as with casts, in one dispatch, and so are gradients",
  async () => {
    await tf.setBackend("webgpu");
    const { passes } = pipelineOptions;
    const apart = { ...passes, GPU: passes.GPU.filter((name) => name !== "halves") };
    let seed = 0;
    for (
      const [rows, k, n, turned] of [[1, 48, 96, 0], [7, 33, 5, 1], [40, 64, 64, 1], [
        64,
        96,
        36,
        0,
      ]]
    ) {
      const value = (...shape: number[]): tf.Tensor => tf.tensor(noise("float32", shape, ++seed));
      const x = value(rows, k), b = value(n);
      const w = tf.variable(tf.cast(turned ? value(n, k) : value(k, n), "float16"));
      const layer = () => tf.tanh(tf.add(tf.matMul(x, wide(w), false, turned === 1), b));
      const f = tf.function(layer), y = f(), { dispatches } = await tf.profile(() => f());
      assertEquals(dispatches, 1);
      const slope = () =>
        tf.function(() =>
          tf.variableGrads(() => tf.sum(layer()), [w]).grads[w.name]
        )() as tf.Tensor;
      const grad = slope();
      pipelineOptions.passes = apart;
      const wanted = tf.function(layer)(), gradWanted = slope();
      pipelineOptions.passes = passes;
      const wrong = await tf.max(tf.abs(tf.sub(y, wanted))).item();
      assertEquals(wrong < 1e-5, true, `${rows}x${k}: ${wrong}`);
      assertEquals(grad.dtype, "float16");
      const off = await tf.max(tf.abs(tf.sub(wide(grad), wide(gradWanted)))).item();
      assertEquals(off < 1e-2, true, `${rows}x${k}: ${off}`);
    }
  },
);
