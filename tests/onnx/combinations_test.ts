/** Models of ONNX within everything that takes functions: the same numbers, and the same gradients, as by themselves. */
import { assert, assertEquals, assertRejects, assertThrows, fail } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, lora, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { some } from "../effort.ts";
import { floats, type Graph, int64s, model, node, tensor, value } from "./make_model.ts";

const numbers = (n: number, seed = 1): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.fround(Math.sin(i * 1.7 + seed)));

const half = (values: Float32Array): Float16Array => new Float16Array(values);
const X = value("x", "float32", ["n", 3]), Y = value("y", "float32", ["n", 3]);

/** Models that map rows of three numbers to such rows. */
const GRAPHS: Readonly<Record<string, Graph>> = {
  "a dense layer": {
    nodes: [
      node("MatMul", ["x", "w"], ["xw"]),
      node("Add", ["xw", "b"], ["sum"]),
      node("Tanh", ["sum"], ["y"]),
    ],
    inputs: [X],
    outputs: [Y],
    initialisers: [tensor("w", [3, 3], numbers(9)), tensor("b", [3], numbers(3, 4))],
  },
  "shapes that are computed": {
    nodes: [
      node("Shape", ["x"], ["shape"]),
      node("Gather", ["shape", "zero"], ["rows"]),
      node("Concat", ["rows", "three", "one"], ["to"], { axis: 0n }),
      node("Reshape", ["x", "to"], ["column"]),
      node("Mul", ["column", "w"], ["scaled"]),
      node("ReduceSum", ["scaled", "two"], ["y"], { keepdims: 0n }),
    ],
    inputs: [X],
    outputs: [Y],
    initialisers: [
      tensor("zero", [1], int64s(0)),
      tensor("one", [1], int64s(1)),
      tensor("two", [1], int64s(2)),
      tensor("three", [1], int64s(3)),
      tensor("w", [3, 4], numbers(12)),
    ],
  },
  "a convolution with a norm": {
    nodes: [
      node("Unsqueeze", ["x", "one"], ["image"]),
      node("Conv", ["image", "w"], ["c"], { pads: [1n, 1n] }),
      node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]),
      node("Relu", ["n"], ["r"]),
      node("ReduceMean", ["r", "one"], ["y"], { keepdims: 0n }),
    ],
    inputs: [X],
    outputs: [Y],
    initialisers: [
      tensor("one", [1], int64s(1)),
      tensor("w", [4, 1, 3], numbers(12)),
      tensor("scale", [4], floats(1, 2, 1, 2)),
      tensor("bias", [4], floats(0.5, 1, 0, 1)),
      tensor("mean", [4], floats(0, 0.1, 0, 0.2)),
      tensor("variance", [4], floats(1, 1, 2, 1)),
    ],
  },
  "a loop with a branch": {
    nodes: [
      node("Loop", ["count", "", "x"], ["y"], {
        body: {
          nodes: [
            node("Identity", ["go"], ["goes"]),
            node("ReduceSum", ["state"], ["sum"], { keepdims: 0n }),
            node("Less", ["sum", "limit"], ["is"]),
            node("If", ["is"], ["next"], {
              then_branch: {
                nodes: [node("Mul", ["state", "w"], ["a"])],
                inputs: [],
                outputs: [value("a", "float32", ["n", 3])],
              },
              else_branch: {
                nodes: [node("Neg", ["state"], ["b"])],
                inputs: [],
                outputs: [value("b", "float32", ["n", 3])],
              },
            }),
          ],
          inputs: [
            value("i", "int64", []),
            value("go", "bool", []),
            value("state", "float32", ["n", 3]),
          ],
          outputs: [value("goes", "bool", []), value("next", "float32", ["n", 3])],
        },
      }),
    ],
    inputs: [X],
    outputs: [Y],
    initialisers: [
      tensor("count", [], int64s(3)),
      tensor("limit", [], floats(0.2)),
      tensor("w", [3], floats(1.5, -2, 0.5)),
    ],
  },
  "a layer of float16": {
    nodes: [
      node("Cast", ["x"], ["h"], { to: 10n }),
      node("MatMul", ["h", "w"], ["p"]),
      node("LayerNormalization", ["p", "scale"], ["q"]),
      node("Cast", ["q"], ["y"], { to: 1n }),
    ],
    inputs: [X],
    outputs: [Y],
    initialisers: [
      tensor("w", [3, 3], half(numbers(9))),
      tensor("scale", [3], half(floats(1, 2, 1))),
    ],
  },
  "a script": {
    nodes: [node("MatMul", ["x", "w"], ["xw"]), node("Own", ["xw"], ["y"], {}, "acme")],
    inputs: [X],
    outputs: [Y],
    initialisers: [tensor("w", [3, 3], numbers(9))],
  },
};

