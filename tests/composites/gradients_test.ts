// Gradients of what is computed of ragged and sparse tensors, by grad(), tapes and tf.gradients(), in float32 and float16; folds whose states
// are such. Expected values follow from the definitions; those of ragged folds and Jacobians are TensorFlow 2.21's.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { deep, plain, ragged, sparse } from "./values.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
const ops = tf as Any;
const total = (x: Any) => ops.sum(x instanceof tf.Tensor ? x : x.flatValues ?? x.values);

/** Functions of a ragged tensor of three rows, and the gradients of the sum of their squares. */
const GRADIENTS: Record<string, readonly [(x: Any) => unknown, unknown]> = {
  "itself": [(x) => x, [[2, 4], [], [6, 8, 10]]],
  "sums of rows": [(x) => ops.sum(x, 1), [[6, 6], [], [24, 24, 24]]],
  "sums of columns": [(x) => ops.sum(x, 0), [[8, 12], [], [8, 12, 10]]],
  "means of a row": [(x) => ops.mean(ops.gather(x, [0])), [[1.5, 1.5], [], [0, 0, 0]]],
  "picked rows": [(x) => ops.gather(x, [2, 0, 2]), [[2, 4], [], [12, 16, 20]]],
  "stacked rows": [(x) => ops.stack([x, x], 1), [[4, 8], [], [12, 16, 20]]],
  "joined rows": [(x) => ops.concat([x, ops.neg(x)], 1), [[4, 8], [], [12, 16, 20]]],
  "repeated rows": [(x) => ops.tile(x, [2, 3]), [[12, 24], [], [36, 48, 60]]],
  "rows turned round": [(x) => ops.sum(ops.reverse(x, [1]), 0), [[10, 14], [], [6, 10, 14]]],
  "rows under another axis": [(x) => ops.sum(ops.expandDims(x, 0), 2), [[6, 6], [], [24, 24, 24]]],
  "a dense tensor": [(x) => x.toTensor(), [[2, 4], [], [6, 8, 10]]],
};

const squares = (f: (x: Any) => unknown) => (x: Any) => {
  const y = ops.square(f(x));
  return total(y);
};

for (const dtype of ["float32", "float16"] as const) {
  for (const [name, [f, expected]] of Object.entries(GRADIENTS)) {
    testOnDevices(`gradients through ${name} of ${dtype}`, async () => {
      using _s = tf.scope();
      const loss = squares(f), x = ops.cast(ragged(), dtype);
      const want = dtype === "float32" ? expected : JSON.parse(
        JSON.stringify(expected),
        (_, v) => typeof v === "number" ? Math.f16round(v) : v,
      );
      const near = (v: unknown) =>
        JSON.parse(JSON.stringify(v), (_, n) => typeof n === "number" ? Math.fround(n) : n);
      const byGrad = tf.grad(loss as Any)(x) as Any;
      assertEquals([byGrad.dtype, near(await plain(byGrad))], [dtype, near(want)]);
      const byTape = tf.function((q: Any) => {
        using tape = new tf.GradientTape();
        tape.watch(q);
        return tape.gradient(loss(q), q) as Any;
      });
      assertEquals(near(await plain(byTape(x))), near(want));
      const graph = new tf.Graph();
      const nodes = graph.asDefault(() => {
        const values = tf.placeholder(dtype, [null]), splits = tf.placeholder("int32", [null]);
        const q = tf.RaggedTensor.fromRowSplits(values, splits);
        return { values, splits, grads: tf.gradients(loss(q), [q as Any])[0] as Any };
      });
      const session = new tf.Session({ graph });
      const feeds = new Map<tf.Tensor, Any>([
        [nodes.values, [1, 2, 3, 4, 5]],
        [nodes.splits, [0, 2, 2, 5]],
      ]);
      const found = await session.run(nodes.grads, { feeds }) as Any;
      session.close();
      assertEquals(near(found.toList()), near(want));
    });
  }
}

