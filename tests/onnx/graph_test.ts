/** loadOnnx() folds shapes, takes branches, builds loops and chooses layouts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, type Graph, int64s, model, node, tensor, value } from "./make_model.ts";

/** Counts the ops of a model's graph. */
function opsOf(m: OnnxModel): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of m.graph.operations) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

/** x[n, t, 4] as [n, t, 2, 2], by a shape that is computed as exporters do. */
const HEADS: Graph = {
  nodes: [
    node("Shape", ["x"], ["shape"]),
    node("Gather", ["shape", "zero"], ["n"], { axis: 0n }),
    node("Gather", ["shape", "one"], ["t"], { axis: 0n }),
    node("Unsqueeze", ["n", "axes"], ["n1"]),
    node("Unsqueeze", ["t", "axes"], ["t1"]),
    node("Concat", ["n1", "t1", "heads"], ["to"], { axis: 0n }),
    node("Reshape", ["x", "to"], ["y"]),
  ],
  inputs: [value("x", "float32", ["n", "t", 4])],
  outputs: [value("y", "float32", ["n", "t", 2, 2])],
  initialisers: [
    tensor("zero", [], int64s(0)),
    tensor("one", [], int64s(1)),
    tensor("axes", [1], int64s(0)),
    tensor("heads", [2], int64s(2, 2)),
  ],
};

testOnDevices("shapes that are computed are known as far as extents are", async () => {
  const closed = await loadOnnx(model(HEADS), { dimensions: { n: 2, t: 3 } });
  assertEquals(closed.inputs[0].shape, [2, 3, 4]);
  assertEquals(Object.keys(opsOf(closed)).sort(), ["Const", "Placeholder", "Reshape"]);
  const half = await loadOnnx(model(HEADS), { dimensions: { n: 2 } });
  const [y] = half.graph.operations.filter(({ type }) => type === "Reshape");
  assertEquals(y.outputs[0].staticShape, [2, null, 2, 2]);
  const open = await loadOnnx(model(HEADS));
  const f = tf.function((x: tf.Tensor) => open.call({ x }).y as tf.Tensor, {
    inputSignature: [new tf.TensorSpec([null, null, 4], "float32")],
  });
  for (const n of [1, 2]) assertEquals(f(tf.ones([n, 3, 4])).shape, [n, 3, 2, 2]);
  assertEquals(f.traceCount, 1);
  await assertRejects(() => closed.run({ x: tf.ones([1, 3, 4]) }), tf.ValueError, "wanted [2,3,4]");
});

/** y = c ? x + 1 : x * x, where the condition is named. */
function branches(condition: string): Graph {
  const side = (op: string, second: string): Graph => ({
    nodes: [node(op, ["x", second], ["r"])],
    inputs: [],
    outputs: [value("r", "float32", [2])],
  });
  return {
    nodes: [
      node("If", [condition], ["y"], {
        then_branch: side("Add", "k"),
        else_branch: side("Mul", "x"),
      }),
    ],
    inputs: [value("x", "float32", [2]), value("c", "bool", [])],
    outputs: [value("y", "float32", [2])],
    initialisers: [tensor("k", [], floats(1)), tensor("yes", [], int64s(1))],
  };
}

testOnDevices("a branch is taken while building where its condition is known", async () => {
  const parts = branches("is");
  const known = { ...parts, nodes: [node("Cast", ["yes"], ["is"], { to: 9n }), ...parts.nodes] };
  const m = await loadOnnx(model(known));
  assertEquals(opsOf(m).If, undefined);
  assertEquals((m.call({ x: [3, 4], c: false }).y as tf.Tensor).arraySync(), [4, 5]);
});

testOnDevices("a branch on an input is one of ours, with a gradient", async () => {
  const m = await loadOnnx(model(branches("c")));
  for (const [c, y, dx] of [[true, [4, 5], [1, 1]], [false, [9, 16], [6, 8]]] as const) {
    assertEquals(await ((await m.run({ x: [3, 4], c })).y as tf.Tensor).array(), y);
    const f = tf.function((x: tf.Tensor, c: tf.Tensor) => m.call({ x, c }).y as tf.Tensor);
    const grad = tf.grad((x) => tf.sum(f(x, tf.scalar(c))));
    assertEquals(grad(tf.tensor([3, 4])).arraySync(), dx);
  }
});

/** s = x · k^n after n turns, with the numbers on the way collected. */
const POWERS: Graph = {
  nodes: [
    node("Loop", ["n", "", "x"], ["last", "all"], {
      body: {
        nodes: [
          node("Mul", ["s", "k"], ["next"]),
          node("Identity", ["on"], ["still"]),
          node("Identity", ["next"], ["row"]),
        ],
        inputs: [value("i", "int64", []), value("on", "bool", []), value("s", "float32", [])],
        outputs: [
          value("still", "bool", []),
          value("next", "float32", []),
          value("row", "float32", []),
        ],
      },
    }),
  ],
  inputs: [value("x", "float32", []), value("n", "int64", [])],
  outputs: [value("last", "float32", []), value("all", "float32", ["n"])],
  initialisers: [tensor("k", [], floats(2))],
};

