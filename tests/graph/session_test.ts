/** Session.run: fetches, feeds, pruning, errors, cancellation, memory. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

function make<T>(fn: () => T): { graph: tf.Graph; sess: tf.Session; parts: T } {
  const graph = new tf.Graph();
  const parts = graph.asDefault(fn);
  return { graph, sess: new tf.Session({ graph }), parts };
}
const plain = (v: unknown): unknown => (v instanceof tf.NdArray ? v.toArray() : v);

testOnDevices("Session.run() returns the nest it was given", async () => {
  const { sess, parts: { x, y } } = make(() => {
    const x = tf.placeholder("float32", [2], "x");
    return { x, y: tf.add(x, 1) };
  });
  const feeds = { "x:0": [1, 2] };
  const out = await sess.run({ a: y, b: [x, "AddV2:0", [y.op as unknown as tf.Operation]] }, {
    feeds,
  }) as {
    a: unknown;
    b: unknown[];
  };
  assertEquals(plain(out.a), [2, 3]);
  assertEquals(out.b.slice(0, 2).map(plain), [[1, 2], [2, 3]]);
  assertEquals(out.b[2], [null]);
  assertEquals(await sess.run([], { feeds }), []);
  assertEquals(await sess.run({}, { feeds }), {});
  await sess.close();
});

testOnDevices("Session.run() gives rank-0 results as JavaScript scalars", async () => {
  const { sess, parts } = make(() => [
    tf.constant(1.5),
    tf.constant(true),
    tf.constant(7, "int32"),
    tf.constant(7n, "int64"),
    tf.constant("hé"),
  ]);
  const out = await sess.run(parts);
  assertEquals(out.slice(0, 4), [1.5, true, 7, 7n]);
  assertEquals(new TextDecoder().decode(out[4] as Uint8Array), "hé");
});

testOnDevices("Session.run() feeds any tensor and skips what made it", async () => {
  let calls = 0;
  const { sess, parts: { y, z } } = make(() => {
    const y = tf.numpyFunction(
      () => {
        calls++;
        return 1;
      },
      [],
      tf.TensorSpec([], "float32"),
    );
    return { y, z: tf.add(y, 1) };
  });
  assertEquals(await sess.run(z), 2);
  assertEquals(await sess.run(z, { feeds: new Map([[y, 10]]) }), 11);
  assertEquals(await sess.run([y, z], { feeds: new Map([[y, 10]]) }), [10, 11]);
  assertEquals(calls, 1);
});

Deno.test("Session.run() names what is wrong with fetches and feeds", async () => {
  const { sess, graph, parts: { p } } = make(() => ({
    p: tf.placeholder("float32", [null, 2], "p"),
    q: tf.placeholder("int32", [], "q"),
  }));
  const other = make(() => tf.constant(1)).parts;
  graph.preventFeeding(graph.asDefault(() => tf.identity(p)));
  type Case = [unknown, unknown, ErrorConstructor, string];
  const cases: Case[] = [
    [null, {}, TypeError as ErrorConstructor, "has invalid type"],
    [3, {}, TypeError as ErrorConstructor, "must be a string or Tensor"],
    ["zz:0", {}, tf.ValueError as ErrorConstructor, "cannot be interpreted as a Tensor"],
    [other, {}, tf.ValueError as ErrorConstructor, "is not an element of this graph"],
    [
      "p:0",
      { p: 1 },
      TypeError as ErrorConstructor,
      "Cannot interpret feeds key as Tensor: The name 'p' refers to an Operation",
    ],
    [
      "p:0",
      new Map([[3, 1]]),
      TypeError as ErrorConstructor,
      "Can not convert a number into a Tensor",
    ],
    [
      "p:0",
      { "p:0": p },
      TypeError as ErrorConstructor,
      "The value of a feed cannot be a tf.Tensor object",
    ],
    [
      "p:0",
      { "p:0": [1, 2, 3] },
      tf.ValueError as ErrorConstructor,
      "Cannot feed value of shape (3,) for Tensor p:0, which has shape (None, 2)",
    ],
    [
      "p:0",
      { "p:0": [[1, 2], [3]] },
      tf.ValueError as ErrorConstructor,
      "Cannot feed Tensor p:0: Cannot convert a ragged nested array",
    ],
    [
      "q:0",
      { "q:0": 1.5 },
      TypeError as ErrorConstructor,
      "is not compatible with Tensor type int32",
    ],
    [
      "q:0",
      { "q:0": 2 ** 40 },
      TypeError as ErrorConstructor,
      "is not compatible with Tensor type int32",
    ],
    [
      "p:0",
      { "Identity:0": [[1, 2]], "p:0": [[1, 2]] },
      tf.ValueError as ErrorConstructor,
      "may not be fed",
    ],
    [
      "Identity:0",
      {},
      tf.errors.InvalidArgumentError as unknown as ErrorConstructor,
      "You must feed a value for placeholder tensor 'p' with dtype float and shape [?,2]",
    ],
  ];
  for (const [fetch, feeds, type, text] of cases) {
    await assertRejects(() => sess.run(fetch as string, { feeds: feeds as tf.Feeds }), type, text);
  }
});

Deno.test("Session refuses an empty graph, and runs after close()", async () => {
  await assertRejects(
    () => new tf.Session({ graph: new tf.Graph() }).run("x:0"),
    tf.RuntimeError,
    "The Session graph is empty",
  );
  const { sess, parts } = make(() => tf.constant(1));
  await sess.close();
  await assertRejects(() => sess.run(parts), tf.RuntimeError, "Attempted to use a closed Session");
  assertThrows(() => new tf.Session(), tf.RuntimeError, "there is no default graph");
});

testOnDevices("Session.run() runs an operation once, and none that is not needed", async () => {
  let used = 0, unused = 0;
  const { sess, parts } = make(() => {
    const y = tf.numpyFunction(() => ++used, [], "int32");
    tf.numpyFunction(() => ++unused, [], "int32");
    return tf.add(tf.add(y, y), y);
  });
  assertEquals(await sess.run(parts), 3);
  assertEquals([used, unused], [1, 0]);
});

testOnDevices("control dependencies order effects", async () => {
  const log: string[] = [];
  const note = (s: string) => () => void log.push(s);
  const { sess, parts } = make(() => {
    const a = tf.numpyFunction(note("a"), [], []);
    return tf.controlDependencies(
      [a as unknown as tf.Operation],
      () => tf.numpyFunction(note("b"), [], []),
    );
  });
  await sess.run(parts as unknown as tf.Operation);
  assertEquals(log, ["a", "b"]);
});

testOnDevices("a failing run leaves nothing behind", async () => {
  const { sess, parts } = make(() => {
    const x = tf.placeholder("float32", [4], "x");
    const y = tf.mul(x, 2);
    return tf.add(
      tf.numpyFunction(
        () => {
          throw new Error("boom");
        },
        [y],
        "float32",
        { name: "bad" },
      ),
      y,
    );
  });
  const feeds = { "x:0": [1, 2, 3, 4] };
  await assertRejects(() => sess.run(parts, { feeds }), tf.errors.UnknownError, "boom");
  const before = tf.memory();
  for (let i = 0; i < 5; i++) {
    const e = await assertRejects(
      () => sess.run(parts, { feeds }),
      tf.errors.OpError,
      "Error: boom",
    ) as tf.errors.OpError;
    assertEquals(e.node, "bad");
  }
  assertEquals([tf.memory().numTensors, tf.memory().numDataBuffers], [
    before.numTensors,
    before.numDataBuffers,
  ]);
});

testOnDevices("a script between two GPU segments costs one readback", async (device) => {
  const { sess, parts } = make(() => {
    const x = tf.placeholder("float32", [8], "x");
    const a = tf.mul(x, 2), b = tf.add(x, 1);
    const h = tf.numpyFunction(
      (p: tf.NdArray, q: tf.NdArray) => p.map((v, i) => Number(v) + Number(q.data[i])),
      [a, b],
      tf.TensorSpec([8], "float32"),
    );
    return tf.neg(tf.mul(h, h)).op as unknown as tf.Operation;
  });
  const metadata: Partial<tf.RunMetadata> = {};
  await sess.run(parts, { feeds: { "x:0": new Float32Array(8) }, metadata });
  assertEquals(metadata.readbacks, device === "webgpu" ? 1 : 0);
  assertEquals(metadata.hostCalls, 1);
});

testOnDevices(
  "variables are read, assigned and shared by sessions, graphs and eager code",
  async () => {
    using v = tf.variable([1, 2], true, "v");
    const { sess, parts: { read, inc } } = make(() => ({
      read: tf.mul(v, 10),
      inc: v.assignAdd([1, 1])!,
    }));
    assertEquals(plain(await sess.run(read)), [10, 20]);
    await sess.run(inc);
    await sess.run(inc);
    assertEquals([plain(await sess.run(read)), v.arraySync()], [[30, 40], [3, 4]]);
    v.assign([0, 0]);
    assertEquals(plain(await sess.run(read)), [0, 0]);
    assertThrows(() => v.assign([1, 2, 3]), tf.ValueError as ErrorConstructor, "Shape mismatch");
  },
);

testOnDevices("variable() takes a symbolic initial value", async () => {
  const { sess, parts: { v, y } } = make(() => {
    const v = tf.variable(tf.add(tf.ones([2]), 1));
    return { v, y: tf.mul(v, 2) };
  });
  await sess.run(v.initializer!);
  assertEquals((await sess.run([v, y])).map(plain), [[2, 2], [4, 4]]);
});

Deno.test("Session.run() of a disposed variable says so", async () => {
  const v = tf.variable(1, true, "gone");
  const { sess, parts } = make(() => tf.add(v, 1));
  v.dispose();
  await assertRejects(
    () => sess.run(parts),
    tf.errors.FailedPreconditionError,
    "Could not find variable gone",
  );
});
