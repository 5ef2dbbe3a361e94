/** Types of ops on ragged and sparse tensors: the compiler gives each result the type of its value. */

import * as tf from "@weft/weft";
import { assert } from "@std/assert";

const ragged = (): tf.RaggedTensor => tf.ragged.constant([[1, 2], [3]]);
const sparse = (): tf.SparseTensor => new tf.SparseTensor([[0, 1]], [2], [2, 3]);

/** Calls whose results must be ragged, to the compiler and when they run. */
const RAGGED: Readonly<Record<string, (x: tf.RaggedTensor) => tf.RaggedTensor>> = {
  "mul by a number": (x) => tf.mul(x, 2),
  "a number less it": (x) => tf.sub(1, x),
  "add of two": (x) => tf.add(x, x),
  "maximum of a tensor and it": (x) => tf.maximum(tf.scalar(2), x),
  "comparison": (x) => tf.greater(x, 1),
  "where": (x) => tf.where(tf.greater(x, 1), x, 0),
  "where of a condition alone": (x) => tf.where(tf.greater(x, 1), 1, 0),
  "unary ops": (x) => tf.sqrt(tf.abs(tf.neg(tf.relu(tf.exp(x))))),
  "clipByValue": (x) => tf.clipByValue(x, 0, 1),
  "cast": (x) => tf.cast(x, "int32"),
  "identity": (x) => tf.identity(x),
  "zerosLike": (x) => tf.zerosLike(x),
  "concat": (x) => tf.concat([x, x], 1),
  "concat with a tensor": (x) => tf.concat([x, tf.ones([2, 1])], 1),
  "stack": (x) => tf.stack([x, x]),
  "gather of rows": (x) => tf.gather(x, [1, 0]),
  "gather by it": (x) => tf.gather(tf.range(0, 9), tf.cast(x, "int32")),
  "expandDims": (x) => tf.expandDims(x, 0),
  "reverse": (x) => tf.reverse(x, 1),
  "softmax": (x) => tf.softmax(x),
  "cumsum": (x) => tf.cumsum(x, 1),
  "a function": (x) => tf.function((y: tf.RaggedTensor) => tf.mul(y, 2))(x),
  "cond": (x) => tf.cond(tf.scalar(true), () => tf.mul(x, 2), () => x),
  "matMul with a tensor": (x) => tf.matMul(tf.expandDims(x, 2), tf.ones([2, 1, 2])),
  "case": (x) => tf.case([[tf.scalar(true), () => x]], { default: () => tf.mul(x, 2) }),
  "switchCase": (x) => tf.switchCase(1, [() => x, () => tf.mul(x, 2)]),
  "a method of a tensor": (x) => tf.ones([2, 1]).add(x),
  "a comparison by a method": (x) => tf.ones([2, 1]).less(x),
  "concat by a method": (x) => tf.ones([2, 1]).concat(x, 1),
  "stack by a method": (x) => tf.ones([2, 1]).stack([x]),
  "gather by a method": (x) => tf.range(0, 9).gather(tf.cast(x, "int32")),
  "where by a method": (x) => tf.ones([2, 1]).where(tf.greater(x, 1), x),
  "a gradient": (x) => tf.grad((y: tf.RaggedTensor) => tf.sum(tf.square(y)))(x),
};

/** Calls whose results must be tensors. */
const DENSE: Readonly<Record<string, (x: tf.RaggedTensor) => tf.Tensor>> = {
  "sum": (x) => tf.sum(x),
  "a scan over rows": (x) =>
    tf.scan((a, row) => tf.add(a, tf.sum(row)), x, { initializer: tf.scalar(0) }),
  "methods of tensors": () => tf.ones([2, 1]).add(1).matMul([[2]]),
  "matMul of tensors": () => tf.matMul([[1]], tf.ones([1, 2])),
  "matMul with quantized weights": () =>
    tf.matMul(tf.ones([1, 32]), tf.quantize(tf.ones([32, 2]), { bits: 8 })),
  "mean": (x) => tf.mean(x),
  "any over all": (x) => tf.any(tf.greater(x, 1)),
  "ops on tensors": () => tf.where(tf.greater(tf.scalar(1), 0), tf.add(1, 2), [3]),
  "sum of tensors along an axis": () => tf.sum(tf.concat([[1], tf.ones([2])]), 0),
  "gather of a tensor": () => tf.gather([1, 2], 0),
  "a function of a sum": (x) => tf.function((y: tf.RaggedTensor) => tf.sum(y))(x),
  // deno-lint-ignore no-explicit-any -- what the compiler does not know counts as a tensor.
  "an unknown operand": () => tf.mul(tf.exp(tf.ones([2]) as any), 2),
  "ops as functions": () => [tf.exp, tf.square].map((f) => f(tf.scalar(1)))[0],
  "compiled ops": () => tf.function(tf.exp)(tf.scalar(1)),
  "mapped ops": () => [tf.scalar(1)].map((x) => tf.exp(x)).reduce((a, b) => tf.add(a, b)),
};

/** Calls whose results are either, by the axis. */
const EITHER: Readonly<Record<string, (x: tf.RaggedTensor) => tf.Tensor | tf.RaggedTensor>> = {
  "sum along an axis": (x) => tf.sum(x, 1),
  "mean along an axis": (x) => tf.mean(tf.expandDims(x, 0), 1),
  "a row": (x) => tf.gather(x, 0),
  "what is either, doubled": (x) => tf.mul(tf.sum(x, 1), 2),
};

Deno.test("ops on ragged tensors give what their types say", async () => {
  await tf.setBackend("cpu");
  for (const [name, run] of Object.entries(RAGGED)) {
    using _ = tf.scope();
    assert(run(ragged()) instanceof tf.RaggedTensor, name);
  }
  for (const [name, run] of Object.entries(DENSE)) {
    using _ = tf.scope();
    assert(run(ragged()) instanceof tf.Tensor, name);
  }
  for (const [name, run] of Object.entries(EITHER)) {
    using _ = tf.scope();
    const y = run(ragged());
    assert(y instanceof tf.Tensor || y instanceof tf.RaggedTensor, name);
  }
});

Deno.test("ops on sparse tensors give what their types say", async () => {
  await tf.setBackend("cpu");
  using _ = tf.scope();
  const results: tf.SparseTensor[] = [
    tf.neg(sparse()),
    tf.abs(sparse()),
    tf.cast(sparse(), "int32"),
    tf.identity(sparse()),
    tf.function((x: tf.SparseTensor) => tf.neg(x))(sparse()),
  ];
  for (const y of results) assert(y instanceof tf.SparseTensor);
});

Deno.test("a ragged result is no tensor to the compiler", () => {
  const check = (x: tf.RaggedTensor): void => {
    // @ts-expect-error: a ragged tensor is no tensor.
    const y: tf.Tensor = tf.mul(x, 2);
    // @ts-expect-error: along an axis, it may be ragged.
    const z: tf.Tensor = tf.sum(x, 1);
    void [y, z];
  };
  void check;
});
