import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** The largest finite float32: the smallest of no rows. */
const MOST = 3.4028234663852886e38;
const ROWS = [[1, 2, 3], [], [4], [5, 6]];
const DEEP = [[[1], [2, 3]], [], [[4, 5, 6]]];

testOnDevices("ragged tensors know their parts, and come from all that rows are made of", () => {
  tf.tidy(() => {
    const x = tf.ragged.constant(ROWS, { dtype: "int32" });
    assertEquals(String(x), "RaggedTensor(ragged int32[4,?])");
    assertEquals([x.raggedRank, x.dtype, x.shape], [1, "int32", [4, null]]);
    assertEquals(x.rowSplits.arraySync(), [0, 3, 3, 4, 6]);
    assertEquals([x.rowLengths().arraySync(), x.nrows().item()], [[3, 0, 1, 2], 4]);
    assertEquals(x.valueRowIds().arraySync(), [0, 0, 0, 2, 3, 3]);
    assertEquals(tf.RaggedTensor.fromRowLengths([1, 2, 3], [2, 0, 1]).toList(), [[1, 2], [], [3]]);
    assertEquals(tf.RaggedTensor.fromTensor([[1, 2], [3, 4]]).toList(), [[1, 2], [3, 4]]);
    const padded = tf.RaggedTensor.fromTensor([[1, 0, 2, 0], [0, 0, 0, 0], [3, 0, 0, 0]], {
      padding: 0,
    });
    assertEquals(padded.toList(), [[1, 0, 2], [], [3]]);
    const deep = tf.ragged.constant(DEEP);
    assertEquals([deep.toList(), deep.raggedRank, deep.shape], [DEEP, 2, [3, null, null]]);
    const pairs = tf.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], { raggedRank: 1 });
    assertEquals([pairs.shape, pairs.flatValues.shape], [[3, null, 2], [3, 2]]);
    assertEquals(tf.ragged.constant([[], []]).toList(), [[], []]);
    assertEquals(tf.ragged.range([2, 0, 3]).toList(), [[0, 1], [], [0, 1, 2]]);
    assertEquals(tf.ragged.range([1, 5], [4, 2], [1, -1]).toList(), [[1, 2, 3], [5, 4, 3]]);
  });
});

testOnDevices("rows are picked, stacked, joined and filled up, of any depth and dtype", () => {
  tf.tidy(() => {
    const x = tf.ragged.constant(ROWS), deep = tf.ragged.constant(DEEP);
    assertEquals(x.gather([3, 1, 0, 3]).toList(), [[5, 6], [], [1, 2, 3], [5, 6]]);
    assertEquals(deep.gather([2, 0]).toList(), [DEEP[2], DEEP[0]]);
    assertEquals(x.gather(tf.zeros([0], "int32")).toList(), []);
    assertEquals(x.toTensor().arraySync(), [[1, 2, 3], [0, 0, 0], [4, 0, 0], [5, 6, 0]]);
    assertEquals(deep.toTensor({ defaultValue: -1 }).arraySync(), [
      [[1, -1, -1], [2, 3, -1]],
      [[-1, -1, -1], [-1, -1, -1]],
      [[4, 5, 6], [-1, -1, -1]],
    ]);
    assertEquals(tf.ragged.constant([[], []]).toTensor().shape, [2, 0]);
    const words = tf.ragged.constant([["a", "b"], [], ["c"]]);
    assertEquals(words.toTensor({ defaultValue: "" }).arraySync(), [["a", "b"], ["", ""], [
      "c",
      "",
    ]]);
    assertEquals(tf.ragged.stack([tf.tensor1d([1, 2]), tf.tensor1d([3])]).toList(), [[1, 2], [3]]);
    assertEquals(tf.ragged.stack([tf.zeros([1, 2]), tf.ones([2, 1])]).toList(), [[[0, 0]], [[1], [
      1,
    ]]]);
    assertEquals(tf.ragged.stack([x, x]).toList(), [ROWS, ROWS]);
    assertEquals(tf.ragged.concatRows([deep, deep]).toList(), [...DEEP, ...DEEP]);
    assertEquals(tf.ragged.mapFlatValues(tf.add, x, x).gather([0]).toList(), [[2, 4, 6]]);
  });
});

