/** A loaded model is changed: frozen, tapped, given a new head, and trained or not by the call. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { encodeOnnx, loadOnnx, lora, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, type Graph, model, named, node, tensor, value } from "./make_model.ts";

/** y = (x · w + b) · v, z = -x. */
const TWO_LAYERS: Graph = {
  nodes: [
    named(node("MatMul", ["x", "w"], ["xw"]), "/first"),
    node("Add", ["xw", "b"], ["hidden"]),
    node("MatMul", ["hidden", "v"], ["y"]),
    node("Neg", ["t"], ["z"]),
  ],
  inputs: [value("x", "float32", ["n", 2]), value("t", "float32", [])],
  outputs: [value("y", "float32", ["n", 1]), value("z", "float32", [])],
  initialisers: [
    tensor("w", [2, 2], floats(1, 2, 3, 4)),
    tensor("b", [2], floats(10, 20)),
    tensor("v", [2, 1], floats(1, -1)),
  ],
};

const load = async (): Promise<OnnxModel> => await loadOnnx(model(TWO_LAYERS));
const x = [[1, 1]];
const array = async (y: unknown): Promise<unknown> => await (y as tf.Tensor).array();

testOnDevices("freeze() takes names, patterns and lists, and unfreeze() gives back", async () => {
  const m = await load();
  const trainable = () =>
    Object.entries(m.variables).filter(([, v]) => v.trainable).map(([name]) => name).join();
  assertEquals(trainable(), "w,b,v");
  assertEquals([m.freeze("w"), trainable()], [["w"], "b,v"]);
  assertEquals([m.freeze(/^[bv]$/g), trainable()], [["b", "v"], ""]);
  assertEquals([m.unfreeze(["w", "?"]), trainable()], [["w", "b", "v"], "w,b,v"]);
  assertEquals([m.freeze(), trainable()], [["w", "b", "v"], ""]);
  m.unfreeze("v");
  const before = await m.variables.w.array();
  const optimizer = tf.train.sgd(0.1);
  const step = tf.function(() =>
    optimizer.minimize(() => tf.sum(m.call({ x, t: 1 }).y as tf.Tensor), true)
  );
  step();
  m.freeze("v");
  m.unfreeze("b");
  step();
  assertEquals(await m.variables.w.array(), before);
  const v = await m.variables.v.array() as number[][];
  assert(Math.abs(v[0][0] - (1 - 1.4)) < 1e-5 && Math.abs(v[1][0] - (-1 - 2.6)) < 1e-5, `${v}`);
  const b = await m.variables.b.array() as number[];
  assert(Math.abs(b[0] - 10.04) < 1e-5 && Math.abs(b[1] - 20.36) < 1e-5, `${b}`);
});

Deno.test("freeze() names what there is where nothing fits", async () => {
  const m = await load();
  assertThrows(() => m.freeze("none*"), tf.ValueError, `none is called none*, there is "w", "b"`);
  assertThrows(() => m.freeze(3 as never), tf.ValueError, "wanted a text or a regular expression");
});

testOnDevices("run() gives tensors within the graph, and needs no inputs for others", async () => {
  const m = await load();
  const got = await m.run({ x }, { outputs: ["hidden", "/first", "w", "x"] });
  assertEquals(Object.keys(got), ["hidden", "/first", "w", "x"]);
  assertEquals(await Promise.all(Object.values(got).map(array)), [
    [[14, 26]],
    [[4, 6]],
    [[1, 2], [3, 4]],
    [[1, 1]],
  ]);
  assertEquals(await array((await m.run({ t: 3 }, { outputs: ["z"] })).z), -3);
  assertEquals(await array(m.runEagerly({ x }, { outputs: ["hidden"] }).hidden), [[14, 26]]);
  const f = tf.function((t: tf.Tensor) => m.call({ x: t }, { outputs: ["hidden"] }).hidden);
  assertEquals(await array(f(tf.tensor(x))), [[14, 26]]);
  assertThrows(() => m.call({ t: 1 }), tf.ValueError, `"x" is missing`);
  assertThrows(
    () => m.call({ x }, { outputs: ["hid"] }),
    tf.ValueError,
    `no tensor "hid"; there is "hidden"`,
  );
});

