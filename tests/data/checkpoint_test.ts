// Passes that are saved and gone on with: each element once, wherever they stood.

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { decodeState, encodeState } from "../../src/library/data/state.ts";
import { some } from "../effort.ts";
import { collect, plain } from "./collect.ts";

const { data } = tf;
const N = 23;

/** Yields to others before it answers, for some longer than for others. */
const slow = async (x: tf.NdArray) => {
  for (let i = 0; i < (Number(x.item()) * 7) % 5; i++) await null;
  return x;
};
const slowly = (x: tf.Tensor) => tf.numpyFunction(slow, [x], tf.TensorSpec([], "int32"));

const text = new TextEncoder();
const lines = (k: number) =>
  new Blob([Array.from({ length: 5 }, (_, i) => `${k}:${i}\n`).join("")]);

/** Pipelines, built anew by each call as another process would. All are finite and repeat exactly. */
const PIPELINES: Record<string, () => tf.data.Dataset<unknown>> = {
  range: () => data.range(N),
  "slices of a record": () => data.fromTensorSlices({ a: [1, 2, 3], b: ["x", "y", "z"] }),
  generator: () =>
    data.fromGenerator(function* () {
      for (let i = 0; i < 5; i++) yield i;
    }, "int32"),
  map: () => data.range(N).map((x) => tf.add(x, 1)),
  "parallel map": () => data.range(N).map(slowly, { numParallelCalls: 4 }),
  "random numbers in map": () =>
    data.range(N).map((x) => tf.add(x, tf.randomUniform([], 0, 1, "float32", 7)), {
      numParallelCalls: 3,
    }),
  filter: () => data.range(N).filter((x) => tf.equal(tf.mod(x, 3), 0)),
  takeWhile: () => data.range(N).takeWhile((x) => tf.less(x, 9)),
  batch: () => data.range(N).batch(4),
  paddedBatch: () =>
    data.range(1, 9).map((n) => tf.range(0, n, 1, "int32")).paddedBatch(3, { paddedShapes: [9] }),
  shuffle: () => data.range(N).shuffle(7, 3),
  "shuffle and repeat": () => data.range(5).shuffle(3, 3).repeat(4),
  "shuffle once and repeat": () =>
    data.range(5).shuffle(5, { seed: 3, reshuffleEachIteration: false }).repeat(3),
  "shuffle after repeat": () => data.range(5).repeat(3).shuffle(4, 9),
  "take and skip": () => data.range(N).skip(3).take(11),
  shard: () => data.range(N).shard(3, 1),
  concatenate: () => data.range(4).concatenate(data.range(10, 15)),
  enumerate: () => data.range(5, 9).enumerate(2),
  zip: () => data.zip({ a: data.range(9), b: data.range(20, 26).shuffle(3, 1) }),
  scan: () =>
    data.range(N).scan(tf.scalar(0, "int32"), (s, x) => [tf.add(s, x), tf.add(s, x)] as const),
  prefetch: () => data.range(N).map(slowly, { numParallelCalls: 2 }).prefetch(3),
  flatMap: () =>
    data.range(5).flatMap((n) =>
      data.fromTensorSlices(tf.range(0, 3)).map((x) => tf.add(x, tf.cast(n, "float32")))
    ),
  interleave: () =>
    data.range(6).interleave((n) => data.range(4).map((x) => tf.add(tf.mul(n, 10), x)), {
      cycleLength: 3,
      blockLength: 2,
    }),
  "parallel interleave": () =>
    data.range(6).interleave((n) => data.range(4).map((x) => slowly(tf.add(tf.mul(n, 10), x))), {
      ...{ cycleLength: 3, numParallelCalls: 2 },
    }),
  "shuffle inside interleave": () =>
    data.range(3).interleave(() => data.range(6).shuffle(4, 5), { cycleLength: 2 }),
  rebatch: () => data.range(N).batch(4).rebatch(3),
  unbatch: () => data.range(N).batch(4).unbatch(),
  window: () => data.range(N).window(3, { shift: 2 }).flatMap((w) => w.batch(3)),
  "windows ahead": () => data.range(N).window(4).shuffle(3, 1).prefetch(2).flatMap((w) => w),
  buckets: () =>
    data.range(1, 12).map((n) => tf.range(0, n, 1, "int32")).bucketBySequenceLength(
      (x) => tf.size(x),
      { bucketBoundaries: [4, 8], bucketBatchSizes: [2, 2, 2], paddedShapes: [null] },
    ),
  choose: () =>
    data.chooseFromDatasets(
      [data.range(9), data.range(20, 30)],
      data.range(12).map((i) => tf.mod(i, 2)),
    ),
  sample: () =>
    data.sampleFromDatasets([data.range(9), data.range(20, 30)], { seed: 5, weights: [1, 2] }),
  "cache, twice": () => data.range(6).map((x) => tf.square(x)).cache().repeat(2),
  textLines: () => data.textLines([lines(1), lines(2)]),
  "textLines of several at once": () =>
    data.textLines([lines(1), lines(2), lines(3)], { numParallelReads: 2 }),
  csv: () =>
    data.csv(new Blob(['a,b\n1,x\n2,"y\nz"\n3,w\n']), { columns: { a: "int32", b: "string" } }),
  jsonl: () => data.jsonl(new Blob(["[1]\n\n[2]\n[3]\n"]), { outputSignature: tf.TensorSpec([1]) }),
  fromFiles: () => data.fromFiles([text.encode("one"), text.encode("three"), text.encode("2")]),
  "everything": () =>
    data.textLines([lines(1), lines(2), lines(3)], { numParallelReads: 3 })
      .shuffle(4, 2)
      .enumerate()
      .map(([i]) => slowly(i), { numParallelCalls: 3 })
      .batch(2)
      .prefetch(2)
      .repeat(2),
};

