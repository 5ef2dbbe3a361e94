/** Gradients of gathers as rows of the table, and what else of them is as in TensorFlow. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const TABLE = [[1, 2], [3, 4], [5, 6], [7, 8]];
const slices = (g: tf.Tensor | null): tf.IndexedSlices => {
  assert(g instanceof tf.IndexedSlices);
  return g;
};
const parts = (g: tf.Tensor | null) => {
  const { values, indices, denseShape } = slices(g);
  return [values.arraySync(), indices.arraySync(), denseShape!.arraySync()];
};
const rows = (t: tf.Tensor): tf.Tensor => tf.gather(t, [3, 1, 3]);

/** The gradient of a loss with respect to a table, on an eager tape and in a function that is differentiated from outside. */
function gradientsOf(loss: (table: tf.Tensor) => tf.Tensor, dtype: tf.DType = "float32") {
  const f = tf.function(loss);
  return [loss, f as typeof loss].map((fn) => {
    using table = tf.variable(TABLE, true, undefined, dtype);
    using tape = new tf.GradientTape();
    return tape.gradient(fn(table), table);
  });
}

testOnDevices("GradientTape.gradient() gives the rows that a gather picked", () => {
  for (const g of gradientsOf((t) => tf.sum(tf.square(rows(t))))) {
    assertEquals(parts(g), [[[14, 16], [6, 8], [14, 16]], [3, 1, 3], [4, 2]]);
    assertEquals(g!.shape, [4, 2]);
    assertEquals(g!.arraySync(), [[0, 0], [6, 8], [0, 0], [28, 32]]);
  }
});

testOnDevices("indices of any rank name rows, as do those of int64", () => {
  for (const g of gradientsOf((t) => tf.sum(tf.gather(t, [[0], [2]])))) {
    assertEquals(parts(g), [[[1, 1], [1, 1]], [0, 2], [4, 2]]);
  }
  for (const g of gradientsOf((t) => tf.sum(tf.gather(t, 2)))) {
    assertEquals(parts(g), [[[1, 1]], [2], [4, 2]]);
  }
  const long = new tf.NdArray("int64", [2], BigInt64Array.of(2n, 0n));
  for (const g of gradientsOf((t) => tf.sum(tf.mul(tf.gather(t, long), [[1], [2]])))) {
    assertEquals(g!.arraySync(), [[2, 2], [0, 0], [1, 1], [0, 0]]);
  }
});

testOnDevices(
  "several gathers from one table give all their rows; a dense gradient beside them is dense",
  () => {
    const twice = (t: tf.Tensor) => tf.sum(tf.add(tf.gather(t, [0, 1]), tf.gather(t, [1, 1])));
    for (const g of gradientsOf(twice)) {
      assertEquals([...slices(g).indices.dataSync()].sort(), [0, 1, 1, 1]);
      assertEquals(g!.arraySync(), [[1, 1], [3, 3], [0, 0], [0, 0]]);
    }
    for (const g of gradientsOf((t) => tf.add(twice(t), tf.sum(t)))) {
      assert(!(g instanceof tf.IndexedSlices));
      assertEquals(g!.arraySync(), [[2, 2], [4, 4], [1, 1], [1, 1]]);
    }
  },
);

testOnDevices(
  "a gather along another axis, with batches, or of what was computed gives a dense gradient",
  () => {
    const losses: ((t: tf.Tensor) => tf.Tensor)[] = [
      (t) => tf.sum(tf.gather(t, [1], 1)),
      (t) => tf.sum(tf.gather(t, [[1], [0], [0], [1]], 1, 1)),
      (t) => tf.sum(rows(tf.mul(t, 2))),
    ];
    for (const loss of losses) {
      for (const g of gradientsOf(loss)) assert(!(g instanceof tf.IndexedSlices));
    }
  },
);

