/**
 * A data pipeline with a function of the host in it: TensorFlow's own example for script ops in `tf.data`.
 * `deno run -A tools/run.ts examples/data_pipeline.ts` runs it.
 *
 * @module
 */

import * as tf from "@weft/weft";

/** Twenty images that are as bright as the number says: what a camera, a decoder or a simulation would make. */
export function makeSyntheticData(i: tf.Tensor): tf.Tensor {
  const brightness = tf.cast(tf.cast(i, "uint8"), "float32");
  return tf.div(tf.mul(brightness, tf.ones([20, 256, 256, 3])), 10);
}

/**
 * As TensorFlow's documentation has it. What a script returns has no shape there until `setShape` promises one, and
 * here the promise is checked when the script runs.
 */
export function preprocess(i: tf.Tensor): tf.Tensor {
  const ones = tf.pyFunction(makeSyntheticData, [i], "float32");
  ones.setShape([null, null, null, null]);
  return tf.image.resize(ones, [224, 224]);
}

/** The same with a declared shape, which every later stage knows. */
export function preprocessDeclared(i: tf.Tensor): tf.Tensor {
  const images = tf.pyFunction(makeSyntheticData, [i], tf.TensorSpec([20, 256, 256, 3], "float32"));
  return tf.image.resize(images, [224, 224]);
}

async function main(): Promise<void> {
  await tf.ready();
  const promised = tf.data.range(10).map(preprocess);
  console.log(`With setShape:      ${promised.elementSpec}`);
  const declared = tf.data.range(10).map(preprocessDeclared, {
    numParallelCalls: tf.data.AUTOTUNE,
  });
  console.log(`With a TensorSpec:  ${declared.elementSpec}`);
  const batches = declared.batch(2, { dropRemainder: true }).prefetch(1);
  console.log(`In batches:         ${batches.elementSpec}`);

  const start = performance.now();
  let images = 0;
  // `using` frees each batch at the end of its turn.
  for await (using batch of batches) {
    images += batch.shape[0] * batch.shape[1];
    using means = tf.mean(batch, [1, 2, 3, 4]);
    console.log(`  ${batch} of mean brightness ${means.arraySync()}`);
  }
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `${images} images in ${seconds.toFixed(2)} s, ${tf.memory().numTensors} tensors left`,
  );
}

if (import.meta.main) await main();