testOnDevices("gradients through deep rows and sparse values", async () => {
  using _s = tf.scope();
  const rows = (x: Any) => ops.sum(ops.square(ops.sum(x, [1, 2])));
  assertEquals(await plain(tf.grad(rows)(deep() as Any)), [[[2], []], [[10, 10]]]);
  const columns = (x: Any) => total(ops.square(ops.sum(x, 0)));
  assertEquals(await plain(tf.grad(columns)(deep() as Any)), [[[6], []], [[6, 6]]]);
  const loss = (x: Any) => tf.sum(tf.square(x.toDense()));
  const { values } = tf.grad(loss)(sparse() as Any) as Any;
  assertEquals(await values.array(), [10, 12]);
});

testOnDevices("Jacobians go through ragged tensors, and have none for sources", () => {
  using _s = tf.scope();
  const x = tf.tensor([1, 2, 3]);
  const rows = (v: tf.Tensor) => tf.RaggedTensor.fromRowSplits(tf.square(v), [0, 1, 3]);
  const of = (y: (v: Any) => Any, source: Any) => {
    using tape = new tf.GradientTape();
    tape.watch(source);
    return tape.jacobian(y(source), source);
  };
  assertEquals(of((v) => ops.sum(rows(v), 1), x)!.arraySync(), [[2, 0, 0], [0, 4, 6]]);
  assertEquals(of((v) => rows(v).toTensor(), x)!.arraySync(), [
    [[2, 0, 0], [0, 0, 0]],
    [[0, 4, 0], [0, 0, 6]],
  ]);
  const text = "wanted dense tensors";
  assertThrows(() => of((v) => ops.sum(v, 1), ragged()), TypeError, text);
  assertThrows(() => of((v) => v.toDense(), sparse()), TypeError, text);
  assertThrows(() => of(rows, x), TypeError, text);
});

testOnDevices("folds have ragged and sparse states, scans have none", async () => {
  using _s = tf.scope();
  const added = (x: Any) =>
    ops.foldl((a: Any, v: Any) => ops.add(a, v), tf.tensor([1, 2]), { initializer: x });
  assertEquals(await plain(added(ragged())), [[4, 5], [], [6, 7, 8]]);
  assertEquals(await plain(tf.function(added)(ragged())), [[4, 5], [], [6, 7, 8]]);
  const nested = (s: Any) =>
    ops.foldr(
      ({ s, n }: Any, v: Any) => ({ s: ops.square(s), n: ops.add(n, v) }),
      tf.tensor([1, 2]),
      { initializer: { s, n: 0 } },
    );
  for (const f of [nested, tf.function(nested)]) {
    const { s, n } = f(sparse()) as Any;
    assertEquals([await s.values.array(), await n.array()], [[625, 1296], 3]);
  }
  assertThrows(
    () => ops.foldl((a: Any, _v: Any) => a.flatValues, tf.tensor([1]), { initializer: ragged() }),
    tf.ValueError,
    "same nested structure",
  );
  assertThrows(
    () => ops.scan((a: Any, _v: Any) => a, tf.tensor([1]), { initializer: ragged() }),
    TypeError,
    "wanted tensors",
  );
});

testOnDevices("sums over axes give gradients of every rank, of a scalar, too", async () => {
  using _s = tf.scope();
  const of = (dims: number[], axes: number[] | undefined, at: number[][]): tf.Tensor =>
    tf.grad((v) => tf.sum(tf.square(tf.sparse.reduceSum(new tf.SparseTensor(at, v, dims), axes))))(
      tf.range(1, at.length + 1),
    );
  const scalar = new tf.SparseTensor(tf.zeros([1, 0], "int64"), tf.tensor([3]), []);
  const slope = tf.grad((q: tf.SparseTensor) => tf.sum(tf.square(tf.sparse.reduceSum(q))))(
    scalar,
  ) as tf.SparseTensor;
  assertEquals(await slope.values.array(), [6]);
  assertEquals(await of([3], undefined, [[0], [2]]).array(), [6, 6]);
  const at = [[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 1, 2]];
  assertEquals(await of([2, 2, 3], [0], at).array(), [2, 4, 14, 14]);
  assertEquals(await of([2, 2, 3], [1], at).array(), [2, 4, 6, 8]);
  assertEquals(await of([2, 2, 3], [-1], at).array(), [2, 10, 10, 8]);
  assertEquals(await of([2, 2, 3], [0, 2], at).array(), [2, 18, 18, 18]);
  assertEquals(await of([2, 2, 3], [], at).array(), [2, 4, 6, 8]);
});
