import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

Deno.test("range() counts as Python's range does", async () => {
  assertEquals(await collect(tf.data.range(4)), [0, 1, 2, 3]);
  assertEquals(await collect(tf.data.range(2, 5)), [2, 3, 4]);
  assertEquals(await collect(tf.data.range(10, 0, -4)), [10, 6, 2]);
  assertEquals(await collect(tf.data.range(3, 3)), []);
  assertEquals(await collect(tf.data.range(2, { dtype: "int64" })), [0n, 1n]);
  assertEquals(tf.data.range(10, 0, -4).size, 3);
  assertThrows(
    () => tf.data.range(0, 3, 0),
    tf.ValueError,
    "Cannot make a range from 0 to 3 by 0: wanted finite numbers and a",
  );
});

testOnDevices("fromTensorSlices() cuts every tensor of a nest along its first axis", async () => {
  using labels = tf.tensor([7, 8], [2], "int32");
  const ds = tf.data.fromTensorSlices({
    x: [[1, 2], [3, 4]],
    deep: [labels, Float32Array.of(5, 6)],
  });
  assertEquals(specText(ds.elementSpec), { x: "float32[2]", deep: ["int32[]", "float32[]"] });
  assertEquals(ds.size, 2);
  assertEquals(await collect(ds), [{ x: [1, 2], deep: [7, 5] }, { x: [3, 4], deep: [8, 6] }]);
});

testOnDevices("an iteration hands out tensors on the default device", async (device) => {
  for await (using e of tf.data.fromTensorSlices({ x: [[1, 2]], y: [3] })) {
    assert(e.x.device.includes(device === "cpu" ? "CPU" : "GPU"));
    assertEquals(e.x.arraySync(), [1, 2]);
    assertEquals(tf.add(e.y, 1).arraySync(), 4);
  }
});

Deno.test("fromTensorSlices() keeps strings, booleans, 64-bit integers and complex numbers", async () => {
  const complex = tf.complex([1, 2], [3, 4]);
  const ds = tf.data.fromTensorSlices([
    tf.tensor(["a", "bc"]),
    [true, false],
    BigInt64Array.of(1n, 2n),
    complex,
  ]);
  assertEquals(specText(ds.elementSpec), ["string[]", "bool[]", "int64[]", "complex64[]"]);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const rows = (await collect(ds)) as [Uint8Array, boolean, bigint, number[]][];
  assertEquals(rows.map(([s, ...rest]) => [text(s), ...rest]), [["a", true, 1n, [1, 3]], [
    "bc",
    false,
    2n,
    [2, 4],
  ]]);
});

Deno.test("fromTensorSlices() keeps the values as they were", async () => {
  const values = Float32Array.of(1, 2);
  const tensor = tf.tensor([3, 4]);
  const ds = tf.data.fromTensorSlices([values, tensor]);
  values[0] = 9;
  tensor.dispose();
  assertEquals(await collect(ds), [[1, 3], [2, 4]]);
});

Deno.test("fromTensorSlices() refuses scalars and different lengths", () => {
  assertThrows(
    () => tf.data.fromTensorSlices(1),
    tf.ValueError,
    "Unbatching a tensor is only supported for rank >= 1",
  );
  assertThrows(
    () => tf.data.fromTensorSlices({ a: [1, 2], b: [1, 2, 3] }),
    tf.ValueError,
    "Dimensions 2 and 3 are not compatible",
  );
});

Deno.test("fromTensors() has one element", async () => {
  assertEquals(await collect(tf.data.fromTensors({ a: [1, 2] })), [{ a: [1, 2] }]);
});

Deno.test("a list that holds objects or tensors is a structure, one of plain values a tensor", async () => {
  const list = [{ a: 1, b: [1, 2] }, { a: 2, b: [3, 4] }];
  const ds = tf.data.fromTensors(list);
  assertEquals(await collect(ds), [list]);
  const spec = { a: tf.TensorSpec([], "float32"), b: tf.TensorSpec([2], "float32") };
  assertEquals(specText(ds.elementSpec), specText([spec, spec]));
  const slices = tf.data.fromTensorSlices([[[1, 2], [3, 4]], { c: [5, 6] }]);
  assertEquals(await collect(slices), [[[1, 2], { c: 5 }], [[3, 4], { c: 6 }]]);
  assertEquals(await collect(tf.data.fromTensors([[tf.scalar(1)], [2, 3]])), [[[1], [2, 3]]]);
  const mapped = tf.data.range(2).map((x) => [{ a: x }, { b: [x, tf.neg(x)] }]);
  assertEquals(await collect(mapped.skip(1)), [[{ a: 1 }, { b: [1, -1] }]]);
});

