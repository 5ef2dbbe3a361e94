/** GraphDefs of other hands: JSON as `MessageToJson` prints it, scripts of other processes, and what is missing here. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** Two prints of one graph by TensorFlow 2.21: `MessageToDict(g.as_graph_def(), preserving_proto_field_name=…)`. */
const printed: Record<"camel" | "snake", tf.GraphDefJson> = JSON.parse(
  await Deno.readTextFile(new URL("message_to_json.json", import.meta.url)),
);

function importInto(def: tf.GraphDefJson, options: Parameters<typeof tf.importGraphDef>[1] = {}) {
  const graph = new tf.Graph();
  const found = graph.asDefault(() => tf.importGraphDef(def, { prefix: "", ...options }));
  return { graph, found, sess: new tf.Session({ graph }) };
}

function plain(v: unknown): unknown {
  return v instanceof tf.NdArray ? v.toArray() : Array.isArray(v) ? v.map(plain) : v;
}

for (const style of ["camel", "snake"] as const) {
  testOnDevices(`importGraphDef() reads JSON in ${style} case`, async () => {
    const { sess } = importInto(printed[style]);
    for (const x of [[1, 2], [-1, -2]]) {
      const out = await sess.run(["y:0", "r:0", "z:0"], { feeds: { "x:0": x } });
      const y = [x[0] + 3, x[1] + 4];
      assertEquals(plain(out), [y, y.map((v) => [v]), x.map(Math.abs)]);
    }
  });
}

Deno.test("importGraphDef() takes lists that are not there for empty ones", async () => {
  const type = "DT_FLOAT";
  const pass = (name: string) => ({
    signature: { name, inputArg: [{ name: "a", type }], outputArg: [{ name: "b", type }] },
    ret: { b: "a" },
  });
  const def = {
    node: [
      { name: "p", op: "Placeholder", attr: { dtype: { type: "DT_BOOL" } } },
      { name: "x", op: "Placeholder", attr: { dtype: { type } } },
      {
        name: "c",
        op: "StatelessIf",
        input: ["p", "x"],
        attr: {
          Tcond: { type: "DT_BOOL" },
          Tin: { list: { type: [type] } },
          Tout: { list: { type: [type] } },
          then_branch: { func: { name: "f" } },
          else_branch: { func: { name: "g" } },
        },
      },
    ],
    library: { function: [pass("f"), pass("g")] },
    versions: { producer: 1 },
  } as unknown as tf.GraphDefJson;
  const { sess } = importInto(def);
  assertEquals(await sess.run("c:0", { feeds: { "p:0": true, "x:0": 3 } }), 3);
  const empty = { versions: { producer: 1 } } as tf.GraphDefJson;
  assertEquals(importInto(empty).graph.operations.length, 0);
  assertThrows(() => importInto({} as tf.GraphDefJson), tf.ValueError, "a list `node`");
});

/** A GraphDef that calls a script of another process. */
function foreign(token: string): tf.GraphDefJson {
  return {
    node: [
      { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: {} } } },
      {
        name: "y",
        op: "PyFunc",
        input: ["x"],
        attr: {
          token: { s: btoa(token) },
          Tin: { list: { type: ["DT_FLOAT"] } },
          Tout: { list: { type: ["DT_FLOAT"] } },
        },
      },
    ],
    versions: { producer: 1 },
  };
}

testOnDevices("importGraphDef() binds the scripts of other processes", async () => {
  const double = (x: tf.NdArray) => x.map((v) => 2 * Number(v));
  const { graph, sess } = importInto(foreign("pyfunc_77"), { scripts: { pyfunc_77: double } });
  assertEquals(await sess.run("y:0", { feeds: { "x:0": 3 } }), 6);
  // Written again it names the same script.
  const again = importInto(graph.toGraphDef(), { scripts: { pyfunc_77: (x) => x } });
  assertEquals(await again.sess.run("y:0", { feeds: { "x:0": 3 } }), 3);
  assertThrows(
    () => importInto(foreign("pyfunc_77")),
    tf.errors.NotFoundError,
    'scripts: { "pyfunc_77": func }',
  );
  assertThrows(
    () => importInto(foreign("t"), { scripts: { t: 1 as never } }),
    tf.ValueError,
    "Expected func to be callable",
  );
});

testOnDevices("graphs with anonymous scripts can be imported again in their process", async () => {
  const source = new tf.Graph();
  source.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.numpyFunction((a: tf.NdArray) => a.map((v) => Number(v) + 1), [x], "float32");
    return tf.identity(tf.pyFunction((a: tf.Tensor) => tf.mul(a, 10), [y], "float32"));
  });
  const def = JSON.parse(JSON.stringify(source.toGraphDef({ allowAnonymousScripts: true })));
  const { sess } = importInto(def);
  assertEquals(await sess.run("Identity:0", { feeds: { "x:0": 3 } }), 40);
  assert(source.operations.length > 0);
});

Deno.test("importGraphDef() tells all that is missing at once", () => {
  const def = foreign("missing.script@1");
  const node = [...def.node, { name: "a", op: "NoSuchOp" }, { name: "b", op: "NorThisOne" }];
  const graph = new tf.Graph();
  const error = assertThrows(
    () => graph.asDefault(() => tf.importGraphDef({ ...def, node })),
    tf.errors.NotFoundError,
    "Cannot import: 2 ops are not registered: 'NoSuchOp' at node \"a\", 'NorThisOne' at node \"b\"",
  );
  assert(error.message.includes('"y" needs script "missing.script@1"'), error.message);
  assertEquals(graph.operations.length, 0);
});

Deno.test("a script that nobody bound is missed when it runs", async () => {
  const graph = new tf.Graph();
  tf.registerScript("weft.tests.import_json@1", (x: tf.NdArray) => x);
  graph.asDefault(() => tf.importGraphDef(foreign("weft.tests.import_json@1"), { prefix: "" }));
  tf.unregisterScript("weft.tests.import_json@1");
  await assertRejects(
    () => new tf.Session({ graph }).run("y:0", { feeds: { "x:0": 1 } }),
    tf.errors.InvalidArgumentError,
    "weft.tests.import_json@1",
  );
});