testOnDevices("rows are reduced, empty ones too, and gradients flow back", () => {
  tf.tidy(() => {
    const x = tf.ragged.constant(ROWS);
    const of = (
      y: tf.Tensor | tf.RaggedTensor,
    ) => (y instanceof tf.Tensor ? y.arraySync() : y.toList());
    assertEquals(of(tf.ragged.sum(x, 1)), [6, 0, 4, 11]);
    assertEquals(of(tf.ragged.mean(x, -1)), [2, NaN, 4, 5.5]);
    assertEquals(of(tf.ragged.max(x, 1)), [3, -MOST, 4, 6]);
    assertEquals(of(tf.ragged.min(x, 1)), [1, MOST, 4, 5]);
    assertEquals(
      [tf.ragged.sum(x), tf.ragged.mean(x), tf.ragged.max(x), tf.ragged.min(x)].map(of),
      [21, 3.5, 6, 1],
    );
    assertEquals(of(tf.ragged.sum(x, 0)), [10, 8, 3]);
    assertEquals(of(tf.ragged.mean(x, 0)), [10 / 3, 4, 3].map(Math.fround));
    assertEquals(of(tf.ragged.max(tf.ragged.constant([[-3, -2], [-4]]), 0)), [-3, -2]);
    assertEquals(of(tf.ragged.min(x, 0)), [1, 2, 3]);
    assertEquals(of(tf.ragged.sum(tf.ragged.constant(DEEP), 2)), [[1, 5], [], [15]]);
    const ints = tf.ragged.constant([[1, 2], [], [4]], { dtype: "int32" });
    assertEquals(of(tf.ragged.max(ints, 1)), [2, -(2 ** 31), 4]);
    assertEquals(of(tf.ragged.min(ints, 1)), [1, 2 ** 31 - 1, 4]);
    assertEquals(of(tf.ragged.mean(ints, 1)), of(tf.mean(ints as never, 1)));
    assertThrows(() => tf.ragged.sum(x, 2), tf.ValueError, "axis");
    const ones = tf.ragged.constant([[[1, 2], [3, 4]], []], { raggedRank: 1 });
    assertEquals(of(tf.ragged.mean(ones, 1)), [[2, 3], [NaN, NaN]]);
    const grad = (fn: (x: tf.RaggedTensor) => tf.Tensor) =>
      tf.grad((v: tf.Tensor) => fn(x.withFlatValues(v)))(x.flatValues).arraySync();
    assertEquals(grad((r) => tf.sum(tf.square(r.toTensor({ defaultValue: 9 })))), [
      2,
      4,
      6,
      8,
      10,
      12,
    ]);
    assertEquals(grad((r) => tf.sum(tf.square(tf.ragged.sum(r, 1) as tf.Tensor))), [
      12,
      12,
      12,
      8,
      22,
      22,
    ]);
    assertEquals(grad((r) => tf.sum(r.gather([3, 3]).flatValues)), [0, 0, 0, 0, 2, 2]);
  });
});

testOnDevices("what several ops compute of a ragged tensor leaves its result alone behind", () => {
  using x = tf.ragged.constant(ROWS);
  const before = tf.memory().numTensors;
  const made = [x.toTensor(), x.gather([1]), tf.ragged.sum(x, 1), tf.ragged.stack([x, x])];
  assertEquals(tf.memory().numTensors - before, 1 + 2 + 1 + 3);
  for (const t of made) t.dispose();
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("ragged tensors of unknown sizes are computed in graphs", async () => {
  const g = new tf.Graph();
  const parts = g.asDefault(() => {
    const values = tf.placeholder("float32", [null], "values");
    const splits = tf.placeholder("int32", [null], "splits");
    const x = tf.RaggedTensor.fromRowSplits(values, splits);
    assertEquals(String(x.spec), "ragged float32[?,?]");
    return [x.toTensor(), tf.ragged.sum(x, 1) as tf.Tensor, x.gather([0]).flatValues];
  });
  await using sess = new tf.Session({ graph: g });
  const run = async (values: number[], splits: number[]) =>
    (await sess.run(parts, {
      feeds: {
        "values:0": values,
        "splits:0": new tf.NdArray("int32", [splits.length], Int32Array.from(splits)),
      },
    }) as tf.NdArray[]).map((a) => a.toArray());
  assertEquals(await run([1, 2, 3], [0, 1, 3]), [[[1, 0], [2, 3]], [1, 5], [1]]);
  assertEquals(await run([1, 2], [0, 2]), [[[1, 2]], [3], [1, 2]]);
});

Deno.test("ragged tensors refuse splits and lists that make no rows", () => {
  const { ValueError } = tf;
  const { fromRowSplits } = tf.RaggedTensor;
  assertThrows(
    () => fromRowSplits([1, 2], [1, 2]),
    ValueError,
    "split 0 is 1, splits must begin with 0 and never fall",
  );
  assertThrows(() => fromRowSplits([1, 2], [0, 2, 1]), ValueError, "split 2 is 1");
  assertThrows(() => fromRowSplits([1, 2], []), ValueError, "at least one element");
  assertThrows(
    () => fromRowSplits([1, 2], tf.zeros([2, 2], "int32")),
    ValueError,
    "must be a vector",
  );
  assertThrows(() => fromRowSplits(tf.scalar(1), [0, 1]), ValueError, "values are a scalar");
  assertThrows(
    () => tf.RaggedTensor.fromNestedRowSplits([1], []),
    ValueError,
    "nestedRowSplits are empty",
  );
  assertThrows(() => tf.RaggedTensor.fromTensor([1, 2]), ValueError, "wanted rank 2 at least");
  assertThrows(() => tf.ragged.constant([[1], 2]), ValueError, "same nesting depth");
  assertThrows(() => tf.ragged.constant([[1], [[2]]]), ValueError, "same nesting depth");
  assertThrows(
    () => tf.ragged.constant([[[1, 2]], [[3]]], { raggedRank: 1 }),
    ValueError,
    "must be of one shape",
  );
  assertThrows(() => tf.ragged.constant([[1]], { raggedRank: 2 }), ValueError, "raggedRank 2");
  assertThrows(() => tf.ragged.stack([]), ValueError, "at least one tensor");
  assertThrows(() => tf.ragged.stack([1]), ValueError, "wanted rank 1 at least");
  assertThrows(
    () => tf.ragged.sum(tf.ragged.constant(DEEP), 3),
    ValueError,
    "Invalid axis 3",
  );
  const other = tf.ragged.constant([[1]]);
  assertThrows(
    () => tf.ragged.mapFlatValues(tf.add, tf.ragged.constant(ROWS), other),
    tf.errors.InvalidArgumentError,
    "same rows",
  );
  assertThrows(() => tf.RaggedTensorSpec([null], "int32", 1), ValueError, "raggedRank");
  assertThrows(
    () => tf.ragged.concatRows([other, tf.ragged.constant(DEEP)]),
    tf.errors.InvalidArgumentError,
    "ranks and dtypes must be equal",
  );
});