Deno.test("zip() puts datasets side by side in their nest and ends with the shortest", async () => {
  const [a, b] = [tf.data.range(3), tf.data.range(10, 12)];
  assertEquals(await collect(tf.data.zip([a, b])), [[0, 10], [1, 11]]);
  assertEquals(await collect(tf.data.zip(a, b)), [[0, 10], [1, 11]]);
  const nested = tf.data.zip({ y: a, x: { b, a } });
  assertEquals(await collect(nested), [{ y: 0, x: { b: 10, a: 0 } }, { y: 1, x: { b: 11, a: 1 } }]);
  assertEquals([nested.size, tf.data.zip([a, a.repeat()]).size], [2, 3]);
  assertThrows(() => tf.data.zip([a, 1]), TypeError, "must be datasets");
});

Deno.test("fromGenerator() takes generators, iterables, iterators and their async kinds", async () => {
  const spec = tf.TensorSpec([], "int32");
  const sources = [
    function* () {
      yield* [1, 2];
    },
    async function* () {
      await Promise.resolve();
      yield* [1, 2];
    },
    () => [1, 2],
    () => new Set([1, 2]).values(),
  ];
  for (const source of sources) {
    const ds = tf.data.fromGenerator(source, spec);
    assertEquals(await collect(ds), [1, 2]);
    assertEquals(await collect(ds), [1, 2], "a second pass starts anew");
    assertEquals(await collect(ds.take(1)), [1]);
  }
  const counted = tf.data.fromGenerator((n: number) => Array(n).fill(n), {
    outputSignature: "float32",
    args: [2],
  });
  assertEquals([await collect(counted), counted.size], [[2, 2], null]);
});

Deno.test("fromGenerator() converts what is yielded and knows its shape", async () => {
  const signature = { a: tf.TensorSpec([2, null], "float64"), b: "string" } as const;
  const ds = tf.data.fromGenerator(function* () {
    yield { a: [[1], [2]], b: "x" };
    yield { a: new tf.NdArray("float64", [2, 2], new Float64Array(4)), b: new Uint8Array([121]) };
  }, signature);
  assertEquals(specText(ds.elementSpec), { a: "float64[2,?]", b: "string<unknown>" });
  assertEquals(await collect(ds), [
    { a: [[1], [2]], b: new Uint8Array([120]) },
    { a: [[0, 0], [0, 0]], b: new Uint8Array([121]) },
  ]);
});

Deno.test("fromGenerator() reads ragged tensors and what stands after them", async () => {
  const outputSignature = { x: new tf.RaggedTensorSpec([2, null], "float32"), y: "int32" } as const;
  const make = () => [{ x: tf.ragged.constant([[1.5], [2.5, 3.5]]), y: 7 }];
  for await (const { x, y } of tf.data.fromGenerator(make, outputSignature)) {
    assertEquals([x.toList(), y.dtype, y.arraySync()], [[[1.5], [2.5, 3.5]], "int32", 7]);
    tf.dispose([x, y]);
  }
  const wrong = tf.data.fromGenerator(() => [{ x: [[1], [2]], y: 7 }], outputSignature);
  await assertRejects(
    () => wrong.iterator().next(),
    tf.errors.InvalidArgumentError,
    "The expected structure was {'x': ragged float32[2,?], 'y': tf.int32}",
  );
});

Deno.test("fromGenerator() copies what the generator may write to again", async () => {
  const buffer = Float32Array.of(0, 0);
  const ds = tf.data.fromGenerator(function* () {
    for (let i = 1; i <= 2; i++) yield buffer.fill(i);
  }, tf.TensorSpec([2]));
  assertEquals(await collect(ds.batch(2)), [[[1, 1], [2, 2]]]);
});

