import * as tf from "@weft/weft";
import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { spy } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

Deno.test("batch() stacks elements and knows its shape", async () => {
  const ds = tf.data.fromTensorSlices({ x: [[1, 2], [3, 4], [5, 6]], s: ["a", "b", "c"] });
  const pairs = ds.batch(2);
  assertEquals(specText(pairs.elementSpec), { x: "float32[?,2]", s: "string[?]" });
  assertEquals(pairs.size, 2);
  const letter = (c: string) => new TextEncoder().encode(c);
  assertEquals(await collect(pairs), [
    { x: [[1, 2], [3, 4]], s: [letter("a"), letter("b")] },
    { x: [[5, 6]], s: [letter("c")] },
  ]);
  const whole = ds.batch(2, { dropRemainder: true });
  assertEquals(specText(whole.elementSpec), { x: "float32[2,2]", s: "string[2]" });
  assertEquals([(await collect(whole)).length, whole.size], [1, 1]);
  assertThrows(() => ds.batch(0), tf.ValueError, "batchSize");
});

Deno.test("batch() refuses elements of different shapes", async () => {
  const ds = tf.data.fromGenerator(() => [[], [1]], "float32").batch(2);
  assertEquals(specText(ds.elementSpec), "float32<unknown>");
  const error = await assertRejects(
    () => collect(ds),
    tf.errors.InvalidArgumentError,
    "Cannot batch tensors with different shapes in component 0. First",
  );
  const phrases = [
    "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: [1], [batch]: [0]",
    "Cannot batch tensors with different shapes in component 0. First element had shape [0] and element 1 had shape [1].",
    "paddedBatch() fills rows up, raggedBatch() keeps their lengths",
  ];
  for (const phrase of phrases) assert(error.message.includes(phrase), error.message);
});

const words = tf.data.fromGenerator(() => [[1], [2, 3], [4, 5, 6]], tf.TensorSpec([null], "int32"));

Deno.test("paddedBatch() pads to the longest of a batch, or to a shape", async () => {
  assertEquals(specText(words.paddedBatch(2).elementSpec), "int32[?,?]");
  assertEquals(await collect(words.paddedBatch(2)), [[[1, 0], [2, 3]], [[4, 5, 6]]]);
  const fixed = words.paddedBatch(3, { paddedShapes: [4], paddingValues: -1, dropRemainder: true });
  assertEquals(specText(fixed.elementSpec), "int32[3,4]");
  assertEquals(await collect(fixed), [[[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1]]]);
});

Deno.test("paddedBatch() pads matrices, strings and complex numbers", async () => {
  const matrices = tf.data.fromGenerator(() => [[[1, 2]], [[3], [4]]], tf.TensorSpec([null, null]));
  assertEquals(await collect(matrices.paddedBatch(2, { paddingValues: 9 })), [[[[1, 2], [9, 9]], [[
    3,
    9,
  ], [4, 9]]]]);
  const texts = tf.data.fromGenerator(() => [["a"], ["b", "c"]], tf.TensorSpec([null], "string"));
  const [batch] = await collect(texts.paddedBatch(2, { paddingValues: "-" })) as Uint8Array[][][];
  assertEquals(batch.map((row) => row.map((s) => new TextDecoder().decode(s))), [["a", "-"], [
    "b",
    "c",
  ]]);
  const waves = tf.data.range(1, 3).map((n) =>
    tf.complex(tf.fill([2], 1), tf.fill([2], 2)).add(tf.cast(n, "complex64"))
  );
  assertEquals(await collect(waves.paddedBatch(2, { paddedShapes: [3] })), [
    [[[2, 2], [2, 2], [0, 0]], [[3, 2], [3, 2], [0, 0]]],
  ]);
});

Deno.test("paddedBatch() takes shapes and values for each component", async () => {
  const both = tf.data.zip({ w: words, n: tf.data.range(3) });
  const ds = both.paddedBatch(3, {
    paddedShapes: { w: [null], n: [] },
    paddingValues: { w: 7, n: 0 },
  });
  assertEquals(await collect(ds), [{ w: [[1, 7, 7], [2, 3, 7], [4, 5, 6]], n: [0, 1, 2] }]);
});