testOnDevices(
  "replace() puts a function in the place of an output or of a tensor within",
  async () => {
    const m = await load();
    m.replace("hidden", (h) => tf.mul(h, 2));
    assertEquals(await array((await m.run({ x, t: 0 })).y), [[-24]]);
    m.replace("y", (y) => tf.add(y, 1));
    assertEquals(await array((await m.run({ x, t: 0 })).y), [[-23]]);
    // A later function gets what an earlier one made.
    m.replace("hidden", (h) => tf.add(h, 100));
    assertEquals(await array(m.call({ x, t: 0 }).y), [[-23]]);
    assertEquals(await array(m.call({ x }, { outputs: ["hidden"] }).hidden), [[128, 152]]);
    // A head of other tensors: what only the old one read is not computed.
    m.replace("y", ([xw, h]) => tf.concat([xw, h], 1), { from: ["/first", "hidden"] });
    assertEquals(await array(m.call({ x, t: 0 }).y), [[4, 6, 128, 152]]);
  },
);

testOnDevices("replace() takes scripts that await in the middle of a model", async () => {
  const m = await load();
  const double = async (h: tf.Tensor): Promise<tf.Tensor> => {
    await h.data();
    return tf.mul(h, 2);
  };
  const shapeFn = () => [[null, 2]];
  m.replace(
    "hidden",
    (h) => tf.pyFunction(double as never, [h], "float32", { shapeFn }) as tf.Tensor,
  );
  assertEquals(await array((await m.run({ x, t: 0 })).y), [[-24]]);
  // Ops after a script know its rank by the types that the file tells.
  const own = await loadOnnx(
    model({
      ...TWO_LAYERS,
      nodes: [
        node("MatMul", ["x", "w"], ["xw"]),
        node("Own", ["xw"], ["hidden"], {}, "acme"),
        ...TWO_LAYERS.nodes.slice(2),
      ],
      types: [value("hidden", "float32", ["n", 7])],
    }),
    { scripts: { "acme:Own": double } },
  );
  assertEquals(await array((await own.run({ x, t: 0 })).y), [[-4]]);
});

testOnDevices("replace() makes variables of a head once, for traces of many shapes", async () => {
  const m = await load();
  let made = 0;
  m.replace("y", (h, variable) => {
    const w = variable("kernel", () => {
      made++;
      return tf.ones([h.shape.at(-1) as number, 3]);
    });
    return tf.matMul(h, w);
  }, { from: "hidden" });
  for (let n = 1; n < 7; n++) {
    const { y } = await m.run({ x: new Array(n).fill(x[0]), t: 0 });
    assertEquals(await array(y), new Array(n).fill([40, 40, 40]));
  }
  assertEquals([made, Object.keys(m.variables).join()], [1, "w,b,v,y/kernel"]);
  m.freeze();
  m.unfreeze("y/*");
  const optimizer = tf.train.sgd(0.001);
  const f = tf.function(() => optimizer.minimize(() => tf.sum(m.call({ x, t: 0 }).y as tf.Tensor)));
  f();
  const tensors = tf.memory().numTensors;
  f();
  assertEquals(tf.memory().numTensors, tensors);
  const [[first]] = await array(m.variables["y/kernel"]) as number[][];
  assert(Math.abs(first - 0.972) < 1e-6, `${first}`);
  m.dispose();
  assert(m.variables["y/kernel"].isDisposed);
});

Deno.test("replace() refuses what cannot be", async () => {
  const m = await load();
  const cases: [() => void, string][] = [
    [() => m.replace("none", (y) => y), `it has no tensor "none"`],
    [() => m.replace("x", (y) => y), `"x" is no result of a node`],
    [
      () => m.replace("hidden", (y) => y, { from: "y" }),
      `its function reads a tensor that is made of it`,
    ],
  ];
  for (const [act, why] of cases) assertThrows(act, tf.ValueError, why);
  assertThrows(() => m.replace("y", 3 as never), TypeError, "must be a function");
  // Refused changes leave the model as it was.
  assertEquals(await array(m.call({ x, t: 0 }).y), [[-12]]);
});

