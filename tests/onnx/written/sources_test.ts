/** encodeOnnx(): functions, models of other files, options, and what is refused. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import * as compat from "@weft/weft/tfjs-core";
import {
  encodeOnnx,
  encodeOnnxAsync,
  inspectOnnx,
  loadOnnx,
  onnxPortability,
} from "@weft/weft/onnx";
import { loadSavedModel, saveModel } from "@weft/weft/tf";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";
import { testOnDevices } from "../../devices.ts";
import { model as graphModel, node, placeholder, weight } from "../../graph_model/models.ts";

type Exportable = Parameters<typeof encodeOnnx>[0];

const X = [[1, -2, 3], [0.5, 0, -1]];

function named(
  fn: (...xs: tf.Tensor[]) => unknown,
  shape: readonly (number | null)[] | null = [null, 3],
  dtype: tf.DType = "float32",
): Exportable {
  return tf.function(fn, {
    inputSignature: [tf.TensorSpec(shape && [...shape], dtype, "x")],
  });
}

async function outputOf(bytes: Uint8Array, x: tf.TensorLike = X): Promise<unknown> {
  const model = await loadOnnx(bytes), results = await model.run({ [model.inputs[0].name]: x });
  const [first] = Object.values(results);
  const found = await (first as tf.Tensor).array();
  model.dispose();
  return found;
}

testOnDevices("encodeOnnx() keeps names of inputs, outputs, extents and variables", async () => {
  const w = tf.variable([[1], [2], [3]], true, `dense/kernel`);
  const f = named((x) => ({ logits: tf.matMul(x, w), x2: [tf.neg(x), tf.abs(x)] }));
  const bytes = encodeOnnx(f, { dimensions: { x: ["batch", null] } });
  const { inputs, outputs, opsets } = await inspectOnnx(bytes);
  assertEquals([inputs, opsets], [{ x: "float32[batch, 3]" }, { "ai.onnx": 18 }]);
  assertEquals(Object.keys(outputs), ["logits", "x2_0", "x2_1"]);
  const model = await loadOnnx(bytes);
  assertEquals(Object.keys(model.variables), ["dense/kernel"]);
  w.assign([[0], [0], [1]]);
  assertEquals(await outputOf(encodeOnnx(f)), [[3], [-1]]);
  const other = await inspectOnnx(
    encodeOnnx(f, { outputNames: ["a", "b", "c"], inputNames: ["in"] }),
  );
  assertEquals([Object.keys(other.inputs), Object.keys(other.outputs)], [["in"], ["a", "b", "c"]]);
  w.dispose();
});

testOnDevices("encodeOnnxAsync() writes the same bytes", async () => {
  const w = tf.variable([1, 2, 3]), held = tf.tensor([4, 5, 6]);
  const f = named((x) => tf.add(tf.mul(x, w), held));
  assertEquals(await encodeOnnxAsync(f), encodeOnnx(f));
});

Deno.test("encodeOnnx() writes large constants into a file beside the model", async () => {
  await tf.setBackend("cpu");
  const w = tf.variable(tf.ones([3, 400]));
  const f = named((x) => tf.sum(tf.matMul(x, w), 1));
  const files = encodeOnnx(f, { externalData: true });
  assertEquals(Object.keys(files), ["model.onnx", "model.onnx_data"]);
  assert(files["model.onnx"].length < 1000 && files["model.onnx_data"].length === 4800);
  const model = await loadOnnx(files["model.onnx"], {
    externalData: { "model.onnx_data": files["model.onnx_data"] },
  });
  const { output } = await model.run({ x: X });
  assertEquals(await (output as tf.Tensor).array(), [800, -200]);
});

testOnDevices(
  "encodeOnnx() writes a loaded model of ONNX after training, and its replacements",
  async () => {
    const w = tf.variable([[1], [2], [3]], true, "w");
    const model = await loadOnnx(encodeOnnx(named((x) => ({ y: tf.matMul(x, w) }))));
    model.variables.w.assign([[1], [1], [1]]);
    const again = await loadOnnx(encodeOnnx(model));
    assertEquals([again.inputs[0].name, Object.keys(again.variables)], ["x", ["w"]]);
    assertEquals(await outputOf(encodeOnnx(model)), [[2], [-0.5]]);
    model.replace("y", (y: tf.Tensor) => tf.square(y));
    assertEquals(await outputOf(encodeOnnx(model)), [[4], [0.25]]);
    w.dispose();
  },
);

testOnDevices("encodeOnnx() writes a graph model of TensorFlow.js", async () => {
  const m = await tf.loadGraphModel(graphModel([
    placeholder("x", [-1, 3]),
    weight("w"),
    node("Mul", "xw", ["x", "w"]),
    node("Relu", "y", ["xw"]),
  ], { w: Float32Array.of(1, 2, 3) }));
  const wanted = await (m.predict(tf.tensor(X)) as tf.Tensor).array();
  const bytes = encodeOnnx(m);
  const { inputs, outputs } = await inspectOnnx(bytes);
  assertEquals([Object.keys(inputs), Object.keys(outputs)], [["x"], ["y"]]);
  assertEquals(await outputOf(bytes), wanted);
});

testOnDevices("encodeOnnx() writes a signature of a SavedModel", async () => {
  const folder = await Deno.makeTempDir();
  const w = tf.variable([1, 2, 3]);
  const f = tf.function((x: tf.Tensor) => ({ y: tf.mul(x, w) }), {
    inputSignature: [tf.TensorSpec([null, 3], "float32", "x")],
  });
  await saveModel(folder, { signatures: { serving_default: f } });
  const saved = await loadSavedModel(folder);
  const bytes = encodeOnnx(saved.signatures.serving_default);
  assertEquals(Object.keys((await inspectOnnx(bytes)).outputs), ["y"]);
  assertEquals(await outputOf(bytes), [[1, -4, 9], [0.5, 0, -3]]);
  saved.dispose();
  await Deno.remove(folder, { recursive: true });
});

const { tfl } = await tfjsPackages();

testOnDevices("encodeOnnx() writes models of tfjs-layers", async (device) => {
  await compat.setBackend(device);
  const { layers } = tfl;
  for (
    const made of [
      [
        layers.conv2d({ filters: 4, kernelSize: 3, activation: "relu", inputShape: [8, 8, 1] }),
        layers.batchNormalization(),
        layers.maxPooling2d({ poolSize: 2 }),
        layers.globalAveragePooling2d({}),
        layers.dense({ units: 3, activation: "softmax" }),
      ],
      [
        layers.dense({ units: 4, activation: "elu", inputShape: [3] }),
        layers.dropout({ rate: 0.5 }),
        layers.dense({ units: 2 }),
      ],
    ]
  ) {
    const model = tfl.sequential({ layers: made });
    const shape = [1, ...model.inputs[0].shape.slice(1)];
    const size = shape.reduce((a: number, b: number) => a * b);
    const image = tf.div(tf.reshape(tf.range(0, size), shape), 50);
    const wanted = (await model.predict(image).array()) as number[][];
    const found = (await outputOf(encodeOnnx(model), image)) as number[][];
    wanted.flat().forEach((v, i) => assert(Math.abs(v - found.flat()[i]) < 1e-5));
  }
});

const scaled = tf.registerScript(
  "weft.tests.onnx.scaled@1",
  (x: tf.NdArray) => x.map((v) => Number(v) * 10),
);

testOnDevices("script ops are refused, or nodes of a domain that loadOnnx() fills", async () => {
  const f = named((x) => tf.numpyFunction(scaled, [x], tf.TensorSpec([null, 3], "float32")));
  const [{ op, reason }] = onnxPortability(f);
  assertEquals([op, reason.includes("weft.tests.onnx.scaled@1")], ["PyFunc", true]);
  assertThrows(() => encodeOnnx(f), tf.errors.UnimplementedError, 'pass { scripts: "domain" }');
  const bytes = encodeOnnx(f, { scripts: "acme" }), name = "acme:weft_tests_onnx_scaled_1";
  const model = await loadOnnx(bytes, { scripts: { [name]: (x: tf.Tensor) => tf.mul(x, 10) } });
  const [y] = Object.values(await model.run({ x: X }));
  assertEquals(await (y as tf.Tensor).array(), X.map((row) => row.map((v) => v * 10 + 0)));
});

Deno.test("encodeOnnx() lists all nodes without a counterpart at once", () => {
  const f = named((x) => {
    const square = tf.matMul(x, x, true);
    return tf.cond(
      tf.greater(tf.sum(x), 0),
      () => tf.linalg.inv(square),
      () => tf.linalg.cholesky(square),
    );
  });
  assertEquals(
    onnxPortability(f).map((n) => [n.op, n.function !== undefined]),
    [["MatrixInverse", true], ["Cholesky", true]],
  );
  const error = assertThrows(() => encodeOnnx(f), tf.errors.UnimplementedError);
  assert(/2 nodes: .*MatrixInverse.*Cholesky/.test(error.message), error.message);
});

Deno.test("encodeOnnx() refuses gradients of branches, loops and scans: it leaves out no output", () => {
  const bodies: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
    "a branch": (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.square(x), () => tf.sin(x)),
    "a loop": (x) =>
      tf.whileLoop(
        (a: tf.Tensor) => tf.less(tf.sum(a), 9),
        (a: tf.Tensor) => [tf.square(a)],
        [x],
      )[0]!,
    "a scan": (x) => tf.scan((a, e) => tf.mul(tf.sin(a), e), x),
    "a map": (x) => tf.mapFn((e) => tf.sin(e), x),
  };
  for (const [name, body] of Object.entries(bodies)) {
    const f = named((x) => tf.grad((v) => tf.sum(body(v)))(x));
    assertEquals(onnxPortability(f).map((n) => n.op), ["TapeGradient"], name);
    assertThrows(() => encodeOnnx(f), tf.errors.UnimplementedError, "TapeGradient");
    assertEquals(onnxPortability(named(body)), [], name);
  }
});

Deno.test("encodeOnnx() refuses what it cannot write, and says why", async () => {
  await tf.setBackend("cpu");
  const v = tf.variable([1, 2, 3], true, "counted");
  const square = (x: tf.Tensor): tf.Tensor => tf.square(x);
  const cases: readonly [string, () => Exportable, object | undefined, string][] = [
    ["no signature", () => tf.function(square) as never, undefined, "wanted an inputSignature"],
    ["a plain function", () => square as never, undefined, "plain function"],
    ["no function", () => 3 as never, undefined, "received"],
    [
      "no name",
      () => tf.function(square, { inputSignature: [tf.TensorSpec([3], "float32")] }) as Exportable,
      undefined,
      "input 0 has no name",
    ],
    [
      "a name twice",
      () =>
        tf.function((a: tf.Tensor, b: tf.Tensor) => tf.add(a, b), {
          inputSignature: ["x", "x"].map((name) => tf.TensorSpec([3], "float32", name)),
        }) as Exportable,
      undefined,
      'two of its inputs are named "x"',
    ],
    [
      "an output named as an input",
      () => named((x) => ({ x: tf.neg(x) })),
      undefined,
      'are named "x"',
    ],
    [
      "assignment",
      () => named((x) => tf.add(v.assignAdd(tf.sum(x, 0)) as tf.Tensor, 1)),
      undefined,
      "variables that a run changes",
    ],
    [
      "a function of complex numbers",
      () => named((x) => tf.abs(tf.asin(tf.complex(x, x)))),
      undefined,
      "no complex numbers",
    ],
    [
      "complex numbers in a branch",
      () =>
        named((x) => {
          const z = tf.complex(x, x), isBig = tf.greater(tf.sum(x), 0);
          return tf.real(tf.cond(isBig, () => tf.mul(z, z), () => z));
        }),
      undefined,
      "no complex numbers",
    ],
    ["a complex output", () => named((x) => tf.complex(x, x)), undefined, "complex"],
    [
      "a composite",
      () => named((x) => tf.RaggedTensor.fromTensor(x)),
      undefined,
      "return its parts",
    ],
    ["no output", () => named(() => null), undefined, "returns no tensor"],
    [
      "an unknown rank",
      () => named((x) => tf.argMax(x, 0), null),
      undefined,
      "rank",
    ],
    ["an old version", () => named(square), { opset: 13 }, "wanted 17 to 21"],
    ["a domain that is none", () => named(square), { scripts: "a b" }, "wanted a domain"],
    ["too many names", () => named(square), { outputNames: ["a", "b"] }, "outputNames has 2 names"],
    ["dimensions that do not fit", () => named(square), { dimensions: { x: ["n"] } }, "dimensions"],
    ["an unknown option", () => named(square), { version: 3 }, "version"],
  ];
  for (const [name, f, options, text] of cases) {
    const error = assertThrows(
      () => encodeOnnx(f(), options as never),
      Error,
      undefined,
      name,
    ) as Error;
    assert(error.message.includes(text), `${name}: ${error.message}`);
    const again = await assertRejects(() => encodeOnnxAsync(f(), options as never)) as Error;
    assert(again.message.includes(text), `${name}: ${again.message}`);
  }
});

testOnDevices(
  "encodeOnnx() writes complex variables and captured numbers by their parts",
  async () => {
    const z = tf.variable(tf.complex([1, 2, 3], [0, 1, -1])), w = tf.complex(2, -1);
    const f = named((x) => tf.real(tf.mul(tf.mul(tf.cast(x, "complex64"), z), w)), [3]);
    assertEquals(await outputOf(encodeOnnx(f), tf.tensor([1, 10, 100])), [2, 50, 500]);
  },
);

testOnDevices(
  "encodeOnnx() writes scalars, nothing, names of all kinds and every dtype",
  async () => {
    assertEquals(await outputOf(encodeOnnx(named((x) => tf.add(x, 1), [])), 2), 3);
    assertEquals(
      await outputOf(encodeOnnx(named((x) => tf.concat([x, x]), [0, 2])), tf.zeros([0, 2])),
      [],
    );
    const odd = tf.function((x: tf.Tensor) => ({ "out put/é:0": tf.relu(tf.neg(x)) }), {
      inputSignature: [tf.TensorSpec([2], "float32", "Relu")],
    });
    assertEquals(Object.keys((await inspectOnnx(encodeOnnx(odd))).outputs), ["out put/é:0"]);
    assertEquals(await outputOf(encodeOnnx(odd), [1, -1]), [0, 1]);
    for (
      const dtype of [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "float64",
      ] as const
    ) {
      const f = named((x) => tf.maximum(tf.sub(tf.mul(x, x), x), x), [3], dtype);
      const x = tf.cast(tf.tensor([1, 2, 5]), dtype);
      const wanted = await (f as unknown as (x: tf.Tensor) => tf.Tensor)(x).array();
      assertEquals(await outputOf(encodeOnnx(f), x), wanted, dtype);
    }
  },
);