Deno.test("paddedBatch() refuses shapes that do not hold the elements", async () => {
  await assertRejects(
    () => collect(words.paddedBatch(2, { paddedShapes: [1] })),
    tf.errors.DataLossError,
    "Attempted to pad to a smaller size than the input element",
  );
  assertThrows(
    () => words.paddedBatch(2, { paddedShapes: [2, 2] }),
    tf.ValueError,
    "is not compatible with the corresponding input component shape",
  );
  const pairs = tf.data.fromGenerator(() => [[1, 2]], tf.TensorSpec([2], "int32"));
  assertThrows(
    () => pairs.paddedBatch(2, { paddedShapes: [1] }),
    tf.ValueError,
    "The padded shape [1] is not compatible with the corresponding input component shape [2].",
  );
  for (const paddedShapes of [[2], [-1], [null]]) {
    assertEquals(await collect(pairs.paddedBatch(2, { paddedShapes })), [[[1, 2]]]);
  }
  const named = tf.data.zip({ w: words, n: tf.data.range(3) });
  for (
    const [options, what] of [
      [{ paddedShapes: [[null], []] }, "paddedShapes"],
      [{ paddingValues: { w: 1 } }, "paddingValues"],
      [{ paddingValues: { w: 1, m: 2 } }, "paddingValues"],
    ] as const
  ) {
    const error =
      `Cannot use ${what}: it must have the structure of the elements, {n:.,w:.}, received`;
    assertThrows(() => named.paddedBatch(2, options), TypeError, error);
  }
  for (const paddingValues of ["-", 0.5, NaN, 2 ** 31]) {
    assertThrows(
      () => words.paddedBatch(2, { paddingValues }),
      TypeError,
      `Mismatched type between padding value ${paddingValues} and input dataset's component of int32`,
    );
  }
  const unknown = tf.data.fromGenerator(() => [[1]], "float32");
  assertThrows(() => unknown.paddedBatch(2), tf.ValueError, "unknown rank");
  assertEquals(await collect(unknown.paddedBatch(2, { paddedShapes: [2] })), [[[1, 0]]]);
});

Deno.test("batches are counted before they are read, where elements are", () => {
  const sizes = (n: number, options: tf.data.BatchOptions = {}) =>
    [tf.data.range(7), tf.data.range(6), words].map((ds) => ds.batch(n, options).size);
  assertEquals(sizes(3), [3, 2, null]);
  assertEquals(sizes(3, { dropRemainder: true }), [2, 2, null]);
  assertThrows(() => words.batch(0), tf.ValueError, "batchSize");
});

Deno.test("shuffle() is a permutation that its seed determines", async () => {
  const numbers = Array.from({ length: 50 }, (_, i) => i);
  const ds = tf.data.range(50);
  const first = await collect(ds.shuffle(50, 1)) as number[];
  assertEquals(first.toSorted((a, b) => a - b), numbers);
  assertNotEquals(first, numbers);
  assertEquals(await collect(ds.shuffle(50, 1)), first);
  assertEquals(await collect(ds.shuffle(50, { seed: 1 })), first);
  assertNotEquals(await collect(ds.shuffle(50, 2)), first);
});

Deno.test("shuffle() draws from its buffer alone", async () => {
  const order = await collect(tf.data.range(100).shuffle(10, 3)) as number[];
  order.forEach((value, place) => assert(value < place + 10, `${value} came ${place}-th`));
});

Deno.test("shuffle() has another order in each pass, unless it must not", async () => {
  const changing = tf.data.range(50).shuffle(50, 1);
  const [first, second] = [await collect(changing), await collect(changing)];
  assertNotEquals(first, second);
  const again = tf.data.range(50).shuffle(50, 1).repeat(2);
  assertEquals(await collect(again), [...first, ...second]);
  const same = tf.data.range(50).shuffle(50, 1, false);
  assertEquals(await collect(same), await collect(same));
});

Deno.test("shuffle() gives every element every place about as often", async () => {
  const counts = Array.from({ length: 4 }, () => new Array<number>(4).fill(0));
  const ds = tf.data.range(4).shuffle(4, 11);
  for (let i = 0; i < 400; i++) {
    (await collect(ds) as number[]).forEach((value, place) => counts[value][place]++);
  }
  for (const count of counts.flat()) assert(Math.abs(count - 100) < 40, JSON.stringify(counts));
});

Deno.test("repeat(), take() and skip() cut and join passes", async () => {
  const ds = tf.data.range(3);
  assertEquals(await collect(ds.repeat(2)), [0, 1, 2, 0, 1, 2]);
  assertEquals(await collect(ds.repeat().take(4)), [0, 1, 2, 0]);
  assertEquals(await collect(ds.repeat(0)), []);
  assertEquals(await collect(ds.take(-1).skip(1)), [1, 2]);
  assertEquals(await collect(ds.skip(-1)), []);
  assertEquals(await collect(ds.take(0)), []);
  assertEquals(await collect(ds.take(0).repeat()), [], "an empty dataset repeated ends");
  assertEquals([
    ds.repeat().size,
    ds.repeat(1).size,
    ds.repeat(2).size,
    ds.repeat(0).size,
    ds.take(0).repeat().size,
    ds.filter(() => true).repeat().size,
    ds.filter(() => true).repeat(2).size,
    ds.take(2).size,
    ds.skip(2).size,
    ds.skip(5).size,
  ], [Infinity, 3, 6, 0, 0, Infinity, null, 2, 1, 0]);
});

