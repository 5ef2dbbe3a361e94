/** Stages that look for an element without end: the event loop has its turns meanwhile, and the pass can be left. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";

const { data } = tf;
const endless = () => data.range(3).repeat();
const none = () => endless().filter((x) => tf.greater(x as tf.Tensor, 5));
const empty = () => data.fromTensors(tf.zeros([0, 2])).repeat();
const scalar = (value: number) => data.fromTensors(tf.constant(value, "int32")).repeat();

const ENDLESS: Readonly<Record<string, () => tf.data.Dataset<unknown>>> = {
  "filter()": none,
  "filter() of a generator": () =>
    data.fromGenerator(function* () {
      for (;;) yield 1;
    }, "int32").filter((x) => tf.greater(x as tf.Tensor, 5)),
  "filter() of a cache": () =>
    data.range(3).cache().repeat().filter((x) => tf.greater(x as tf.Tensor, 5)),
  "filter() of windows' rows": () =>
    endless().window(2).flatMap((w) => w).filter((x) => tf.greater(x as tf.Tensor, 5)),
  "ignoreErrors()": () =>
    endless().map((x) => tf.debugging.checkNumerics(tf.add(tf.cast(x, "float32"), NaN), "no"))
      .ignoreErrors(),
  "skip()": () => endless().skip(1e15),
  "shard()": () => endless().shard(1e9, 1e9 - 1),
  "batch()": () => endless().batch(1e9),
  "raggedBatch()": () => endless().raggedBatch(1e9),
  "rebatch()": () => empty().rebatch(3),
  "unbatch()": () => empty().unbatch(),
  "window()": () => endless().window(1e9),
  "shuffle()": () => endless().shuffle(1e9),
  "flatMap()": () => endless().flatMap(() => data.range(0)),
  "interleave()": () => endless().interleave(() => data.range(0), { cycleLength: 2 }),
  "parallel interleave()": () =>
    endless().interleave(() => data.range(0), { cycleLength: 2, numParallelCalls: 2 }),
  "a dataset in flatMap()": () => data.range(1).flatMap(none),
  "bucketBySequenceLength()": () =>
    data.fromTensors(tf.zeros([2])).repeat().bucketBySequenceLength(
      (x) => tf.size(x as tf.Tensor),
      { bucketBoundaries: [4], bucketBatchSizes: [1e9, 1] },
    ),
  "chooseFromDatasets()": () => data.chooseFromDatasets([none()], scalar(0)),
  "sampleFromDatasets()": () => data.sampleFromDatasets([none(), none()], { seed: 1 }),
  "zip()": () => data.zip([none(), data.range(2)]) as tf.data.Dataset<unknown>,
  "concatenate()": () => data.range(0).concatenate(none() as tf.data.Dataset<tf.Tensor>),
  "prefetch()": () => none().prefetch(2),
  "a parallel map()": () => none().map((x) => x as tf.Tensor, { numParallelCalls: 2 }),
};

for (const [name, make] of Object.entries(ENDLESS)) {
  Deno.test(`a pass that ${name} keeps busy can be left`, async () => {
    await tf.setBackend("cpu");
    const dataset = tf.tidy(make), before = tf.memory().numTensors;
    for (const host of [true, false]) {
      const pass = host ? dataset.asNumpyIterator() : dataset.iterator();
      const next = assertRejects(() => pass.next(), DOMException, "The iteration was left");
      await new Promise((resolve) => setTimeout(resolve));
      await pass.return!();
      await next;
      assertEquals((await pass.next()).done, true);
    }
    assertEquals(tf.memory().numTensors, before);
  });
}
