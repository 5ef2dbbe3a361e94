/** TensorFlow.js's layers, data and converter, unmodified over Weft: training, saving, loading, pipelines. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as tf from "@weft/weft/tfjs-core";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import type { Any } from "../script/helpers.ts";
import { tfjsPackages } from "../../tools/tfjs_packages.ts";

const { tfl, data, converter } = await tfjsPackages();

/** Trains a model on made data, and says how its loss began and ended. */
async function fit(model: Any, x: tf.Tensor, y: tf.Tensor): Promise<[number, number]> {
  const { history } = await model.fit(x, y, {
    epochs: 8,
    batchSize: 16,
    shuffle: false,
    verbose: 0,
  });
  return [history.loss[0], history.loss.at(-1)];
}

/** Models by name: their layers, and the shapes of one input and one output. */
const MODELS: readonly {
  readonly name: string;
  readonly layers: () => Any[];
  readonly input: number[];
  readonly loss: string;
  readonly optimizer: string;
}[] = [
  {
    name: "an MLP",
    layers: () => [
      tfl.layers.dense({ units: 16, activation: "relu", inputShape: [8] }),
      tfl.layers.batchNormalization(),
      tfl.layers.dropout({ rate: 0.1, seed: 1 }),
      tfl.layers.dense({ units: 3, activation: "softmax" }),
    ],
    input: [8],
    loss: "categoricalCrossentropy",
    optimizer: "adam",
  },
  {
    name: "a CNN",
    layers: () => [
      tfl.layers.conv2d({ filters: 4, kernelSize: 3, activation: "relu", inputShape: [8, 8, 1] }),
      tfl.layers.maxPooling2d({ poolSize: 2 }),
      tfl.layers.depthwiseConv2d({ kernelSize: 2, padding: "same" }),
      tfl.layers.globalAveragePooling2d({}),
      tfl.layers.dense({ units: 3, activation: "softmax" }),
    ],
    input: [8, 8, 1],
    loss: "categoricalCrossentropy",
    optimizer: "rmsprop",
  },
  {
    name: "an LSTM",
    layers: () => [
      tfl.layers.lstm({ units: 6, inputShape: [5, 4], returnSequences: true }),
      tfl.layers.bidirectional({ layer: tfl.layers.gru({ units: 4 }), mergeMode: "concat" }),
      tfl.layers.dense({ units: 3, activation: "softmax" }),
    ],
    input: [5, 4],
    loss: "categoricalCrossentropy",
    optimizer: "adamax",
  },
];

function madeData(input: readonly number[]): { x: tf.Tensor; y: tf.Tensor } {
  const size = input.reduce((a, b) => a * b, 1), n = 48;
  const values = Float32Array.from({ length: n * size }, (_, i) => Math.sin(i * 12.9898) % 1);
  const classes = Int32Array.from(
    { length: n },
    (_, i) => values[i * size] > 0.3 ? 2 : values[i * size] > -0.3 ? 1 : 0,
  );
  return {
    x: tf.tensor(values, [n, ...input]),
    y: tf.cast(tf.oneHot(tf.tensor1d(classes, "int32"), 3), "float32"),
  };
}

for (const { name, layers, input, loss, optimizer } of MODELS) {
  testOnDevices(`model.fit() trains ${name}, and a saved model predicts the same`, async () => {
    using scope = weftScope();
    const model = tfl.sequential({ layers: layers() });
    model.compile({ optimizer, loss, metrics: ["accuracy"] });
    const { x, y } = madeData(input);
    const [first, last] = await fit(model, x, y);
    assert(last < first && Number.isFinite(last), `the loss went from ${first} to ${last}`);

    const saved: Any = {};
    await model.save(
      tf.io.withSaveHandler((artifacts: Any) => {
        Object.assign(saved, artifacts);
        return Promise.resolve({
          modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(artifacts),
        });
      }),
      { includeOptimizer: true },
    );
    assertEquals(saved.weightSpecs.length > model.weights.length, true);
    const loaded = await tfl.loadLayersModel(tf.io.fromMemory(saved));
    const predicted: Any = model.predict(x), again: Any = loaded.predict(x);
    assertEquals([...await again.data()], [...await predicted.data()]);
    void scope;
  });
}

/** Owns what layers make, which TensorFlow.js's programs dispose by hand. */
function weftScope(): Disposable {
  tf.engine().startScope("test");
  return {
    [Symbol.dispose]() {
      tf.engine().endScope();
      tf.disposeVariables();
    },
  };
}

testOnDevices("a training step leaves no tensor behind", async () => {
  const model = tfl.sequential({ layers: MODELS[0].layers() });
  model.compile({ optimizer: "adam", loss: "categoricalCrossentropy" });
  const { x, y } = madeData([8]);
  await model.fit(x, y, { epochs: 1, batchSize: 16, verbose: 0 });
  const before = tf.memory().numTensors;
  await model.fit(x, y, { epochs: 2, batchSize: 16, verbose: 0 });
  (model.predict(x) as Any).dispose();
  assertEquals(tf.memory().numTensors, before);
  model.dispose();
  tf.disposeVariables();
});