for (const [name, build] of Object.entries(PIPELINES)) {
  Deno.test(`a pass over ${name} goes on from wherever it was saved`, async () => {
    const whole = await collect(build());
    assert(whole.length > 2, "there is something to see");
    for (let k = 0; k <= whole.length; k++) {
      const pass = build().asNumpyIterator();
      const seen: unknown[] = [];
      for (let i = 0; i < k; i++) seen.push(plain((await pass.next()).value));
      const state = await pass.save();
      await pass.return();
      const again = build().asNumpyIterator(state);
      const rest = build().asNumpyIterator(await again.save());
      await again.return();
      assertEquals(rest.count, k);
      for await (const element of rest) seen.push(plain(element));
      assertEquals(seen, whole, `saved after ${k}`);
      assertEquals(rest.count, whole.length);
    }
  });
}

Deno.test("saving changes nothing for the pass that goes on", async () => {
  const build = PIPELINES.everything;
  const whole = await collect(build());
  const pass = build().asNumpyIterator();
  const seen: unknown[] = [];
  for await (const element of pass) {
    seen.push(plain(element));
    await pass.save();
  }
  assertEquals(seen, whole);
});

Deno.test("a pass in any order gives each element once after it was saved", async () => {
  const build = () =>
    data.range(40).shuffle(9)
      .map(slowly, { numParallelCalls: 4, deterministic: false })
      .prefetch(3);
  for (const k of [1, 7, 22, 39]) {
    const pass = build().asNumpyIterator();
    const seen: number[] = [];
    for (let i = 0; i < k; i++) seen.push(Number((await pass.next()).value!.item()));
    const state = await pass.save();
    await pass.return();
    for await (const x of build().asNumpyIterator(state)) seen.push(Number(x.item()));
    assertEquals(seen.sort((a, b) => a - b), Array.from({ length: 40 }, (_, i) => i));
  }
});

