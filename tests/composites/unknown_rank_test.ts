// Ragged tensors whose values have unknown rank claim none: functions, signatures, branches, loops and sessions give what eager code gives.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { deep, pairs, plain, ragged } from "./values.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
const ops = tf as Any;

const BODIES: Record<string, (x: Any) => unknown> = {
  mean: (x) => ops.mean(x),
  "mean and more": (x) => ops.add(ops.mean(x), ops.sum(x)),
  "sum of rows": (x) => ops.sum(x, 1),
  "mean of rows": (x) => ops.mean(x, 1),
  "max of columns": (x) => ops.max(x, 0),
  rank: (x) => ops.rank(x),
  size: (x) => ops.size(x),
  "pointwise ops": (x) => ops.mul(ops.add(ops.neg(x), 1), x),
  "cast and where": (x) => ops.cast(ops.where(ops.greater(x, 2), x, ops.zerosLike(x)), "int32"),
  gather: (x) => ops.gather(x, [2, 0]),
  "gather of a row": (x) => ops.gather(x, 1),
  reverse: (x) => ops.reverse(x, [0, 1]),
  stack: (x) => ops.stack([x, x], 1),
  concat: (x) => ops.concat([x, x], 1),
  expandDims: (x) => ops.expandDims(x, 1),
  tile: (x) => ops.gather(ops.expandDims(x, 0), [0, 0]),
  toTensor: (x) => x.toTensor(),
  cond: (x) => tf.cond(ops.less(ops.sum(x), 0), () => x, () => ops.neg(x)),
  whileLoop: (x) =>
    tf.whileLoop((i: Any) => tf.less(i, 2), (i: Any, q: Any) => [tf.add(i, 1), ops.add(q, q)], [
      0,
      x,
    ] as Any)[1],
  "a gradient": (x) => {
    using tape = new tf.GradientTape();
    tape.watch(x);
    return tape.gradient(ops.sum(ops.square(x)), x);
  },
};

for (const [name, body] of Object.entries(BODIES)) {
  testOnDevices(`${name} of a ragged tensor of unknown rank`, async () => {
    using _s = tf.scope();
    const bySpec = tf.function(body as Any, {
      inputSignature: [tf.RaggedTensorSpec(null, "float32", 1)],
    }) as Any;
    const byParts = tf.function(
      (values: tf.Tensor, splits: tf.Tensor) => {
        const x = tf.RaggedTensor.fromRowSplits(values, splits);
        assertEquals([x.shape, x.spec.shape], [null, null]);
        return body(x) as Any;
      },
      { inputSignature: [tf.TensorSpec(null), tf.TensorSpec([null], "int32")] },
    );
    for (const x of [ragged(), pairs(), pairs().map((v) => tf.stack([v, v], 1))]) {
      // Rows that picking wants: pairs have two.
      const given = x.nrows().item() === 3 ? x : ops.concat([x, x.gather([0])], 0);
      const wanted = await plain(body(given));
      assertEquals(await plain(bySpec(given)), wanted);
      assertEquals(await plain(byParts(given.flatValues, given.rowSplits)), wanted);
    }
    assertEquals([bySpec.traceCount, byParts.traceCount], [1, 1]);
  });
}

testOnDevices(
  "deep ragged tensors of unknown rank are reduced in functions and sessions",
  async () => {
    using _s = tf.scope();
    const sums = (x: Any) => [ops.sum(x), ops.sum(x, 2), ops.sum(x, 1), ops.rank(x)];
    const f = tf.function(sums as Any, {
      inputSignature: [tf.RaggedTensorSpec(null, "float32", 2)],
    });
    assertEquals(await plain((f as Any)(deep())), await plain(sums(deep())));
    const graph = new tf.Graph();
    const { values, splits, total, rows } = graph.asDefault(() => {
      const values = tf.placeholder("float32", null), splits = tf.placeholder("int32", [null]);
      const x = tf.RaggedTensor.fromRowSplits(values, splits);
      return { values, splits, total: ops.mean(x), rows: ops.sum(x, 1) };
    });
    assertEquals([total.staticShape, rows.staticShape], [[], null]);
    const session = new tf.Session({ graph });
    const feeds = new Map<tf.Tensor, Any>([
      [values, [[1, 2], [3, 4], [5, 6]]],
      [splits, [0, 1, 3]],
    ]);
    const [mean, sum] = await session.run([total, rows], { feeds }) as Any;
    session.close();
    assertEquals([mean, sum.toArray()], [3.5, [[1, 2], [8, 10]]]);
  },
);

Deno.test("a spec of unknown rank says so, and wants its ragged rank", () => {
  const spec = tf.RaggedTensorSpec(null, "int32", 2);
  assertEquals([spec.shape, spec.raggedRank, spec.components.length], [null, 2, 3]);
  assertEquals(String(spec), "ragged int32<unknown>");
  assertEquals(spec.isCompatibleWith(tf.RaggedTensorSpec([2, null, null], "int32")), true);
  assertThrows(() => tf.RaggedTensorSpec(null), tf.ValueError, "wanted its raggedRank");
  const f = tf.function((x: Any) => ops.sum(x, -1), {
    inputSignature: [tf.RaggedTensorSpec(null, "float32", 1)],
  }) as Any;
  assertThrows(() => f(ragged()), tf.ValueError, "its rank is unknown");
});
