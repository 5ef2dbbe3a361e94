/** Steps on the rows of a table that a batch picks: what they give, and that other rows cost nothing. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";

const { train } = tf;
const OPTIMIZERS: Record<string, () => tf.Optimizer> = {
  sgd: () => train.sgd(0.125),
  momentum: () => train.momentum(0.125, 0.5),
  adagrad: () => train.adagrad(0.125),
  adadelta: () => train.adadelta(0.5, 0.75),
  rmsprop: () => train.rmsprop(0.125, 0.75, 0.5, null, true),
  adam: () => train.adam(0.125),
  adamax: () => train.adamax(0.125),
  adamw: () => train.adamw(0.125, 0.5),
};
const BATCHES = [[0, 3, 3, 1], [3, 3, 3, 3], [2, 0, 2, 5]];
const start = (): tf.Tensor => tf.reshape(tf.range(1, 19), [6, 3]);

/** A table after steps on the rows that the batches pick; `pick` says how they are picked. */
async function trained(
  optimizer: tf.Optimizer,
  how: "eager" | "function" | "grads" | "session",
  pick: (table: tf.Tensor, at: tf.Tensor) => tf.Tensor,
): Promise<number[]> {
  const loss = (table: tf.Tensor, at: tf.Tensor) => tf.sum(tf.square(pick(table, at)));
  if (how === "session") return await inSession(optimizer, loss);
  using table = tf.variable(start());
  const step = (at: tf.Tensor) => {
    if (how !== "grads") return void optimizer.minimize(() => loss(table, at));
    const { grads } = optimizer.computeGradients(() => loss(table, at));
    optimizer.applyGradients(grads);
  };
  const compiled = tf.function(step);
  for (const batch of BATCHES) {
    using at = tf.tensor1d(batch, "int32");
    if (how === "function") compiled(at);
    else step(at);
  }
  return [...await table.data() as Float32Array];
}

async function inSession(
  optimizer: tf.Optimizer,
  loss: (table: tf.Tensor, at: tf.Tensor) => tf.Tensor,
): Promise<number[]> {
  const graph = new tf.Graph();
  const { table, step } = graph.asDefault(() => {
    const table = tf.variable(start(), true, "table");
    const at = tf.placeholder("int32", [4], "at");
    return { table, step: optimizer.minimize(loss(table, at))! };
  });
  await using session = new tf.Session({ graph });
  await session.run(table.initializer!);
  for (const batch of BATCHES) await session.run(step, { feeds: { "at:0": batch } });
  return [...(await session.run(table) as tf.NdArray).data as Float32Array];
}

/** The same rows, with a dense gradient. */
const product = (table: tf.Tensor, at: tf.Tensor) =>
  tf.matMul(tf.oneHot(at, 6, 1, 0, "float32"), table);

for (const [name, make] of Object.entries(OPTIMIZERS)) {
  testOnDevices(`train.${name}() makes of rows what it makes of the dense gradient`, async () => {
    using dense = make();
    const wanted = await trained(dense, "eager", product);
    for (const how of ["eager", "grads", "function", "session"] as const) {
      using optimizer = make();
      const found = await trained(optimizer, how, (table, at) => tf.gather(table, at));
      found.forEach((x, i) => {
        assert(Math.abs(x - wanted[i]) <= 1e-5 * (1 + Math.abs(wanted[i])), `${how} ${i}: ${x}`);
      });
    }
  });
}

/** A step on 32 rows of a table, eager or compiled, and the table. */
function stepOn(rows: number, optimizer: tf.Optimizer, compiled: boolean) {
  const table = tf.variable(tf.zeros([rows, 16]));
  const at = tf.tensor1d(Array.from({ length: 32 }, (_, i) => (i * 37) % 50), "int32");
  const step = () => {
    optimizer.minimize(() => tf.sum(tf.square(tf.sub(tf.gather(table, at), 1))), false, [table]);
  };
  return { table, step: compiled ? tf.function(step) : step };
}

