/** Models of float16: what lies between nodes is float32, and every value that is seen is one of float16. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, int64s, model, node, tensor, value } from "./make_model.ts";
import { difference, Pack } from "./pack.ts";

const half = (...values: number[]) => new Float16Array(values);
const X = value("x", "float16", ["n", 2]), Y = value("y", "float16", ["n", 2]);

/** 1 + 2⁻¹¹ rounds to 1 in float16: (x + small) − 1 tells whether a sum was rounded. */
const SMALL = 2 ** -11;
const CONSTANTS = [tensor("small", [], half(SMALL)), tensor("one", [], half(1))];
const CASES: Readonly<Record<string, readonly ReturnType<typeof node>[]>> = {
  "sums": [node("Add", ["x", "small"], ["s"]), node("Sub", ["s", "one"], ["y"])],
  "moves between": [
    node("Add", ["x", "small"], ["s"]),
    node("Transpose", ["s"], ["t"]),
    node("Concat", ["t", "t"], ["c"], { axis: 0n }),
    node("Split", ["c"], ["u", "v"], { axis: 0n }),
    node("Transpose", ["v"], ["w"]),
    node("Identity", ["w"], ["i"]),
    node("Sub", ["i", "one"], ["y"]),
  ],
  "casts between": [
    node("Cast", ["x"], ["f"], { to: 1n }),
    node("Cast", ["small"], ["g"], { to: 1n }),
    node("Add", ["f", "g"], ["h"]),
    node("Cast", ["h"], ["s"], { to: 10n }),
    node("Sub", ["s", "one"], ["y"]),
  ],
  "a branch": [
    node("Add", ["x", "small"], ["s"]),
    node("ReduceMax", ["s"], ["m"], { keepdims: 0n }),
    node("Greater", ["m", "one"], ["is"]),
    node("Where", ["is", "s", "x"], ["w"]),
    node("Sub", ["w", "one"], ["y"]),
  ],
};

testOnDevices(
  "nodes of float16 round once, and results are float16",
  async () => {
    for (const [name, nodes] of Object.entries(CASES)) {
      const file = model({ nodes, inputs: [X], outputs: [Y], initialisers: CONSTANTS });
      for (const trainable of [true, false]) {
        const m = await loadOnnx(file, { trainable });
        const x = tf.tensor([[1, 1]], undefined, "float16");
        const compiled = (await m.run({ x })).y!, eager = m.runEagerly({ x }).y!;
        const within = tf.function((t: tf.Tensor) => m.call({ x: t }).y as tf.Tensor)(x);
        for (const y of [compiled, eager, within] as tf.Tensor[]) {
          assertEquals(y.dtype, "float16", name);
          const [[got]] = await y.array() as number[][];
          assertEquals(got, SMALL, name);
        }
        m.dispose();
      }
    }
  },
);

testOnDevices("what is seen between nodes of float16 is float16", async () => {
  const file = model({
    nodes: CASES.sums,
    inputs: [X],
    outputs: [Y],
    initialisers: CONSTANTS,
  });
  const m = await loadOnnx(file), x = tf.tensor([[1, 2]], undefined, "float16");
  const { s } = await m.run({ x }, { outputs: ["s"] });
  assertEquals([s!.dtype, await s!.array()], ["float16", [[1, 2]]]);
  const seen: tf.DType[] = [];
  m.replace("s", (t) => {
    seen.push(t.dtype);
    return tf.mul(t, tf.cast(2, "float16"));
  });
  assertEquals(await (await m.run({ x })).y!.array(), [[1, 3]]);
  assertEquals(seen, ["float16"]);
  m.dispose();
});

Deno.test("on processors products of few rows read large weights of float16 as they are", async () => {
  await tf.setBackend("cpu");
  const n = 256, w = new Float16Array(n * n);
  for (let i = 0; i < n; i++) w[i * n + i] = 2;
  const file = model({
    nodes: [node("Mul", ["x", "two"], ["a"]), node("MatMul", ["a", "w"], ["y"])],
    inputs: [value("x", "float16", ["n", n])],
    outputs: [value("y", "float16", ["n", n])],
    initialisers: [tensor("w", [n, n], w), tensor("two", [1], half(2))],
  });
  const products = (rows: number) => {
    const f = tf.function((x: tf.Tensor) => m.call({ x }).y as tf.Tensor);
    const { graph } = f.getConcreteFunction(tf.TensorSpec([rows, n], "float16"));
    return graph.operations.filter((op) => op.type === "MatMul").map((op) => op.outputs[0].dtype);
  };
  const m = await loadOnnx(file);
  assertEquals([products(1), products(3), products(4)], [["float16"], ["float16"], ["float32"]]);
  for (const rows of [1, 5]) {
    const { y } = await m.run({ x: tf.ones([rows, n], "float16") });
    assertEquals([...new Set(await y!.data() as Iterable<number>)], [4]);
  }
  m.dispose();
});

