/** Steps of TensorFlow.js's layers through `tf.function`: the numbers of op by op, and which models run so. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as tf from "@weft/weft/tfjs-core";
import { trace } from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices, testOnGpu } from "../devices.ts";
import type { Any } from "../script/helpers.ts";
import { tfjsPackages } from "../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
const { layers, regularizers } = tfl;

/** Two batches an epoch, so that `fit` and `evaluate` run compiled from the ninth on. */
const ROWS = 8, BATCH = 4, EPOCHS = 10;
/** Steps of each that run compiled. */
const COMPILED = 2 * EPOCHS - 16;

/** Owns what layers make. */
function ownScope(): Disposable {
  tf.engine().startScope("test");
  return {
    [Symbol.dispose]() {
      tf.engine().endScope();
      tf.disposeVariables();
    },
  };
}

function values(shape: readonly number[], seed: number): tf.Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Float32Array.from({ length: size }, (_, i) => Math.sin(i * 1.7 + seed)), [
    ...shape,
  ]);
}

/** A class for each row, one after another. */
function classes(count: number): tf.Tensor {
  const indices = Int32Array.from({ length: ROWS }, (_, i) => i % count);
  return tf.cast(tf.oneHot(indices, count), "float32");
}

/** Gives all weights the same values each time. */
function setWeights(model: Any): void {
  model.setWeights(
    model.getWeights().map((w: tf.Tensor, i: number) =>
      tf.add(tf.mul(values(w.shape, i), 0.3), /moving_variance/.test(w.name) ? 1 : 0)
    ),
  );
}

/** The results of a model on its data. */
interface Run {
  readonly numbers: number[];
  /** Steps that ran compiled, and why others did not. */
  readonly compiled: number;
  readonly reasons: string[];
}

/** A model to be trained, with what differs from the usual. */
interface Case {
  readonly input?: readonly number[];
  readonly make: () => Any;
  readonly compile?: () => Any;
  readonly fit?: (model: Any) => Any;
  readonly targets?: () => Any;
}

async function run(
  { make, input = [6], compile, fit, targets }: Case,
  isOn: boolean,
): Promise<Run> {
  using _ = ownScope();
  tf.env().set("WEFT_COMPILE_LAYERS", isOn);
  try {
    const model = make();
    setWeights(model);
    model.compile({ optimizer: tf.train.adam(0.01), loss: "meanSquaredError", ...compile?.() });
    const x = values([ROWS, ...input], 1), y = targets?.() ?? values([ROWS, 3], 2);
    const { result: numbers, trace: { traceEvents } } = await trace(async () => {
      const { history } = await model.fit(x, y, {
        epochs: EPOCHS,
        batchSize: BATCH,
        shuffle: false,
        verbose: 0,
        validationData: [x, y],
        validationBatchSize: BATCH,
        ...fit?.(model),
      });
      const predicted = [model.predict(x, { batchSize: BATCH })].flat();
      const numbers = Object.values(history as Record<string, number[]>).flat();
      for (const t of predicted) numbers.push(...await t.data());
      for (const w of model.getWeights()) numbers.push(...await w.data());
      return numbers;
    });
    const steps = traceEvents.map(({ args }) => args).filter((a) => a?.compiled !== undefined);
    return {
      numbers,
      compiled: steps.filter((a) => a!.compiled).length,
      reasons: [...new Set(steps.map((a) => a!.reason as string).filter((r) => r !== undefined))],
    };
  } finally {
    tf.env().set("WEFT_COMPILE_LAYERS", true);
  }
}

const dense = (units: number, more: Any = {}) => layers.dense({ units, ...more });
const sequential = (...list: Any[]) => tfl.sequential({ layers: list });