testOnDevices("IndexedSlices are the dense tensor to every op, and outside", () => {
  const [g] = gradientsOf((t) => tf.sum(rows(t)));
  const dense = [[0, 0], [1, 1], [0, 0], [2, 2]];
  assertEquals(tf.add(g!, 1).arraySync(), dense.map((r) => r.map((x) => x + 1)));
  assertEquals(g!.mul(2).arraySync(), dense.map((r) => r.map((x) => x * 2)));
  assertEquals(tf.addN([g!, g!]).arraySync(), dense.map((r) => r.map((x) => x * 2)));
  assertEquals([...g!.dataSync()], dense.flat());
  assertEquals(slices(g).toTensor().arraySync(), dense);
  assertEquals(tf.variable(g!).arraySync(), dense);
});

testOnDevices("gradients that are asked for as tensors are plain tensors", () => {
  const table = tf.tensor(TABLE);
  for (
    const g of [tf.grad(rows)(table), tf.grads(rows)([table])[0], tf.valueAndGrad(rows)(table).grad]
  ) {
    assert(!(g instanceof tf.IndexedSlices));
    assertEquals(g.arraySync(), [[0, 0], [1, 1], [0, 0], [2, 2]]);
  }
});

testOnDevices("gradients of gradients go through rows", () => {
  using table = tf.variable(TABLE);
  using outer = new tf.GradientTape();
  using inner = new tf.GradientTape();
  const g = inner.gradient(tf.sum(tf.pow(rows(table), 3)), table)!;
  const penalty = tf.sum(tf.square(g));
  // The sum over repeats is squared: (2 · 3 x²)² for row 3, (3 x²)² for row 1.
  const wanted = TABLE.map((r, i) => r.map((x) => [0, 36, 0, 144][i] * x ** 3));
  assertEquals(outer.gradient(penalty, table)!.arraySync(), wanted);
});

testOnDevices(
  "tf.gradients() gives rows, which a session runs as parts and as a whole",
  async () => {
    const graph = new tf.Graph();
    const { g, twice, seeded } = graph.asDefault(() => {
      const t = tf.placeholder("float32", [null, 2], "t"), i = tf.placeholder("int32", [null], "i");
      const y = tf.square(tf.gather(t, i));
      const g = slices(tf.gradients(y, [t])[0]);
      const twice = tf.gradients(tf.sum(tf.mul(g, t)), [t])[0]!;
      const same = tf.identity(t);
      const [seeded] = tf.gradients(same, [t], { gradYs: [g] });
      return { g, twice, seeded: slices(seeded) };
    });
    assertEquals(g.staticShape, [null, 2]);
    await using session = new tf.Session({ graph });
    const run = async (fetch: tf.Tensor | null) =>
      (await session.run([fetch!], { feeds: { "t:0": TABLE, "i:0": [1, 1] } }) as tf.NdArray[])[0]
        .toArray();
    const before = graph.operations.length;
    assertEquals(await run(g), [[0, 0], [12, 16], [0, 0], [0, 0]]);
    await run(g);
    assertEquals(graph.operations.length - before < 8, true);
    assertEquals(await run(g.values), [[6, 8], [6, 8]]);
    assertEquals(await run(g.indices), [1, 1]);
    assertEquals(await run(g.denseShape), [4, 2]);
    assertEquals(await run(seeded.indices), [1, 1]);
    assertEquals(await run(twice), [[0, 0], [24, 32], [0, 0], [0, 0]]);
    assertEquals(tf.portability(graph), []);
  },
);

testOnDevices(
  "clipByNorm(), clipByGlobalNorm() and globalNorm() take the norm of the values, as TensorFlow does",
  () => {
    const g = new tf.IndexedSlices([[3, 0], [0, 4]], [1, 1], [3, 2]);
    assertEquals(tf.globalNorm([g, null]).item(), 5);
    assertEquals(parts(tf.clipByNorm(g, 10)), [[[3, 0], [0, 4]], [1, 1], [3, 2]]);
    const [[clipped, none], norm] = tf.clipByGlobalNorm([g, null], 2.5);
    assertEquals([parts(clipped), none, norm.item()], [
      [[[1.5, 0], [0, 2]], [1, 1], [3, 2]],
      null,
      5,
    ]);
  },
);

