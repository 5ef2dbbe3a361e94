/** Elements that fail: what comes after them, what is lost with them, and that nothing leaks. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { assertSpyCalls, stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { collect } from "./collect.ts";

/** The numbers before `n`, of which some fail. */
function failing(n: number, ...bad: number[]): tf.data.Dataset<tf.Tensor> {
  return tf.data.range(n).map(failAt(...bad));
}

/** Throws for some numbers. */
function failAt(...bad: number[]): (x: tf.Tensor) => tf.Tensor {
  const body = (x: tf.NdArray) => {
    if (bad.includes(Number(x.item()))) throw new RangeError(`bad ${x.item()}`);
    return x;
  };
  return (x) => tf.numpyFunction(body, [x], tf.TensorSpec([], "int32")) as tf.Tensor;
}

function* throwing(): Generator<number> {
  yield 0;
  throw new Error("no more");
}

/** An iterator that throws once and goes on. */
function stumbling(): Iterator<number> {
  let n = 0;
  return {
    next() {
      if (++n === 2) throw new Error("once");
      return n === 5 ? { done: true, value: undefined } : { done: false, value: n };
    },
  };
}

const m = () => failing(6, 1);
const fill = (x: tf.Tensor) => tf.fill(tf.reshape(x, [1]), 1, "int32");

/** Pipelines and the elements that TensorFlow 2.21 gives of the same. */
const PIPELINES: Readonly<Record<string, [() => tf.data.Dataset<unknown>, unknown[]]>> = {
  "map": [() => m().ignoreErrors(), [0, 2, 3, 4, 5]],
  "map, several": [() => failing(6, 1, 2, 5).ignoreErrors(), [0, 3, 4]],
  "map, all": [() => failing(3, 0, 1, 2).ignoreErrors(), []],
  "map, several at once": [
    () => tf.data.range(6).map(failAt(1), { numParallelCalls: 3 }).ignoreErrors(),
    [0, 2, 3, 4, 5],
  ],
  "map of map": [() => m().map(failAt(3)).ignoreErrors(), [0, 2, 4, 5]],
  "batch after": [() => m().ignoreErrors().batch(2), [[0, 2], [3, 4], [5]]],
  "batch before": [() => m().batch(2).ignoreErrors(), [[2, 3], [4, 5]]],
  "batch of three before": [
    () => failing(9, 4).batch(3).ignoreErrors(),
    [[0, 1, 2], [6, 7, 8]],
  ],
  "batch of three before, two in one": [
    () => failing(9, 3, 4).batch(3).ignoreErrors(),
    [[0, 1, 2], [6, 7, 8]],
  ],
  "paddedBatch of three before": [
    () => failing(9, 4).paddedBatch(3).ignoreErrors(),
    [[0, 1, 2], [5, 6, 7], [8]],
  ],
  "the rest of a paddedBatch before": [
    () => failing(7, 5).paddedBatch(4).ignoreErrors(),
    [[0, 1, 2, 3], [6]],
  ],
  "skip before, several": [() => failing(9, 1, 4).skip(3).ignoreErrors(), [8]],
  "the rest of a batch before": [() => failing(6, 5).batch(4).ignoreErrors(), [[0, 1, 2, 3]]],
  "a batch of different shapes": [
    () => tf.data.range(1, 4).map(fill).batch(2).ignoreErrors(),
    [[[1, 1, 1]]],
  ],
  "paddedBatch before": [
    () => failing(4, 1).map(fill).paddedBatch(2).ignoreErrors(),
    [[[1, 1, 0], [1, 1, 1]]],
  ],
  "take before": [() => m().take(3).ignoreErrors(), [0, 2, 3]],
  "take after": [() => m().ignoreErrors().take(3), [0, 2, 3]],
  "skip before": [() => m().skip(2).ignoreErrors(), [4, 5]],
  "skip after": [() => m().ignoreErrors().skip(2), [3, 4, 5]],
  "repeat before": [() => failing(3, 1).repeat(2).ignoreErrors(), [0, 2, 0, 2]],
  "cache before": [() => failing(3, 1).cache().repeat(2).ignoreErrors(), [0, 2, 0, 2]],
  "prefetch before": [() => m().prefetch(2).ignoreErrors(), [0, 2, 3, 4, 5]],
  "shuffle of one before": [() => m().shuffle(1).ignoreErrors(), [0, 2, 3, 4, 5]],
  "filter": [
    () => tf.data.range(6).filter((x) => tf.equal(tf.mod(failAt(1)(x), 2), 1)).ignoreErrors(),
    [3, 5],
  ],
  "zip": [
    () => tf.data.zip(m(), tf.data.range(10, 16)).ignoreErrors(),
    [[0, 10], [2, 12], [3, 13], [4, 14], [5, 15]],
  ],
  "zip of two that fail": [
    () => tf.data.zip(m(), failing(6, 3)).ignoreErrors(),
    [[0, 0], [2, 2], [4, 4], [5, 5]],
  ],
  "zip that ends beside a failure": [
    () => tf.data.zip(failing(2, 1), tf.data.range(1)).ignoreErrors(),
    [[0, 0]],
  ],
  "fromGenerator, an element that does not fit": [
    () => tf.data.fromGenerator(() => [0, "a", 2], "int32").ignoreErrors(),
    [0, 2],
  ],
  "fromGenerator that throws": [
    () => tf.data.fromGenerator(throwing, "int32").ignoreErrors(),
    [0],
  ],
  "an iterator that throws and goes on": [
    () => tf.data.fromGenerator(stumbling, "int32").ignoreErrors(),
    [1, 3, 4],
  ],
};