testOnDevices("a loop turns as often as an input says, and collects", async () => {
  const m = await loadOnnx(model(POWERS));
  for (const n of [3, 1, 0]) {
    const { last, all } = await m.run({ x: 1, n: tf.tensor(n, [], "int64") });
    const rows = [2, 4, 8].slice(0, n);
    assertEquals(
      [await (last as tf.Tensor).array(), await (all as tf.Tensor).array()],
      [rows.at(-1) ?? 1, rows],
    );
  }
});

testOnDevices(
  "a small loop is unrolled for the few values of the input that counts its turns",
  async () => {
    const m = await loadOnnx(model(POWERS)), seen: unknown[] = [];
    m.replace("all", (rows) => {
      seen.push(rows.staticShape);
      return tf.neg(rows);
    });
    const count = async (n: number): Promise<void> => {
      const { all } = await m.run({ x: 1, n: tf.tensor(n, [], "int64") });
      const wanted = Array.from({ length: n }, (_, i) => -(2 ** (i + 1)));
      assertEquals(await (all as tf.Tensor).array(), wanted, `${n} turns`);
    };
    await count(3);
    await count(3);
    assertEquals(seen, [[3]], "one graph for a value");
    for (const n of [40, 33, 100]) await count(n);
    assertEquals(seen, [[3], [null]], "long loops share a graph, which is a loop");
    for (const n of [0, 1, 2, 4, 5, 6, 32]) await count(n);
    assertEquals(seen.slice(2), [[0], [1], [2], [4], [5], [6], [32]]);
    for (const n of [7, 8, 9, 3, 0]) await count(n);
    assertEquals(seen.length, 9, "further values, and long loops, are those of the loop");
    const f = tf.function((n: tf.Tensor) => m.call({ x: 1, n }).all as tf.Tensor);
    assertEquals(f(tf.tensor(2, [], "int64")).arraySync(), [-2, -4]);
    assertEquals(seen.at(-1), [null], "a traced value is not known");
  },
);

testOnDevices("an input that counts turns and takes a branch is known for both", async () => {
  const [loop] = POWERS.nodes,
    side = (by: string): Graph => ({
      nodes: [node("Mul", ["last", by], ["r"])],
      inputs: [],
      outputs: [value("r", "float32", [])],
    });
  const m = await loadOnnx(model({
    ...POWERS,
    nodes: [
      loop,
      node("Greater", ["n", "limit"], ["isLong"]),
      node("If", ["isLong"], ["y"], { then_branch: side("k"), else_branch: side("last") }),
    ],
    outputs: [value("y", "float32", []), ...POWERS.outputs],
    initialisers: [...POWERS.initialisers!, tensor("limit", [], int64s(34))],
  }));
  for (const n of [2, 36, 3, 34]) {
    const { y, all } = await m.run({ x: 1, n: tf.tensor(n, [], "int64") });
    assertEquals(await (y as tf.Tensor).array(), n > 34 ? 2 ** (n + 1) : 4 ** n);
    assertEquals((all as tf.Tensor).shape, [n]);
  }
});

/** Two convolutions with what stands between them in images. */
const IMAGES: Graph = {
  nodes: [
    node("Conv", ["x", "w"], ["a"], { pads: [1n, 1n, 1n, 1n] }),
    node("Add", ["a", "b"], ["c"]),
    node("Relu", ["c"], ["d"]),
    node("Concat", ["d", "a"], ["e"], { axis: 1n }),
    node("Conv", ["e", "v"], ["f"]),
    node("GlobalAveragePool", ["f"], ["y"]),
  ],
  inputs: [value("x", "float32", ["n", 2, 4, 4])],
  outputs: [value("y", "float32", ["n", 1, 1, 1])],
  initialisers: [
    tensor("w", [2, 2, 3, 3], floats(...Array.from({ length: 36 }, (_, i) => i % 5 - 2))),
    tensor("b", [2, 1, 1], floats(1, -1)),
    tensor("v", [1, 4, 1, 1], floats(1, 2, 3, 4)),
  ],
};

testOnDevices("images keep their channels last between convolutions", async () => {
  const m = await loadOnnx(model(IMAGES), { trainable: false });
  // One for the images that come in, one for each filter.
  assertEquals(opsOf(m).Transpose, 3);
  const x = tf.tensor(Array.from({ length: 64 }, (_, i) => i % 7), [2, 2, 4, 4]);
  const whole = (await m.run({ x })).y as tf.Tensor, one = m.runEagerly({ x }).y as tf.Tensor;
  assertEquals(whole.shape, [2, 1, 1, 1]);
  const [a, b] = [await whole.data(), await one.data()];
  assert(a.every((v, i) => Math.abs(Number(v) - Number(b[i])) < 1e-3));
});
