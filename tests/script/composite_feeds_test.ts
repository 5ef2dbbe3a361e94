/** Ragged and sparse tensors as fetches and feeds of sessions. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1;
const SPARSE = { indices: [[0, 1], [1, 0]], values: [5, 6], denseShape: [2, 2] };

/** A graph of a ragged and a sparse placeholder, and what is computed of them. */
function build() {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const words = v1.ragged.placeholder("int32", 1, [], "words");
    const deep = v1.ragged.placeholder("float32", 2, [2], "deep");
    const weights = v1.sparsePlaceholder("float32", [2, 2], "weights");
    const twice = tf.ragged.mapFlatValues(tf.mul, words, 2);
    return { graph, words, deep, weights, twice, dense: weights.toDense() };
  });
}

testOnDevices("run() fetches and feeds ragged tensors", async () => {
  const { graph, words, twice, deep } = build();
  await using sess = new tf.Session({ graph });
  using fed = tf.ragged.constant([[1], [], [2, 3]], { dtype: "int32" });
  const out = await sess.run(twice, { feeds: new Map([[words, fed]]) });
  assertEquals(out.toList(), [[2], [], [4, 6]]);
  assertEquals(out.nestedRowSplits[0].toArray(), [0, 1, 1, 3]);
  // What one run gave is fed to the next, and what is fed is fetched as it was.
  const [again, same] = await sess.run([twice, words] as const, {
    feeds: new Map([[words, out]]),
  });
  assertEquals([again.toList(), same.toList()], [[[4], [], [8, 12]], [[2], [], [4, 6]]]);
  const nested = [[[[1, 2]], []], [], [[[3, 4], [5, 6]]]];
  using nest = tf.ragged.constant(nested, { raggedRank: 2 });
  assertEquals((await sess.run(deep, { feeds: new Map([[deep, nest]]) })).toList(), nested);
});

testOnDevices("run() fetches and feeds sparse tensors", async () => {
  const { graph, weights, dense } = build();
  await using sess = new tf.Session({ graph });
  using fed = new tf.SparseTensor(SPARSE.indices, SPARSE.values, SPARSE.denseShape);
  const feeds = new Map([[weights, fed]]);
  assertEquals((await sess.run(dense, { feeds }) as tf.NdArray).toArray(), [[0, 5], [6, 0]]);
  const out = await sess.run(weights, { feeds: new Map([[weights, SPARSE]]) });
  assertEquals(
    [out.indices.toArray(), out.values.toArray(), out.denseShape.toArray()],
    [SPARSE.indices, SPARSE.values, SPARSE.denseShape],
  );
  const again = await sess.run(dense, { feeds: new Map([[weights, out]]) }) as tf.NdArray;
  assertEquals(again.toArray(), [[0, 5], [6, 0]]);
});

testOnDevices("run() fetches ragged and sparse tensors at any depth of a nest", async () => {
  const { graph, words, weights, twice, dense } = build();
  await using sess = new tf.Session({ graph });
  using rows = tf.ragged.constant([[1, 2]], { dtype: "int32" });
  const feeds = new Map<tf.RaggedTensor | tf.SparseTensor, tf.FeedValue>([
    [words, rows],
    [weights, SPARSE],
  ]);
  const nothing = graph.asDefault(() => tf.noOp()) as tf.Operation;
  const fetches = { z: twice, a: [weights, { dense }], op: nothing } as const;
  const out = await sess.run(fetches, { feeds });
  assertEquals(Object.keys(out), ["z", "a", "op"]);
  assertEquals(out.z.toList(), [[2, 4]]);
  assertEquals(out.a[0].values.toArray(), [5, 6]);
  assertEquals((out.a[1].dense as tf.NdArray).toArray(), [[0, 5], [6, 0]]);
  assertEquals(out.op, null);
});

