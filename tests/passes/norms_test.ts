/** Products that normalize their rows themselves: where plans make them, and that results are as of two ops. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { optimized } from "../graph/graph_text.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

type Build = () => tf.Tensor | tf.Tensor[];

const place = (shape: (number | null)[], name: string, dtype: tf.DType = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape, name);
const normed = (shape: (number | null)[], dtype: tf.DType = "float32"): tf.Tensor =>
  tf.layerNorm(place(shape, "x", dtype), place([8], "s", dtype), place([8], "o", dtype));
const weight = (n: number, name = "w"): tf.Tensor => place([8, n], name);

const CASES: readonly (readonly [string, readonly string[], Build])[] = [
  ["one row", ["_NormMatMul"], () => tf.matMul(normed([1, 8]), weight(5))],
  [
    "rows of batches",
    ["Reshape", "_NormMatMul", "Reshape"],
    () => tf.matMul(normed([2, 1, 8]), weight(5)),
  ],
  [
    "a matrix stored transposed",
    ["_NormMatMul"],
    () => tf.matMul(normed([3, 8]), place([5, 8], "w"), false, true),
  ],
  [
    "halves",
    ["_NormMatMul"],
    () => tf.matMul(normed([1, 8], "float16"), place([8, 5], "w", "float16")),
  ],
  [
    "a bias and an activation",
    ["_NormMatMul"],
    () => tf.relu(tf.add(tf.matMul(normed([1, 8]), weight(5)), place([5], "b"))),
  ],
  ["three readers", ["_NormMatMul", "_NormMatMul", "_NormMatMul"], () => {
    const x = normed([1, 8]);
    return ["q", "k", "v"].map((name) => tf.matMul(x, weight(5, name)));
  }],
  ["a norm that is fetched", ["_LayerNorm", "MatMul"], () => {
    const x = normed([1, 8]);
    return [x, tf.matMul(x, weight(5))];
  }],
  ["another reader", ["_LayerNorm", "MatMul", "_FusedPointwise"], () => {
    const x = normed([1, 8]);
    return [tf.matMul(x, weight(5)), tf.add(tf.exp(x), 1)];
  }],
  ["a view that is fetched", ["_LayerNorm", "Reshape", "MatMul"], () => {
    const x = tf.reshape(normed([1, 2, 8]), [2, 8]);
    return [x, tf.matMul(x, weight(5))];
  }],
  [
    "rows that are cut",
    ["_LayerNorm", "Reshape", "MatMul"],
    () => tf.matMul(tf.reshape(normed([1, 8]), [2, 4]), place([4, 5], "w")),
  ],
  ["five rows", ["_LayerNorm", "MatMul"], () => tf.matMul(normed([5, 8]), weight(5))],
  [
    "an unknown number of rows",
    ["_LayerNorm", "MatMul"],
    () => tf.matMul(normed([null, 8]), weight(5)),
  ],
  [
    "a matrix for each row",
    ["_LayerNorm", "BatchMatMulV2"],
    () => tf.matMul(normed([2, 1, 8]), place([2, 8, 5], "w")),
  ],
  [
    "rows on the right",
    ["_LayerNorm", "MatMul"],
    () => tf.matMul(place([3, 8], "w"), normed([4, 8]), false, true),
  ],
  [
    "columns of the norm",
    ["_LayerNorm", "MatMul"],
    () => tf.matMul(normed([4, 8]), place([4, 5], "w"), true),
  ],
  ["a product with itself", ["_LayerNorm", "MatMul"], () => {
    const x = normed([4, 8]);
    return tf.matMul(x, x, false, true);
  }],
  [
    "five rows of a batch",
    ["_LayerNorm", "BatchMatMulV2"],
    () => apply1(lookupOp("BatchMatMulV2")!, [normed([1, 5, 8]), weight(5)], { T: "float32" }),
  ],
  [
    "more columns than workgroups should find statistics for",
    ["_LayerNorm", "MatMul"],
    () => tf.matMul(normed([1, 8]), weight(20000)),
  ],
];

for (const [what, ops, build] of CASES) {
  Deno.test(`a plan for the GPU has ${ops.join(", ")} of ${what}`, () => {
    const lines = optimized(build, undefined, "GPU");
    const found = lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
      .filter((op) => op !== "Placeholder" && op !== "Const");
    assertEquals(found, ops, lines.join("\n"));
  });
}

Deno.test("plans for the CPU keep norm and product apart", () => {
  const lines = optimized(() => tf.matMul(normed([1, 8]), weight(5)));
  assertEquals(lines.filter((l) => l.includes("_NormMatMul")), [], lines.join("\n"));
});

testOnGpu("products of rows that they normalize are as of two ops, in one dispatch", async () => {
  await tf.setBackend("webgpu");
  const { passes } = pipelineOptions;
  const apart = { ...passes, GPU: passes.GPU.filter((name) => name !== "norms") };
  let seed = 0;
  for (const dtype of ["float32", "float16"] as const) {
    for (
      const [rows, k, n, turned] of [[1, 48, 96, 0], [4, 33, 7, 1], [2, 64, 64, 1], [3, 30, 5, 0]]
    ) {
      const value = (...shape: number[]): tf.Tensor =>
        tf.cast(tf.add(noise("float32", shape, ++seed), 0.5), dtype);
      const x = value(rows, k), s = value(k), o = value(k), b = value(n);
      const w = turned ? value(n, k) : value(k, n), more = value(rows, n);
      const make = () =>
        tf.function((x: tf.Tensor, more: tf.Tensor) => {
          const y = tf.matMul(tf.layerNorm(x, s, o), w, false, turned === 1);
          return tf.cast(tf.add(tf.tanh(tf.add(y, b)), more), "float32");
        });
      const f = make(), y = f(x, more), { dispatches } = await tf.profile(() => f(x, more));
      assertEquals(dispatches, dtype === "float32" ? 1 : dispatches);
      pipelineOptions.passes = apart;
      const wanted = make()(x, more);
      pipelineOptions.passes = passes;
      const wrong = await tf.max(tf.abs(tf.sub(y, wanted))).item();
      assertEquals(
        wrong < (dtype === "float32" ? 1e-5 : 2e-2),
        true,
        `${dtype} ${rows}x${k}: ${wrong}`,
      );
    }
  }
  await tf.setBackend("cpu");
});
