/** State of graphs belongs to sessions: variables, tables, accumulators, slots; that of eager code is shared. */
import * as tf from "@weft/weft";
import "@weft/weft/tf";
import { assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1;
const { FailedPreconditionError } = tf.errors;
type Build = (v: tf.Variable) => tf.Tensor | tf.Operation;

function plain(v: unknown): unknown {
  return v instanceof tf.NdArray ? v.toArray() : Array.isArray(v) ? v.map(plain) : v;
}

/** Builds with a variable `w` of value 1, and opens two sessions. */
function two<T>(build: (w: tf.Variable) => T) {
  const graph = new tf.Graph();
  const { w, parts } = graph.asDefault(() => {
    const w = tf.variable([1], true, "w");
    return { w, parts: build(w) };
  });
  return { graph, w, parts, a: new v1.Session({ graph }), b: new v1.Session({ graph }) };
}

const one = (x: tf.Tensor): tf.Tensor => tf.mul(x, 1);
/** Ways to change `w` by one. */
const STEPS: Record<string, Build> = {
  "an assignment": (w) => w.assignAdd([1])!,
  "the value after it": (w) => one(w.assignAdd([1])!),
  "an assignment after other kernels": (w) => w.assign(tf.add(tf.square(tf.sqrt(w)), [1]))!,
  "a row update": (w) =>
    w.scatterAdd(new tf.IndexedSlices(tf.ones([1]), tf.tensor([0], [1], "int32"), [1]))!,
  "a function": (w) => tf.function(() => (w.assignAdd([1]), one(w)))() as tf.Tensor,
  "a function in a function": (w) =>
    tf.function(() =>
      one(tf.function(() => (w.assignAdd([1]), one(w)))() as tf.Tensor)
    )() as tf.Tensor,
  "a branch": (w) =>
    tf.cond(tf.greater(tf.sum(w), 0), () => (w.assignAdd([1]), one(w)), () => one(w)) as tf.Tensor,
  "a loop": (w) =>
    tf.whileLoop(
      (i) => tf.less(i, 1),
      (i) => (w.assignAdd([1]), [tf.add(i, 1)]),
      [tf.zeros([], "int32")],
    )[0] as tf.Tensor,
  "a map": (w) => tf.mapFn((x: tf.Tensor) => (w.assignAdd([1]), x), tf.ones([1])) as tf.Tensor,
  sgd: (w) => new v1.train.GradientDescentOptimizer(-1).minimize(tf.sum(w), { varList: [w] }),
  "tf.train.sgd": (w) => tf.train.sgd(1).minimize(() => tf.neg(tf.sum(w)), false, [w])!,
  "a script that assigns": (w) =>
    tf.pyFunction((x: tf.Tensor) => (w.assignAdd(x), x), [tf.ones([1])], tf.TensorSpec([1])),
};

for (const [name, build] of Object.entries(STEPS)) {
  testOnDevices(`each session has its own variables: ${name}`, async () => {
    const { w, parts: step, a, b } = two(build);
    const before = tf.memory().numTensors;
    for (const run of [() => b.run(w), () => b.run(step as tf.Tensor)]) {
      await assertRejects(run, FailedPreconditionError, "Could not find variable w");
    }
    await a.run(w.initializer!);
    await assertRejects(() => b.run(w), FailedPreconditionError, "Could not find variable w");
    await b.run(w.initializer!);
    for (const session of [a, a, b, a]) await session.run(step as tf.Tensor);
    assertEquals(plain([await a.run(w), await b.run(w)]), [[4], [2]]);
    await Promise.all([a.close(), b.close()]);
    assertEquals(tf.memory().numTensors, before);
    await using c = new tf.Session({ graph: w.graph });
    await assertRejects(() => c.run(w), FailedPreconditionError, "uninitialized");
  });
}

testOnDevices(
  "a variable of eager code is shared by sessions, functions and eager code",
  async () => {
    using shared = tf.variable([1]);
    const f = tf.function(() => (shared.assignAdd([1]), tf.mul(shared, 1)));
    const { parts, a, b } = two(() => [shared.assignAdd([1])!, f() as tf.Tensor]);
    await a.run(parts[0]);
    await b.run(parts[1]);
    tf.dispose(f() as tf.Tensor);
    shared.assignAdd([1]);
    assertEquals(plain([await a.run(shared), await b.run(shared), shared.ndarraySync()]), [
      [5],
      [5],
      [
        5,
      ],
    ]);
  },
);

testOnDevices(
  "optimizers keep for each session what they keep for variables of a graph",
  async () => {
    const makers: Record<string, (w: tf.Variable) => tf.Operation> = {
      "v1 momentum": (w) =>
        new v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.sum(tf.square(w)), { varList: [w] }),
      "v1 adam": (w) =>
        new v1.train.AdamOptimizer(0.1).minimize(tf.sum(tf.square(w)), { varList: [w] }),
      "momentum": (w) =>
        tf.train.momentum(0.1, 0.9).minimize(() => tf.sum(tf.square(w)), false, [
          w,
        ])! as tf.Operation,
      "adam": (w) =>
        tf.train.adam(0.1).minimize(() => tf.sum(tf.square(w)), false, [w])! as tf.Operation,
    };
    for (const [name, make] of Object.entries(makers)) {
      const { graph, w, parts: step, a, b } = two(make);
      const init = graph.asDefault(() => v1.globalVariablesInitializer());
      for (const s of [a, b]) await s.run(init);
      const values: unknown[][] = [[], []];
      for (const turn of [0, 0, 0, 1, 1, 1]) {
        const session = [a, b][turn];
        await session.run(step);
        values[turn].push(plain(await session.run(w)));
      }
      assertEquals(values[1], values[0], name);
      await a.close();
      await b.close();
    }
  },
);

