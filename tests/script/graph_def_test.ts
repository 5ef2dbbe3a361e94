/** Script ops in GraphDefs: rows E6, H2 and 4.10. Tokens of registered bodies travel, with nests and shapes; others are refused. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, errorOf, evaluate, plain } from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;

const nested = tf.registerScript(
  "weft.tests.graph_def.nested@1",
  ({ a, b }: { a: N; b: N[] }, c: N) => ({
    sum: a.map((v, i) => (v as number) + (b[1].at(i) as number)),
    rest: [c, "text"],
  }),
);
const cube = tf.registerScript("weft.tests.graph_def.cube@1", (x: T) => tf.mul(x, tf.square(x)));
const square = tf.registerScript(
  "weft.tests.graph_def.square@2",
  (x: N) => x.map((v) => (v as number) ** 2),
  { vjp: ({ inputs: [x] }, dy) => [tf.mul(dy, tf.mul(2, x))] },
);

/** Writes a graph, passes the text on, and reads it. */
function roundTrip(
  build: () => unknown,
  options: Any = {},
): { def: tf.GraphDefJson; graph: tf.Graph } {
  const a = new tf.Graph();
  a.asDefault(build);
  const def = JSON.parse(JSON.stringify(a.toGraphDef({ portable: false, ...options })));
  const graph = new tf.Graph();
  graph.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
  return { def, graph };
}

async function run(graph: tf.Graph, fetches: Any, feeds?: tf.Feeds): Promise<Any> {
  const sess = new tf.Session({ graph });
  try {
    return plain(await sess.run(fetches, { feeds }));
  } finally {
    await sess.close();
  }
}

testOnDevices(
  "a registered body keeps the nests of its inputs and outputs, its shapes and dtypes",
  async () => {
    const { def, graph } = roundTrip(() => {
      const x = tf.placeholder("float32", [2], "x");
      tf.numpyFunction(
        nested,
        [{ b: [x, tf.mul(x, 10)], a: x }, tf.constant(7, "int32")],
        { sum: tf.TensorSpec([2], "float32"), rest: ["int32", "string"] },
        { name: "script" },
      );
    });
    const node = def.node.find((n) => n.name === "script")!;
    assertEquals(node.op, "PyFunc");
    assertEquals(node.attr!.token, { s: btoa("weft.tests.graph_def.nested@1") });
    assertEquals(node.attr!.Tin, {
      list: { type: ["DT_FLOAT", "DT_FLOAT", "DT_FLOAT", "DT_INT32"] },
    });
    assertEquals(node.attr!.Tout, { list: { type: ["DT_INT32", "DT_STRING", "DT_FLOAT"] } });
    assertEquals(graph.getTensorByName("script:2").staticShape, [2]);
    assertEquals(await run(graph, ["script:2", "script:0", "script:1"], { "x:0": [1, 2] }), [
      [11, 22],
      7,
      "text",
    ]);
  },
);

testOnDevices("all three ops travel, and keep what makes them different", async () => {
  const { def, graph } = roundTrip(() => {
    const x = tf.placeholder("float32", [], "x");
    tf.numpyFunction(square, [x], "float32", { name: "a" });
    tf.numpyFunction(square, [x], "float32", { name: "b", stateful: false });
    tf.pyFunction(cube, [x], tf.TensorSpec([], "float32"), { name: "c" });
    tf.contrib.framework.pyFunc(square, {
      args: [x],
      outputTypes: "float32",
      outputShapes: [],
      name: "d",
    });
  });
  const ops = Object.fromEntries(def.node.map((n) => [n.name, n.op]));
  assertEquals([ops.a, ops.b, ops.c, ops.d], [
    "PyFunc",
    "PyFuncStateless",
    "EagerPyFunc",
    "PyFunc",
  ]);
  assertEquals(["a:0", "c:0", "d:0"].map((n) => graph.getTensorByName(n).staticShape), [
    null,
    [],
    [],
  ]);
  assertEquals(await run(graph, ["a:0", "b:0", "c:0", "d:0"], { "x:0": 3 }), [9, 9, 27, 9]);
});

