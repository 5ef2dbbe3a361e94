/** Variables that belong to a graph: their names, their values, their end. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { enterDefaultSession } from "../../src/engine/runtime/run/default_session.ts";
import { testOnDevices } from "../devices.ts";

/** Builds in a new graph and opens a session on it. */
function make<T>(build: () => T): { graph: tf.Graph; sess: tf.Session; parts: T } {
  const graph = new tf.Graph();
  const parts = graph.asDefault(build);
  return { graph, sess: new tf.Session({ graph }), parts };
}

function plain(v: unknown): unknown {
  return v instanceof tf.NdArray ? v.toArray() : Array.isArray(v) ? v.map(plain) : v;
}

Deno.test("names of variables are unique in their graph, and free in another", () => {
  const names = () => [
    tf.variable(0, true, "w").name,
    tf.variable(0, true, "w").name,
    tf.variable(0).name,
    tf.nameScope("layer", () => tf.variable(0, true, "w").name),
  ];
  assertEquals(make(names).parts, ["w", "w_1", "Variable", "layer/w"]);
  assertEquals(make(names).parts, ["w", "w_1", "Variable", "layer/w"]);
  using _eager = tf.variable(0, true, "w");
  assertThrows(() => tf.variable(0, true, "w"), tf.ValueError, "already registered");
  assertEquals(make(names).parts[0], "w");
});

Deno.test("a variable of a graph has the operations that TensorFlow makes", () => {
  const { graph, parts: v } = make(() => tf.variable([1, 2], true, "w"));
  assertEquals(graph.operations.map((o) => `${o.name} ${o.type}`), [
    "w/initial_value Const",
    "w VarHandleOp",
    "w/Assign AssignVariableOp",
    "w/Read/ReadVariableOp ReadVariableOp",
  ]);
  assertEquals([v.op, v.graph, v.initializer?.name], [
    graph.getOperationByName("w"),
    graph,
    "w/Assign",
  ]);
  assertEquals([v.initialValue?.name, v.shape, v.dtype], ["w/initial_value:0", [2], "float32"]);
});

testOnDevices(
  "a variable of an imported graph is read and fed where the graph has it",
  async () => {
    const def = make(() => tf.mul(tf.variable([1, 2], true, "w"), 2)).graph.toGraphDef();
    const { graph, sess } = make(() => tf.importGraphDef(def, { prefix: "" }));
    const [v] = graph.getCollection("variables") as tf.Variable[];
    const y = graph.asDefault(() => tf.mul(v!, 3));
    const handles = graph.operations.filter(({ type }) => type === "VarHandleOp");
    assertEquals(handles.map(({ name }) => name), ["w"]);
    assertEquals(plain(await sess.run(y, { feeds: new Map([[v!, [5, 6]]]) })), [15, 18]);
  },
);

testOnDevices("a variable has its initial value once its initializer has run", async () => {
  const { sess, parts: { v, y } } = make(() => {
    const v = tf.variable(tf.add(tf.ones([2]), 1), true, "w");
    return { v, y: tf.mul(v, 10) };
  });
  for (const fetch of [v, y, "w/Read/ReadVariableOp:0"]) {
    await assertRejects(
      () => sess.run(fetch),
      tf.errors.FailedPreconditionError,
      "Could not find variable w",
    );
  }
  assertThrows(() => v.arraySync(), tf.errors.FailedPreconditionError, "uninitialized");
  assertEquals(await sess.run(v.initializer!), null);
  assertEquals([plain(await sess.run(v)), plain(await sess.run(y))], [[2, 2], [20, 20]]);
  assertThrows(
    () => v.arraySync(),
    tf.errors.FailedPreconditionError,
    "outside of a session: it belongs to a graph",
  );
});

testOnDevices("an assignment gives the new value, and is a tensor", async () => {
  const { sess, graph, parts: { v, x, added, set, more } } = make(() => {
    const v = tf.variable([1, 2]);
    const x = tf.placeholder("float32", [2], "x");
    const added = v.assignAdd(x)!;
    return { v, x, added, set: v.assign([5, 5])!, more: tf.mul(v.assignSub([1, 1])!, 10) };
  });
  graph.finalize();
  await sess.run(v.initializer!);
  const feeds = new Map([[x, [10, 20]]]);
  assertEquals(plain(await sess.run(added, { feeds })), [11, 22]);
  assertEquals(plain((await sess.run([added, v], { feeds }))[0]), [21, 42]);
  assertEquals(await sess.run(added.op, { feeds }), null);
  assertEquals(plain(await sess.run(v)), [31, 62]);
  assertEquals(plain(await sess.run(more)), [300, 610]);
  assertEquals(plain(await sess.run(set)), [5, 5]);
});

