/** GraphDef: writing, reading, functions, scripts, and what is refused. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

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
  const x = tf.scalar(1);
  assertThrows(
    () => b.asDefault(() => tf.importGraphDef(def, { inputMap: { x, z: x, "q:1": x } })),
    tf.ValueError,
    "map inputs that were not found in graph_def: [z, q:1]",
  );
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
    'Cannot import: 2 script functions are not registered: "a" needs',
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

// Written by TensorFlow 2.21 for a placeholder `x` and a result `y`.
const WRITTEN: Readonly<Record<string, tf.GraphDefJson>> = JSON.parse(
  await Deno.readTextFile(new URL("tensorflow_loops.json", import.meta.url)),
);
/** The functions that they compute, and their derivatives. */
const COMPUTED: Readonly<Record<string, readonly [(x: number) => number, (x: number) => number]>> =
  {
    "a loop of at most 2 iterations": [(x) => x ** 3, (x) => 3 * x ** 2],
    "a branch in a loop": [(x) => x ** 3 - x, (x) => 3 * x ** 2 - 1],
  };

for (const [name, def] of Object.entries(WRITTEN)) {
  testOnDevices(`importGraphDef() reads ${name} as TensorFlow writes it`, async () => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const [x, y] = tf.importGraphDef(def, { prefix: "", returnElements: ["x:0", "y:0"] });
      return [y, tf.gradients(y as tf.Tensor, x as tf.Tensor)[0]!];
    });
    const [value, slope] = COMPUTED[name];
    await using session = new tf.Session({ graph });
    for (const x of [2, 2.125]) {
      assertEquals(await session.run(fetches, { feeds: { "x:0": x } }), [value(x), slope(x)]);
    }
  });
}

Deno.test("toGraphDef() writes loops and branches with TensorFlow's attributes", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.cond(tf.greater(x, 0), () => tf.neg(x), () => x);
    tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [tf.constant(0), y]);
  });
  const { node, library } = g.toGraphDef();
  const named = (op: string): tf.NodeDefJson => node.find((n) => n.op === op)!;
  const branch = named("StatelessIf").attr!, loop = named("StatelessWhile").attr!;
  assertEquals([branch.Tcond, branch.Tin, branch.Tout], [
    { type: "DT_BOOL" },
    { list: { type: ["DT_FLOAT"] } },
    { list: { type: ["DT_FLOAT"] } },
  ]);
  // The loop gives out all that goes in: what it carries, and what its functions read.
  const floats = ["DT_FLOAT", "DT_FLOAT", "DT_FLOAT"];
  assertEquals([loop.T, loop._loop_vars], [{ list: { type: floats } }, { i: "2" }]);
  assertEquals(loop.output_shapes!.list!.shape!.length, 3);
  const body = library!.function.find((f) => f.signature.name === loop.body.func!.name)!;
  const { inputArg, outputArg } = body.signature;
  assertEquals([inputArg.map((a) => a.type), outputArg.map((a) => a.type)], [floats, floats]);
});