testOnDevices("scripts give ragged and sparse tensors to sessions", async () => {
  const graph = new tf.Graph();
  const [rows, sparse] = graph.asDefault(() => {
    const text = tf.placeholder("string", [null], "text");
    const rows = tf.pyFunction(
      (text: tf.Tensor) =>
        tf.ragged.constant((text.arraySync() as string[]).map((t) => [...t].map(Number)), {
          dtype: "int32",
        }),
      [text],
      new tf.RaggedTensorSpec([null, null], "int32"),
    );
    const sparse = tf.pyFunction(
      () => new tf.SparseTensor([[1, 1]], [7], [2, 2]),
      [],
      new tf.SparseTensorSpec([2, 2]),
    );
    return [rows, sparse] as const;
  });
  await using sess = new tf.Session({ graph });
  const out = await sess.run([rows, sparse] as const, { feeds: { "text:0": ["12", "", "3"] } });
  assertEquals(out[0].toList(), [[1, 2], [], [3]]);
  assertEquals(out[1].indices.toArray(), [[1, 1]]);
});

Deno.test("sessions of TensorFlow 1 feed and call with ragged and sparse tensors", async () => {
  const { graph, words, weights, twice, dense } = build();
  await using sess = new v1.Session({ graph });
  using rows = tf.ragged.constant([[1, 2], [3]], { dtype: "int32" });
  assertEquals((await sess.run(twice, new Map([[words, rows]]))).toList(), [[2, 4], [6]]);
  const call = sess.makeCallable({ twice, dense }, [words, weights]);
  const out = await call(rows, SPARSE);
  assertEquals(out.twice.toList(), [[2, 4], [6]]);
  assertEquals((out.dense as tf.NdArray).toArray(), [[0, 5], [6, 0]]);
});

Deno.test("feeds that are no ragged or sparse value of that kind are refused", async () => {
  const { graph, words, weights, twice, dense } = build();
  await using sess = new tf.Session({ graph });
  const before = tf.memory().numTensors;
  {
    using deeper = tf.ragged.constant([[[1]]], { dtype: "int32" });
    using sparse = new tf.SparseTensor([[0, 0]], [1], [2, 2]);
    using floats = tf.ragged.constant([[1.5]]);
    const cases: [tf.RaggedTensor | tf.SparseTensor, unknown, string][] = [
      [words, 3, "Type of feed value 3 of type number is not compatible with RaggedTensor"],
      [words, [[1]], "wanted a value of ragged int32[?,?]"],
      [words, deeper, "RaggedTensor(ragged int32[1,?,?]) is not compatible"],
      [words, sparse, "SparseTensor(sparse float32[2,2]) is not compatible"],
      [words, floats, "Cannot convert float32 to int32 without loss"],
      [weights, floats, "wanted a value of sparse float32[?,?]"],
      [weights, { indices: [[0, 0]], values: [1] }, "wanted a value of sparse"],
      [weights, null, "Type of feed value null"],
    ];
    for (const [key, value, says] of cases) {
      const feeds = new Map([[key, value as tf.FeedValue]]);
      const error = await assertRejects(
        () => sess.run(key === words ? twice : dense, { feeds }),
        TypeError,
      );
      assert(error.message.includes(says), error.message);
    }
    // Each component is checked as a feed of its own is.
    const feeds = new Map([[weights, { ...SPARSE, values: [[1]] }]]);
    await assertRejects(
      () => sess.run(dense, { feeds }),
      tf.ValueError,
      "Cannot feed value of shape",
    );
    await assertRejects(() => sess.run(twice), tf.errors.InvalidArgumentError, "words/flat_values");
    await assertRejects(() => sess.run(floats), TypeError, "invalid type");
    const other = new tf.Graph().asDefault(() => v1.sparsePlaceholder("float32"));
    await assertRejects(() => sess.run(other), tf.ValueError, "not an element of this graph");
  }
  assertEquals(tf.memory().numTensors, before);
  assertThrows(() => v1.ragged.placeholder("int32", 1), tf.RuntimeError, "eager execution");
  for (const rank of [0, -1, 1.5]) {
    assertThrows(
      () => graph.asDefault(() => v1.ragged.placeholder("int32", rank)),
      tf.ValueError,
      `received ${rank}`,
    );
  }
});
