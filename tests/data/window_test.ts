import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { collect, plain, specText } from "./collect.ts";

const { data } = tf;

// What TensorFlow 2.21 gives for range(7).window(size, shift, stride, drop_remainder).flat_map(lambda w: w.batch(10)).
const WINDOWS: [size: number, shift: number, stride: number, drop: boolean, windows: number[][]][] =
  [
    [3, 3, 1, false, [[0, 1, 2], [3, 4, 5], [6]]],
    [3, 3, 1, true, [[0, 1, 2], [3, 4, 5]]],
    [3, 2, 1, false, [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]],
    [3, 1, 2, true, [[0, 2, 4], [1, 3, 5], [2, 4, 6]]],
    [2, 3, 1, false, [[0, 1], [3, 4], [6]]],
    [2, 2, 3, false, [[0, 3], [2, 5], [4], [6]]],
    [2, 9, 1, false, [[0, 1]]],
  ];

for (const [size, shift, stride, dropRemainder, wanted] of WINDOWS) {
  const name = `window(${size}) with shift ${shift}, stride ${stride}${
    dropRemainder ? ", whole ones" : ""
  }`;
  Deno.test(`${name} has TensorFlow's elements`, async () => {
    const windows = data.range(7).window(size, { shift, stride, dropRemainder });
    assertEquals(await collect(windows.flatMap((w) => w.batch(10))), wanted);
    assertEquals(windows.size, wanted.length);
  });
}

// What TensorFlow 2.21 gives for windows of range(9), some of whose elements fail, with ignore_errors().
const FAILING: [
  at: number[],
  size: number,
  shift: number,
  stride: number,
  drop: boolean,
  windows: string,
][] = [
  [[2], 2, 2, 1, false, "0,1 4,5 6,7 8"],
  [[2], 2, 2, 1, true, "0,1 4,5 6,7"],
  [[2], 2, 1, 1, true, "0,1 3,4 4,5 5,6 6,7 7,8"],
  [[2], 3, 1, 2, false, "1,3,5 3,5,7 4,6,8 5,7 6,8 7 8"],
  [[2], 2, 3, 1, false, "0,1 3,4 6,7"],
  [[2], 1, 3, 1, true, "0 3 6"],
  [[2], 2, 4, 2, false, "4,6 8"],
  [[0], 2, 2, 1, false, "2,3 4,5 6,7 8"],
  [[0], 2, 4, 2, true, "4,6"],
  [[7, 8], 2, 2, 1, false, "0,1 2,3 4,5"],
  [[7, 8], 3, 1, 2, true, "0,2,4 1,3,5 2,4,6"],
  [[7, 8], 2, 3, 1, false, "0,1 3,4"],
];

for (const [at, size, shift, stride, dropRemainder, wanted] of FAILING) {
  Deno.test(`window(${size}, ${shift}, ${stride}, ${dropRemainder}) fails with its own elements at ${at}`, async () => {
    const failing = data.range(9).map((x) => {
      const fails = tf.any(tf.equal(x, tf.tensor(at, [at.length], x.dtype)));
      const checked = tf.debugging.checkNumerics(tf.where(fails, NaN, 1), "fails");
      return tf.mul(tf.cast(x, "int32"), tf.cast(checked, "int32"));
    });
    const windows = failing.window(size, { shift, stride, dropRemainder })
      .flatMap((w) => w.batch(9)).ignoreErrors();
    const text = (all: unknown[]) => all.map(String).join(" ");
    assertEquals(text(await collect(windows)), wanted);
    // Failures are part of the state of a pass.
    for (let k = 0; k <= wanted.split(" ").length; k++) {
      const first = windows.asNumpyIterator(), begun: unknown[] = [];
      for (let i = 0; i < k; i++) begun.push(plain((await first.next()).value));
      const rest = await Array.fromAsync(windows.asNumpyIterator(await first.save()), plain);
      await first.return();
      assertEquals(text([...begun, ...rest]), wanted, `from ${k} on`);
    }
  });
}

