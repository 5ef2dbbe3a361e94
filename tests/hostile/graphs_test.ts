/** Hostile GraphDefs are refused by name; those at the limits of what is taken work. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { HOSTILE_GRAPHS } from "./graphs.ts";

function read(def: unknown): tf.Graph {
  const graph = new tf.Graph();
  graph.asDefault(() => tf.importGraphDef(def as tf.GraphDefJson, { prefix: "" }));
  return graph;
}

for (const [name, def, kind, phrase] of HOSTILE_GRAPHS) {
  Deno.test(`importGraphDef() refuses ${name}`, () => {
    assertThrows(() => read(def), kind, phrase);
  });
}

testOnDevices(
  "functions nested as deep as they may be run, and branches and loops have gradients",
  async () => {
    const wraps: Record<string, (f: (x: tf.Tensor) => tf.Tensor) => (x: tf.Tensor) => tf.Tensor> = {
      function: (f) => tf.function((x: tf.Tensor) => f(x)),
      cond: (f) => (x) => tf.cond(tf.greater(x, 0), () => f(x), () => x) as tf.Tensor,
      whileLoop: (f) => (x) =>
        tf.whileLoop((i) => tf.less(i, 1), (i, y) => [tf.add(i, 1), f(y)], [tf.scalar(0), x])[1],
      mapFn: (f) => (x) => tf.sum(tf.mapFn((row) => f(row), tf.reshape(x, [1]))),
    };
    for (const [name, wrap] of Object.entries(wraps)) {
      using _scope = tf.scope();
      const nest = (depth: number): (x: tf.Tensor) => tf.Tensor => {
        let f: (x: tf.Tensor) => tf.Tensor = (x) => tf.mul(x, 2);
        for (let i = 0; i < depth; i++) f = wrap(f);
        return tf.function(f);
      };
      // Functions of gradients, of any order, stand inside of those that they belong to.
      const f = nest(90);
      assertEquals(f(tf.scalar(3)).item(), 6, name);
      if (name !== "function") {
        assertEquals(tf.grad((x: tf.Tensor) => f(x))(tf.scalar(3)).item(), 2, name);
      }
      assertThrows(() => nest(101)(tf.scalar(3)), tf.ValueError, "at most 100 are possible");
    }
    await Promise.resolve();
  },
);

testOnDevices("placeholderWithDefault() takes any shape that was declared", async () => {
  for (const shape of [null, [null], [2]] as const) {
    const graph = new tf.Graph();
    const [p, y] = graph.asDefault(() => {
      const p = tf.placeholderWithDefault([1, 2], shape);
      return [p, tf.mul(tf.add(p, 1), 2)];
    });
    await using session = new tf.Session({ graph });
    const arrays = await session.run([p, y]) as tf.NdArray[];
    assertEquals(arrays.map((a) => a.toArray()), [[1, 2], [4, 6]]);
    const fed = await session.run(y, { feeds: new Map([[p, [5, 6]]]) }) as tf.NdArray;
    assertEquals(fed.toArray(), [12, 14]);
  }
  assertThrows(
    () => new tf.Graph().asDefault(() => tf.placeholderWithDefault([1, 2], [3])),
    tf.ValueError,
    "Dimension 0 in both shapes must be equal, but are 2 and 3",
  );
});

Deno.test("a hundred functions may be called in turn, and no more", () => {
  using _scope = tf.scope();
  const x = tf.scalar(1);
  let f = tf.function((x: tf.Tensor) => tf.add(x, 1));
  // Each is traced before the next one, so that none is made inside of another.
  for (let calls = 1; calls < 100; calls++) {
    assertEquals(f(x).item(), 2);
    const inner = f;
    f = tf.function((x: tf.Tensor) => inner(x));
  }
  assertEquals(f(x).item(), 2);
  const tooMany = tf.function((x: tf.Tensor) => f(x));
  assertThrows(() => tooMany(x), tf.ValueError, "it calls functions nested 101 deep, at most 100");
});
