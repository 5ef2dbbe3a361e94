/** Layers that change images at random beside Keras with the same random numbers; see make_augmentations.py. */

import * as weft from "@weft/weft";
import * as tf from "@weft/weft/tfjs-core";
import { registerKerasLayers } from "@weft/weft/keras";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";
import { AUGMENTATIONS, RANDOM_IMAGES } from "../../../src/tfjs/keras/augment/random_images.ts";
import TOLD from "./fixtures/augmentations.json" with { type: "json" };

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);

/** A model of Keras 3 of one layer. */
function modelOf(class_name: string, config: object, shape: readonly number[]): Promise<Any> {
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
const small = (): tf.Tensor => tf.tensor(TOLD.small);

/** Settings as layers read them. */
function settings(config: object): Any {
  const camel = (key: string): string => key.replace(/_(.)/g, (_, c) => c.toUpperCase());
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [camel(key), value]));
}

/** Numbers of a draw, of the dtype that layers draw. */
function numbersOf(name: string, value: Any): tf.Tensor {
  if (name === "apply") return tf.tensor(value, undefined, "bool");
  return tf.tensor(
    value,
    undefined,
    /^(order|top|left)$/.test(name) && !Array.isArray(value?.[0]) ? "int32" : "float32",
  );
}

for (const [i, { name, config, draws, images, result, ...more }] of TOLD.layers.entries()) {
  testOnDevices(`${name} makes of given random numbers what Keras does: ${i}`, async () => {
    const { change, draw } = AUGMENTATIONS[name];
    const x = tf.tensor((TOLD as Any)[images]) as Any, own = settings(config);
    const given = Object.fromEntries(Object.entries(draws).map(([k, v]) => [k, numbersOf(k, v)]));
    const drawn = draw(x, own);
    assertEquals(
      Object.keys({ ...drawn, ...given }).sort(),
      Object.keys(drawn).sort(),
      "names of numbers",
    );
    const all = { ...drawn, ...given } as Any, wanted = (result as Any).flat(3);
    const close = async (y: Any, text: string): Promise<void> => {
      const got: number[] = [...await y.data()];
      assertEquals(got.length, wanted.length, text);
      got.forEach((n, k) => assertAlmostEquals(n, wanted[k], 0.02, `${text}: number ${k}`));
    };
    await close(change(x, own, all), "eager");
    const names = Object.keys(all);
    const compiled = weft.function((x: Any, ...rest: Any[]) =>
      change(x, own, Object.fromEntries(names.map((name, k) => [name, rest[k]])) as Any)
    );
    await close(compiled(x, ...names.map((name) => all[name])), "compiled");
    if ("shape" in more) {
      const model = await modelOf(name, config, [6, 7, 3]);
      assertEquals(model.outputs[0].shape, more.shape);
      assertEquals(trained(model, x).shape, [2, ...(more.shape as number[]).slice(1)]);
    }
    // The layer itself, with numbers that it draws.
    const shape = x.shape.slice(1), model = await modelOf(name, config, shape);
    const values = await trained(model, x).data();
    assert(values.every(Number.isFinite), `${values}`);
    assertEquals(await model.predict(x).array(), await x.array());
  });
}

testOnDevices("images with channels first change as those with channels last", async () => {
  const x = small(), first = x.transpose([0, 3, 1, 2]);
  for (const [name, given] of [["RandomInvert", { factor: [1, 1] }], ["RandomCrop", {}]] as const) {
    const config = { height: 9, width: 8, ...given };
    const last = await trained(await modelOf(name, config, [6, 7, 3]), x).array();
    const model = await modelOf(name, { ...config, data_format: "channels_first" }, [3, 6, 7]);
    const y = trained(model, first);
    assertEquals(y.shape, model.outputs[0].shape.map((n: number | null) => n ?? 2));
    assertEquals(await y.transpose([0, 2, 3, 1]).array(), last);
  }
});

/** Least, mean and greatest of a draw of many images. */
async function spread(name: string, config: object, of: string): Promise<number[]> {
  const draws = AUGMENTATIONS[name].draw(tf.zeros([4000, 6, 7, 3]), settings(config)) as Any;
  const y = tf.cast(draws[of], "float32");
  return [...await tf.stack([tf.min(y), tf.mean(y), tf.max(y)]).data()];
}