Deno.test("windows are datasets of the elements, for every stage and for loops", async () => {
  const records = data.fromTensorSlices({ x: [1, 2, 3], y: ["a", "b", "c"] }).window(2);
  assertEquals(String(records.elementSpec), "Dataset({x: float32[], y: string[]})");
  const sums: number[] = [];
  for await (const window of records) {
    sums.push((await window.reduce(0, (sum, { x }) => tf.add(sum, x))).item());
  }
  assertEquals(sums, [3, 3]);
  const batches = records.flatMap((window) => window.map(({ x }) => x).batch(2));
  assertEquals(specText(batches.elementSpec), "float32[?]");
  assertEquals(await collect(batches), [[1, 2], [3]]);
});

Deno.test("window() refuses sizes that are none, and maps of windows say what to do", () => {
  assertThrows(() => data.range(3).window(0), tf.ValueError, "size");
  assertThrows(() => data.range(3).window(1, { shift: 0 }), tf.ValueError, "shift");
  assertThrows(() => data.range(3).window(1, { stride: 0.5 }), tf.ValueError, "stride");
  assertThrows(() => data.range(3).window(2).map((w) => w), TypeError, "pass them to flatMap()");
  assertThrows(() => data.range(3).window(2).batch(2), TypeError, "Cannot batch datasets");
});

Deno.test("unbatch() gives the rows of elements of any length", async () => {
  const ds = data.range(1, 4).map((n) =>
    [tf.range(0, n, 1, "int32"), tf.add(tf.zerosLike(tf.range(0, n)), 7)] as const
  ).unbatch();
  assertEquals(specText(ds.elementSpec), ["int32[]", "int32[]"]);
  assertEquals(await collect(ds), [[0, 7], [0, 7], [1, 7], [0, 7], [1, 7], [2, 7]]);
  assertEquals(data.range(6).batch(2, { dropRemainder: true }).unbatch().size, 6);
});

Deno.test("unbatch() refuses scalars and components of different lengths", async () => {
  assertThrows(() => data.range(3).unbatch(), tf.ValueError, "scalar");
  const uneven = data.range(1, 3).map((n) => [tf.range(0, n), tf.zeros([2])] as const).unbatch();
  await assertRejects(
    () => collect(uneven),
    tf.errors.InvalidArgumentError,
    "same batch size in each component: received 1, 2",
  );
  assertEquals(await collect(uneven.ignoreErrors()), [[0, 0], [1, 0]]);
});

const words = data.range(1, 8).map((n) => tf.range(0, n, 1, "int32"));

Deno.test("bucketBySequenceLength() batches what is about as long, as TensorFlow does", async () => {
  const lengthOf = (x: tf.Tensor) => tf.size(x);
  const bounds = { bucketBoundaries: [3, 5], bucketBatchSizes: [2, 2, 2] };
  const ds = words.bucketBySequenceLength(lengthOf, { ...bounds, paddingValues: -1 });
  assertEquals(await collect(ds), [
    [[0, -1], [0, 1]],
    [[0, 1, 2, -1], [0, 1, 2, 3]],
    [[0, 1, 2, 3, 4, -1], [0, 1, 2, 3, 4, 5]],
    [[0, 1, 2, 3, 4, 5, 6]],
  ]);
  const whole = words.bucketBySequenceLength(lengthOf, { ...bounds, dropRemainder: true });
  assertEquals((await collect(whole)).length, 3);
  assertEquals(String(whole.elementSpec), "int32[2,?]");
  const padded = words.take(4).bucketBySequenceLength(lengthOf, {
    ...bounds,
    padToBucketBoundary: true,
  });
  assertEquals(await collect(padded), [[[0, 0], [0, 1]], [[0, 1, 2, 0], [0, 1, 2, 3]]]);
  await assertRejects(
    () => collect(words.bucketBySequenceLength(lengthOf, { ...bounds, padToBucketBoundary: true })),
    tf.errors.InvalidArgumentError,
    "elements must have length < max(bucketBoundaries): received 5, wanted less than 5",
  );
  const same = data.range(6).map((n) => tf.fill([2], n)).bucketBySequenceLength(lengthOf, {
    ...{ bucketBoundaries: [3], bucketBatchSizes: [4, 1], noPadding: true },
  });
  assertEquals((await collect(same)).length, 2);
  await assertRejects(
    () => collect(words.bucketBySequenceLength(lengthOf, { ...bounds, noPadding: true })),
    tf.errors.InvalidArgumentError,
    "Cannot batch tensors with different shapes",
  );
});

