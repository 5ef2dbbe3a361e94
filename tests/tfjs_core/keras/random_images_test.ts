/** Layers that change images at random: beside Keras where their factors leave one choice, and that they draw for each image. See make_random_images.py. */

import * as tf from "@weft/weft/tfjs-core";
import { registerKerasLayers } from "@weft/weft/keras";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";
import TOLD from "./fixtures/random_images.json" with { type: "json" };

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);

/** A model of Keras 3 of one layer. */
function modelOf(class_name: string, config: object, shape: number[]): Promise<Any> {
  const input = { class_name: "InputLayer", config: { batch_shape: [null, ...shape], name: "x" } };
  const layer = { class_name, config: { ...config, name: "y", trainable: true, dtype: "float32" } };
  const topology = {
    class_name: "Sequential",
    registered_name: null,
    config: { name: "m", layers: [input, layer] },
  };
  return tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: topology as Any }));
}
const trained = (model: Any, x: tf.Tensor): tf.Tensor => model.apply(x, { training: true });

for (const [i, { name, config, result }] of TOLD.layers.entries()) {
  testOnDevices(
    `${name} changes images in training as Keras does, and none in predictions: ${i}`,
    async () => {
      const x = tf.tensor(TOLD.images), model = await modelOf(name, config, [5, 6, 2]);
      const wanted = result.flat(3);
      tf.test_util.expectArraysClose(await trained(model, x).data() as Any, wanted, 1e-4);
      const open = tf.tensor(TOLD.images.concat(TOLD.images));
      const twice = await trained(model, open).data() as Any;
      tf.test_util.expectArraysClose(twice, wanted.concat(wanted), 1e-4);
      assertEquals(await model.predict(x).array(), await x.array());
    },
  );
}

testOnDevices("images of a batch are changed by numbers of their own, in range", async () => {
  const one = tf.tensor(TOLD.images).slice(0, 1), x = one.tile([64, 1, 1, 1]);
  const mirrored = await one.reverse(2).array() as Any, own = await one.array() as Any;
  const flip = await modelOf("RandomFlip", { mode: "horizontal" }, [5, 6, 2]);
  const kinds = new Set((await trained(flip, x).array() as Any[]).map((y) => JSON.stringify(y)));
  assertEquals([...kinds].sort(), [JSON.stringify(own[0]), JSON.stringify(mirrored[0])].sort());
  const settings = { factor: 0.5, value_range: [0, 1] };
  for (const name of ["RandomContrast", "RandomBrightness"]) {
    const y = trained(await modelOf(name, settings, [5, 6, 2]), x);
    assert(tf.min(y).dataSync()[0] >= 0 && tf.max(y).dataSync()[0] <= 1, name);
    const firsts = new Set((await y.array() as Any[]).map((image) => JSON.stringify(image)));
    assert(firsts.size > 32, `${name}: ${firsts.size}`);
  }
  const rows = await modelOf("RandomFlip", {}, [6, 2]);
  await assertRejects(
    () => Promise.resolve().then(() => trained(rows, one.squeeze([0]))),
    Error,
    "it takes images [rows, height, width, channels] alone",
  );
});