testOnDevices("the weights of an optimizer are those of the default session", async () => {
  const optimizer = tf.train.adam(0.1);
  const { w, parts: step, a, b } = two((w) => optimizer.minimize(() => tf.sum(w), false, [w])!);
  for (const s of [a, b]) await s.run(w.initializer!);
  await a.run(step as tf.Operation);
  await a.run(step as tf.Operation);
  const read = (session: InstanceType<typeof v1.Session>) =>
    session.asDefault(async () => {
      const steps = optimizer.iterations;
      const weights = await optimizer.getWeights();
      return [steps, plain(weights[1].tensor.ndarraySync())];
    });
  const [steps, m] = await read(a);
  assertEquals(steps, 2);
  assertAlmostEquals((m as number[])[0], 0.19, 1e-6);
  assertEquals(await read(b), [0, [0]]);
  const weights = await optimizer.getWeights();
  assertThrows(() => weights[1].tensor.dataSync(), FailedPreconditionError, "outside of a session");
  optimizer.dispose();
});

testOnDevices("each session fills its own accumulator, and draws its own numbers", async () => {
  const { parts: { add, count, drawn }, a, b } = two(() => {
    const accumulator = new v1.ConditionalAccumulator("float32", { shape: [1] });
    return {
      add: accumulator.applyGrad([2])!,
      count: accumulator.numAccumulated(),
      drawn: tf.randomUniform([2], 0, 1, "float32", 7),
    };
  });
  await a.run(add);
  await a.run(add);
  await b.run(add);
  assertEquals([await a.run(count), await b.run(count)], [2, 1]);
  const first = plain(await a.run(drawn));
  await a.run(drawn);
  assertEquals(plain(await b.run(drawn)), first);
});