const PURE: Readonly<Record<string, Case>> = {
  "batch normalization, regularizers and metrics": {
    make: () =>
      sequential(
        dense(8, {
          activation: "relu",
          inputShape: [6],
          kernelRegularizer: regularizers.l1l2({ l1: 0.01, l2: 0.01 }),
        }),
        layers.batchNormalization(),
        dense(3, { activation: "softmax" }),
      ),
    compile: () => ({ loss: "categoricalCrossentropy", metrics: ["accuracy", "mse"] }),
    targets: () => classes(3),
  },
  "convolutions and a merge": {
    input: [6, 6, 1],
    make() {
      const x = tfl.input({ shape: [6, 6, 1] });
      const a = layers.conv2d({ filters: 2, kernelSize: 3, activation: "elu" }).apply(x);
      const b = layers.separableConv2d({ filters: 2, kernelSize: 3 }).apply(x);
      const sum = layers.add().apply([a, layers.leakyReLU().apply(b)]);
      const y = dense(3).apply(layers.flatten().apply(layers.averagePooling2d({}).apply(sum)));
      return tfl.model({ inputs: x, outputs: y });
    },
    compile: () => ({ optimizer: "rmsprop", loss: tf.losses.meanSquaredError }),
  },
  "recurrent layers": {
    input: [2, 5],
    make: () =>
      sequential(
        layers.masking({ inputShape: [2, 5] }),
        layers.bidirectional({ layer: layers.gru({ units: 3, returnSequences: true }) }),
        layers.lstm({ units: 3 }),
      ),
    compile: () => ({ optimizer: tf.train.momentum(0.05, 0.9) }),
  },
  "an embedding, two outputs and weights of classes": {
    input: [2],
    make() {
      const x = tfl.input({ shape: [2] });
      const h = layers.flatten().apply(
        layers.embedding({ inputDim: 5, outputDim: 3 }).apply(layers.reLU().apply(x)),
      );
      const outputs = [dense(3, { name: "a", activation: "softmax" }), dense(1, { name: "b" })];
      return tfl.model({ inputs: x, outputs: outputs.map((layer) => layer.apply(h)) });
    },
    compile: () => ({ loss: { a: "categoricalCrossentropy", b: "meanSquaredError" } }),
    targets: () => [
      classes(3),
      values([ROWS, 1], 4),
    ],
    fit: () => ({ classWeight: [{ 0: 1, 1: 2, 2: 0.5 }, null], validationData: undefined }),
  },
  "a learning rate that a callback changes": {
    make: () => sequential(dense(3, { inputShape: [6] })),
    compile: () => ({ optimizer: tf.train.sgd(0.1) }),
    fit: (model) => ({
      callbacks: {
        onEpochEnd(epoch: number) {
          model.optimizer.learningRate = 0.1 / (1 + epoch);
        },
      },
    }),
  },
};

for (const [name, made] of Object.entries(PURE)) {
  testOnDevices(`model.fit() compiles ${name}: the numbers are those of op by op`, async () => {
    const on = await run(made, true), off = await run(made, false);
    assertEquals(off.compiled, 0);
    assertEquals(on.reasons, []);
    const hasValidation = !("validationData" in (made.fit?.({}) ?? {}));
    assertEquals(on.compiled, hasValidation ? 2 * COMPILED : COMPILED);
    assertEquals(on.numbers.length, off.numbers.length);
    tf.test_util.expectArraysClose(on.numbers, off.numbers, 1e-5);
  });
}

/** A layer of the program's own. */
class Own extends (tfl.layers.Layer as Any) {
  static className = "Own";
  calls = 0;
  computeOutputShape(shape: Any): Any {
    return shape;
  }
  call(inputs: Any): Any {
    return this.compute([inputs].flat()[0]);
  }
  compute(x: tf.Tensor): tf.Tensor {
    return tf.mul(x, 2);
  }
}
class Pure extends Own {
  static override className = "Pure";
  static isPure = true;
}
class Reading extends Pure {
  static override className = "Reading";
  override compute(x: tf.Tensor): tf.Tensor {
    return tf.mul(x, 1 + Math.abs(x.dataSync()[0]));
  }
}
class Counting extends Pure {
  static override className = "Counting";
  override compute(x: tf.Tensor): tf.Tensor {
    return tf.mul(x, 1 + 1 / ++(this as Any).calls);
  }
}
class OwnOptimizer extends tf.SGDOptimizer {}
for (const cls of [Own, Pure, Reading, Counting]) tf.serialization.registerClass(cls as Any);