testOnDevices("tidy(), keep() and dispose() mean the parts of IndexedSlices", () => {
  using table = tf.variable(TABLE);
  const gradient = () => {
    using tape = new tf.GradientTape();
    return tape.gradient(tf.sum(rows(table)), table)!;
  };
  const before = tf.memory().numTensors;
  const g = tf.tidy(gradient), { h } = tf.tidy(() => ({ h: gradient() }));
  const kept = tf.tidy(() => void gradient().keep());
  assertEquals(kept, undefined);
  assertEquals(tf.memory().numTensors, before + 6);
  assertEquals(g.arraySync(), h.arraySync());
  tf.dispose([g, { h }]);
  assertEquals([g.isDisposed, tf.memory().numTensors], [true, before + 2]);
  assertThrows(() => g.arraySync(), tf.RuntimeError, "disposed");
});

Deno.test("IndexedSlices() refuses parts that do not fit", () => {
  const wrong: [() => unknown, string][] = [
    [() => new tf.IndexedSlices([1, 2], [1, 2, 3]), "there must be as many rows as indices"],
    [() => new tf.IndexedSlices(1, [1]), "the values must have a row for each index"],
    [() => new tf.IndexedSlices([1], [[1]]), "the indices must be a vector"],
    [() => new tf.IndexedSlices([[1, 2]], [0], [3, 3]), "the dense shape is [3,3]"],
    [() => new tf.IndexedSlices([1], [0]).toTensor(), "without a denseShape"],
  ];
  for (const [make, text] of wrong) assertThrows(make, tf.ValueError, text);
  assertThrows(() => new tf.IndexedSlices([1], tf.tensor([0.5])), TypeError, "whole indices");
  assertEquals(new tf.IndexedSlices([[1, 2]], [0]).staticShape, [null, 2]);
});

Deno.test("IndexedSlices are shown by their rows, and written to JSON as the dense tensor", async () => {
  await tf.setBackend("cpu");
  const g = new tf.IndexedSlices([[1, 2]], [1], [3, 2]);
  assertEquals(
    Deno.inspect(g),
    "IndexedSlices(float32[3,2], rows [1,2]) at [1]: [[1, 2]]",
  );
  assertEquals(JSON.stringify({ g }), '{"g":[[0,0],[1,2],[0,0]]}');
  g.dispose();
  assertEquals(Deno.inspect(g), "IndexedSlices(float32[3,2], rows [1,2]) disposed");
});

testOnDevices(
  "gradients through scripts and functions of functions stay rows where TensorFlow's do",
  () => {
    using table = tf.variable(TABLE);
    const inner = tf.function((at: tf.Tensor) => tf.gather(table, at));
    const outer = tf.function((at: tf.Tensor) => tf.sum(tf.square(inner(at) as tf.Tensor)));
    const losses: (() => tf.Tensor)[] = [
      () => outer(tf.tensor1d([3, 3], "int32")) as tf.Tensor,
      () =>
        tf.pyFunction(
          (t: tf.Tensor) => tf.sum(tf.square(tf.gather(t, [3, 3]))),
          [table],
          "float32",
        ),
      () => tf.pyFunction(() => tf.sum(tf.square(tf.gather(table, [3, 3]))), [], "float32"),
    ];
    for (const loss of losses) {
      using tape = new tf.GradientTape();
      const g = slices(tape.gradient(loss(), table));
      assertEquals(parts(g), [[[14, 16], [14, 16]], [3, 3], [4, 2]]);
    }
  },
);

/** Losses with branches, and what the gradient's rows are where the first is taken and where it is not. */
const BRANCHES: Readonly<
  Record<string, {
    readonly loss: (table: tf.Tensor, taken: tf.Tensor) => tf.Tensor;
    readonly rows: readonly [number[], number[]];
  }>