testOnDevices("batch norms of float16 train, and their running averages stay float16", async () => {
  const channel = (name: string, ...values: number[]) => tensor(name, [2], half(...values));
  const file = model({
    nodes: [
      node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["b"]),
      node("Relu", ["b"], ["y"]),
    ],
    inputs: [value("x", "float16", ["n", 2])],
    outputs: [Y],
    initialisers: [
      channel("scale", 1, 2),
      channel("bias", 0, 1),
      channel("mean", 0, 0),
      channel("variance", 1, 1),
    ],
  });
  const m = await loadOnnx(file), x = tf.tensor([[0, 2], [2, 6]], undefined, "float16");
  const y = m.call({ x }, { training: true }).y as tf.Tensor;
  assertEquals([y.dtype, await y.array()], ["float16", [[0, 0], [1, 3]]]);
  assertEquals(m.variables.mean.dtype, "float16");
  const moved = await m.variables.mean.array() as number[];
  assert(Math.abs(moved[0] - 0.1) < 1e-3 && Math.abs(moved[1] - 0.4) < 1e-3, `${moved}`);
  m.dispose();
});

testOnDevices(
  "gradients of float16 weights are float16, and those of the same layers in float32",
  async () => {
    const layers = (dtype: "float16" | "float32") => {
      const of = (name: string, dims: number[], ...values: number[]) =>
        tensor(name, dims, dtype === "float16" ? half(...values) : floats(...values));
      return model({
        nodes: [
          node("Gather", ["table", "at"], ["e"]),
          node("MatMul", ["e", "w"], ["p"]),
          node("Add", ["p", "b"], ["s"]),
          node("Softmax", ["s"], ["y"]),
        ],
        inputs: [value("at", "int64", ["n"])],
        outputs: [value("y", dtype, ["n", 2])],
        initialisers: [
          of("table", [3, 2], 0.5, 1, -1, 0.25, 2, 1),
          of("w", [2, 2], 1, -0.5, 0.75, 2),
          of("b", [2], 0.5, -0.25),
        ],
      });
    };
    const grads = async (dtype: "float16" | "float32") => {
      const m = await loadOnnx(layers(dtype)), at = tf.tensor(int64s(2, 0, 2), [3], "int64");
      const loss = () =>
        tf.sum(
          tf.square(tf.cast(tf.slice(m.call({ at }).y as tf.Tensor, [0, 0], [-1, 1]), "float32")),
        );
      const found = Object.values(tf.variableGrads(loss, Object.values(m.variables)).grads);
      m.dispose();
      return found;
    };
    const wanted = await grads("float32");
    for (const [i, g] of (await grads("float16")).entries()) {
      assertEquals(g.dtype, "float16");
      const a = await g.data() as ArrayLike<number>, b = await wanted[i].data() as Float32Array;
      b.forEach((v, k) => assert(Math.abs(v - a[k]) < 2e-3, `${i}: ${a} ≠ ${b}`));
    }
  },
);

testOnDevices("an exported BERT of float16 agrees with onnxruntime to 2e-3 of scale", async () => {
  const pack = await Pack.read("models"), one = pack.cases.find((c) => c.n === "bert_fp16")!;
  const m = await loadOnnx(pack.model(one)), [[inputs, outputs]] = one.sets;
  const results = await m.run(pack.feeds(m, inputs));
  for (const [i, { name }] of m.outputs.entries()) {
    const got = await results[name]!.ndarray();
    assertEquals(difference(got, pack.arrays(outputs[i]), { ...one, scale: 2e-3 }), null, name);
  }
  m.dispose();
});

Deno.test("constants of float16 are float32 where they are multiplied alone, and those of files are not copied", async () => {
  await tf.setBackend("cpu");
  const n = 256, rows = 8, path = await Deno.makeTempFile({ suffix: ".onnx" });
  const weights = {
    half: new Float16Array(n * n).fill(2 ** -8),
    wide: new Float32Array(n * n).fill(1),
  };
  const nodes = [
    node("MatMul", ["x", "half"], ["p"]),
    node("Cast", ["p"], ["f"], { to: 1n }),
    node("MatMul", ["f", "wide"], ["y"]),
  ];
  const initialisers = Object.entries(weights).map(([name, w]) => tensor(name, [n, n], w));
  const inputs = [value("x", "float16", ["n", n])], outputs = [value("y", "float32", ["n", n])];
  await Deno.writeFile(path, model({ nodes, inputs, outputs, initialisers }));
  const m = await loadOnnx(path, { trainable: false });
  const constants = (rows: number) => {
    const f = tf.function((x: tf.Tensor) => m.call({ x }).y!), x = tf.ones([rows, n], "float16");
    assertEquals([...new Set(f(x).dataSync() as Float32Array)], [n]);
    return f.getConcreteFunction(tf.TensorSpec([rows, n], "float16")).graph.operations
      .map((op) => op.type === "Const" ? op.attrs.value as tf.NdArray : null)
      .filter((a) => a !== null && a.size === n * n) as tf.NdArray[];
  };
  const [half, wide] = constants(rows), [, again] = constants(rows + 1);
  assertEquals([half.dtype, wide.dtype], ["float32", "float32"]);
  // Its elements were written to the device, and are not held here.
  assertEquals(typeof Object.getOwnPropertyDescriptor(half, "data")!.get, "function");
  assert(wide === again);
  m.dispose();
  await Deno.remove(path);
});