testOnDevices("a model may freeze layers, stop early and be trained from a dataset", async () => {
  using scope = weftScope();
  const frozen = tfl.layers.dense({ units: 4, inputShape: [8], trainable: false });
  const model = tfl.sequential({
    layers: [frozen, tfl.layers.dense({ units: 3, activation: "softmax" })],
  });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: "categoricalCrossentropy" });
  const [weights] = frozen.getWeights();
  const start = [...await weights.data()];
  const { x, y } = madeData([8]);
  const xs = data.array(await x.array()), ys = data.array(await y.array());
  const set = data.zip({ xs, ys }).map((row: Any) => row).shuffle(16, "seed").batch(8);
  const stop = tfl.callbacks.earlyStopping({ monitor: "loss", patience: 1, minDelta: 10 });
  const { epoch } = await model.fitDataset(set, { epochs: 9, verbose: 0, callbacks: stop });
  assertEquals(epoch, [0, 1]);
  assertEquals([...await frozen.getWeights()[0].data()], start);
  void scope;
});

testOnDevices("tf.data's pipelines of TensorFlow.js run", async () => {
  const csv = "a,b\n1,2\n3,4\n";
  const set = data.csv(`data:text/csv,${encodeURIComponent(csv)}`);
  assertEquals(await set.toArray(), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
  const squares = data.generator(function* () {
    for (let i = 0; i < 4; i++) yield i;
  }).map((x: number) => tf.square(x)).batch(3);
  const sizes: number[][] = [];
  await squares.forEachAsync((t: tf.Tensor) => sizes.push([...t.dataSync() as Float32Array]));
  assertEquals(sizes, [[0, 1, 4], [9]]);
});

/** A graph as the converter writes it: softmax(x · w). */
const GRAPH = {
  node: [
    {
      name: "x",
      op: "Placeholder",
      attr: {
        dtype: { type: "DT_FLOAT" },
        shape: { shape: { dim: [{ size: "-1" }, { size: "2" }] } },
      },
    },
    { name: "w", op: "Const", attr: { dtype: { type: "DT_FLOAT" } } },
    {
      name: "m",
      op: "MatMul",
      input: ["x", "w"],
      attr: { T: { type: "DT_FLOAT" }, transpose_a: { b: false }, transpose_b: { b: false } },
    },
    { name: "y", op: "Softmax", input: ["m"], attr: { T: { type: "DT_FLOAT" } } },
  ],
  library: {},
  versions: {},
};

testOnDevices("the converter's loadGraphModel() runs a graph", async () => {
  using scope = weftScope();
  const w = tf.tensor2d([[1, 2], [3, 4]]);
  const { data: weightData, specs: weightSpecs } = await tf.io.encodeWeights({ w });
  const model = await converter.loadGraphModel(
    tf.io.fromMemory({ modelTopology: GRAPH, weightSpecs, weightData }),
  );
  const y = model.predict(tf.tensor2d([[1, 1]])), wanted = tf.softmax(tf.tensor2d([[4, 6]]));
  tf.test_util.expectArraysClose(await y.data(), await wanted.data(), 1e-6);
  void scope;
});

testOnDevices("classes of a program's own are layers, optimizers and callbacks", async () => {
  using scope = weftScope();
  class Scale extends tfl.layers.Layer {
    static className = "Scale";
    computeOutputShape(shape: Any): Any {
      return shape;
    }
    call(inputs: Any): tf.Tensor {
      return tf.tidy(() => tf.mul(Array.isArray(inputs) ? inputs[0] : inputs, 2));
    }
  }
  tf.serialization.registerClass(Scale as Any);
  class Halving extends tf.Optimizer {
    static className = "Halving";
    applyGradients(gradients: Any): void {
      const list = Array.isArray(gradients)
        ? gradients
        : Object.entries(gradients).map(([name, tensor]) => ({ name, tensor }));
      for (const { name, tensor } of list) {
        const v = tf.engine().state.registeredVariables[name];
        tf.tidy(() => v.assign(tf.sub(v, tf.mul(tensor, 0.05))));
      }
      this.incrementIterations();
    }
    override getConfig() {
      return {};
    }
  }
  const optimizer = new Halving() as Any;
  const model = tfl.sequential({
    layers: [tfl.layers.dense({ units: 1, inputShape: [1] }), new (Scale as Any)({})],
  });
  model.compile({ optimizer, loss: "meanSquaredError" });
  let batches = 0;
  const { history } = await model.fit(tf.tensor2d([[1], [2]]), tf.tensor2d([[2], [4]]), {
    epochs: 20,
    verbose: 0,
    callbacks: { onBatchEnd: () => void batches++ },
  });
  assert(history.loss.at(-1) < history.loss[0]);
  assertEquals([batches, optimizer.iterations], [20, 20]);
  assert(optimizer instanceof tf.Optimizer && tf.train.adam(0.1) instanceof tf.Optimizer);
  void scope;
});
