/** A step that makes a token: its dispatches, and a cache of keys and values that is written where it lies. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

const [LAYERS, WIDTH, HEADS, DEPTH, ROOM, WORDS] = [2, 48, 4, 12, 32, 40];

/** Makes a transformer's step, from a word and its place to the next word. */
function decoder(): (word: tf.Tensor, place: tf.Tensor) => tf.Tensor {
  let seed = 0;
  const weight = (...shape: number[]): tf.Tensor =>
    tf.variable(tf.mul(noise("float32", shape, ++seed), 0.3)) as unknown as tf.Tensor;
  const layers = Array.from({ length: LAYERS }, () => ({
    norms: [0, 1].map(() => [weight(WIDTH), weight(WIDTH)] as const),
    all: [weight(WIDTH, 3 * WIDTH), weight(3 * WIDTH)] as const,
    joined: [weight(WIDTH, WIDTH), weight(WIDTH)] as const,
    wide: [weight(WIDTH, 4 * WIDTH), weight(4 * WIDTH)] as const,
    narrow: [weight(4 * WIDTH, WIDTH), weight(WIDTH)] as const,
    cache: tf.variable(tf.zeros([ROOM, 2, HEADS, DEPTH])),
  }));
  const words = weight(WORDS, WIDTH), places = weight(ROOM, WIDTH);
  const last = [weight(WIDTH), weight(WIDTH)] as const;
  const dense = (x: tf.Tensor, [w, b]: readonly [tf.Tensor, tf.Tensor]): tf.Tensor =>
    tf.add(tf.matMul(x, w), b);
  const turned = (x: tf.Tensor): tf.Tensor => tf.transpose(x, [1, 0, 2]);
  return tf.function((word: tf.Tensor, place: tf.Tensor) => {
    let x = tf.add(tf.gather(words, word), tf.gather(places, place));
    const mask = tf.where(tf.lessEqual(tf.range(0, ROOM, 1, "int32"), place), 0, -1e9);
    for (const { norms, all, joined, wide, narrow, cache } of layers) {
      const qkv = dense(tf.layerNorm(x, ...norms[0]), all);
      const fresh = tf.reshape(tf.slice(qkv, [0, WIDTH], [1, 2 * WIDTH]), [1, 2, HEADS, DEPTH]);
      cache.scatterUpdate(new tf.IndexedSlices(fresh, place));
      const [k, v] = tf.unstack(cache as unknown as tf.Tensor, 1).map(turned);
      const q = turned(tf.reshape(tf.slice(qkv, [0, 0], [1, WIDTH]), [1, HEADS, DEPTH]));
      const scores = tf.add(tf.mul(tf.matMul(q, k, false, true), DEPTH ** -0.5), mask);
      const y = tf.reshape(turned(tf.matMul(tf.softmax(scores), v)), [1, WIDTH]);
      x = tf.add(x, dense(y, joined));
      x = tf.add(x, dense(tf.gelu(dense(tf.layerNorm(x, ...norms[1]), wide)), narrow));
    }
    const logits = tf.matMul(tf.layerNorm(x, ...last), words, false, true);
    return tf.cast(tf.argMax(logits, -1), "int32");
  });
}

/** Makes some words, and counts the work of each step. */
async function decoded(): Promise<{ words: number[]; counts: number[][] }> {
  const step = decoder(), counts: number[][] = [], words: number[] = [];
  let word: tf.Tensor = tf.tensor([3], [1], "int32");
  for (let p = 0; p < 6; p++) {
    using place = tf.tensor([p], [1], "int32");
    const before = word;
    const { dispatches, buffersCreated } = await tf.profile(() => {
      word = step(before, place);
    });
    before.dispose();
    counts.push([dispatches, buffersCreated]);
    words.push((await word.data())[0]);
  }
  word.dispose();
  return { words, counts };
}

testOnGpu("a step of decoding takes five dispatches a layer and makes no buffer", async () => {
  await tf.setBackend("cpu");
  const { words } = await decoded();
  await tf.setBackend("webgpu");
  const onGpu = await decoded();
  await tf.setBackend("cpu");
  assertEquals(onGpu.words, words);
  assertEquals(onGpu.counts.at(-1), [5 * LAYERS + 6, 0]);
});