const after = (layer: Any) => sequential(dense(3, { inputShape: [6] }), layer);

const IMPURE: Readonly<Record<string, Case & { readonly reason: RegExp | null }>> = {
  "a layer of the program's own": {
    make: () => after(new (Own as Any)({ name: "own" })),
    reason: /^layer 'own' of class Own is not the package's own$/,
  },
  "a layer that reads data": {
    make: () => after(new (Reading as Any)({})),
    reason: /^it cannot be traced: /,
  },
  "a layer whose calls change its fields": {
    make: () => after(new (Counting as Any)({})),
    reason: null,
  },
  "a method that was replaced": {
    make() {
      const layer = layers.activation({ activation: "relu", name: "odd" });
      layer.call = (x: Any) => tf.square([x].flat()[0]);
      return after(layer);
    },
    reason: /^layer 'odd' of class Activation has its own call$/,
  },
  "a stateful layer": {
    input: [3, 2],
    make: () =>
      sequential(
        layers.simpleRNN({
          units: 3,
          stateful: true,
          batchInputShape: [BATCH, 3, 2],
          name: "memory",
        }),
      ),
    reason: /^layer 'memory' of class SimpleRNN is stateful$/,
  },
  "an optimizer of the program's own": {
    make: () => sequential(dense(3, { inputShape: [6] })),
    compile: () => ({ optimizer: new OwnOptimizer(0.1) }),
    reason: /^the optimizer is the program's own$/,
  },
  "an optimizer whose gradients the program clips": {
    make: () => sequential(dense(3, { inputShape: [6] })),
    compile() {
      const optimizer = tf.train.adam(0.01), apply = optimizer.applyGradients.bind(optimizer);
      optimizer.applyGradients = (gradients) => {
        const clipped = Object.entries(gradients as tf.NamedTensorMap).map(([name, t]) =>
          [name, tf.clipByValue(t, -0.01, 0.01)] as const
        );
        return apply(Object.fromEntries(clipped));
      };
      return { optimizer };
    },
    reason: /^the optimizer has its own applyGradients$/,
  },
  "a loss of the program's own": {
    make: () => sequential(dense(3, { inputShape: [6] })),
    compile: () => ({
      loss: function far(y: tf.Tensor, p: tf.Tensor) {
        return tf.mean(tf.abs(tf.sub(y, p)));
      },
    }),
    reason: /^the loss or metric 'far' is the program's own$/,
  },
};

for (const [name, made] of Object.entries(IMPURE)) {
  testOnDevices(`model.fit() runs ${name} op by op`, async () => {
    const on = await run(made, true), off = await run(made, false);
    assertEquals(on.compiled, 0);
    if (made.reason === null) assertEquals(on.reasons, []);
    else assert(on.reasons.length === 1 && made.reason.test(on.reasons[0]), `${on.reasons}`);
    assertEquals(on.numbers, off.numbers);
  });
}

testOnDevices(
  "a class that says it is pure is compiled, and again when its fields change",
  async () => {
    const own = () => new (Pure as Any)({});
    const on = await run({ make: () => after(own()) }, true);
    assertEquals([on.reasons, on.compiled], [[], 2 * COMPILED]);
    using _ = ownScope();
    const model = after(layers.leakyReLU({ alpha: 0.5 })), x = tf.ones([2, 6]);
    model.setWeights([tf.fill([6, 3], -1), tf.zeros([3])]);
    const found: number[] = [];
    for (const alpha of [0.5, 0.25]) {
      model.layers[1].alpha = alpha;
      for (let i = 0; i < 20; i++) found.push((await model.predict(x).data())[0]);
    }
    assertEquals(found, [...Array(20).fill(-3), ...Array(20).fill(-1.5)]);
  },
);

