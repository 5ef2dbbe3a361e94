/** GraphDef: writing, reading, functions, scripts, and what is refused. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

const square = tf.registerScript(
  "weft.tests.square@1",
  (x: tf.NdArray) => x.map((v) => Number(v) ** 2),
);

Deno.test("toGraphDef() and importGraphDef() carry scripts, functions, loops and branches", async () => {
  const a = new tf.Graph();
  a.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.numpyFunction(square, [x], tf.TensorSpec([], "float32"), { name: "sq" });
    const [, z] = tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [
      tf.scalar(0),
      y,
    ]);
    const c = tf.cond(tf.greater(x, 0), () => tf.mul(z, 2), () => tf.neg(x));
    tf.controlDependencies([y], () => tf.add(tf.function((t: tf.Tensor) => tf.add(t, 1))(c), 0));
  });
  const last = a.operations.at(-1)!.name;
  const def = JSON.parse(JSON.stringify(a.toGraphDef()));
  const b = new tf.Graph();
  const [y] = b.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [`${last}:0`] })
  ) as tf.Tensor[];
  for (const x of [2, -3]) {
    const feeds = { "x:0": x };
    assertEquals(
      await new tf.Session({ graph: b }).run(y, { feeds }),
      await new tf.Session({ graph: a }).run(`${last}:0`, { feeds }),
    );
  }
  assertEquals(b.getTensorByName("sq:0").staticShape, []);
});

Deno.test("toGraphDef() writes TensorFlow's spellings", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.device("/CPU:0", () => tf.placeholder("float32", [null, 2], "x"));
    const y = tf.controlDependencies([x], () => tf.constant([1, 2], "float32", undefined, "c"));
    tf.matMul(x, tf.reshape(y, [2, 1]));
    tf.numpyFunction(square, [x], "float32", { name: "s" });
  });
  const node = Object.fromEntries(g.toGraphDef().node.map((n) => [n.name, n]));
  assertEquals(node.x, {
    name: "x",
    op: "Placeholder",
    device: "/device:CPU:0",
    attr: {
      dtype: { type: "DT_FLOAT" },
      shape: { shape: { dim: [{ size: "-1" }, { size: "2" }] } },
    },
  });
  assertEquals(node.c.input, ["^x"]);
  assertEquals([node.MatMul.attr!.T, node.MatMul.attr!.transpose_a], [{ type: "DT_FLOAT" }, {
    b: false,
  }]);
  assertEquals([node.s.op, node.s.attr!.Tin, node.s.attr!.token], [
    "PyFunc",
    { list: { type: ["DT_FLOAT"] } },
    { s: btoa("weft.tests.square@1") },
  ]);
});

Deno.test("importGraphDef() prefixes, maps inputs and takes nodes in any order", async () => {
  const a = new tf.Graph();
  a.asDefault(() =>
    tf.mul(tf.placeholder("float32", [], "x"), tf.constant(3, "float32", [], "three"))
  );
  const def = a.toGraphDef();
  def.node.reverse();
  const b = new tf.Graph();
  const [y] = b.asDefault(() =>
    tf.importGraphDef(def, { inputMap: { x: tf.constant(5) }, returnElements: ["Mul:0"] })
  ) as tf.Tensor[];
  assertEquals([y.op.name, await new tf.Session({ graph: b }).run(y)], ["import/Mul", 15]);
});

Deno.test("importGraphDef() names what is missing or wrong", () => {
  const read = (node: unknown[]) => () =>
    new tf.Graph().asDefault(() =>
      tf.importGraphDef({ node, versions: { producer: 1 } } as tf.GraphDefJson)
    );
  const script = (name: string, token: string) => ({
    name,
    op: "PyFunc",
    attr: { token: { s: btoa(token) }, Tin: { list: {} }, Tout: { list: { type: ["DT_FLOAT"] } } },
  });
  assertThrows(
    read([{ name: "n", op: "Nope" }]),
    tf.errors.NotFoundError,
    "Op type not registered 'Nope'",
  );
  assertThrows(
    read([{ name: "n", op: "PyFunc", attr: {} }]),
    tf.ValueError,
    "NodeDef missing attr 'token' from Op<name=PyFunc",
  );
  const e = assertThrows(
    read([script("a", "no.such@1"), script("b", "nor.this@2")]),
    tf.errors.NotFoundError,
  ) as Error;
  for (const part of ['"a"', "no.such@1", '"b"', "nor.this@2", "registerScript"]) {
    assertEquals(e.message.includes(part), true, e.message);
  }
  assertThrows(
    read([{ name: "a", op: "Neg", input: ["b"] }, { name: "b", op: "Neg", input: ["a"] }]),
    tf.ValueError,
    "part of a cycle",
  );
  assertThrows(
    read([{ name: "a", op: "Neg", input: ["zz"] }]),
    tf.ValueError,
    "Node 'a': Unknown input node 'zz'",
  );
});

Deno.test("toGraphDef() refuses anonymous scripts unless told", () => {
  const g = new tf.Graph();
  g.asDefault(() => tf.numpyFunction(() => 1, [], "float32", { name: "mine" }));
  assertThrows(() => g.toGraphDef(), tf.ValueError, '"mine"');
  assertEquals(g.toGraphDef({ allowAnonymousScripts: true }).node.length, 1);
});

Deno.test("importGraphDef() reads a While as TensorFlow writes it", async () => {
  const a = new tf.Graph();
  a.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [tf.scalar(0), x]);
  });
  const def = a.toGraphDef();
  const loop = def.node.find((n) => n.op === "While")!;
  const { Tin, cond, body } = loop.attr!;
  loop.attr = { T: Tin, cond, body, parallel_iterations: { i: "10" } };
  const b = new tf.Graph();
  b.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
  const results = [0, 1, 2].map((i) => `${loop.name}:${i}`);
  assertEquals(await new tf.Session({ graph: b }).run(results, { feeds: { "x:0": 2 } }), [
    3,
    16,
    2,
  ]);
});
