// Ops of ragged and sparse tensors, eager and compiled, on each device. Expected values are TensorFlow 2.21's.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { deep, pairs, plain, ragged, sparse, sparseOf } from "./values.ts";

// Ops give composite values of composite ones, which their types do not tell.
// deno-lint-ignore no-explicit-any
const ops = tf as any;
// deno-lint-ignore no-explicit-any
type Body = (x: any) => unknown;

const other = () => tf.ragged.constant([[1, 2], [3], [3, 4, 5]]);
const MOST = 3.4028234663852886e38;

const CALLS: Record<string, readonly [body: Body, argument: () => unknown, expected: unknown]> = {
  "add of a scalar": [(x) => ops.add(x, 1), ragged, [[2, 3], [], [4, 5, 6]]],
  "sub of itself": [(x) => ops.sub(x, x), ragged, [[0, 0], [], [0, 0, 0]]],
  "add of a column": [(x) => ops.add(x, [[10], [20], [30]]), ragged, [[11, 12], [], [33, 34, 35]]],
  "add of one element": [(x) => ops.add([10], x), ragged, [[11, 12], [], [13, 14, 15]]],
  "add of a matrix of its rows": [
    (x) => ops.add(x, [[1, 2], [3, 4]]),
    () => tf.ragged.constant([[1, 2], [3, 4]]),
    [[2, 4], [6, 8]],
  ],
  "mul of deep rows and outer ones": [(x) => ops.mul(x, [[[10]], [[20]]]), deep, [[[10], []], [[
    40,
    60,
  ]]]],
  "add of pairs and a vector": [(x) => ops.add(x, [10, 20]), pairs, [[[11, 22]], [[13, 24], [
    15,
    26,
  ]]]],
  "int32 and a number": [(x) => ops.add(ops.cast(x, "int32"), 1), ragged, [[2, 3], [], [4, 5, 6]]],
  greater: [(x) => ops.cast(ops.greater(x, 2), "int32"), ragged, [[0, 0], [], [1, 1, 1]]],
  "where() with a scalar": [(x) => ops.where(ops.greater(x, 2), x, 0), ragged, [[0, 0], [], [
    3,
    4,
    5,
  ]]],
  "where() of ragged tensors": [(x) => ops.where(ops.greater(x, 2), x, ops.neg(x)), ragged, [
    [-1, -2],
    [],
    [3, 4, 5],
  ]],
  "where() with a dense condition": [
    (x) => ops.where([[true], [false], [false]], x, ops.neg(x)),
    ragged,
    [[1, 2], [], [-3, -4, -5]],
  ],
  cast: [(x) => ops.cast(x, "int32"), ragged, [[1, 2], [], [3, 4, 5]]],
  clipByValue: [(x) => ops.clipByValue(x, 2, 4), ragged, [[2, 2], [], [3, 4, 4]]],
  relu: [(x) => ops.relu(ops.sub(x, 3)), ragged, [[0, 0], [], [0, 1, 2]]],
  addN: [(x) => ops.addN([x, x]), ragged, [[2, 4], [], [6, 8, 10]]],
  "concat() of rows": [(x) => ops.concat([x, [[7]]], 0), ragged, [[1, 2], [], [3, 4, 5], [7]]],
  "concat() along rows": [(x) => ops.concat([x, other()], 1), ragged, [[1, 2, 1, 2], [3], [
    3,
    4,
    5,
    3,
    4,
    5,
  ]]],
  "concat() along the last axis": [(x) => ops.concat([x, [[7], [8], [9]]], -1), ragged, [
    [1, 2, 7],
    [8],
    [3, 4, 5, 9],
  ]],
  "gather() of rows": [(x) => ops.gather(x, [2, 0]), ragged, [[3, 4, 5], [1, 2]]],
  "gather() of a row": [(x) => ops.gather(x, 2), ragged, [3, 4, 5]],
  "gather() by ragged indices": [
    (x) => ops.gather([10, 20, 30], ops.cast(x, "int32")),
    () => tf.ragged.constant([[2, 0], [1]]),
    [[30, 10], [20]],
  ],
  "gather() of rows by ragged indices": [
    (x) => ops.gather(ragged(), ops.cast(x, "int32")),
    () => tf.ragged.constant([[2, 0], [1]]),
    [[[3, 4, 5], [1, 2]], [[]]],
  ],
  "sum of all": [(x) => ops.sum(x), ragged, 15],
  "sum of columns": [(x) => ops.sum(x, 0), ragged, [4, 6, 5]],
  "sum of rows": [(x) => ops.sum(x, -1), ragged, [3, 0, 12]],
  "sum of rows, kept": [(x) => ops.sum(x, 1, true), ragged, [[3], [0], [12]]],
  "sum of deep rows": [(x) => ops.sum(x, 2), deep, [[1, 0], [5]]],
  "sum of both axes": [(x) => ops.sum(x, [1, 2]), deep, [1, 5]],
  "sum of pairs": [(x) => ops.sum(x, 2), pairs, [[3], [7, 11]]],
  "sum of pairs of rows": [(x) => ops.sum(x, 1), pairs, [[1, 2], [8, 10]]],
  "prod of rows": [(x) => ops.prod(x, 1), ragged, [2, 1, 60]],
  "mean of rows": [(x) => ops.mean(x, 1), ragged, [1.5, NaN, 4]],
  "mean of all": [(x) => ops.mean(x), ragged, 3],
  "max of rows": [(x) => ops.max(x, 1), ragged, [2, -MOST, 5]],
  "min of columns": [(x) => ops.min(x, 0), ragged, [1, 2, 5]],
  "any and all of rows": [
    (
      x,
    ) => [
      ops.cast(ops.any(ops.greater(x, 2), 1), "int32"),
      ops.cast(ops.all(ops.greater(x, 2), 1), "int32"),
    ],
    ragged,
    [[0, 0, 1], [0, 1, 1]],
  ],
  "a gradient through ops": [
    (x) => tf.grad((q: tf.RaggedTensor) => ops.sum(ops.square(ops.sum(ops.mul(q, 2), 1))))(x),
    ragged,
    [[24, 24], [], [96, 96, 96]],
  ],
  "square of sparse": [(x) => ops.square(x), sparse, sparseOf([[0, 1], [2, 0]], [25, 36], [3, 2])],
  "cast of sparse": [
    (x) => ops.cast(x, "int32"),
    sparse,
    sparseOf([[0, 1], [2, 0]], [5, 6], [3, 2]),
  ],
  "gradient of squares of sparse": [
    (x) => tf.grad((q: tf.SparseTensor) => tf.sum(ops.square(q).values))(x),
    sparse,
    sparseOf([[0, 1], [2, 0]], [10, 12], [3, 2]),
  ],
};

