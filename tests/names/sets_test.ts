/** Functions of `tf.sets` beside TensorFlow 2.21. */

import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { type GoldenCase, runCases } from "./golden_cases.ts";
import SETS from "./sets.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const CASES = SETS as unknown as readonly GoldenCase[];

for (const fn of new Set(CASES.map((row) => row.fn))) {
  testOnDevices(`${fn}() is TensorFlow's`, async () => {
    await runCases(CASES.filter((row) => row.fn === fn));
  });
}

testOnDevices("sets are of lists, too", async () => {
  const both = tf.sets.intersection([[1, 2, 3], [4, 4, 5]], [[2, 3], [5, 5]]);
  assertEquals(await tf.sparse.toDense(both).array(), [[2, 3], [5, 0]]);
  assertEquals(both.dtype, "int32");
  const bytes = tf.sets.union(tf.tensor([[1, 2]], [1, 2], "uint8"), [[2, 3]]);
  assertEquals([await bytes.values.array(), bytes.dtype], [[1, 2, 3], "uint8"]);
  const none = tf.sets.intersection([[1, 2]], [[3]]);
  assertEquals(await none.denseShape.array(), [1, 0]);
});

testOnDevices("what sets cannot be of is refused", async () => {
  const { InvalidArgumentError } = tf.errors;
  const disordered = new tf.SparseTensor([[0, 1], [0, 0]], tf.tensor([1, 2], [2], "int32"), [1, 2]);
  const outside = new tf.SparseTensor([[0, 5]], tf.tensor([1], [1], "int32"), [1, 2]);
  const refusals: [() => tf.SparseTensor | tf.Tensor, Any, string][] = [
    [() => tf.sets.union([[1.5]], [[2]]), TypeError, "Cannot convert 1.5"],
    [() => tf.sets.union([1], [2]), TypeError, "a rank of 2 or more"],
    [() => tf.sets.union([[1], [2]], [[1]]), InvalidArgumentError, "Mismatched group shapes"],
    [() => tf.sets.union([[1]], [["a"]]), TypeError, ""],
    [() => tf.sets.size([[1]] as Any), TypeError, "SparseTensor"],
    [() => tf.sets.size(disordered), InvalidArgumentError, "out of order"],
    [() => tf.sets.size(outside), InvalidArgumentError, "out of bounds"],
    [() => tf.sets.difference([[1]], [[1]], 3 as Any), TypeError, "'aminusb' passed to"],
    [() => tf.sets.union([[1]], [[1]], 3 as Any), TypeError, "'validateIndices' passed to"],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        const x = run();
        await (x instanceof tf.Tensor ? x : x.values).data();
      },
      error,
      text,
      String(run),
    );
  }
  assertEquals(await tf.sets.size(disordered, false).array(), [2]);
});

testOnDevices("sets of a GraphDef are imported", async () => {
  const from = new tf.Graph();
  from.asDefault(() => tf.sets.union(tf.constant([["b", "a"]]), tf.constant([["c", "a"]])));
  const def = from.toGraphDef(), { name } = def.node.find(({ op }) => op.endsWith("SetOperation"))!;
  const graph = new tf.Graph();
  const found = graph.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [`${name}:1`] })
  );
  const [values] = await new tf.Session({ graph }).run(found as tf.Tensor[]) as Any[];
  assertEquals([...values.data].map((v) => new TextDecoder().decode(v)), ["a", "b", "c"]);
});