testOnDevices(
  "gradients that are in the graph travel, and new ones can be made of what was read",
  async () => {
    const { graph } = roundTrip(() => {
      const x = tf.placeholder("float32", [], "x");
      const y = tf.pyFunction(
        cube,
        [tf.numpyFunction(square, [x], tf.TensorSpec([], "float32"))],
        tf.TensorSpec([], "float32"),
        { name: "y" },
      );
      tf.identity(tf.mul(tf.gradients(y, [x])[0]!, 1));
    });
    const last = graph.operations.at(-1)!.name;
    assertEquals(await run(graph, `${last}:0`, { "x:0": 2 }), 6 * 2 ** 5);
    const [dx, dxx] = graph.asDefault(() => {
      const x = graph.getTensorByName("x:0");
      const [dx] = tf.gradients(graph.getTensorByName("y:0"), [x]);
      return [dx!, tf.gradients(dx!, [x])[0]!];
    });
    assertEquals(await run(graph, [dx, dxx], { "x:0": 2 }), [6 * 2 ** 5, 30 * 2 ** 4]);
  },
);

testOnDevices("a declared shape is checked after reading, too", async () => {
  const { graph } = roundTrip(() =>
    tf.numpyFunction(
      square,
      [tf.placeholder("float32", null, "x")],
      tf.TensorSpec([2], "float32"),
      { name: "s" },
    )
  );
  assertEquals(await run(graph, "s:0", { "x:0": [1, 2] }), [1, 4]);
  const error = await errorOf(() => run(graph, "s:0", { "x:0": [1, 2, 3] }));
  assertMatch(
    error.message,
    /has shape \[3\], which is not compatible with the declared shape \[2\]/,
  );
  assertEquals(error.node, "s");
});

testOnDevices("stateless ops of one token are merged after reading, too", async () => {
  const { graph } = roundTrip(() => {
    const x = tf.placeholder("float32", [], "x");
    for (const name of ["a", "b"]) {
      tf.numpyFunction(square, [x], "float32", { name, stateful: false });
    }
  });
  const metadata: Partial<tf.RunMetadata> = {};
  const sess = new tf.Session({ graph });
  assertEquals(await sess.run(["a:0", "b:0"], { feeds: { "x:0": 3 }, metadata }), [9, 9]);
  assertEquals(metadata.hostCalls, 1);
  await sess.close();
});

Deno.test("what nobody registered is named with its nodes, all of it, before anything is read", () => {
  const g = new tf.Graph();
  const bodies = ["one", "two"].map((n) =>
    tf.registerScript(`weft.tests.graph_def.${n}@1`, (x: N) => x)
  );
  g.asDefault(() => {
    const f = tf.function((x: T) =>
      tf.numpyFunction(bodies[1], [x], "float32", { name: "inside" })
    );
    tf.numpyFunction(bodies[0], [1], "float32", { name: "outside" });
    f(tf.constant(1));
  });
  const def = g.toGraphDef();
  for (const n of ["one", "two"]) assert(tf.unregisterScript(`weft.tests.graph_def.${n}@1`));
  const into = new tf.Graph();
  const error = assertThrows(
    () => into.asDefault(() => tf.importGraphDef(def)),
    tf.errors.NotFoundError,
    'Cannot import: 2 script functions are not registered: "outside" needs',
  );
  for (
    const part of [
      "outside",
      "inside",
      "graph_def.one@1",
      "graph_def.two@1",
      'tf.registerScript("weft.tests.graph_def.one@1", func)',
    ]
  ) {
    assert(error.message.includes(part), error.message);
  }
  assertEquals(into.operations.length, 0);
});

Deno.test("anonymous bodies are refused with their nodes, unless they are allowed", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    tf.numpyFunction((x: N) => x, [1], "float32", { name: "first" });
    tf.pyFunction((x: T) => x, [1], "float32", { name: "second" });
    tf.numpyFunction(square, [1], "float32", { name: "named" });
  });
  const error = assertThrows(
    () => g.toGraphDef(),
    tf.ValueError,
    'Cannot write a GraphDef with anonymous script functions: "first"',
  );
  for (const part of ["first", "second", "registerScript", "allowAnonymousScripts"]) {
    assert(error.message.includes(part));
  }
  assert(!error.message.includes('"named"'));
  assertEquals(
    g.toGraphDef({ allowAnonymousScripts: true }).node.filter((n) => /PyFunc/.test(n.op)).length,
    3,
  );
});