Deno.test("prefetch() computes ahead while nobody asks", async () => {
  let ahead!: () => void;
  const isAhead = new Promise<void>((resolve) => ahead = resolve);
  const ds = tf.data.fromGenerator(function* () {
    for (let i = 0;; i++) {
      if (i === 3) ahead();
      yield i;
    }
  }, "int32").prefetch(3);
  const pass = ds[Symbol.asyncIterator]();
  using first = (await pass.next()).value;
  // Without a prefetch the fourth element would never be requested.
  await isAhead;
  assertEquals(first.item(), 0);
  await pass.return?.();
});

Deno.test("prefetch() changes no elements", async () => {
  for (const n of [0, 1, 3, 100, tf.data.AUTOTUNE]) {
    assertEquals(await collect(tf.data.range(5).prefetch(n)), [0, 1, 2, 3, 4]);
  }
});

Deno.test("prefetch() reports an error in its place", async () => {
  const ds = tf.data.fromGenerator(function* () {
    yield 1;
    throw new Error("boom");
  }, "int32").prefetch(5);
  const pass = ds[Symbol.asyncIterator]();
  using first = (await pass.next()).value;
  assertEquals(first.item(), 1);
  await assertRejects(() => pass.next(), tf.errors.UnknownError, "boom");
});

Deno.test("cache() computes each element once", async () => {
  let calls = 0;
  const body = (x: tf.NdArray) => {
    calls++;
    return x;
  };
  const ds = tf.data.range(3).map((x) => tf.numpyFunction(body, [x], "int32")).cache();
  assertEquals(await collect(ds.take(2)), [0, 1]);
  assertEquals(await collect(ds.repeat(2)), [0, 1, 2, 0, 1, 2]);
  assertEquals(calls, 5, "2 of a pass that was left, then 3 of a complete one");
});

testOnDevices("passes leave memory as they found it", async () => {
  const ds = tf.data.fromTensorSlices({
    x: tf.tidy(() => tf.ones([8, 3]).arraySync()),
    y: [0, 1, 2, 3, 4, 5, 6, 7],
  })
    .map(
      ({ x, y }) => [
        tf.add(x, 1),
        tf.pyFunction((y: tf.Tensor) => tf.square(y), [y], tf.TensorSpec([])),
      ],
      {
        numParallelCalls: 2,
      },
    )
    .shuffle(4, 1).batch(3).prefetch(2).cache();
  const pass = async () => {
    for await (using _ of ds);
    for await (using _ of ds.take(1));
    for await (const batch of ds) {
      tf.dispose(batch);
      break;
    }
    await ds.forEachAsync(([x]) => assertEquals(x.shape[1], 3));
  };
  await pass();
  const { numTensors, numBytes } = tf.memory();
  for (let i = 0; i < 3; i++) await pass();
  assertEquals([tf.memory().numTensors, tf.memory().numBytes], [numTensors, numBytes]);
});

