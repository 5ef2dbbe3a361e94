/** Datasets of ours that a service computes: what is exported, what comes back, what cannot be exported. */

import * as tf from "@weft/weft";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { ServiceOptions } from "@weft/weft/distribute";
import { PIPELINES, plain } from "./pipelines.ts";
import { Service } from "./graphs.ts";

const EACH_ONCE = { processingMode: "distributed_epoch" } as const;

for (const [name, make] of Object.entries(PIPELINES)) {
  Deno.test(`distribute() gives the elements that are computed here: ${name}`, async () => {
    await using service = await Service.start({ workers: 1 });
    const dataset = make(), remote = dataset.distribute(service.options);
    assertEquals(String(remote.elementSpec), String(dataset.elementSpec));
    assertEquals(
      await Array.fromAsync(remote.asNumpyIterator(), plain),
      await Array.fromAsync(dataset.asNumpyIterator(), plain),
    );
  });
}

Deno.test("distribute() gives each element of a shuffled dataset once", async () => {
  await using service = await Service.start();
  const shuffled = tf.data.range(100).shuffle(30, 7).distribute({
    ...service.options,
    ...EACH_ONCE,
  });
  const seen = await Array.fromAsync(shuffled.asNumpyIterator(), (x) => Number(x.item()));
  assertEquals(seen.sort((a, b) => a - b), Array.from({ length: 100 }, (_, i) => i));
});

Deno.test("distribute() gives tensors that go on through stages of this process", async () => {
  await using service = await Service.start();
  const before = tf.memory().numTensors;
  const sums = tf.data.range(8).map((x) => tf.square(x))
    .distribute({ ...service.options, ...EACH_ONCE })
    .batch(4)
    .map((x) => tf.sum(x));
  let sum = 0;
  for await (using x of sums) sum += x.item() as number;
  assertEquals(sum, 140);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("distribute() divides one job among several readers", async () => {
  await using service = await Service.start();
  const options = { ...service.options, ...EACH_ONCE, jobName: "shared" };
  const parts = await Promise.all([1, 2, 3].map(() => {
    const part = tf.data.range(200).distribute(options);
    return Array.fromAsync(part.asNumpyIterator(), (x) => Number(x.item()));
  }));
  assertEquals(parts.flat().sort((a, b) => a - b), Array.from({ length: 200 }, (_, i) => i));
});

Deno.test("distribute() runs a registered script in the worker, by its token", async () => {
  let calls = 0;
  const here = (x: tf.NdArray): bigint => x.item() as bigint;
  const token = "test.distributed@1";
  tf.registerScript(token, here);
  try {
    await using service = await Service.start({
      workers: 1,
      scripts: {
        [token]: (x: tf.NdArray) => {
          calls++;
          return -(x.item() as bigint);
        },
      },
    });
    const negated = tf.data.range(3, { dtype: "int64" })
      .map((x) => tf.numpyFunction(here, [x], tf.TensorSpec([], "int64")))
      .distribute(service.options);
    assertEquals(await Array.fromAsync(negated.asNumpyIterator(), (x) => x.item()), [0n, -1n, -2n]);
    assertEquals(calls, 3);
  } finally {
    tf.unregisterScript(token);
  }
});

const NOWHERE: ServiceOptions = { service: "grpc://127.0.0.1:9" };
const REFUSED: Readonly<Record<string, readonly [() => unknown, readonly string[]]>> = {
  "a generator": [
    () => tf.data.fromGenerator(() => [1], "int32").batch(2).distribute(NOWHERE),
    ["GeneratorDataset", "registerScript"],
  ],
  "a script without a name": [
    () =>
      tf.data.range(3).map((x) => tf.numpyFunction((v: tf.NdArray) => v, [x], "int32"))
        .distribute(NOWHERE),
    ["MapDataset", "registerScript"],
  ],
  "a script in a dataset within": [
    () =>
      tf.data.range(3).flatMap((x) =>
        tf.data.fromTensors(x).filter((y) =>
          tf.numpyFunction((v: tf.NdArray) => v.item() === 1, [y], tf.TensorSpec([], "bool"))
        )
      ).distribute(NOWHERE),
    ["FilterDataset", "registerScript"],
  ],
  "windows": [() => tf.data.range(3).window(2).distribute(NOWHERE), ["WindowDataset", "after"]],
  "fractions": [
    () => tf.data.range(0, 1, 0.25, { dtype: "float32" }).distribute(NOWHERE),
    ["RangeDataset", "whole numbers"],
  ],
  "ragged elements": [
    () =>
      tf.data.fromGenerator(() => [[1]], tf.TensorSpec([null], "int32")).raggedBatch(2)
        .distribute(NOWHERE),
    ["RaggedBatchDataset"],
  ],
};
for (const [name, [make, texts]] of Object.entries(REFUSED)) {
  Deno.test(`distribute() names the stage that cannot travel: ${name}`, () => {
    const { message } = assertThrows(make, tf.errors.ValueError, "Cannot distribute");
    for (const text of texts) assertStringIncludes(message, text);
  });
}

Deno.test("distribute() does not take a variable along", () => {
  using v = tf.variable(tf.scalar(1, "int32"));
  assertThrows(
    () => tf.data.range(3).map((x) => tf.add(x, v)).distribute(NOWHERE),
    tf.errors.ValueError,
    "variable",
  );
});

Deno.test("distribute() refuses modes and options that it does not know", () => {
  const odd = { ...NOWHERE, processingMode: "twice" } as unknown as ServiceOptions;
  assertThrows(() => tf.data.range(3).distribute(odd), tf.errors.ValueError, '"twice"');
  const misspelt = { ...NOWHERE, jobname: "a" } as ServiceOptions;
  assertThrows(() => tf.data.range(3).distribute(misspelt), TypeError, "jobName");
});

Deno.test("a pass over a service cannot be saved", async () => {
  await using service = await Service.start();
  const pass = tf.data.range(3).distribute(service.options).iterator();
  (await pass.next()).value.dispose();
  await pass.save().then(() => {
    throw new Error("It was saved");
  }, (error) => assertEquals(error instanceof tf.errors.UnimplementedError, true));
  await pass.return();
});

Deno.test("distribute() refuses stages that would divide the tensors of composite elements", () => {
  const rows = tf.ragged.constant([[1], [2, 3]]), options = { service: "grpc://nowhere:1" };
  const made = tf.data.range(3).map(() => rows);
  for (const dataset of [made.batch(2), made.unbatch()]) {
    assertThrows(
      () => (dataset as tf.data.Dataset<unknown>).distribute(options),
      tf.ValueError,
      "it divides or joins composite elements, which workers see as their tensors; do that after distribute()",
    );
  }
});
