/**
 * From files to a trained network: scenes are read, decoded and augmented in workers, and batched with their boxes, which differ in
 * number, while the network learns where the digits are. Killed and started again, it goes on where it was, with each file once.
 * `deno run -A examples/files_to_batches.ts` makes 2,000 files and runs it; `--count`, `--folder` and `--epochs` change that.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { parseArgs } from "node:util";
import { augment } from "./files_to_batches/augment.ts";
import { makeTraining } from "./files_to_batches/network.ts";
import { makeScenes, SIDE } from "./files_to_batches/scenes.ts";

const BATCH = 32, SAVE_EVERY = 5;

/** Batches of the scenes in a folder. Boxes are filled up with -1. */
export function sceneBatches(
  folder: string,
  epochs = 1,
): tf.data.Dataset<{ id: tf.Tensor; image: tf.Tensor; boxes: tf.Tensor }> {
  const Tout = {
    image: tf.TensorSpec([SIDE, SIDE, 1], "float32"),
    boxes: tf.TensorSpec([null, 4], "float32"),
  } as const;
  const module = import.meta.resolve("./files_to_batches/augment.ts");
  const options = { worker: { module, export: "augment" }, ordered: false };
  const outputSignature = {
    id: tf.TensorSpec([], "int32"),
    file: tf.TensorSpec([], "string"),
    boxes: Tout.boxes,
  };
  return tf.data.jsonl(`${folder}/scenes.jsonl`, { outputSignature })
    .shuffle(1000, 3)
    .repeat(epochs)
    .map(({ id, file, boxes }) => {
      return { id, ...tf.numpyFunction(augment, [tf.io.readFile(file), boxes], Tout, options) };
    }, { numParallelCalls: 2 * navigator.hardwareConcurrency })
    .paddedBatch(BATCH, { paddingValues: { id: 0, image: 0, boxes: -1 } })
    .prefetch(2);
}

/** Trains on all batches from where a run that was killed saved its place. Gives the losses and how much of the time the network waited. */
export async function train(
  folder: string,
  { epochs = 1, log = (_: string): void => {} }: { epochs?: number; log?: (line: string) => void } =
    {},
): Promise<{ losses: number[]; images: number; seconds: number; waited: number }> {
  const place = `${folder}/place`;
  const saved = await Deno.readFile(place).catch(() => undefined);
  const batches = sceneBatches(folder, epochs), pass = batches.iterator(saved);
  const step = makeTraining();
  const losses: number[] = [];
  const start = performance.now();
  let images = 0, waited = 0;
  for (;;) {
    const asked = performance.now();
    const { done, value: batch } = await pass.next();
    // The first batch also pays for the start of the workers.
    if (losses.length > 0) waited += performance.now() - asked;
    if (done) break;
    using loss = step(batch.image, batch.boxes);
    losses.push(Number((await loss.data())[0]));
    images += batch.image.shape[0]!;
    log(`batch ${pass.count}: ${Array.from(await batch.id.data() as Int32Array).join(" ")}`);
    tf.dispose(batch);
    if (pass.count % SAVE_EVERY === 0) {
      // Written beside and renamed: whenever it is killed, there is a whole file.
      await Deno.writeFile(`${place}.new`, await pass.save());
      await Deno.rename(`${place}.new`, place);
      log(`saved ${pass.count}`);
    }
  }
  await Deno.remove(place).catch(() => {});
  return { losses, images, seconds: (performance.now() - start) / 1000, waited: waited / 1000 };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      folder: { type: "string", default: "out/scenes" },
      count: { type: "string", default: "2000" },
      epochs: { type: "string", default: "1" },
      log: { type: "boolean", default: false },
    },
  });
  const { folder, count, epochs } = values;
  await Deno.mkdir(folder, { recursive: true });
  if (!await Deno.stat(`${folder}/scenes.jsonl`).catch(() => null)) {
    await makeScenes(folder, Number(count));
  }
  tf.setRandomSeed(5);
  const { losses, images, seconds, waited } = await train(folder, {
    epochs: Number(epochs),
    ...values.log ? { log: console.log } : {},
  });
  console.log(
    `${images} images in ${seconds.toFixed(1)} s, loss ${losses[0].toFixed(2)} at first, ${
      losses.at(-1)!.toFixed(2)
    } at last`,
  );
  console.log(`The network waited for ${(100 * waited / seconds).toFixed(0)} % of the time`);
}