> = {
  "both pick rows": {
    loss: (t, taken) =>
      tf.cond(taken, () => tf.sum(tf.square(rows(t))), () => tf.sum(tf.gather(t, [0]))),
    rows: [[3, 1, 3], [0]],
  },
  "the other does not read the table": {
    loss: (t, taken) => tf.cond(taken, () => tf.sum(rows(t)), () => tf.scalar(0)),
    rows: [[3, 1, 3], []],
  },
  "the other reads all of it": {
    loss: (t, taken) => tf.cond(taken, () => tf.sum(rows(t)), () => tf.sum(tf.square(t))),
    rows: [[3, 1, 3], [0, 1, 2, 3]],
  },
  "one of several, in a function": {
    loss: tf.function((t: tf.Tensor, taken: tf.Tensor) =>
      tf.switchCase(tf.cast(taken, "int32"), [
        () => tf.sum(tf.gather(t, [0])),
        () => tf.sum(tf.exp(rows(t))),
      ])
    ),
    rows: [[3, 1, 3], [0]],
  },
};

for (const [name, { loss, rows }] of Object.entries(BRANCHES)) {
  testOnDevices(`gradients through branches are rows, as in TensorFlow: ${name}`, async () => {
    const graph = new tf.Graph();
    const built = graph.asDefault(() => {
      const t = tf.placeholder("float32", [4, 2], "t"), taken = tf.placeholder("bool", [], "taken");
      const [g] = tf.gradients(loss(t, taken), t);
      const [second] = tf.gradients(tf.sum(tf.mul(g!, t)), t);
      return { rows: slices(g).indices, g: g!, second: second! };
    });
    await using session = new tf.Session({ graph });
    for (const [k, taken] of [true, false].entries()) {
      const feeds = { "t:0": TABLE, "taken:0": taken };
      const found = await session.run(built, { feeds }) as Record<string, tf.NdArray>;
      assertEquals(found.rows.toArray(), rows[k]);
      // Eagerly a branch is all there is: its gradient may be that of nothing.
      const first = tf.grad((t) => tf.add(loss(t, tf.tensor(taken)), tf.mul(tf.sum(t), 0)));
      const second = tf.grad((t) => tf.sum(tf.mul(first(t), t)));
      assertEquals(found.g.toArray(), first(TABLE).arraySync());
      assertEquals(found.second.toArray(), second(TABLE).arraySync());
    }
  });
}

testOnDevices("an optimizer updates the rows that a branch picked, and leaves nothing", () => {
  using table = tf.variable(TABLE), optimizer = tf.train.sgd(0.5);
  const step = tf.function((taken: tf.Tensor) => {
    optimizer.minimize(() => tf.cond(taken, () => tf.sum(rows(table)), () => tf.scalar(0)), false, [
      table,
    ]);
  });
  using taken = tf.tensor(true), not = tf.tensor(false);
  step(taken);
  step(not);
  assertEquals(table.arraySync(), [[1, 2], [2.5, 3.5], [5, 6], [6, 7]]);
  const before = tf.memory();
  for (let i = 0; i < 3; i++) {
    step(taken);
    step(not);
  }
  const { numTensors, liveTapes } = tf.memory();
  assertEquals([numTensors, liveTapes], [before.numTensors, before.liveTapes]);
  assertEquals(table.arraySync(), [[1, 2], [1, 2], [5, 6], [3, 4]]);
});

testOnDevices("gradients through loops are dense, as in TensorFlow", () => {
  const f = tf.function((t: tf.Tensor) =>
    tf.whileLoop((i) => tf.less(i, 2), (i, s) => [tf.add(i, 1), tf.add(s, tf.sum(rows(t)))], [
      tf.scalar(0, "int32"),
      tf.scalar(0),
    ])[1]
  );
  using table = tf.variable(TABLE);
  const tape = new tf.GradientTape();
  const g = tape.gradient(f(table), table) as tf.Tensor;
  assert(!(g instanceof tf.IndexedSlices));
  assertEquals(g.arraySync(), [[0, 0], [2, 2], [0, 0], [4, 4]]);
});