testOnDevices("numbers of images are spread as those of Keras", async () => {
  const near = async (
    [name, config, of]: readonly [string, object, string],
    wanted: readonly number[],
    apart = 0.03,
  ): Promise<void> => {
    const got = await spread(name, config, of);
    got.forEach((n, i) => assertAlmostEquals(n, wanted[i], apart, `${name} ${of} ${i}: ${got}`));
  };
  await near(["RandomHue", { factor: [0, 0.5] }, "factor"], [-0.25, 0, 0.25]);
  await near(["RandomSaturation", { factor: [0.2, 0.5] }, "factor"], [0.25, 0.5667, 1]);
  await near(["RandomColorDegeneration", { factor: 0.5 }, "factor"], [-0.5, 0, 0.5]);
  await near(["RandomGrayscale", { factor: 0.3 }, "apply"], [0, 0.3, 1]);
  for (const name of ["RandomInvert", "RandomGaussianBlur", "RandomErasing", "RandomPerspective"]) {
    // Chances are drawn from the range themselves.
    await near([name, { factor: [0, 1] }, "apply"], [0, 0.5, 1]);
    await near([name, { factor: [0.2, 0.6] }, "apply"], [0, 0.4, 1]);
  }
  await near(["RandomPosterization", { factor: [1, 4] }, "step"], [32, 74.667, 128], 2.5);
  await near(["Solarization", { addition_factor: [0, 0.4] }, "added"], [0, 51, 102], 2);
  await near(["RandomShear", { x_factor: [0.1, 0.3] }, "across"], [-0.3, 0, 0.3]);
  await near(["RandomPerspective", { scale: 0.5 }, "part"], [-0.25, 0, 0.25]);
  await near(["RandomElasticTransform", { scale: [0.5, 0.5] }, "strength"], [0.5, 0.5, 0.5]);
  await near(["MixUp", { alpha: 0.2 }, "weight"], [0, 0.5, 1]);
  // A part of both extents, of which the square is uniform.
  const { left, right } = AUGMENTATIONS.RandomErasing.draw(tf.zeros([4000, 6, 7, 3]) as Any, {
    scale: [0.04, 0.36],
  });
  const part = tf.square(tf.div(tf.sub(right as Any, left as Any), 7));
  assertAlmostEquals((await tf.mean(part).data())[0], 0.2, 0.01);
  assert((await tf.max(right as Any).data())[0] <= 7.0001);
  // Variance of a beta distribution of 0.2 and 0.2.
  const { weight, order } = AUGMENTATIONS.MixUp.draw(tf.zeros([4000, 1, 1, 1]) as Any, {});
  const { variance } = tf.moments(weight as Any);
  assertAlmostEquals((await variance.data())[0], 1 / 4 / 1.4, 0.01);
  const sorted = [...await order.data() as Any].sort((a: number, b: number) => a - b);
  assertEquals(sorted, Array.from({ length: 4000 }, (_, i) => i));
  // Cuts begin anywhere that leaves their extents.
  const tops = new Set<number>();
  for (let i = 0; i < 60; i++) {
    const { top } = AUGMENTATIONS.RandomCrop.draw(small() as Any, { height: 4, width: 4 });
    tops.add((await top.data())[0] as number);
  }
  assertEquals([...tops].sort(), [0, 1, 2]);
});

testOnDevices("policies choose layers for a batch, and mix what chains of them make", async () => {
  const x = small() as Any, own = await x.array() as Any;
  const ends: Record<string, Any> = { same: own, ...TOLD.policies.ends };
  const flat = (y: Any): number[] => y.flat(3);
  const seen = new Set<string>();
  const rand = await modelOf("RandAugment", TOLD.policies.configs.RandAugment, [6, 7, 3]);
  const far = (a: number[], b: number[]): number =>
    Math.max(...a.map((n, i) => Math.abs(n - b[i])));
  for (let i = 0; i < 40; i++) {
    const y = flat(await trained(rand, x).array());
    const found = Object.entries(ends).filter(([, end]) => far(flat(end), y) < 0.02);
    assertEquals(found.length, 1, `${i}`);
    seen.add(found[0][0]);
  }
  assert(seen.size >= 3, [...seen].join());
  // One chain of one layer lies on the way from an image to what the layer makes of it.
  const mix = await modelOf("AugMix", TOLD.policies.configs.AugMix, [6, 7, 3]);
  for (let i = 0; i < 6; i++) {
    const y = flat(await trained(mix, x).array()), from = flat(own);
    const isOnWay = Object.values(ends).some((end) => {
      const way = flat(end).map((n, k) => n - from[k]), gone = y.map((n, k) => n - from[k]);
      const square = way.reduce((sum, n) => sum + n * n, 0);
      const part = square === 0 ? 0 : way.reduce((sum, n, k) => sum + n * gone[k], 0) / square;
      return part >= -1e-6 && part <= 1 + 1e-6 && far(way.map((n) => part * n), gone) < 0.05;
    });
    assert(isOnWay, `${i}`);
  }
  const { config, result } = TOLD.policies.jitter;
  const jitter = await modelOf("RandomColorJitter", config, [6, 7, 3]);
  assert(far(flat(await trained(jitter, x).array()), flat(result)) < 0.02, "jitter");
});

testOnDevices("models whose layers change images train, compiled and not", async () => {
  const names = Object.keys(RANDOM_IMAGES), x = tf.tile(small(), [4, 1, 1, 1]).div(255);
  const y = tf.tensor([1, 0, 1, 0, 1, 0, 1, 0], [8, 1]);
  for (const name of ["RandAugment", "AugMix", "CutMix", "RandomCrop", "RandomErasing"]) {
    assert(names.includes(name));
    const config = { height: 4, width: 5, value_range: [0, 1], factor: 0.3, num_chains: 2 };
    const one = await modelOf(name, { ...config, chain_depth: 1 }, [6, 7, 3]);
    const model = tfl.sequential({
      layers: [...one.layers, tfl.layers.flatten(), tfl.layers.dense({ units: 1 })],
    });
    model.compile({ optimizer: tf.train.sgd(0.05), loss: "meanSquaredError" });
    const { history } = await model.fit(x, y, { epochs: 2, batchSize: 8, verbose: 0 });
    assert(history.loss.every(Number.isFinite), name);
  }
});