for (const [name, [make, wanted]] of Object.entries(PIPELINES)) {
  testOnDevices(`ignoreErrors() leaves out what TensorFlow's does: ${name}`, async () => {
    const ds = make();
    assertEquals(await collect(ds), wanted);
    // Another pass, with tensors.
    const before = tf.memory().numTensors;
    for await (using element of ds as tf.data.Dataset<tf.Tensor>) assert(element !== null);
    assertEquals(tf.memory().numTensors, before);
  });
}

Deno.test("shuffle() keeps its buffer where an element fails", async () => {
  const seen = await collect(failing(6, 1).shuffle(4, 1).ignoreErrors()) as number[];
  assertEquals(seen.toSorted((a, b) => a - b), [0, 2, 3, 4, 5]);
});

Deno.test("ignoreErrors() refuses options that it does not have", () => {
  assertThrows(
    () => m().ignoreErrors({ logWarnings: true } as never),
    TypeError,
    'did you mean "logWarning"',
  );
});

Deno.test("ignoreErrors() says nothing of its size and keeps the spec", () => {
  assertEquals([m().size, m().ignoreErrors().size, m().repeat().ignoreErrors().size], [
    6,
    null,
    null,
  ]);
  assertEquals(String(m().ignoreErrors().elementSpec), "int32[]");
});

Deno.test("ignoreErrors() warns where it is asked to", async () => {
  using warn = stub(console, "warn");
  assertEquals(await collect(m().ignoreErrors()), [0, 2, 3, 4, 5]);
  assertSpyCalls(warn, 0);
  assertEquals(await collect(failing(6, 1, 4).ignoreErrors({ logWarning: true })), [0, 2, 3, 5]);
  const error = /^Error raised with error message .*bad (\d)/;
  assertEquals(warn.calls.map(({ args }) => error.exec(args[0])?.[1]), ["1", "4"]);
});

Deno.test("an iteration without ignoreErrors() ends at the first error, as often as it is asked", async () => {
  let ended!: () => void;
  const ds = tf.data.fromGenerator(function* () {
    try {
      for (let i = 0;; i++) yield i;
    } finally {
      ended();
    }
  }, tf.TensorSpec([], "int32")).map(failAt(1));
  for (const stages of [ds, ds.batch(1), ds.prefetch(2), ds.shuffle(1), tf.data.zip(ds, ds)]) {
    const isEnded = new Promise<void>((resolve) => ended = resolve);
    const pass = (stages as tf.data.Dataset<tf.Tensor>).asNumpyIterator();
    await pass.next();
    await assertRejects(() => pass.next(), tf.errors.InvalidArgumentError, "bad 1");
    assertEquals(await pass.next(), { done: true, value: undefined });
    // The generator is told that no more elements are wanted.
    await isEnded;
  }
});

Deno.test("errors after ignoreErrors() are not ignored", async () => {
  const ds = m().ignoreErrors().map(failAt(3));
  const seen: unknown[] = [];
  await assertRejects(
    async () => {
      for await (const x of ds.asNumpyIterator()) seen.push(x.item());
    },
    tf.errors.InvalidArgumentError,
    "bad 3",
  );
  assertEquals(seen, [0, 2]);
});

Deno.test("an iteration of endless failures can be left", async () => {
  let calls = 0, started!: () => void;
  const isStarted = new Promise<void>((resolve) => started = resolve);
  const body = async (_x: tf.NdArray) => {
    if (++calls === 3) started();
    await new Promise((resolve) => setTimeout(resolve, 0));
    throw new Error("always");
  };
  const ds = tf.data.range(1).repeat().map((x) => tf.numpyFunction(body, [x], "int32"))
    .ignoreErrors();
  const pass = ds.asNumpyIterator();
  const next = assertRejects(() => pass.next(), DOMException, "The iteration was left");
  await isStarted;
  await pass.return!();
  await next;
  const before = calls;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(calls, before);
});

Deno.test("an endless repeat() ends where a whole pass fails, as TensorFlow's does", async () => {
  const failing = (at: number[]) =>
    tf.data.range(3).map((x) => {
      const fails = tf.any(tf.equal(tf.cast(x, "int32"), tf.tensor(at, [at.length], "int32")));
      return tf.debugging.checkNumerics(tf.where(fails, NaN, tf.cast(x, "float32")), "no");
    });
  assertEquals(await collect(failing([0, 1, 2]).repeat().ignoreErrors()), []);
  assertEquals(await collect(failing([0, 2]).repeat().ignoreErrors().take(3)), [1, 1, 1]);
});