/** Changes of a loaded model. */
const CHANGES: Readonly<Record<string, (m: OnnxModel) => void>> = {
  "": () => {},
  ", adapted": (m) => {
    const { variables } = lora(m, { rank: 1, seed: 1, targets: "w" });
    for (const v of Object.values(variables)) v.assign(tf.mul(tf.onesLike(v), 0.3));
  },
  ", with a head": (m) =>
    m.replace("y", (y, variable) => tf.add(y, variable("more", () => [1, 2, 3]))),
};

const scripts = { "acme:Own": (x: tf.Tensor) => tf.sin(x) };
const load = async (name: string): Promise<OnnxModel> => {
  const changed = name.replace(/, .*$/, "");
  const m = await loadOnnx(model(GRAPHS[changed]), { scripts });
  CHANGES[name.slice(changed.length)](m);
  return m;
};

const NAMES = [
  ...Object.keys(GRAPHS),
  "a dense layer, adapted",
  "a layer of float16, adapted",
  "a dense layer, with a head",
];

type F = (x: tf.Tensor) => tf.Tensor;
const open = [null, 3];
const spec = (shape: (number | null)[]) => [tf.TensorSpec(shape, "float32")];
/** Applies f to one row. */
const ofRow = (f: F): F => (row) => tf.squeeze(f(tf.expandDims(row, 0)), 0);

/** Ways to apply a function of rows to all rows. */
const WAYS: Readonly<Record<string, (f: F, x: tf.Tensor) => tf.Tensor>> = {
  "tf.function": (f, x) => tf.function(f)(x),
  "open extents": (f, x) => tf.function(f, { inputSignature: spec(open) })(x),
  "an unknown rank": (f, x) =>
    tf.function((t: tf.Tensor) => f(tf.reshape(t, [-1, 3])), {
      inputSignature: [tf.TensorSpec(null, "float32")],
    })(x),
  "a function within one": (f, x) => tf.function((t: tf.Tensor) => tf.function(f)(t))(x),
  "cond": (f, x) =>
    tf.function((t: tf.Tensor) =>
      tf.cond(tf.greater(tf.sum(t), -1e6), () => f(t), () => tf.neg(f(t))) as tf.Tensor
    )(x),
  "the other side of cond": (f, x) =>
    tf.function(
      (t: tf.Tensor) => tf.cond(tf.less(tf.sum(t), -1e6), () => tf.neg(t), () => f(t)) as tf.Tensor,
      {
        inputSignature: spec(open),
      },
    )(x),
  "mapFn": (f, x) => tf.function((t: tf.Tensor) => tf.mapFn(ofRow(f), t) as tf.Tensor)(x),
  "vectorizedMap": (f, x) => tf.vectorizedMap(ofRow(f), x) as tf.Tensor,
  "vectorizedMap in a function": (f, x) =>
    tf.function((t: tf.Tensor) => tf.vectorizedMap(ofRow(f), t) as tf.Tensor)(x),
  "mapFn, eagerly": (f, x) => tf.mapFn(ofRow(f), x) as tf.Tensor,
};

const near = async (got: tf.Tensor, want: tf.Tensor, by: number, what: string): Promise<void> => {
  assertEquals(got.shape, want.shape, what);
  const a = await got.data() as Float32Array, b = await want.data() as Float32Array;
  const most = Math.max(1, ...b.map(Math.abs));
  a.forEach((v, i) => {
    if (!(Math.abs(v - b[i]) <= by * most)) fail(`${what}: ${a} ≠ ${b}`);
  });
};

