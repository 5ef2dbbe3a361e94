/** Training of Keras' recurrent layers and of penalties: `make_training.py` writes the losses and weights that Keras gives. */
import * as tf from "@weft/weft/tfjs-core";
import { errors } from "@weft/weft";
import { registerKerasLayers } from "@weft/weft/keras";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";
import KERAS from "./fixtures/training.json" with { type: "json" };

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);

const load = (topology: unknown): Promise<Any> =>
  tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: topology as Any }));
const numbers = (shape: number[], k = 0): tf.Tensor =>
  tf.tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) =>
      (i * 37 + 11 * k) % 101 / 100 - 0.5),
    shape,
  );

for (const [name, { model: topology, losses, weights }] of Object.entries(KERAS)) {
  testOnDevices(`${name} takes Keras's steps of training, op by op and compiled`, async () => {
    // Sixteen steps run op by op first, then compiled ones.
    for (const before of [0, 17]) {
      const model = await load(topology);
      const start = (): void =>
        model.setWeights((model.getWeights() as tf.Tensor[]).map((w, k) => numbers(w.shape, k)));
      model.compile({ optimizer: tf.train.sgd(0.25), loss: "meanSquaredError" });
      const batch = (tensor: Any): number[] => [6, ...tensor.shape.slice(1)];
      const x = numbers(batch(model.inputs[0]), 5), y = numbers(batch(model.outputs[0]), 7);
      const step = async (): Promise<number> =>
        (await model.fit(x, y, { batchSize: 6, epochs: 1, shuffle: false, verbose: 0 })).history
          .loss[0];
      for (let i = 0; i < before; i++) await step();
      start();
      await step();
      start();
      const tensors = tf.memory().numTensors;
      for (const wanted of losses) {
        assertAlmostEquals(await step(), wanted, 1e-5, `${name}, ${before}`);
      }
      assertEquals(tf.memory().numTensors, tensors, `${name} leaves tensors, ${before}`);
      for (const [k, w] of (model.getWeights() as tf.Tensor[]).entries()) {
        const found = await w.data();
        weights[k].forEach((v, i) =>
          assertAlmostEquals(found[i] as number, v, 2e-5, `${name}, weight ${k}`)
        );
      }
    }
  });
}

const layer = (class_name: string, config: object, name = "y") => ({
  class_name,
  config: { name, trainable: true, ...config },
});

/** A model of Keras 3 of these layers. */
function sequence(shape: number[], ...layers: object[]): Promise<Any> {
  const input = { class_name: "InputLayer", config: { batch_shape: [null, ...shape], name: "x" } };
  const config = { name: "m", layers: [input, ...layers] };
  return load({ class_name: "Sequential", registered_name: null, config });
}

testOnDevices("a GRU drops what enters it and its state, one mask for a sequence", async () => {
  const settings = {
    units: 1,
    activation: "linear",
    recurrent_activation: "sigmoid",
    reset_after: true,
    use_bias: false,
  };
  const mean = async (config: object): Promise<[number, number]> => {
    const model = await sequence([2, 400], layer("GRU", { ...settings, ...config }));
    // Gates are one half, and a step gives half of the mean of what enters.
    const kernel = tf.concat([tf.zeros([400, 2]), tf.fill([400, 1], 1 / 400)], 1);
    model.setWeights([kernel, tf.zeros([1, 3])]);
    const x = tf.ones([50, 2, 400]);
    const calm = model.predict(x) as tf.Tensor, [first] = await calm.data();
    const wild = model.apply(x, { training: true }) as tf.Tensor,
      [a, b] = await tf.stack([tf.mean(wild), tf.max(tf.abs(tf.sub(wild, calm)))]).data();
    assert(b > 1e-3 === Boolean((config as Any).dropout), `${JSON.stringify(config)}: ${b}`);
    return [a, first];
  };
  for (
    const config of [{ dropout: 0.5 }, { dropout: 0.5, implementation: 1 }, {
      recurrent_dropout: 0.5,
    }, { dropout: 0.25, recurrent_dropout: 0.25 }]
  ) {
    const [dropped, whole] = await mean(config);
    assertAlmostEquals(dropped, whole, 0.02, JSON.stringify(config));
  }
});

testOnDevices("penalties within other layers are refused in training", async () => {
  const inner = layer("ActivityRegularization", { l1: 0.5, l2: 0 }, "r");
  const model = await sequence(
    [2, 3],
    layer("Dense", { units: 3 }, "d"),
    layer("TimeDistributed", { layer: inner }),
  );
  assertEquals(model.predict(tf.ones([4, 2, 3])).shape, [4, 2, 3]);
  model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  await assertRejects(
    () => model.fit(tf.ones([4, 2, 3]), tf.ones([4, 2, 3]), { epochs: 1, verbose: 0 }),
    errors.FailedPreconditionError,
    "losses of what layers give are not supported within other layers",
  );
});
