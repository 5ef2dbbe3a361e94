/** GraphModel: predict, execute, executeAsync, inputs and outputs by name, disposal, what it refuses. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { affine, model, node, placeholder, type, weight } from "./models.ts";

const rows = (t: unknown): Promise<unknown> => (t as tf.Tensor).array() as Promise<unknown>;

/** Two inputs, two outputs, told by a signature whose keys are not the nodes' names. */
function pair(more: Partial<tf.ModelArtifacts> = {}): tf.ModelArtifacts {
  return model(
    [
      placeholder("b", [-1]),
      placeholder("a", [-1]),
      node("Sub", "difference", ["a", "b"]),
      node("Mul", "product", ["a", "b"]),
    ],
    {},
    more,
  );
}

const info = (name: string): tf.SignatureInfo => ({
  name,
  dtype: "DT_FLOAT",
  tensorShape: { dim: [{ size: "-1" }] },
});
const SIGNATURE: tf.ModelSignature = {
  inputs: { left: info("a:0"), right: info("b:0") },
  outputs: { times: info("product:0"), minus: info("difference:0") },
};

testOnDevices("predict() runs a model whose nodes stand in any order", async () => {
  const m = await tf.loadGraphModel(affine());
  assertEquals(m.inputs, [{ name: "x", dtype: "float32", shape: [null, 2] }]);
  assertEquals(m.outputs, [{ name: "y", dtype: "float32", shape: [null, 2] }]);
  assertEquals(await rows(m.predict(tf.tensor([[1, 1], [0, 2]]))), [[12, 23], [10, 26]]);
  assertEquals(await rows(m.predict([[1, 1]])), [[12, 23]]);
  assertEquals(await rows(m.predict({ x: [[1, 1]] })), [[12, 23]]);
  assertEquals(await rows(m.predict({ "x:0": [[1, 1]] })), [[12, 23]]);
  m.dispose();
});

testOnDevices("execute() gives intermediate tensors, one or several", async () => {
  const m = await tf.loadGraphModel(affine());
  const x = tf.tensor([[1, 1]]);
  assertEquals(await rows(m.execute(x, "product")), [[2, 3]]);
  assertEquals(await rows(m.execute(x, "product:0")), [[2, 3]]);
  const [y, product, w] = m.execute([x], ["y", "product", "w"]) as tf.Tensor[];
  assertEquals([await rows(y), await rows(product), await rows(w)], [[[12, 23]], [[2, 3]], [2, 3]]);
  assertEquals(await rows(await m.executeAsync(x, "product")), [[2, 3]]);
  assertEquals(await rows(await m.predictAsync(x)), [[12, 23]]);
  assertEquals(await rows(m.execute(x, ["x"])), [[1, 1]]);
  m.dispose();
});

for (
  const [where, more] of [
    ["signature", { signature: SIGNATURE }],
    ["user's metadata", { userDefinedMetadata: { signature: SIGNATURE } }],
  ] as const
) {
  testOnDevices(`inputs and outputs are those of the ${where}`, async () => {
    const m = await tf.loadGraphModel(pair(more));
    assertEquals(m.inputs.map((i) => i.name), ["a", "b"]);
    assertEquals(m.outputs.map((o) => o.name), ["product:0", "difference:0"]);
    const a = tf.tensor([3, 5]), b = tf.tensor([1, 2]);
    for (const given of [[a, b], { a, b }, { right: b, left: a }]) {
      const [product, difference] = m.predict(given) as tf.Tensor[];
      assertEquals([await rows(product), await rows(difference)], [[3, 10], [2, 3]]);
    }
    m.dispose();
  });
}

Deno.test("without a signature, inputs are the placeholders and outputs what nothing reads", async () => {
  const m = await tf.loadGraphModel(pair());
  assertEquals(m.inputs.map((i) => i.name), ["b", "a"]);
  assertEquals(m.outputs.map((o) => o.name), ["difference", "product"]);
  m.dispose();
});

testOnDevices("dispose() frees weights; a disposed model says so", async () => {
  const x = tf.tensor([[1, 1]]);
  const before = tf.memory().numTensors;
  const m = await tf.loadGraphModel(affine());
  tf.dispose(m.predict(x));
  m.dispose();
  m.dispose();
  assertEquals(tf.memory().numTensors, before);
  assertThrows(() => m.predict(x), tf.ValueError, "it is disposed");
  await assertRejects(() => m.executeAsync(x), tf.ValueError, "it is disposed");
});

testOnDevices("running a model again keeps no more tensors", async () => {
  const m = await tf.loadGraphModel(affine());
  const x = tf.tensor([[1, 1]]);
  tf.dispose(m.predict(x));
  const before = tf.memory().numTensors;
  for (let i = 0; i < 3; i++) tf.dispose(m.predict(x));
  assertEquals(tf.memory().numTensors, before);
  m.dispose();
});

testOnDevices("gradients flow through a model", async () => {
  const m = await tf.loadGraphModel(affine());
  using tape = new tf.GradientTape();
  const x = tf.tensor([[1, 4]]);
  tape.watch(x);
  const y = tf.sum(tf.square(m.predict(x) as tf.Tensor));
  // d/dx (x w + b)² = 2 (x w + b) w
  assertEquals(await rows(tape.gradient(y, x)), [[2 * 12 * 2, 2 * 32 * 3]]);
  m.dispose();
});

testOnDevices("a model is called inside tf.function()", async () => {
  const m = await tf.loadGraphModel(affine());
  const f = tf.function((x: tf.Tensor) => tf.neg(m.predict(x) as tf.Tensor));
  assertEquals(await rows(f(tf.tensor([[1, 1]]))), [[-12, -23]]);
  m.dispose();
});