for (const name of NAMES) {
  testOnDevices(`a model within other functions gives its own numbers: ${name}`, async (device) => {
    // A GPU's shaders take their time to compile.
    if (device === "webgpu" && !some(NAMES, 4).includes(name)) return;
    const m = await load(name), by = name.includes("float16") ? 4e-3 : 2e-5;
    const x = tf.tensor(numbers(12, 3), [4, 3]);
    const call = (t: tf.Tensor): tf.Tensor => m.call({ x: t }).y as tf.Tensor;
    // A loop with a branch decides on the sum of all rows: rows by themselves are another question.
    const byRow = name !== "a loop with a branch";
    const want = m.runEagerly({ x }).y as tf.Tensor;
    const loss = (f: F, w: F = tf.identity) => () => tf.sum(tf.square(f(w(x))));
    const weights = Object.values(m.variables).filter((v) => v.trainable);
    const wanted = tf.variableGrads(loss(call), weights).grads;
    const input = tf.grad((t: tf.Tensor) => tf.sum(tf.square(call(t))))(x);
    for (const [way, apply] of Object.entries(WAYS)) {
      if (/Map|mapFn/.test(way) && !byRow) continue;
      await near(apply(call, x), want, by, way);
      const { grads } = tf.variableGrads(loss((t) => apply(call, t)), weights);
      for (const key of Object.keys(wanted)) {
        await near(grads[key], wanted[key], 5 * by, `${way}, ${key}`);
      }
      const own = tf.grad((t: tf.Tensor) => tf.sum(tf.square(apply(call, t))))(x);
      await near(own, input, 5 * by, `${way}, its input`);
    }
    // Each turn of a loop takes what the last one gave.
    const twice = call(call(x));
    const f = tf.function((t: tf.Tensor) =>
      tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 2),
        (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.reshape(call(y), [4, 3])],
        [
          tf.scalar(0, "int32"),
          t,
        ],
      )[1] as tf.Tensor
    );
    await near(f(x), twice, 5 * by, "whileLoop");
    const inLoop = tf.variableGrads(() => tf.sum(tf.square(f(x))), weights).grads;
    const unrolled = tf.variableGrads(() => tf.sum(tf.square(call(call(x)))), weights).grads;
    for (const key of Object.keys(unrolled)) {
      await near(inLoop[key], unrolled[key], 10 * by, `whileLoop, ${key}`);
    }
    // Datasets, one row or a batch at a time.
    if (byRow) {
      const rows = tf.data.fromTensorSlices(x).map(ofRow(call) as never, { numParallelCalls: 2 })
        .batch(4);
      for await (const y of rows) await near(y as tf.Tensor, want, by, "a dataset of rows");
    }
    for await (const y of tf.data.fromTensorSlices(x).batch(4).map(call as never)) {
      await near(y as tf.Tensor, want, by, "a dataset of batches");
    }
    m.dispose();
  });
}

testOnDevices("two models are parts of one function, and share what both are given", async () => {
  const file = model(GRAPHS["a dense layer"]);
  const first = await loadOnnx(file), second = await loadOnnx(file);
  const x = tf.tensor(numbers(6), [2, 3]);
  second.variables.w.assign(tf.neg(second.variables.w));
  const both = (t: tf.Tensor): tf.Tensor =>
    second.call({ x: first.call({ x: t }).y as tf.Tensor }).y as tf.Tensor;
  const one = first.call({ x }).y as tf.Tensor;
  await near(
    tf.function(both)(x),
    second.call({ x: one }).y as tf.Tensor,
    1e-6,
    "one after the other",
  );
  const of = (f: F) => tf.variableGrads(() => tf.sum(f(x)));
  const eager = of((t) =>
    second.runEagerly({ x: first.runEagerly({ x: t }).y as tf.Tensor }).y as tf.Tensor
  );
  const graph = of(tf.function(both));
  const names = [first, second].flatMap((m) => Object.values(m.variables).map((v) => v.name));
  assertEquals(Object.keys(graph.grads).sort(), names.sort());
  for (const key of names) await near(graph.grads[key], eager.grads[key], 1e-5, key);
  // Each keeps its own where the other goes.
  first.dispose();
  await near(
    second.call({ x: one }).y as tf.Tensor,
    tf.function((t: tf.Tensor) => second.call({ x: t }).y as tf.Tensor)(one),
    1e-6,
    "the other",
  );
  second.dispose();
});