/** y = Dropout(x), n = BatchNorm(x) of two channels. */
const MODES = (opset: number): Graph & { opset: number } => ({
  opset,
  nodes: [
    opset < 12
      ? node("Dropout", ["x"], ["y", "mask"], { ratio: 0.25 })
      : node("Dropout", ["x", "ratio"], ["y", "mask"]),
    node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["n"], {
      momentum: 0.5,
    }),
  ],
  inputs: [value("x", "float32", [4, 2, 3])],
  outputs: [value("y", "float32", [4, 2, 3]), value("n", "float32", [4, 2, 3])],
  initialisers: [
    tensor("ratio", [], floats(0.25)),
    tensor("scale", [2], floats(1, 2)),
    tensor("bias", [2], floats(0, 1)),
    tensor("mean", [2], floats(0, 0)),
    tensor("variance", [2], floats(1, 1)),
  ],
});

testOnDevices("training drops elements and takes statistics of the batch", async () => {
  for (const opset of [9, 12, 15]) {
    const m = await loadOnnx(model(MODES(opset)));
    const image = tf.reshape(tf.range(0, 24), [4, 2, 3]);
    const still = m.call({ x: image });
    assertEquals(await array(still.y), await array(image));
    assertEquals(await array(m.variables.mean), [0, 0]);
    for (const how of ["eagerly", "call", "in a function"]) {
      m.variables.mean.assign([0, 0]);
      m.variables.variance.assign([1, 1]);
      const call = (t: tf.Tensor) => m.call({ x: t }, { training: true });
      const { y, n } = how === "eagerly"
        ? m.runEagerly({ x: image }, { training: true })
        : how === "call"
        ? call(image)
        : tf.function(call)(image);
      const values = await (y as tf.Tensor).data() as Float32Array;
      const kept = values.filter((v) => v !== 0).length;
      assert(kept < 24, `${how}: ${kept} of 24 are kept`);
      for (const [i, v] of values.entries()) assert(v === 0 || Math.abs(v - i / 0.75) < 1e-5, how);
      // Each channel of the batch has the mean 0 and the variance 1, then its scale and bias.
      const mean = await array(tf.mean(n as tf.Tensor, [0, 2])) as number[];
      assert(Math.abs(mean[0]) < 1e-5 && Math.abs(mean[1] - 1) < 1e-5, `${how}: ${mean}`);
      const near = (got: unknown, want: number[]) =>
        (got as number[]).forEach((v, i) => assert(Math.abs(v - want[i]) < 1e-3, `${how}: ${got}`));
      near(await array(m.variables.mean), [5, 6.5]);
      near(
        await array(m.variables.variance),
        [23.3333, 23.3333],
      );
    }
    assertEquals(m.variables.mean.trainable, false);
    m.unfreeze();
    assertEquals(m.variables.mean.trainable, false);
  }
});

testOnDevices(
  "training: false takes running statistics where the file was saved in training",
  async () => {
    const graph = MODES(15);
    const nodes = [
      node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["n", "m2", "v2"], {
        training_mode: 1n,
      }),
    ];
    const m = await loadOnnx(model({ ...graph, nodes, outputs: graph.outputs.slice(1) }));
    const image = tf.reshape(tf.range(0, 24), [4, 2, 3]);
    const saved = await array(m.call({ x: image }).n);
    assertEquals(await array(m.call({ x: image }, { training: true }).n), saved);
    m.variables.mean.assign([0, 0]);
    m.variables.variance.assign([1, 1]);
    const [[[, second]]] = await array(m.call({ x: image }, { training: false }).n) as number[][][];
    assert(Math.abs(second - 1) < 1e-4, `${second}`);
  },
);

testOnDevices("encodeOnnx() writes a model with a new head and adapters as nodes", async () => {
  const m = await load();
  m.replace(
    "y",
    (h, variable) => tf.tanh(tf.matMul(h, variable("kernel", () => tf.ones([2, 3])))),
    {
      from: "hidden",
    },
  );
  const { variables } = lora(m, { rank: 1, seed: 2, targets: "/first" });
  variables["w.lora_B"].assign([[0.5, -1]]);
  const want = await array(m.call({ x: [[0.1, -0.2]], t: 1 }).y);
  const again = await loadOnnx(encodeOnnx(m));
  assertEquals(
    Object.keys(again.variables).sort(),
    Object.keys(m.variables).filter((n) => n !== "v").sort(),
  );
  const got = await array(again.call({ x: [[0.1, -0.2]], t: 1 }).y);
  (got as number[][])[0].forEach((v, i) => assert(Math.abs(v - (want as number[][])[0][i]) < 1e-5));
});
