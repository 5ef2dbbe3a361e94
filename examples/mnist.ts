/**
 * Trains a small convolutional network on MNIST in a TensorFlow graph, with two functions of the host in the graph.
 * `deno task demo` runs it; `--epochs 5`, `--seed 2` and `--chart file.svg` change what it does.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { type Digits, loadMnist } from "./mnist/files.ts";
import { buildNetwork, type Network } from "./mnist/network.ts";
import { describeDevice, type History, learningCurve, progressBar } from "./mnist/report.ts";

const BATCH = 128, TEST_BATCH = 1000;

/** The learning rate falls from the first to the second over the course of training. */
const RATES = [4e-3, 2e-4] as const;

const DEVICE_NAMES = { cpu: "CPU", webgpu: "GPU" } as const;

interface Options {
  readonly epochs: number;
  readonly seed: number;
  readonly chart: string;
}

function options(): Options {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      epochs: { type: "string", default: "2" },
      seed: { type: "string", default: "1" },
      chart: { type: "string", default: "out/mnist.svg" },
    },
  });
  const epochs = Number(values.epochs), seed = Number(values.seed);
  if (!(Number.isInteger(epochs) && epochs > 0 && Number.isInteger(seed))) {
    throw new RangeError("Cannot train: --epochs wants a positive integer and --seed an integer");
  }
  return { epochs, seed, chart: values.chart };
}

/** Returns the number of test images that the network recognises. */
async function accuracy(
  session: tf.Session,
  { shifted, labels, hits }: Network,
  test: Digits,
): Promise<number> {
  const batches = tf.data.fromTensorSlices(test).batch(TEST_BATCH);
  let count = 0;
  for await (const batch of batches.asNumpyIterator()) {
    // Feeding what the host function would return means that it is not called.
    const feeds = new Map([[shifted, batch.images], [labels, batch.labels]]);
    count += Number(await session.run(hits, { feeds }));
  }
  return count / test.labels.size;
}

async function train(
  session: tf.Session,
  network: Network,
  optimizer: tf.Optimizer,
  { train, test }: { train: Digits; test: Digits },
  { epochs, seed }: Options,
): Promise<History> {
  const { images, labels, loss, step } = network;
  const total = epochs * train.labels.size;
  const batches = tf.data.fromTensorSlices(train).shuffle(train.labels.size, seed).batch(BATCH)
    .repeat(epochs);
  const history: History = { losses: [], accuracies: [] };
  const bar = progressBar(total);
  let seen = 0, nextTest = train.labels.size / 10;
  for await (const batch of batches.asNumpyIterator()) {
    if (seen >= nextTest) {
      history.accuracies.push([seen, await accuracy(session, network, test)]);
      nextTest += train.labels.size / 2;
    }
    optimizer.learningRate = RATES[0] * (RATES[1] / RATES[0]) ** (seen / total);
    const feeds = new Map([[images, batch.images], [labels, batch.labels]]);
    const [value] = await session.run([loss, step], { feeds }) as [number, null];
    seen += batch.labels.size;
    history.losses.push([seen, value]);
    await bar.update(seen, `${Math.ceil(seen / train.labels.size)}/${epochs}`, value);
  }
  history.accuracies.push([seen, await accuracy(session, network, test)]);
  bar.stop();
  return history;
}

async function main(): Promise<void> {
  const chosen = options();
  await tf.ready();
  console.log(`Device: ${describeDevice()}`);
  const data = await loadMnist();
  console.log(
    `Data: ${data.train.labels.size} images for training, ${data.test.labels.size} for testing`,
  );

  const start = performance.now();
  const optimizer = tf.train.adam(RATES[0]);
  const network = buildNetwork(optimizer, chosen.seed);
  console.log(
    `Network: ${network.parameters} parameters, ${network.graph.operations.length} graph operations`,
  );
  const session = new tf.Session({ graph: network.graph });
  await session.run(network.initializer);
  const history = await train(session, network, optimizer, data, chosen);
  const seconds = (performance.now() - start) / 1000;
  await session.close();
  optimizer.dispose();
  network.dispose();

  const [, final] = history.accuracies[history.accuracies.length - 1];
  const epochs = chosen.epochs === 1 ? "1 epoch" : `${chosen.epochs} epochs`;
  const percent = (100 * final).toFixed(2), time = seconds.toFixed(1);
  const result = `${percent} % of the test images recognised after ${epochs} in ${time} s`;
  console.log(result);
  await Deno.mkdir(dirname(chosen.chart), { recursive: true });
  await Deno.writeTextFile(
    chosen.chart,
    learningCurve(history, `${result}, on the ${DEVICE_NAMES[tf.getBackend()]}`),
  );
  console.log(`Learning curve: ${chosen.chart}`);
}

if (import.meta.main) await main();