testOnDevices("a variable can be fed, wherever the graph reads it", async () => {
  const { sess, parts: { v, y, z } } = make(() => {
    const v = tf.variable([1, 2]);
    return { v, y: tf.mul(v, 10), z: tf.sum(v) };
  });
  const feeds = new Map([[v, [7, 8]]]);
  assertEquals(plain(await sess.run([v, y, z], { feeds })), [[7, 8], [70, 80], 15]);
  await assertRejects(() => sess.run(v), tf.errors.FailedPreconditionError);
  await assertRejects(() => sess.run(y, { feeds: new Map([[v, [1, 2, 3]]]) }), tf.ValueError);
  const other = make(() => tf.variable(0));
  await assertRejects(
    () => sess.run(other.parts),
    tf.ValueError,
    "is not an element of this graph",
  );
  await assertRejects(
    () => sess.run(y, { feeds: new Map([[other.parts, 1]]) }),
    TypeError,
    "is not an element of this graph",
  );
});

testOnDevices("a variable of eager code can be fetched and fed where a graph uses it", async () => {
  using v = tf.variable([1, 2]);
  const { sess, parts: y } = make(() => tf.mul(v, 10));
  assertEquals(plain(await sess.run([v, y])), [[1, 2], [10, 20]]);
  assertEquals(plain(await sess.run(y, { feeds: new Map([[v, [3, 4]]]) })), [30, 40]);
});

Deno.test("variable() refuses an initial value of unknown shape", () => {
  make(() =>
    assertThrows(
      () => tf.variable(tf.placeholder("float32", [null])),
      tf.ValueError,
      "initial_value must have a shape specified",
    )
  );
});

testOnDevices("optimizers train the variables of a graph", async () => {
  const { sess, parts: { w, b, step } } = make(() => {
    const w = tf.variable([4, 4]), b = tf.variable(1, false);
    const loss = tf.sum(tf.square(tf.sub(w, b)));
    return { w, b, step: tf.train.sgd(0.25).minimize(loss) as tf.Operation };
  });
  await sess.run([w.initializer!, b.initializer!]);
  for (let i = 0; i < 2; i++) await sess.run(step);
  assertEquals(plain(await sess.run([w, b])), [[1.75, 1.75], 1]);
});

testOnDevices("the variables of an imported graph can be initialised", async () => {
  const { graph } = make(() => tf.mul(tf.variable([1, 2], true, "w"), 10));
  const def = JSON.parse(JSON.stringify(graph.toGraphDef()));
  const { sess, parts: [y], graph: g } = make(() =>
    tf.importGraphDef(def, { returnElements: ["Mul:0"] })
  );
  const [w] = g.getCollection("variables") as tf.Variable[];
  assertEquals([w.name, w.op.name, w.initializer?.name], ["w", "import/w", "import/w/Assign"]);
  await assertRejects(() => sess.run(y as tf.Tensor), tf.errors.FailedPreconditionError);
  await sess.run(w.initializer!);
  assertEquals(plain(await sess.run(y as tf.Tensor)), [10, 20]);
});

Deno.test("a graph's variable is on the device of its value where a session has one", async () => {
  await tf.setBackend("cpu");
  const { sess, parts: v } = make(() => tf.variable([1, 2]));
  await sess.run(v.initializer!);
  using t = tf.tensor(1);
  const leave = enterDefaultSession(sess as unknown as Parameters<typeof enterDefaultSession>[0]);
  try {
    assertEquals(v.device, t.device);
  } finally {
    leave();
    await sess.close();
  }
});

testOnDevices(
  "a variable whose handle waits for an operation is the session's, like any other",
  async () => {
    const { graph: written } = make(() => {
      const x = tf.placeholder("float32", [], "x"), v = tf.variable([1, 2], true, "w");
      return [tf.exp(x), tf.mul(v, 2)];
    });
    const def = written.toGraphDef();
    const node = def.node.map((n) => n.op === "VarHandleOp" ? { ...n, input: ["^Exp"] } : n);
    const { graph } = make(() => tf.importGraphDef({ ...def, node }, { prefix: "" }));
    const handle = graph.getOperationByName("w");
    assertEquals(handle.controlInputs.map(({ name }) => name), ["Exp"]);
    const y = graph.getTensorByName("Mul:0"), feeds = { "x:0": 1 };
    for (let i = 0; i < 2; i++) {
      await using sess = new tf.Session({ graph });
      await assertRejects(() => sess.run(y, { feeds }), tf.errors.FailedPreconditionError);
      await sess.run(graph.getOperationByName("w/Assign"), { feeds });
      assertEquals(plain(await sess.run(y, { feeds })), [2, 4]);
    }
  },
);
