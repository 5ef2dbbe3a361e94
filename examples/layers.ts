/**
 * TensorFlow.js's layers on Weft: a network that tells digits of seven segments apart, however noisy, trained with callbacks, saved into a
 * folder and loaded again. Nothing here names Weft: the import map puts it in the place of `@tensorflow/tfjs-core`.
 *
 *   deno run -A --import-map examples/layers_import_map.json examples/layers.ts [webgpu]
 */
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";

/** Which of the seven segments are lit, by digit. */
const DIGITS = [0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f];

/** Segments of random digits, each a little off, and what they show. */
function samples(count: number): { xs: tf.Tensor; ys: tf.Tensor } {
  return tf.tidy(() => {
    const shown = Array.from({ length: count }, () => Math.floor(10 * Math.random()));
    const lit = shown.map((digit) => Array.from({ length: 7 }, (_, i) => DIGITS[digit] >> i & 1));
    const noise = tf.randomNormal([count, 7], 0, 0.15);
    const classes = tf.oneHot(tf.tensor1d(shown, "int32"), 10);
    return { xs: tf.add(tf.tensor2d(lit, [count, 7]), noise), ys: tf.cast(classes, "float32") };
  });
}

/** Trains, saves, loads; says how many of 500 digits the loaded model tells rightly. */
async function main(backend: string): Promise<void> {
  if (!await tf.setBackend(backend)) throw new Error(`There is no ${backend} here`);
  const model = tfl.sequential({
    layers: [
      tfl.layers.dense({ units: 32, activation: "relu", inputShape: [7] }),
      tfl.layers.dropout({ rate: 0.1 }),
      tfl.layers.dense({ units: 10, activation: "softmax" }),
    ],
  });
  model.compile({ optimizer: "adam", loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  const { xs, ys } = samples(2000);
  const { epoch } = await model.fit(xs, ys, {
    epochs: 40,
    batchSize: 64,
    validationSplit: 0.1,
    verbose: 0,
    callbacks: tfl.callbacks.earlyStopping({ monitor: "val_loss", patience: 3 }),
  });

  const folder = await Deno.makeTempDir({ prefix: "layers-" });
  await model.save(`file://${folder}/digits`);
  const loaded = await tfl.loadLayersModel(`file://${folder}/digits/model.json`);
  await Deno.remove(folder, { recursive: true });

  const test = samples(500);
  const right = tf.tidy(() => {
    const told = loaded.predict(test.xs) as tf.Tensor;
    return tf.sum(tf.equal(tf.argMax(told, -1), tf.argMax(test.ys, -1)));
  });
  const [count] = await right.data();
  console.log(`${tf.getBackend()}: ${epoch.length} epochs, ${count} of 500 digits right`);
}

if (import.meta.main) await main(Deno.args[0] ?? "cpu");