Deno.test("an unseeded shuffle goes on in the order it had, also in later passes", async () => {
  const build = () => data.range(8).shuffle(8).repeat(3);
  const pass = build().asNumpyIterator();
  const seen: number[] = [];
  for (let i = 0; i < 3; i++) seen.push(Number((await pass.next()).value!.item()));
  const state = await pass.save();
  const rest: number[] = [], again: number[] = [];
  for await (const x of pass) rest.push(Number(x.item()));
  for await (const x of build().asNumpyIterator(state)) again.push(Number(x.item()));
  assertEquals(again, rest);
  assertEquals([...seen, ...again].length, 24);
});

Deno.test("an error that was computed ahead comes after the pass was saved", async () => {
  const body = (x: tf.NdArray) => {
    if (x.item() === 2) throw new RangeError("no two");
    return x;
  };
  const build = () => data.range(4).map((x) => tf.numpyFunction(body, [x], "int32")).prefetch(4);
  const pass = build().asNumpyIterator();
  await pass.next();
  const state = await pass.save();
  const rest = build().asNumpyIterator(state);
  assertEquals((await rest.next()).value?.item(), 1);
  await assertRejects(() => rest.next(), tf.errors.InvalidArgumentError, "no two");
  await assertRejects(() => rest.save(), tf.ValueError, "ended by an error");
  await pass.return();
  await assertRejects(() => pass.save(), tf.ValueError, "the pass was left");
});

Deno.test("bytes that are no state, or one of another pipeline, are refused", async () => {
  const dataset = data.range(5).batch(2);
  const state = await dataset.iterator().save();
  assertThrows(
    () => data.range(5).iterator(state),
    tf.ValueError,
    "of a pipeline Batch(Range), this one is Range",
  );
  assertThrows(
    () => dataset.iterator(state.subarray(0, state.length - 3)),
    tf.errors.DataLossError,
    "broken or cut off",
  );
  assertThrows(
    () => dataset.iterator(Uint8Array.of(1, 2)),
    tf.errors.DataLossError,
    "2 bytes are none",
  );
  const other = data.range(9).shuffle(5, 1).iterator();
  await other.next();
  const saved = await other.save();
  for (let i = 0; i < saved.length; i++) {
    const broken = saved.slice();
    broken[i] ^= 0x55;
    assertThrows(() => data.range(9).shuffle(5, 1).iterator(broken), tf.errors.DataLossError);
  }
});

/** Values that a state may hold where its checksum is right, but no pass wrote it. */
const ODD: readonly unknown[] = [
  null,
  -1,
  0.5,
  1e300,
  "x",
  [],
  {},
  [[1]],
  new tf.NdArray("float64", [2, 2], Float64Array.of(1, 2, 3, 4)),
  new tf.NdArray("string", [], ["word"]),
];

/** Copies of a value in each of which one part is another value. */
function* altered(value: unknown): Generator<unknown> {
  yield* ODD;
  if (Array.isArray(value)) {
    yield value.slice(1);
    for (const [i, part] of value.entries()) {
      for (const other of altered(part)) yield value.with(i, other);
    }
  } else if (Object.getPrototypeOf(value ?? 0) === Object.prototype) {
    for (const [key, part] of Object.entries(value as object)) {
      for (const other of altered(part)) yield { ...value as object, [key]: other };
    }
  }
}

for (const [name, build] of Object.entries(PIPELINES)) {
  Deno.test(`a pass over ${name} says so where its state has wrong values`, async () => {
    const pass = build().asNumpyIterator();
    await pass.next();
    await pass.next();
    const saved = decodeState(await pass.save()) as { stages: unknown };
    await pass.return();
    for (const stages of some([...altered(saved.stages)], 20)) {
      const bytes = encodeState({ ...saved, stages } as never);
      let given = 0;
      try {
        const rest = build().asNumpyIterator(bytes);
        while (given < 100 && !(await rest.next()).done) given++;
        await rest.return();
      } catch (error) {
        const isOurs = error instanceof tf.errors.OpError || error instanceof tf.ValueError;
        assert(isOurs, `${Deno.inspect(stages)}: ${error}`);
      }
    }
  });
}
