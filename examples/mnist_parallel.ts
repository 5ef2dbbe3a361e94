/**
 * Trains a network on MNIST with four processes: each computes the gradients of its quarter of every batch, a server of TensorFlow's
 * kind keeps the parameters. `deno run -A examples/mnist_parallel.ts` runs it; `--steps 500`, `--replicas 2` and `--target grpc://…`,
 * which may be TensorFlow's own `tf.distribute.Server`, change what it does. `--kill 0` kills that process in the middle, `--each` shows
 * each loss of each, and with `--checkpoint PREFIX` a task that is lost and comes back goes on as well.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { DataParallel, Server } from "@weft/weft/distribute";
import { parseArgs } from "node:util";
import { type Digits, loadMnist } from "./mnist/files.ts";

/** Images of a step, for all processes together. */
const BATCH = 256;

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    steps: { type: "string", default: "300" },
    replicas: { type: "string", default: "4" },
    target: { type: "string", default: "" },
    kill: { type: "string", default: "" },
    each: { type: "boolean", default: false },
    checkpoint: { type: "string", default: "" },
    // Set for the processes that this one starts.
    replica: { type: "string" },
    life: { type: "string", default: "1" },
  },
});
const steps = Number(options.steps), replicas = Number(options.replicas);

/** Some of the images as rows of numbers from 0 to 1, and their digits. */
function rows({ images, labels }: Digits, from: number, count: number) {
  const pixels = (images.data as Uint8Array).subarray(784 * from, 784 * (from + count));
  const digits = Int32Array.from((labels.data as Uint8Array).subarray(from, from + count));
  return {
    x: tf.div(tf.cast(tf.tensor(pixels, [digits.length, 784], "uint8"), "float32"), 255),
    digits: tf.tensor(digits, [digits.length], "int32"),
  };
}

/** One of the processes. */
async function train(replica: number): Promise<void> {
  await tf.ready();
  const { train, test } = await loadMnist();
  // What these begin with does not matter but for replica 0, whose parameters all get.
  const weights = tf.variable(tf.truncatedNormal([784, 64], 0, 0.05, "float32", 1));
  const readout = tf.variable(tf.truncatedNormal([64, 10], 0, 0.1, "float32", 2));
  const bias = tf.variable(tf.zeros([64]));
  const logits = (x: tf.Tensor): tf.Tensor =>
    tf.matMul(tf.relu(tf.add(tf.matMul(x, weights), bias)), readout);

  await using training = new DataParallel({
    target: options.target,
    variables: [weights, bias, readout],
    optimizer: new tf.compat.v1.train.AdamOptimizer(2e-3),
    replica,
    replicas,
    ...(options.checkpoint && { checkpoint: options.checkpoint, checkpointEvery: 20 }),
  });
  const part = BATCH / replicas, batches = Math.floor(train.labels.size / BATCH);
  await training.train(steps, (step) => {
    const { x, digits } = rows(train, BATCH * (step % batches) + part * replica, part);
    return tf.mean(tf.sparseSoftmaxCrossEntropyWithLogits({ labels: digits, logits: logits(x) }));
  }, {
    onStep: (step, loss) => {
      if (options.each) console.log(`Step ${step} of replica ${replica}: loss ${loss}`);
      else if (replica === 0 && step % 50 === 0) {
        console.log(`Step ${step}: loss ${loss.toFixed(2)}`);
      }
      const isHalf = step === Math.floor(steps / 2) && options.life === "1";
      if (options.kill === `${replica}` && isHalf) Deno.kill(Deno.pid, "SIGKILL");
    },
  });
  if (replica > 0) return;
  const { x, digits } = rows(test, 0, test.labels.size);
  const isRight = tf.equal(tf.cast(tf.argMax(logits(x), 1), "int32"), digits);
  const share = await tf.mean(tf.cast(isRight, "float32")).data();
  console.log(`${(100 * share[0]).toFixed(1)} % of the test images recognised`);
}

/** A process of its own for a replica, and another one where that is killed. */
async function keepAlive(replica: number, target: string): Promise<void> {
  for (let life = 1;; life++) {
    const { each, ...texts } = options;
    const given = { ...texts, target, replica: `${replica}`, life: `${life}` };
    const args = Object.entries(given).map(([name, value]) => `--${name}=${value}`);
    if (each) args.push("--each");
    const { code, signal } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", Deno.mainModule, ...args],
      stdin: "null",
    }).spawn().status;
    if (signal === null) {
      if (code !== 0) throw new Error(`Replica ${replica} failed`);
      return;
    }
    console.log(`Replica ${replica} was killed: another one takes its place`);
  }
}

async function main(): Promise<void> {
  if (options.replica !== undefined) return await train(Number(options.replica));
  await using server = new Server({ cluster: { ps: ["127.0.0.1:0"] } });
  if (options.target === "") await server.start();
  const start = performance.now();
  const all = Array.from(
    { length: replicas },
    (_, r) => keepAlive(r, options.target || server.target),
  );
  await Promise.all(all);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${steps} steps with ${replicas} processes in ${seconds} s`);
}

if (import.meta.main) await main();