for (const [name, [body, argument, expected]] of Object.entries(CALLS)) {
  testOnDevices(`${name}: eager and compiled`, async () => {
    using _s = tf.scope();
    assertEquals(await plain(body(argument())), expected);
    assertEquals(await plain(tf.function(body)(argument())), expected);
  });
}

testOnDevices("ops name the composite values that they do not take", () => {
  using _s = tf.scope();
  const r = ragged(), s = sparse();
  for (
    const [call, type, text] of [
      [() => ops.add(r, other()), tf.errors.InvalidArgumentError, "rows have different lengths"],
      [
        () => ops.add(r, [10, 20, 30]),
        tf.errors.InvalidArgumentError,
        "rows have different lengths",
      ],
      [() => ops.add(r, [[1], [2]]), tf.errors.InvalidArgumentError, ""],
      [
        () => ops.add(r, deep()),
        TypeError,
        "Cannot apply AddV2 to RaggedTensor(ragged float32[3,?])",
      ],
      [() => ops.matMul(r, r), Error, "ragged matrices whose rows differ in length"],
      [() => ops.transpose(r), Error, "RaggedTensor"],
      [() => ops.concat([deep(), r], 0), Error, "ranks"],
      [() => ops.exp(s), TypeError, "Cannot apply Exp to SparseTensor(sparse float32[3,2])"],
      [() => ops.add(s, 1), TypeError, "Cannot apply AddV2 to SparseTensor"],
      [() => ops.add(r, s), TypeError, "Cannot apply AddV2 to SparseTensor"],
      [() => ops.sum(s), TypeError, "Cannot apply Sum to SparseTensor"],
      [() => ops.variable(r), TypeError, "RaggedTensor"],
      [() => ops.tensor(r), TypeError, "RaggedTensor"],
      [() => ops.variable([1]).assign(r), TypeError, "RaggedTensor"],
      [
        () =>
          ops.function((x: tf.Tensor) => x, { inputSignature: [tf.TensorSpec([null, null])] })(r),
        TypeError,
        "RaggedTensor",
      ],
      [() => ops.reshape(ops.ones([2]), r), TypeError, "RaggedTensor"],
    ] as const
  ) {
    assertThrows(call as () => void, type as new () => Error, text);
    assertThrows(() => void tf.function(call)(), Error);
  }
});