Deno.test("bucketBySequenceLength() refuses boundaries and sizes that do not fit", () => {
  const bucket = (bucketBoundaries: number[], bucketBatchSizes: number[]) => () =>
    words.bucketBySequenceLength((x) => tf.size(x), { bucketBoundaries, bucketBatchSizes });
  assertThrows(bucket([3], [1]), tf.ValueError, "len(bucketBoundaries) + 1");
  assertThrows(bucket([3, 3], [1, 1, 1]), tf.ValueError, "sorted");
  assertThrows(bucket([0], [1, 1]), tf.ValueError, "bucketBoundaries");
  assertThrows(
    () => words.bucketBySequenceLength((x) => x, { bucketBoundaries: [], bucketBatchSizes: [1] }),
    tf.ValueError,
    "scalar integer",
  );
});

Deno.test("scan() and reduce() carry their state, whose shape may grow", async () => {
  const ds = data.range(1, 5);
  const zero = tf.scalar(0, "int32");
  const sums = ds.scan({ sum: zero }, ({ sum }, x) => [{ sum: tf.add(sum, x) }, tf.mul(sum, x)]);
  assertEquals(await collect(sums), [0, 2, 9, 24]);
  const all = await ds.reduce({ sum: zero, list: tf.zeros([0], "int32") }, ({ sum, list }, x) => ({
    sum: tf.add(sum, x),
    list: tf.concat([list, tf.reshape(x, [1])]),
  }));
  assertEquals([all.sum.item(), all.list.arraySync()], [10, [1, 2, 3, 4]]);
  assertEquals((await data.range(0).reduce(zero, (s, x) => tf.add(s, x))).item(), 0);
});

Deno.test("scan() and reduce() refuse a state that changes, and tell a body's error", async () => {
  const zero = tf.scalar(0, "int32");
  const ds = data.range(3);
  assertThrows(
    () => ds.scan(zero, (_, x) => [tf.cast(x, "float32"), x]),
    TypeError,
    "must match the initial state",
  );
  assertThrows(
    () => ds.scan(zero, (s) => s as unknown as [unknown, unknown]),
    TypeError,
    "must return a pair",
  );
  await assertRejects(
    () => ds.reduce(zero, () => tf.scalar(1.5)),
    TypeError,
    "must match the initial state",
  );
  const body = () => {
    throw new Error("no sum");
  };
  await assertRejects(
    () => ds.reduce(zero, (s) => tf.numpyFunction(body, [s], tf.TensorSpec([], "int32"))),
    tf.errors.UnknownError,
    "no sum",
  );
});

Deno.test("shard(), concatenate() and enumerate() know their sizes", async () => {
  assertEquals(await collect(data.range(8).shard(3, 2)), [2, 5]);
  assertEquals([0, 1, 2].map((i) => data.range(8).shard(3, i).size), [3, 3, 2]);
  assertThrows(() => data.range(8).shard(3, 3), tf.ValueError, "index must be between 0 and 2");
  const both = data.fromTensorSlices([[1, 2]]).concatenate(data.fromTensorSlices([[3, 4, 5]]));
  assertEquals([specText(both.elementSpec), both.size], ["float32[?]", 2]);
  assertEquals(await collect(both), [[1, 2], [3, 4, 5]]);
  assertThrows(
    () => data.range(2).concatenate(data.fromTensors(1.5)),
    TypeError,
    "Cannot concatenate datasets whose elements differ",
  );
  const numbered = data.fromTensorSlices(["a", "b"]).enumerate(5);
  assertEquals([specText(numbered.elementSpec), numbered.size], [["int32[]", "string[]"], 2]);
});

Deno.test("withOptions() reaches the stages before it", async () => {
  const gates = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
  const body = async (x: tf.NdArray) => {
    const i = Number(x.item());
    await gates[i].promise;
    gates[1 - i].resolve();
    return x;
  };
  const ds = data.range(2).map((x) => tf.numpyFunction(body, [x], tf.TensorSpec([], "int32")), {
    numParallelCalls: 2,
  })
    .withOptions({ deterministic: false });
  gates[1].resolve();
  assertEquals(await collect(ds), [1, 0]);
  assertThrows(() => ds.withOptions({ deterministc: true } as object), TypeError, "deterministc");
});