testOnDevices("a model that is disposed says so, whoever uses it", async () => {
  const gate = Promise.withResolvers<void>();
  const wait = async (x: tf.Tensor) => {
    await gate.promise;
    return tf.sin(x);
  };
  const m = await loadOnnx(model(GRAPHS["a script"]), { scripts: { "acme:Own": wait } });
  const x = tf.tensor(numbers(6), [2, 3]), want = tf.sin(tf.matMul(x, m.variables.w));
  const dense = await load("a dense layer");
  const f = tf.function((t: tf.Tensor) => dense.call({ x: t }).y as tf.Tensor);
  f(x);
  const rows = tf.data.fromTensorSlices(x).batch(1).map((t) =>
    dense.call({ x: t as tf.Tensor }).y as tf.Tensor
  );
  const iterator = rows[Symbol.asyncIterator]();
  await iterator.next();
  // A run that has begun ends: its weights were read before the script.
  const run = m.run({ x });
  m.dispose();
  dense.dispose();
  gate.resolve();
  await near((await run).y as tf.Tensor, want, 1e-5, "a run that had begun");
  await assertRejects(() => m.run({ x }), tf.ValueError, "it is disposed");
  assertThrows(() => m.replace("y", tf.neg), tf.ValueError, "it is disposed");
  assertThrows(() => lora(m), tf.ValueError, "it is disposed");
  const e = assertThrows(() => f(x), Error);
  assert(/has been deleted/.test(e.message), e.message);
  await assertRejects(() => iterator.next(), tf.errors.FailedPreconditionError, "has been deleted");
});

testOnDevices("time limits end models that never do", async () => {
  const endless = await loadOnnx(model({
    nodes: [
      node("Loop", ["", "yes", "x"], ["y"], {
        body: {
          nodes: [node("Identity", ["go"], ["goes"]), node("Add", ["state", "one"], ["next"])],
          inputs: [
            value("i", "int64", []),
            value("go", "bool", []),
            value("state", "float32", ["n", 3]),
          ],
          outputs: [value("goes", "bool", []), value("next", "float32", ["n", 3])],
        },
      }),
    ],
    inputs: [X, value("yes", "bool", [])],
    outputs: [Y],
    initialisers: [tensor("one", [1], floats(1))],
  }));
  const stuck = await loadOnnx(model(GRAPHS["a script"]), {
    scripts: { "acme:Own": () => new Promise(() => {}) },
  });
  const graph = new tf.Graph();
  const [a, b] = graph.asDefault(() => {
    const x = tf.constant([[1, 2, 3]], "float32");
    const yes = tf.constant(true, "bool");
    return [endless.call({ x, yes }).y, stuck.call({ x }).y] as tf.Tensor[];
  });
  await using session = new tf.Session({ graph });
  for (const fetch of [a, b]) {
    await assertRejects(
      () => session.run(fetch, { timeoutMs: 50 }),
      tf.errors.DeadlineExceededError,
    );
  }
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 20);
  await assertRejects(() => session.run(a, { signal: controller.signal }), Error);
  // Both go on working.
  const x = [[1, 2, 3]];
  assertEquals(await (endless.call({ x, yes: false }).y as tf.Tensor).array(), x);
});

testOnDevices("memory does not grow from call to call", async () => {
  for (const name of NAMES) {
    const before = tf.memory().numTensors;
    const m = await load(name), x = tf.tensor(numbers(6), [2, 3]);
    const optimizer = tf.train.sgd(0.01);
    const step = async (): Promise<void> => {
      tf.dispose(await m.run({ x }) as Record<string, tf.Tensor>);
      tf.dispose(m.call({ x }, { outputs: ["y", "w"] }) as Record<string, tf.Tensor>);
      tf.dispose(m.runEagerly({ x }, { training: true }) as Record<string, tf.Tensor>);
      optimizer.minimize(() => tf.sum(m.call({ x }).y as tf.Tensor));
    };
    await step();
    const { numTensors } = tf.memory();
    for (let i = 0; i < 3; i++) await step();
    assertEquals(tf.memory().numTensors, numTensors, name);
    tf.dispose(x);
    m.dispose();
    optimizer.dispose?.();
    const left = tf.memory().numTensors - before;
    assert(left <= 12, `${name}: ${left} tensors are left`);
  }
});
