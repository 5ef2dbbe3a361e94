/** Ragged tensors as splits and values; TensorFlow.js's own tests of them run in the conformance suite. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices(
  "raggedTensorToTensor() fills up rows, by the shape asked for or the least that holds them",
  () => {
    const values = [1, 2, 3, 4], splits = [[0, 2, 2, 3], [0, 1, 1, 4]];
    const natural = [[[1, 9, 9], [9, 9, 9]], [[9, 9, 9], [9, 9, 9]], [[2, 3, 4], [9, 9, 9]]];
    const kinds: tf.RowPartition[] = ["ROW_SPLITS", "ROW_SPLITS"];
    for (const shape of [-1, [-1, -1, -1], [3, 2, 3]]) {
      assertEquals(tf.raggedTensorToTensor(shape, values, 9, splits, kinds).arraySync(), natural);
    }
    assertEquals(tf.raggedTensorToTensor([2, -1, 1], values, 9, splits, kinds).arraySync(), [
      [[1], [9]],
      [[9], [9]],
    ]);
  },
);

Deno.test("ragged shapes are known in a graph as far as they can be", () => {
  new tf.Graph().asDefault(() => {
    const splits = tf.placeholder("int32", [4]), values = tf.placeholder("float32", [null, 5]);
    const natural = tf.raggedTensorToTensor(-1, values, 0, [splits], ["ROW_SPLITS"]);
    assertEquals(natural.staticShape, [null, null, 5]);
    const asked = tf.raggedTensorToTensor([3, -1, 5], values, 0, [splits], ["ROW_SPLITS"]);
    assertEquals(asked.staticShape, [3, null, 5]);
    assertEquals(tf.raggedRange(splits, 9, 1).rtNestedSplits.staticShape, [5]);
    const rows = tf.raggedGather([splits], values, tf.placeholder("int32", [2, 2]), 2);
    assertEquals(rows.outputDenseValues.staticShape, [null, 5]);
  });
});

Deno.test("ragged partitions that do not fit are refused", () => {
  const cases: [tf.RowPartition[], number[][], string][] = [
    [["VALUE_ROWIDS"], [[0, 1]], "Cannot handle VALUE_ROWIDS in the first row partition"],
    [["ROW_SPLITS", "FIRST_DIM_SIZE"], [[0, 1], [1]], "Cannot handle FIRST_DIM_SIZE after"],
    [["ROW_SPLITS", "ROW_SPLITS"], [[0, 2], [0, 1]], "Row partition 1 is of 1 rows"],
    [["FIRST_DIM_SIZE", "VALUE_ROWIDS"], [[2], [1, 0]], "must be sorted"],
    [["ROW_SPLITS"], [[0, 5]], "must not point past values"],
  ];
  for (const [kinds, partitions, message] of cases) {
    assertThrows(
      () => tf.raggedTensorToTensor(-1, [1, 2], 0, partitions, kinds),
      tf.errors.InvalidArgumentError,
      message,
    );
  }
});

Deno.test("a dense shape that is asked for must be that of the values", () => {
  const dense = (shape: number[]) =>
    tf.raggedTensorToTensor(shape, [[1, 2], [3, 4], [5, 6]], 0, [[0, 1, 3]], ["ROW_SPLITS"]);
  const wanted = [[[1, 2], [0, 0]], [[3, 4], [5, 6]]];
  for (const shape of [[-1, -1, -1], [2, 2, 2], [-1, 2, 2], [2, -1, -1]]) {
    assertEquals(dense(shape).arraySync(), wanted, `${shape}`);
  }
  assertEquals(dense([1, 1, -1]).arraySync(), [[[1, 2]]]);
  assertEquals(dense([3, 1, 2]).arraySync(), [[[1, 2]], [[3, 4]], [[0, 0]]]);
  for (const shape of [[-1, -1, 3], [-1, -1, 1], [2, 2], [2, 2, 2, 1]]) {
    assertThrows(
      () => dense(shape),
      tf.errors.InvalidArgumentError,
      "are incompatible",
      `${shape}`,
    );
  }
});

/** Arguments of raggedTensorToTensor(), and TensorFlow's gradients of values and default of the sum of i · yᵢ². */
const DENSE_GRADIENTS: [
  ...Parameters<typeof tf.raggedTensorToTensor>,
  values: readonly (number | readonly number[])[],
  fallback: number | readonly number[],
][] = [
  [-1, [1, 2, 3], 9, [[0, 2, 2, 3]], ["ROW_SPLITS"], [2, 8, 30], 234],
  [[2, 1], [1, 2, 3], 9, [[0, 2, 2, 3]], ["ROW_SPLITS"], [2, 0, 0], 36],
  [[4, 4], [1, 2, 3], 9, [[0, 2, 2, 3]], ["ROW_SPLITS"], [2, 8, 54], 2232],
  [
    ...[[-1, -1, 2], [[1, 2], [3, 4], [5, 6]], [7, 8], [[3], [0, 0, 2]]] as const,
    ...[["FIRST_DIM_SIZE", "VALUE_ROWIDS"], [[2, 8], [18, 32], [90, 120]], [322, 416]] as const,
  ],
  [
    ...[-1, [1, 2, 3, 4], 0.5, [[0, 2, 2, 3], [0, 1, 1, 4]]] as const,
    ...[["ROW_SPLITS", "ROW_SPLITS"], [2, 52, 84, 120], 128] as const,
  ],
];

testOnDevices("raggedTensorToTensor() and raggedGather() have TensorFlow's gradients", async () => {
  const weighted = (y: tf.Tensor): tf.Tensor => {
    const flat = tf.reshape(y, [-1]), places = tf.cumsum(tf.onesLike(flat));
    return tf.sum(tf.mul(places, tf.square(flat)));
  };
  for (const [shape, values, fallback, parts, types, ...wanted] of DENSE_GRADIENTS) {
    const cost = (v: tf.Tensor, d: tf.Tensor): tf.Tensor =>
      weighted(tf.raggedTensorToTensor(shape, v, d, parts, types));
    const given = [tf.tensor(values), tf.tensor(fallback)] as const;
    const compiled = tf.function((v: tf.Tensor, d: tf.Tensor) => tf.grads(cost)([v, d]));
    for (const found of [tf.grads(cost)([...given]), await compiled.async(...given)]) {
      assertEquals(found.map((dx) => dx.arraySync()), wanted, `${types}`);
    }
  }
  const gathered = (v: tf.Tensor): tf.Tensor =>
    weighted(tf.raggedGather([[0, 1, 4]], v, [1, 0, 1], 1).outputDenseValues);
  const compiled = tf.function((v: tf.Tensor) => tf.grad(gathered)(v));
  const v = tf.tensor([1, 2, 3, 4]);
  for (const found of [tf.grad(gathered)(v), await compiled.async(v)]) {
    assertEquals(found.arraySync(), [8, 24, 48, 80]);
  }
  const [, tangent] = tf.jvp(gathered, [v], [[1, 0, 0, 1]]);
  assertEquals(tangent.item(), 88);
});