for (const name of ["sgd", "adagrad"]) {
  for (const compiled of [false, true]) {
    const what = `${compiled ? "compiled" : "eager"} ${name}()`;
    testOnGpu(`a step of ${what} on 32 rows does as much whatever the table`, async () => {
      const counts = [];
      for (const rows of [64, 20_000]) {
        using optimizer = OPTIMIZERS[name]();
        const { table, step } = stepOn(rows, optimizer, compiled);
        // The first makes the slots and what is reused.
        for (let i = 0; i < 3; i++) step();
        const { gpuBuffers, poolBytes } = tf.memory();
        const { dispatches, readbacks, bytesToHost, bytesToDevice, buffersCreated } = await tf
          .profile(() => step());
        assertEquals(tf.memory().gpuBuffers - gpuBuffers, 0);
        assert(tf.memory().poolBytes - poolBytes < 1e5);
        counts.push({ dispatches, readbacks, bytesToHost, bytesToDevice, buffersCreated });
        assert(table.arraySync() as unknown);
        table.dispose();
      }
      assertEquals(counts[0], counts[1]);
      assertEquals([counts[0].readbacks, counts[0].buffersCreated], [0, 0]);
    });
  }
}

testOnDevices(
  "a step on rows of a table runs nothing on the table but gathers and writes of rows",
  (device) => {
    for (const name of ["sgd", "adagrad"]) {
      using optimizer = OPTIMIZERS[name]();
      // A shape that nothing was prepared for before.
      const rows = 1000 + name.length + device.length;
      const { table, step } = stepOn(rows, optimizer, false);
      const ops = new Set<string>();
      const before = kernelTrace.print;
      optimizer.minimize(() => tf.sum(table), false, [table]);
      kernelTrace.print = ({ op, specs }) => void (specs.includes(`[${rows},16]`) && ops.add(op));
      try {
        step();
      } finally {
        kernelTrace.print = before;
      }
      assertEquals([...ops].sort(), ["GatherV2", "_OntoRows"]);
      table.dispose();
    }
  },
);

testOnDevices("who holds a value of a table keeps it when rows of the table change", async () => {
  const table = tf.variable([[1, 2], [3, 4], [5, 6]]);
  const before = table.readValue(), view = tf.reshape(before, [6]);
  const delta = () => new tf.IndexedSlices([[1, 1], [2, 2]], [2, 2]);
  assertEquals(table.scatterAdd(delta()), null);
  assertEquals(table.arraySync(), [[1, 2], [3, 4], [8, 9]]);
  table.scatterSub(delta());
  table.scatterUpdate(new tf.IndexedSlices([[9, 9]], [0]));
  assertEquals(table.arraySync(), [[9, 9], [3, 4], [5, 6]]);
  assertEquals([before.arraySync(), view.arraySync()], [[[1, 2], [3, 4], [5, 6]], [
    1,
    2,
    3,
    4,
    5,
    6,
  ]]);
  tf.dispose([before, view]);
  const now = table.readValue();
  now.dispose();
  table.scatterAdd(
    new tf.IndexedSlices([[1, 0]], new tf.NdArray("int64", [1], BigInt64Array.of(1n))),
  );
  assertEquals(await table.array(), [[9, 9], [4, 4], [5, 6]]);
});

testOnDevices("rows of tables of every dtype and rank change", () => {
  for (const dtype of ["float32", "float64", "int32", "int64", "float16"] as const) {
    const table = tf.variable([1, 2, 3], true, undefined, dtype);
    const delta = tf.cast(tf.tensor([4, 5]), dtype);
    table.scatterAdd(new tf.IndexedSlices(delta, [1, 1]));
    assertEquals(Array.from(table.dataSync() as Float32Array, Number), [1, 11, 3]);
    table.scatterSub(new tf.IndexedSlices(delta, [0, 2]));
    assertEquals(Array.from(table.dataSync() as Float32Array, Number), [-3, 11, -2]);
    table.dispose();
  }
});