/** Two elements of a number. */
const two = (i: tf.Tensor) => tf.data.range(2).map((k) => tf.add(tf.mul(i, 10), k));
/**
 * The elements that TensorFlow 2.21 gives for range(9), of which one element fails, behind a stage, then `batch(2).ignore_errors()`: for the failures
 * of 0, 1, 2 and 5. A failure takes along what was before it in its batch; where the batch is made in one with a map, all of the batch.
 */
const BATCHES: Readonly<
  Record<
    string,
    readonly [(d: tf.data.Dataset<tf.Tensor>) => tf.data.Dataset<tf.Tensor>, readonly string[]]
  >
> = {
  "batch(3) of rows": [(d) => d.batch(3).unbatch(), [
    "3,4 5,6 7,8",
    "3,4 5,6 7,8",
    "3,4 5,6 7,8",
    "0,1 6,7 8",
  ]],
  "rebatch()": [(d) => d.batch(3).rebatch(2), ["3,4,5,6 7,8", "3,4,5,6 7,8", "3,4,5,6 7,8", ""]],
  "batch()": [(d) => d.batch(2), ["2,3,4,5", "2,3,4,5", "4,5,6,7 8", "0,1,2,3"]],
  "paddedBatch()": [(d) => d.paddedBatch(2), [
    "1,2,3,4 5,6,7,8",
    "2,3,4,5",
    "3,4,5,6 7,8",
    "0,1,2,3",
  ]],
  "take()": [(d) => d.take(3), ["1,2 3", "2,3", "0,1 3", "0,1 2"]],
  "skip()": [(d) => d.skip(2), ["3,4 5,6 7,8", "4,5 6,7 8", "3,4 5,6 7,8", "2,3 6,7 8"]],
  "shard()": [(d) => d.shard(2, 0), ["1,3 5,7", "3,5 7", "3,5 7", "0,2 7"]],
  "repeat()": [(d) => d.repeat(2), [
    "1,2 3,4 5,6 7,8 1,2 3,4 5,6 7,8",
    "2,3 4,5 6,7 8,0 2,3 4,5 6,7 8",
    "0,1 3,4 5,6 7,8 0,1 3,4 5,6 7,8",
    "0,1 2,3 6,7 8,0 1,2 3,4 6,7 8",
  ]],
  "prefetch()": [(d) => d.prefetch(2), [
    "1,2 3,4 5,6 7,8",
    "2,3 4,5 6,7 8",
    "0,1 3,4 5,6 7,8",
    "0,1 2,3 6,7 8",
  ]],
  "shuffle()": [(d) => d.shuffle(1), [
    "1,2 3,4 5,6 7,8",
    "2,3 4,5 6,7 8",
    "0,1 3,4 5,6 7,8",
    "0,1 2,3 6,7 8",
  ]],
  "flatMap()": [(d) => d.flatMap(two), [
    "10,11 20,21 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 20,21 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 10,11 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 10,11 20,21 30,31 40,41 60,61 70,71 80,81",
  ]],
  "interleave()": [(d) => d.interleave(two, { cycleLength: 2 }), [
    "10,20 11,21 30,40 31,41 50,60 51,61 70,80 71,81",
    "20,1 21,30 40,31 41,50 60,51 61,70 80,71 81",
    "0,10 1,11 30,40 31,41 50,60 51,61 70,80 71,81",
    "0,10 1,11 20,30 21,31 60,41 61,70 80,71 81",
  ]],
  "interleave() in blocks": [(d) => d.interleave(two, { cycleLength: 3, blockLength: 2 }), [
    "10,11 20,21 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 20,21 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 10,11 30,31 40,41 50,51 60,61 70,71 80,81",
    "0,1 10,11 20,21 30,31 40,41 60,61 70,71 80,81",
  ]],
  "filter()": [(d) => d.filter((x) => tf.equal(tf.mod(x, 2), 0)), [
    "2,4 6,8",
    "2,4 6,8",
    "4,6 8",
    "0,2 6,8",
  ]],
  "concatenate()": [(d) => d.concatenate(tf.data.range(2)), [
    "1,2 3,4 5,6 7,8 0,1",
    "2,3 4,5 6,7 8,0 1",
    "0,1 3,4 5,6 7,8 0,1",
    "0,1 2,3 6,7 8,0 1",
  ]],
  "a parallel map()": [(d) => d.map((x) => tf.add(x, 1), { numParallelCalls: 2 }), [
    "3,4 5,6 7,8 9",
    "3,4 5,6 7,8 9",
    "1,2 5,6 7,8 9",
    "1,2 3,4 7,8 9",
  ]],
};

for (const [stage, [of, wanted]] of Object.entries(BATCHES)) {
  Deno.test(`batches behind ${stage} lose what TensorFlow's lose to a failure`, async () => {
    for (const [i, at] of [0, 1, 2, 5].entries()) {
      const failing = tf.data.range(9).map((x) => {
        const check = tf.debugging.checkNumerics(tf.where(tf.equal(x, at), NaN, 1), "no");
        return tf.mul(x, tf.cast(check, "int32"));
      });
      const found = await collect(of(failing).batch(2).ignoreErrors());
      assertEquals(found.map(String).join(" "), wanted[i], `${at} fails`);
    }
  });
}