const NODES = [placeholder("x", [2]), node("Neg", "y", ["x"])];

Deno.test("predict() refuses inputs that do not fit", async () => {
  const m = await tf.loadGraphModel(pair({ signature: SIGNATURE }));
  const a = tf.tensor([1]), i = tf.tensor([1], [1], "int32");
  const cases: [tf.ModelInputs, string][] = [
    [a, "it takes 2 inputs (a, b), received 1"],
    [[a, a, a], "it takes 2 inputs (a, b), received 3"],
    [{ a }, 'input "b" is missing'],
    [{ a, b: a, c: a }, 'it has no input "c"'],
    [[a, i], 'input "b" is int32, wanted float32'],
  ];
  for (const [given, text] of cases) assertThrows(() => m.predict(given), tf.ValueError, text);
  assertThrows(() => m.execute([a, a], "z"), tf.errors.NotFoundError, 'it has no tensor "z"');
  assertThrows(() => m.execute([a, a], "product:1"), tf.errors.NotFoundError, '"product:1"');
  m.dispose();
});

Deno.test("loadGraphModel() refuses what is no graph model", async () => {
  const refused = (source: unknown, error: new (...args: never[]) => Error, text: string) =>
    assertRejects(() => tf.loadGraphModel(source as tf.ModelSource), error, text);
  await refused(7, TypeError, "wanted a path, a URL or a handler");
  await refused({ modelTopology: {} }, tf.errors.DataLossError, "it has no graph");
  await refused(
    { modelTopology: { model_config: {} } },
    tf.errors.DataLossError,
    "it is a layers model",
  );
  await refused(
    model([placeholder("x", [2]), weight("w"), node("Mul", "y", ["x", "w"])]),
    tf.ValueError,
    'constant "w" has no weight',
  );
  await refused(
    model([placeholder("x", [2]), node("Neg", "y", ["z"])]),
    tf.ValueError,
    "Unknown input node 'z'",
  );
  await refused(
    model([...NODES, node("Neg", "y", ["x"])]),
    tf.ValueError,
    "Node 'y' is not unique",
  );
  await refused(
    model([node("Neg", "a", ["b"]), node("Neg", "b", ["a"])]),
    tf.ValueError,
    "part of a cycle",
  );
  await refused(
    { load: () => Promise.reject(new RangeError("no luck")) },
    RangeError,
    "no luck",
  );
});

Deno.test("loadGraphModel() names all ops that are missing, with their nodes", async () => {
  const nodes = [
    placeholder("x", [2]),
    node("NoSuchOp", "first", ["x"]),
    node("Neg", "y", ["first"]),
    node("OtherOp", "second", ["y"]),
    node("NoSuchOp", "third", ["second"]),
  ];
  const error = await assertRejects(
    () => tf.loadGraphModel(model(nodes)),
    tf.errors.NotFoundError,
  );
  assert(
    error.message.includes(
      `2 ops are not registered: 'NoSuchOp' at node "first", 'OtherOp' at node "second"`,
    ),
    error.message,
  );
});

testOnDevices("int64 becomes int32, and is wide where an op takes nothing else", async () => {
  const int = { Tidx: type("INT32"), T: type("INT64") };
  const m = await tf.loadGraphModel(model([
    placeholder("x", [-1]),
    node("Greater", "positive", ["x", "zero"]),
    weight("zero"),
    node("Where", "where", ["positive"], { T: type("BOOL") }),
    node("Shape", "shape", ["where"], { T: type("INT64"), out_type: type("INT64") }),
    node("Prod", "count", ["shape", "axis"], int),
    weight("axis", "INT32"),
  ], { zero: Float32Array.of(0), axis: Int32Array.of(0) }));
  const [where, count] = await m.executeAsync(tf.tensor([1, -1, 2]), [
    "where",
    "count",
  ]) as tf.Tensor[];
  assertEquals([where.dtype, count.dtype], ["int32", "int32"]);
  assertEquals([await rows(where), await rows(count)], [[[0], [2]], 2]);
  m.dispose();
});

testOnGpu("a model's nodes run on the GPU, whatever device TensorFlow left in them", async () => {
  const at = (n: ReturnType<typeof node>) => ({ ...n, device: "/device:CPU:0" });
  const m = await tf.loadGraphModel(model(
    [placeholder("x", [-1, -1]), at(node("MatMul", "product", ["x", "x"]))],
    {},
  ));
  const x = tf.ones([64, 64]);
  const { result, readbacks } = await tf.profile(() => m.execute(x) as tf.Tensor);
  assertEquals(readbacks, 0);
  assert(result.device.endsWith("GPU:0"), result.device);
  m.dispose();
});

testOnDevices(
  "boxes are suppressed as TensorFlow.js does: an overlap as large as the threshold goes",
  async () => {
    const m = await tf.loadGraphModel(model(
      [
        placeholder("boxes", [2, 4]),
        placeholder("scores", [2]),
        ...["most", "limit", "least"].map((n) => weight(n, n === "most" ? "INT32" : "FLOAT")),
        node("NonMaxSuppressionV3", "kept", ["boxes", "scores", "most", "limit", "least"]),
      ],
      { most: Int32Array.of(2), limit: Float32Array.of(0.5), least: Float32Array.of(0) },
    ));
    // One box is a half of the other.
    const inputs = { boxes: [[0, 0, 2, 2], [0, 0, 2, 1]], scores: [0.9, 0.8] };
    assertEquals(await rows(await m.executeAsync(inputs)), [0]);
    m.dispose();
  },
);