testOnDevices("in a graph changes of rows are operations in the order of the program", async () => {
  const graph = new tf.Graph();
  const { table, at, ops, reads } = graph.asDefault(() => {
    const table = tf.variable(tf.zeros([3, 2]), true, "table");
    const at = tf.placeholder("int32", [2], "at");
    const run = tf.function((at: tf.Tensor) => {
      const reads = [tf.identity(table.readValue())];
      table.scatterAdd(new tf.IndexedSlices(tf.ones([2, 2]), at));
      reads.push(tf.identity(table.readValue()));
      table.scatterUpdate(new tf.IndexedSlices(tf.fill([1, 2], 7), [0]));
      table.scatterSub(new tf.IndexedSlices(tf.ones([2, 2]), at));
      reads.push(tf.identity(table.readValue()));
      return reads;
    });
    return { table, at, ops: graph.operations.length, reads: run(at) };
  });
  assert(ops > 0 && at.isSymbolic);
  await using session = new tf.Session({ graph });
  await session.run(table.initializer!);
  const found = await session.run(reads, { feeds: { "at:0": [1, 1] } }) as tf.NdArray[];
  assertEquals(found.map((a) => a.toArray()), [
    [[0, 0], [0, 0], [0, 0]],
    [[0, 0], [2, 2], [0, 0]],
    [[7, 7], [0, 0], [0, 0]],
  ]);
});

testOnDevices("changes of rows refuse what does not fit", () => {
  const table = tf.variable([[1, 2], [3, 4]]);
  assertThrows(
    () => table.scatterAdd([1] as unknown as tf.IndexedSlices),
    TypeError,
    "wanted IndexedSlices",
  );
  assertThrows(
    () => table.scatterAdd(new tf.IndexedSlices([[1, 2, 3]], [0])),
    tf.errors.InvalidArgumentError,
    "received float32[1,3], wanted float32[1,2]",
  );
  assertThrows(
    () => table.scatterAdd(new tf.IndexedSlices(tf.tensor([[1, 2]], [1, 2], "int32"), [0])),
    tf.errors.InvalidArgumentError,
    "wanted float32",
  );
  assertEquals(table.arraySync(), [[1, 2], [3, 4]]);
});

testOnDevices(
  "gradients that were made as slices are applied, whether they say their shape or not",
  async () => {
    const made = () => new tf.IndexedSlices([[1, 2], [3, 4]], [1, 1]);
    for (const name of ["sgd", "adagrad", "momentum"] as const) {
      const results = [made(), tf.tensor([[0, 0], [4, 6], [0, 0]])].map((tensor) => {
        using table = tf.variable(tf.ones([3, 2])), optimizer = OPTIMIZERS[name]();
        optimizer.applyGradients([{ name: table.name, tensor }]);
        return table.arraySync() as number[][];
      });
      results[0].flat().forEach((v, i) => assert(Math.abs(v - results[1].flat()[i]) < 1e-6));
    }
    const graph = new tf.Graph();
    const { table, step } = graph.asDefault(() => {
      const table = tf.variable(tf.ones([3, 2]), true, "table");
      const optimizer = new tf.compat.v1.train.AdamOptimizer(0.1);
      return { table, step: optimizer.applyGradients([[made(), table]]) };
    });
    await using session = new tf.Session({ graph });
    await session.run(graph.asDefault(() => tf.compat.v1.globalVariablesInitializer()));
    await session.run(step);
    const [first, second] = (await session.run(table) as tf.NdArray).toArray() as number[][];
    assertEquals(first, [1, 1]);
    assert(second.every((v) => Math.abs(v - 0.9) < 1e-5));
  },
);

testOnGpu("an index out of range names no row on the GPU", () => {
  const table = tf.variable([[1, 2], [3, 4]]);
  table.scatterAdd(new tf.IndexedSlices([[1, 1], [1, 1], [1, 1]], [0, 2, -1]));
  assertEquals(table.arraySync(), [[2, 3], [3, 4]]);
});

Deno.test("an index out of range is refused on the CPU before any row is changed", async () => {
  await tf.setBackend("cpu");
  const table = tf.variable([[1, 2], [3, 4]]);
  for (const index of [2, -1]) {
    assertThrows(
      () => table.scatterAdd(new tf.IndexedSlices([[1, 1], [1, 1]], [0, index])),
      tf.errors.InvalidArgumentError,
      `indices[1] = ${index} is not in [0, 2)`,
    );
  }
  assertEquals(table.arraySync(), [[1, 2], [3, 4]]);
});