testOnDevices("fromGenerator() frees the tensors that the generator makes", async () => {
  const before = tf.memory().numTensors;
  const ds = tf.data.fromGenerator(function* () {
    for (let i = 0; i < 3; i++) yield tf.add(tf.tensor([1, 2]), i);
  }, tf.TensorSpec([2]));
  assertEquals(await collect(ds), [[1, 2], [2, 3], [3, 4]]);
  assertEquals(await collect(ds.take(1)), [[1, 2]]);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("fromGenerator() leaves the tensors alone that exist already", async () => {
  using x = tf.tensor([1, 2]);
  const ds = tf.data.fromGenerator(() => [x, x], tf.TensorSpec([2]));
  assertEquals(await collect(ds), [[1, 2], [1, 2]]);
  assertEquals(x.arraySync(), [1, 2]);
});

const refused: [
  string,
  tf.data.GeneratorFunction,
  Parameters<typeof tf.data.fromGenerator>[1],
  string,
][] = [
  [
    "another shape",
    () => [[1, 2, 3]],
    tf.TensorSpec([2]),
    "TypeError: `generator` yielded an element of shape (3,) where an element of shape (2,) was expected.",
  ],
  [
    "what does not convert",
    () => ["x"],
    tf.TensorSpec([]),
    "TypeError: `generator` yielded an element that could not be converted to the expected type. The expected type was float32, but the yielded element was x.",
  ],
  [
    "a tensor of another dtype",
    () => [tf.scalar(1, "int32")],
    tf.TensorSpec([]),
    "The expected type was float32",
  ],
  [
    "a fraction for an integer",
    () => [1.5],
    tf.TensorSpec([], "int32"),
    "The expected type was int32, but the yielded element was 1.5.",
  ],
  [
    "many values",
    () => [[1, 2, 3, 4, 5, 6, 7]],
    { outputSignature: ["float32", "int32"] },
    "but the yielded element was [1, 2, 3, 4, 5, 6, …].",
  ],
  [
    "long texts",
    () => [["a".repeat(78), "bc", "d"]],
    { outputSignature: ["float32", "int32"] },
    `but the yielded element was [${"a".repeat(78)},….`,
  ],
  [
    "lists in lists",
    () => [[[[[[[[1]]]]]], 2, 3]],
    { outputSignature: ["float32", "int32"] },
    "but the yielded element was [[[[[[[…]]]]]], 2, 3].",
  ],
  [
    "another structure",
    () => [[1, 2, 3]],
    { outputSignature: ["float32", "int32"] },
    "did not match the expected structure. The expected structure was (tf.float32, tf.int32), but the yielded element was [1, 2, 3].",
  ],
];
for (const [what, generator, signature, message] of refused) {
  Deno.test(`fromGenerator() refuses ${what}`, async () => {
    const ds = tf.data.fromGenerator(generator, signature);
    await assertRejects(() => collect(ds), tf.errors.InvalidArgumentError, message);
  });
}

Deno.test("fromGenerator() gives a generator's error its class, and takes StopIteration for the end", async () => {
  const failing = (error: Error) =>
    tf.data.fromGenerator(function* () {
      yield 1;
      throw error;
    }, "float32");
  const error = await assertRejects(
    () => collect(failing(new tf.ValueError("bad"))),
    tf.errors.InvalidArgumentError,
    "bad",
  );
  assertEquals((error.cause as Error).message, "bad");
  await assertRejects(() => collect(failing(new Error("boom"))), tf.errors.UnknownError, "boom");
  assertEquals(await collect(failing(new tf.StopIteration("done"))), [1]);
});

Deno.test("a generator's finally block runs when the loop is left", async () => {
  const log: string[] = [];
  const ds = tf.data.fromGenerator(function* () {
    try {
      for (let i = 0;; i++) yield i;
    } finally {
      log.push("closed");
    }
  }, "float32");
  for await (using e of ds.batch(2)) {
    log.push(String(e.arraySync()));
    break;
  }
  assertEquals(log, ["0,1", "closed"]);
});