Deno.test("registerScript() wants a name with a version, and one body per name", () => {
  const body = (x: N) => x;
  for (const bad of ["plain", "no version@", "a b@1", "@1", "pyfunc_1"]) {
    assertThrows(() => tf.registerScript(bad, body), tf.ValueError, "wanted a name and a version");
  }
  tf.registerScript("weft.tests.graph_def.again@1", body);
  tf.registerScript("weft.tests.graph_def.again@1", body);
  assertThrows(
    () => tf.registerScript("weft.tests.graph_def.again@1", (x: N) => x),
    tf.errors.AlreadyExistsError,
    "another function has that name",
  );
  assertThrows(
    () => tf.registerScript("weft.tests.graph_def.three@1", 3 as Any),
    tf.ValueError,
    "callable",
  );
  assertThrows(
    () => tf.registerScript("weft.tests.graph_def.tout@1", (x: N) => x, { Tout: "flot" as Any }),
    TypeError,
    'Cannot convert the argument `type_value`: "flot" to a TensorFlow',
  );
  for (const options of [{ shapeFn: 3 }, { vjp: "score" }]) {
    assertThrows(
      () => tf.registerScript("weft.tests.graph_def.odd@1", (x: N) => x, options as Any),
      TypeError,
      "must be a function",
    );
  }
  const before = tf.memory().registeredScripts;
  assert(tf.unregisterScript("weft.tests.graph_def.again@1"));
  assertEquals(tf.memory().registeredScripts, before - 1);
  assertEquals(tf.unregisterScript("weft.tests.graph_def.again@1"), false);
});

Deno.test("a body that has lost one of its names goes on under the others", async () => {
  const names = ["a", "b", "c"].map((name) => `weft.tests.graph_def.named_${name}@1`);
  const body = (x: N): N => x.map((v) => 2 * Number(v));
  for (const name of names) tf.registerScript(name, body);
  const written = async (): Promise<string> => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.numpyFunction(body, [tf.constant([1])], "float32", { name: "y" }));
    const def = graph.toGraphDef();
    assertEquals(await evaluate(() => tf.importGraphDef(def, { returnElements: ["y:0"] })), [[2]]);
    return atob(def.node.find((n) => n.name === "y")!.attr!.token!.s as string);
  };
  assertEquals(await written(), names[2]);
  assert(tf.unregisterScript(names[0]!));
  assertEquals(await written(), names[2]);
  assert(tf.unregisterScript(names[2]!));
  assertEquals(await written(), names[1]);
  assert(tf.unregisterScript(names[1]!));
  await assertRejects(written, tf.ValueError, "anonymous script functions");
});

testOnDevices(
  "scripts of ragged and sparse tensors come out of a file as they went in",
  async () => {
    const token = "weft.tests.graph_def.composites@1";
    const body = tf.registerScript(token, (x: Any, { s, t: [t] }: Any) => [
      tf.RaggedTensor.fromRowSplits(tf.square(x.values), x.rowSplits),
      { values: tf.add(s.values, t) },
    ]);
    const graph = new tf.Graph();
    const returnElements = graph.asDefault(() => {
      const x = tf.ragged.constant([[1, 2], [3]]);
      const s = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
      const [y, z] = tf.pyFunction(body as Any, [x, { s, t: [tf.constant(7)] }] as Any, [
        (x as Any).spec,
        { values: "float32" },
      ]) as Any;
      const [dx] = tf.gradients(tf.sum(y.values), [(x as Any).values]) as T[];
      return [y.values, z.values, dx].map((t) => t.name as string);
    });
    const def = graph.toGraphDef({ portable: false });
    const read = () => tf.importGraphDef(def, { returnElements });
    assertEquals(await evaluate(read), [[1, 4, 9], [12, 13], [2, 4, 6]]);
    const node = def.node.find((n) => n.op === "EagerPyFunc")!;
    for (
      const leaf of [
        "x",
        "[]",
        '["dense",[2],"float32"]',
        '["ragged",[-1,null],"float32",1]',
        '["ragged",null,"float32",1000000000]',
        '["ragged",[2,null],"flot",1]',
        '["sparse","all","float32"]',
      ]
    ) {
      const text = JSON.stringify([leaf, { s: 0, t: [0] }]);
      const odd = { ...node, attr: { ...node.attr, _script_args: { s: btoa(text) } } };
      const nodes = def.node.map((n) => n === node ? odd : n);
      assertThrows(
        () => new tf.Graph().asDefault(() => tf.importGraphDef({ ...def, node: nodes } as Any)),
        tf.ValueError,
        "no spec of a ragged or sparse tensor",
      );
    }
    tf.unregisterScript(token);
  },
);