testOnDevices("a compiled step follows what the program changes of its optimizer", async () => {
  using _ = ownScope();
  const ends: number[][] = [];
  for (const isOn of [true, false]) {
    tf.env().set("WEFT_COMPILE_LAYERS", isOn);
    const model = sequential(dense(3, { inputShape: [6] })), x = values([ROWS, 6], 1);
    setWeights(model);
    const optimizer = tf.train.momentum(0.05, 0.9);
    model.compile({ optimizer, loss: "meanSquaredError" });
    for (let i = 0; i < 30; i++) {
      if (i === 20) optimizer.setMomentum(0.1);
      if (i === 25) optimizer.setLearningRate(0.2);
      await model.trainOnBatch(x, values([ROWS, 3], 2));
    }
    ends.push([...await model.getWeights()[0].data()] as number[]);
  }
  tf.env().set("WEFT_COMPILE_LAYERS", true);
  tf.test_util.expectArraysClose(ends[0], ends[1], 1e-5);
});

testOnDevices("compiled steps draw anew what they drop, and keep no mask", async () => {
  using _ = ownScope();
  const lstm = layers.lstm({ units: 3, dropout: 0.4, recurrentDropout: 0.4, inputShape: [3, 4] });
  const model = sequential(lstm, layers.dropout({ rate: 0.5 }));
  setWeights(model);
  model.compile({ optimizer: tf.train.sgd(0), loss: "meanSquaredError" });
  const x = values([4, 3, 4], 1), y = values([4, 3], 2);
  const wanted = [...await model.predict(x).data()];
  const losses: number[] = [];
  for (let i = 0; i < 24; i++) losses.push(await model.trainOnBatch(x, y));
  assertEquals(new Set(losses.slice(17)).size, 7);
  assertEquals([lstm.cell.dropoutMask, lstm.cell.recurrentDropoutMask], [null, null]);
  tf.test_util.expectArraysClose([...await model.predict(x).data()], wanted, 1e-6);
});

testOnGpu("a compiled model goes on where setBackend() says", async () => {
  using _ = ownScope();
  const model = sequential(dense(4, { inputShape: [6], activation: "tanh" }), dense(3));
  setWeights(model);
  model.compile({ optimizer: "adam", loss: "meanSquaredError" });
  const x = values([ROWS, 6], 1), y = values([ROWS, 3], 2);
  const losses: number[] = [];
  for (const device of ["webgpu", "cpu", "webgpu"]) {
    await tf.setBackend(device);
    const { history } = await model.fit(x, y, { epochs: EPOCHS, batchSize: BATCH, verbose: 0 });
    losses.push(...history.loss);
    const [wanted, found] = [model.apply(x), model.predict(x)].map((t) => (t as tf.Tensor).data());
    tf.test_util.expectArraysClose(await found, await wanted, 1e-5);
  }
  assertEquals(losses, losses.toSorted((a, b) => b - a));
});

testOnDevices("compiled steps leave no tensor behind, and go with the model", async () => {
  const before = tf.memory().numTensors,
    variables = () => Object.keys(tf.engine().state.registeredVariables).length;
  const model = sequential(dense(4, { inputShape: [6] }), layers.batchNormalization(), dense(3));
  model.compile({ optimizer: "adam", loss: "meanSquaredError", metrics: ["mse"] });
  const x = values([ROWS, 6], 1), y = values([ROWS, 3], 2);
  const epochs = (n: number) => model.fit(x, y, { epochs: n, batchSize: BATCH, verbose: 0 });
  await epochs(EPOCHS);
  const { numTensors } = tf.memory();
  await epochs(2);
  tf.dispose(model.evaluate(x, y));
  assertEquals(tf.memory().numTensors, numTensors);
  model.dispose();
  tf.dispose([x, y]);
  assertEquals([tf.memory().numTensors, variables()], [before, 0]);
});