testOnDevices("a scope around the loop owns the elements", async () => {
  const before = tf.memory().numTensors;
  {
    using _scope = tf.scope();
    let sum: tf.Tensor = tf.scalar(0);
    for await (const { x } of tf.data.fromTensorSlices({ x: [1, 2, 3] })) sum = tf.add(sum, x);
    assertEquals(sum.item(), 6);
  }
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("toArray() gives every element, which the caller frees", async () => {
  const before = tf.memory().numTensors;
  const elements = await tf.data.range(3).toArray();
  assertEquals(elements.map((e) => e.item()), [0, 1, 2]);
  tf.dispose(elements);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("raggedBatch() makes ragged tensors of what varies, and keeps the rest dense", async () => {
  const lists = [[1], [2, 3], []];
  const ds = tf.data.fromGenerator(
    () => lists.map((x, id) => ({ x, id, m: x.map((v) => [v, -v]) })),
    { x: tf.TensorSpec([null], "int32"), id: "int32", m: tf.TensorSpec([null, 2]) },
  );
  const spec = { id: "int32[]", x: "int32[?]", m: "float32[?,2]" };
  assertEquals(specText(ds.elementSpec), { ...spec, id: "int32<unknown>" });
  const shaped = ds.map(({ x, id, m }) => ({ x, m, id: tf.ensureShape(id, []) }));
  type Batch = { x: tf.RaggedTensor; m: tf.RaggedTensor; id: tf.Tensor };
  const batches = shaped.raggedBatch<Batch>(2);
  assertEquals(
    String(batches.elementSpec),
    "{x: ragged int32[?,?], m: ragged float32[?,?,2], id: int32[?]}",
  );
  const seen: unknown[] = [];
  const before = tf.memory().numTensors;
  for await (using b of batches) seen.push([b.x.toList(), b.m.toList(), b.id.arraySync()]);
  assertEquals(tf.memory().numTensors, before);
  assertEquals(seen, [
    [[[1], [2, 3]], [[[1, -1]], [[2, -2], [3, -3]]], [0, 1]],
    [[[]], [[]], [2]],
  ]);
  const twice = shaped.raggedBatch<Batch>(2).raggedBatch<Batch>(2);
  for await (using nested of twice) assertEquals(nested.x.toList(), [[[1], [2, 3]], [[]]]);
  for await (const host of batches.take(1).asNumpyIterator()) {
    assertEquals(host.x.toList(), [[1], [2, 3]]);
  }
  const sums = batches.map(({ x }) => tf.ragged.sum(x, 1) as tf.Tensor);
  assertEquals(await collect(sums), [[1, 5], [0]]);
  assertThrows(() => ds.raggedBatch(2), tf.ValueError, "unknown rank");
  assertEquals(
    String(shaped.raggedBatch(2, { dropRemainder: true }).elementSpec),
    "{x: ragged int32[2,?], m: ragged float32[2,?,2], id: int32[2]}",
  );
});

Deno.test("asNumpyIterator() hands out arrays that its user may write to", async () => {
  const kept = Float32Array.of(1, 2);
  const spec = tf.TensorSpec([2]);
  const script = (body: () => unknown, Tout: tf.Tout = spec) =>
    tf.data.range(2).map(() => tf.numpyFunction(body, [], Tout) as tf.Tensor);
  const pair = [spec, spec];
  const pipelines: Record<string, tf.data.Dataset<tf.Tensor>> = {
    "values of a list": tf.data.fromTensorSlices([[1, 2], [1, 2]]),
    "a constant": tf.data.range(2).map(() => tf.constant([1, 2])),
    "an argument": tf.data.fromTensorSlices(tf.tensor([[1, 2], [1, 2]])).map((x) => x),
    "what a script made": script(() => Float32Array.of(1, 2)),
    "what a script keeps": script(() => kept),
    "what a script that is pure made": tf.data.range(2).map(() =>
      tf.numpyFunction(() => kept, [], spec, { stateful: false })
    ),
    "a script beside a constant": tf.data.range(2).map(() => [
      tf.numpyFunction(() => kept, [], spec),
      tf.constant([1, 2]),
    ]) as unknown as tf.data.Dataset<tf.Tensor>,
    "one array twice": script(() => [kept, kept], pair),
    "one array twice, of a worker": tf.data.range(2).map(
      () => {
        const data = new Float32Array(2048).fill(1);
        return [data, data];
      },
      { workers: true, Tout: [tf.TensorSpec([2048]), tf.TensorSpec([2048])] },
    ) as unknown as tf.data.Dataset<tf.Tensor>,
    "a cache of scripts": script(() => kept).cache(),
    "behind a cache": script(() => kept).cache().prefetch(1),
    "a batch": tf.data.fromTensorSlices([[1, 2], [1, 2]]).batch(2),
    "a batch of one": script(() => kept).batch(1),
    "passed on": script(() => kept).shuffle(2).repeat(2).take(3).prefetch(1),
  };
  for (const [what, dataset] of Object.entries(pipelines)) {
    const seen: string[] = [];
    for (let pass = 0; pass < 2; pass++) {
      for await (const element of dataset.asNumpyIterator()) {
        for (const array of [element].flat() as tf.NdArray[]) {
          const { data } = array.reshape([array.size]);
          seen.push(String(data.slice(0, 2)));
          (data as Float32Array).fill(9);
        }
      }
    }
    assertEquals(seen.filter((values) => values.includes("9")), [], what);
    assertEquals(Array.from(kept), [1, 2], what);
  }
});

Deno.test("asNumpyIterator() copies nothing that is made for it", async () => {
  using copied = spy(tf.NdArray.prototype, "copy");
  const count = async (dataset: tf.data.Dataset<tf.Tensor>): Promise<number> => {
    const before = copied.calls.length;
    for await (const _ of dataset.asNumpyIterator());
    return copied.calls.length - before;
  };
  const rows = tf.data.fromTensorSlices([[1, 2], [3, 4], [5, 6]]);
  const script = rows.map(() => tf.numpyFunction(() => [1, 2], [], tf.TensorSpec([2])));
  assertEquals(await count(rows.batch(1).prefetch(1)), 0);
  assertEquals(await count(script), 0);
  assertEquals(await count(script.cache()), 3);
  assertEquals(await count(rows), 3);
});
