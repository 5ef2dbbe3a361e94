/** Fine-tuning: a new last layer on an imported MobileNet loses what it loses in TensorFlow (make_finetune_fixtures.py). */
import * as tf from "@weft/weft";
import { readGraphDef } from "@weft/weft/tf";
import { assert } from "@std/assert";
import { assertClose } from "./close.ts";
import { testOnDevices } from "../devices.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);

interface Expected {
  readonly output: string;
  readonly features: readonly number[];
  readonly losses: readonly number[];
}

/** Numbers that the fixtures' program makes too. */
function values(shape: number[], scale = 1): tf.Tensor {
  const n = shape.reduce((a, b) => a * b);
  return tf.tensor(
    Float32Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898) * scale),
    shape,
  );
}

testOnDevices("a new last layer on an imported MobileNet trains as in TensorFlow", async () => {
  const { output, features, losses }: Expected = JSON.parse(
    await Deno.readTextFile(new URL("mobilenet.json", FIXTURES)),
  );
  const file = await Deno.open(new URL("mobilenet.pb.gz", FIXTURES));
  const def = await readGraphDef(file.readable.pipeThrough(new DecompressionStream("gzip")));
  const body = (x: tf.Tensor): tf.Tensor =>
    tf.importGraphDef(def, {
      prefix: "",
      inputMap: { x },
      returnElements: [output],
    })[0] as tf.Tensor;
  const w = tf.variable(values([1280, 5], 0.05));
  const b = tf.variable(tf.zeros([5]));
  const optimizer = tf.train.momentum(0.05, 0.9);
  const step = tf.function((x: tf.Tensor, labels: tf.Tensor) =>
    optimizer.minimize(() => {
      const logits = tf.add(tf.matMul(tf.mul(body(x), 100), w), b);
      return tf.mean(tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }));
    }, true)!
  );
  const x = values([8, 32, 32, 3]);
  const first = tf.function(body)(x);
  assertClose((await first.array() as number[][])[0].slice(0, 8), features, 1e-4, "features");
  const labels = tf.tensor(Int32Array.from({ length: 8 }, (_, i) => i % 5));
  for (const [k, loss] of losses.entries()) {
    using mine = step(x, labels);
    const value = (await mine.data())[0] as number;
    assert(Math.abs(value - loss) < 1e-3, `step ${k}: ${value}, TensorFlow has ${loss}`);
  }
});
