/** readGraphDef and encodeGraphDef: binary, text and JSON forms. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { encodeGraphDef, readGraphDef } from "@weft/weft/tf";

const TEXT = `
# A comment.
node {
  name: "x" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } }
}
node <
  name: "c", op: 'Const';
  attr { key: "dtype" value { type: 1 } }
  attr { key: "value" value { tensor {
    dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [1.5, -inf] float_val: nan
  } } }
  experimental_debug_info { original_node_names: "a" original_node_names: ["b", "c"] }
>
node { name: "s" op: "Const" attr { key: "value" value { tensor {
  dtype: DT_STRING tensor_shape { } string_val: "a\\n\\001\\x41" "\\303\\251" } } }
  attr { key: "dtype" value { type: DT_STRING } } }
versions { producer: 0x9AA min_consumer: 12 }
`;

Deno.test("readGraphDef() reads the text format", async () => {
  const def = await readGraphDef(new TextEncoder().encode(TEXT));
  assertEquals(def.node.map((n) => n.op), ["Placeholder", "Const", "Const"]);
  assertEquals(def.versions, { producer: 2474, minConsumer: 12 });
  const graph = new tf.Graph();
  const [c, s] = graph.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: ["c:0", "s:0"] })
  ) as tf.Tensor[];
  const session = new tf.Session({ graph });
  assertEquals(Array.from((await session.run(c) as tf.NdArray).data as Float32Array), [
    1.5,
    -Infinity,
    NaN,
  ]);
  assertEquals(new TextDecoder().decode(await session.run(s) as Uint8Array), "a\n\x01Aé");
});

Deno.test("encodeGraphDef() and readGraphDef() keep a graph", async () => {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    const [, y] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, [2, Infinity])],
      [tf.scalar(0, "int32"), x],
    ) as tf.Tensor[];
    tf.identity(y);
    tf.constant(["a", "b"]);
    tf.constant(5n, "int64");
  });
  const json = graph.toGraphDef();
  const bytes = encodeGraphDef(json);
  const def = await readGraphDef(bytes);
  assertEquals(encodeGraphDef(def), bytes);
  const text = new TextEncoder().encode(JSON.stringify(json));
  assertEquals(encodeGraphDef(await readGraphDef(text)), bytes);
  const stream = new Blob([bytes.slice()]).stream();
  assertEquals(encodeGraphDef(await readGraphDef(stream)), bytes);
});

Deno.test("readGraphDef() leaves constants where they are in the file", async () => {
  const graph = new tf.Graph();
  graph.asDefault(() => tf.constant(new Float32Array(1000)));
  const bytes = encodeGraphDef(graph.toGraphDef());
  const { node } = await readGraphDef(bytes);
  const content = node[0].attr!.value.tensor!.tensorContent as Uint8Array;
  assert(content.buffer === bytes.buffer, "the constant was copied");
});

Deno.test("readGraphDef() refuses what is no GraphDef, saying why", async () => {
  const refuses = (source: Uint8Array | string, message: string) =>
    assertRejects(() => readGraphDef(source), tf.errors.DataLossError, message);
  await refuses(new TextEncoder().encode("node { name: }"), "at line 1");
  await refuses(new TextEncoder().encode("node {"), 'the text ends where "}" is wanted');
  await refuses(new TextEncoder().encode("x {".repeat(300)), "the text ends within a field");
  await refuses(new TextEncoder().encode("node { attr { ".repeat(300)), "has no field");
  await refuses(new TextEncoder().encode('{"node": 3}'), "its JSON is no GraphDef");
  await refuses(Uint8Array.of(10, 200, 1, 0), "4 bytes");
  await assertRejects(() => readGraphDef(3 as never), TypeError, "received 3 of type number");
});

Deno.test("readGraphDef() names the file that is missing", async () => {
  await assertRejects(() => readGraphDef("/no/such.pb"), tf.errors.NotFoundError, "/no/such.pb");
});