testOnDevices("each session fills the tables of an imported graph", async () => {
  const node = (name: string, op: string, input: string[], attr = {}) => ({
    name,
    op,
    input,
    attr,
  });
  const constant = (name: string, values: number[]) => {
    const g = new tf.Graph();
    g.asDefault(() => tf.constant(values, "int64", [values.length], name));
    return g.toGraphDef().node[0];
  };
  const types = { Tin: { type: "DT_INT64" }, Tout: { type: "DT_INT64" } };
  const def = {
    node: [
      node("table", "HashTableV2", [], {
        key_dtype: { type: "DT_INT64" },
        value_dtype: { type: "DT_INT64" },
      }),
      constant("keys", [1]),
      constant("values", [10]),
      node("fill", "LookupTableImportV2", ["table", "keys", "values"], types),
      node("size", "LookupTableSizeV2", ["table"]),
    ],
  };
  const graph = new tf.Graph();
  const [fill, size] = graph.asDefault(() =>
    tf.importGraphDef(def as Parameters<typeof tf.importGraphDef>[0], {
      returnElements: ["fill", "size:0"],
    })
  ) as [tf.Operation, tf.Tensor];
  const a = new tf.Session({ graph }), b = new tf.Session({ graph });
  await a.run(fill);
  assertEquals([await a.run(size), await b.run(size)], [1n, 0n]);
});

testOnDevices("eager code finds a variable of a graph in the default session alone", async () => {
  const { w, a, b } = two(() => null);
  for (const use of [() => w.dataSync(), () => w.assign([2]), () => tf.add(w, 1)]) {
    assertThrows(use, FailedPreconditionError, "outside of a session: it belongs to a graph");
  }
  for (const s of [a, b]) await s.run(w.initializer!);
  const leave = new v1.InteractiveSession({ graph: w.graph });
  assertThrows(() => w.dataSync(), FailedPreconditionError, "uninitialized");
  w.assign([5]);
  assertEquals(plain(w.ndarraySync()), [5]);
  await leave.close();
  assertEquals(plain([await a.run(w), await b.run(w)]), [[1], [1]]);
});

testOnDevices("a Saver reads and writes the variables of its session", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_sessions_" });
  const { parts: saver, w, a, b } = two(() => new v1.train.Saver());
  await a.run(w.initializer!);
  await a.run(w.graph.asDefault(() => w.assign([7])!.op) as tf.Operation);
  const path = await saver.save(a, `${folder}/m`);
  await assertRejects(() => b.run(w), FailedPreconditionError);
  await saver.restore(b, path);
  await a.run(w.initializer!);
  assertEquals(plain([await a.run(w), await b.run(w)]), [[1], [7]]);
  await Deno.remove(folder, { recursive: true });
});

testOnDevices(
  "gradients through functions, loops and scripts reach each session's variables",
  async () => {
    const losses: Record<string, Build> = {
      function: (w) => tf.function(() => tf.sum(tf.square(w)))() as tf.Tensor,
      loop: (w) =>
        tf.sum(
          tf.whileLoop((i) => tf.less(i, 2), (i, x) => [tf.add(i, 1), tf.mul(x as tf.Tensor, w)], [
            tf.zeros([], "int32"),
            tf.ones([1]),
          ])[1] as tf.Tensor,
        ),
      script: (w) => tf.pyFunction((x: tf.Tensor) => tf.sum(tf.square(x)), [w], tf.TensorSpec([])),
      unseen: (w) =>
        tf.pyFunction(
          (x: tf.Tensor) => tf.sum(tf.mul(tf.square(w), x)),
          [tf.ones([1])],
          tf.TensorSpec([]),
        ),
    };
    for (const [name, loss] of Object.entries(losses)) {
      const { w, parts: step, a, b } = two((w) =>
        tf.train.sgd(0.1).minimize(() => loss(w) as tf.Tensor)! as tf.Operation
      );
      for (const s of [a, b]) await s.run(w.initializer!);
      await a.run(step);
      await a.run(step);
      await b.run(step);
      const [[x], [y]] = plain([await a.run(w), await b.run(w)]) as number[][];
      assertAlmostEquals(x, 0.64, 1e-6, name);
      assertAlmostEquals(y, 0.8, 1e-6, name);
    }
  },
);
