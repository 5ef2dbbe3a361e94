/** Sparse tensors of two features of records, beside TensorFlow's in tests/io/examples_test.ts: in functions, graphs and pipelines. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { io } = tf;
const RECORDS = [
  io.encodeExample({ ix: [3n, 1n], iy: [0n, 2n], v: [1, 2] }),
  io.encodeExample({ ix: [2n], iy: [1n], v: [5] }),
  io.encodeExample({}),
];
const ONE = { s: io.SparseFeature("ix", "v", "float32", 4) };
const WANTED = [[0, 2, 0, 1], [0, 0, 5, 0], [0, 0, 0, 0]];
const records = (): tf.NdArray => new tf.NdArray("string", [RECORDS.length], RECORDS);

testOnDevices(
  "a sparse feature is parsed in functions, compiled once for any number of records",
  async () => {
    const f = tf.function(
      (r: tf.Tensor) => tf.sparse.toDense(io.parseExample(r, ONE).s),
      { inputSignature: [new tf.TensorSpec([null], "string")] },
    );
    assertEquals(await f(tf.tensor(records())).array(), WANTED);
    using none = f(tf.tensor(new tf.NdArray("string", [0], [])));
    assertEquals(none.shape, [0, 4]);
  },
);

testOnDevices(
  "a sparse feature's values have gradients, and its graph is TensorFlow's",
  async () => {
    const graph = new tf.Graph();
    const names = graph.asDefault(() => {
      const x = tf.placeholder("string", [null], "records");
      const { s } = io.parseExample(x, ONE), y = tf.square(tf.sparse.toDense(s));
      return [y.name, (tf.gradients(y, [s.values])[0] as tf.Tensor).name];
    });
    assertEquals(tf.portability(graph), []);
    const copy = new tf.Graph();
    const def = JSON.parse(JSON.stringify(graph.toGraphDef()));
    copy.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
    for (const g of [graph, copy]) {
      await using sess = new tf.Session({ graph: g });
      const [y, dv] = await sess.run(names, { feeds: { "records:0": records() } }) as tf.NdArray[];
      assertEquals(y.toArray(), WANTED.map((row) => row.map((v) => v * v)));
      assertEquals(dv.toArray(), [4, 2, 10]);
    }
  },
);

testOnDevices("datasets and branches have sparse features of several axes", async () => {
  const both = { s: io.SparseFeature(["iy", "ix"], "v", "float32", [3, 4]) };
  const set = tf.data.fromTensorSlices(records()).map((r) => io.parseSingleExample(r, both));
  assertEquals(String(set.elementSpec), "{s: sparse float32[3,4]}");
  const sums: unknown[] = [];
  for await (const { s } of set) {
    sums.push(await tf.sum(tf.sparse.toDense(s), 0).array());
    s.dispose();
  }
  assertEquals(sums, WANTED);
  const f = tf.function((r: tf.Tensor, wide: tf.Tensor) =>
    tf.cond(
      wide,
      () => tf.sum(tf.sparse.toDense(io.parseExample(r, both).s), 1),
      () => tf.sparse.toDense(io.parseExample(r, ONE).s),
    )
  );
  for (const wide of [true, false]) {
    assertEquals(await f(tf.tensor(records()), tf.scalar(wide, "bool")).array(), WANTED);
  }
});

testOnDevices(
  "a sparse feature refuses indices outside of its size, and other numbers of them than values",
  async () => {
    const bad: [Readonly<Record<string, tf.io.ExampleValue>>, string][] = [
      [{ ix: [4n], v: [1] }, "indices[0] = [0, 4] does not index into shape [1,4]"],
      [{ ix: [-1n], v: [1] }, "indices[0] = [0, -1] does not index into shape [1,4]"],
      [{ ix: [1n << 40n], v: [1] }, "does not index into shape [1,4]"],
      [{ ix: [1n], v: [1, 2] }, 'the sparse feature "s": it has 1 indices and 2 values'],
      [{ v: [1, 2] }, 'the sparse feature "s": it has 0 indices and 2 values'],
      [{ ix: [1], v: [1] }, "Data types don't match"],
    ];
    for (const [record, says] of bad) {
      const given = [io.encodeExample(record)];
      assertThrows(() => io.parseExample(given, ONE), tf.errors.InvalidArgumentError, says);
      const f = tf.function((r: tf.Tensor) => tf.sparse.toDense(io.parseExample(r, ONE).s));
      await assertRejects(
        async () => await f(tf.tensor(new tf.NdArray("string", [1], given))).data(),
        tf.errors.OpError,
      );
    }
  },
);

Deno.test("SparseFeature() names what it cannot be made of", () => {
  const make = io.SparseFeature as (...args: unknown[]) => tf.io.SparseFeature;
  const wrong: [unknown[], string][] = [
    [["", "v", "float32", 3], "Missing index_key"],
    [[[], "v", "float32", []], "Missing index_key"],
    [[undefined, "v", "float32", 3], "Missing index_key"],
    [["ix", "", "float32", 3], "Missing value_key"],
    [["ix", "v", "float32", [3]], "`size` of SparseFeature must be a whole number"],
    [[["ix"], "v", "float32", 3], "wanted a size for each name"],
    [[["ix", "iy"], "v", "float32", [3]], "wanted a size for each name"],
    [["ix", "v", "float32", 2.5], "`size` of SparseFeature must be a whole number"],
    [["ix", "v", "float32", -1], "`size` of SparseFeature must be a whole number"],
    [["ix", "v", "float32", 2 ** 31], "`size` of SparseFeature must be a whole number"],
    [["ix", "v", "float64", 3], "must be int64, float32 or string"],
  ];
  for (const [args, says] of wrong) assertThrows(() => make(...args), tf.ValueError, says);
  const ask = (more: tf.io.ExampleFeatures) => () =>
    io.parseExample([RECORDS[0]], { ...ONE, ...more });
  assertThrows(ask({ v: io.VarLenFeature("int64") }), tf.ValueError, "Conflicting type");
  assertThrows(ask({ v: io.FixedLenFeature([2], "float32") }), tf.ValueError, 'the feature "v"');
  for (const features of [{ contextFeatures: ONE }, { sequenceFeatures: ONE as never }]) {
    assertThrows(
      () => io.parseSequenceExample(RECORDS, features),
      tf.ValueError,
      'Unsupported SparseFeature "s"',
    );
  }
});
