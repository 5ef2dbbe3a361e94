/** Ops of imported graphs about shapes and truth, whose values TensorFlow 2.21 computed. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const TYPES: Readonly<Record<string, string>> = {
  float32: "DT_FLOAT",
  int32: "DT_INT32",
  int64: "DT_INT64",
  bool: "DT_BOOL",
  string: "DT_STRING",
};

/** Values of the outputs of a node whose inputs are fed. `isKnown` says whether the graph knows their shapes. */
async function run(
  op: string,
  inputs: readonly tf.Tensor[],
  { outputs = 1, isKnown = true, attr = {} }: {
    outputs?: number;
    isKnown?: boolean;
    attr?: tf.NodeDefJson["attr"];
  } = {},
): Promise<unknown[]> {
  const graph = new tf.Graph(), names = inputs.map((_, i) => `in${i}`);
  const fed = graph.asDefault(() =>
    inputs.map((x) => tf.placeholder(x.dtype, isKnown ? x.shape : null))
  );
  const results = graph.asDefault(() =>
    tf.importGraphDef({
      node: [
        ...fed.map(({ dtype }, i) => ({
          name: names[i],
          op: "Placeholder",
          attr: { dtype: { type: TYPES[dtype] } },
        })),
        { name: "y", op, input: names, attr },
      ],
      versions: { producer: 1 },
    }, {
      inputMap: Object.fromEntries(names.map((name, i) => [name, fed[i]])),
      prefix: "",
      returnElements: Array.from({ length: outputs }, (_, i) => `y:${i}`),
    }) as tf.Tensor[]
  );
  await using session = new tf.Session({ graph });
  const feeds = new Map(fed.map((x, i) => [x, inputs[i].ndarraySync()]));
  const out = await session.run(results, { feeds }) as unknown[];
  return out.map((v) => v instanceof tf.NdArray ? v.toArray() : v);
}

testOnDevices("ConcatOffset gives the place where each part begins", async () => {
  const cases: [axis: number, shapes: number[][], wanted: number[][]][] = [
    [1, [[2, 2, 7], [2, 3, 7], [2, 9, 7]], [[0, 0, 0], [0, 2, 0], [0, 5, 0]]],
    [-1, [[2, 2], [2, 3]], [[0, 0], [0, 2]]],
    [0, [[4], [0], [1]], [[0], [4], [4]]],
  ];
  for (const [axis, shapes, wanted] of cases) {
    for (const dtype of ["int32", "int64"] as const) {
      for (const isKnown of [true, false]) {
        const values = await run("ConcatOffset", [
          tf.scalar(axis, "int32"),
          ...shapes.map((s) => tf.tensor(s, undefined, dtype)),
        ], { outputs: shapes.length, isKnown, attr: { N: { i: String(shapes.length) } } });
        const out = dtype === "int64" ? wanted.map((w) => w.map(BigInt)) : wanted;
        assertEquals<unknown>(values, out);
      }
    }
  }
});

testOnDevices("ConcatOffset refuses parts that do not fit, as TensorFlow does", async () => {
  const cases: [axis: tf.Tensor, shapes: unknown[], words: string][] = [
    [tf.scalar(1, "int32"), [[2, 3], [3, 4]], "All dimensions except 1 must match. Input 1 has"],
    [tf.scalar(2, "int32"), [[2, 3], [2, 4]], "Concat dim is out of range: 2 vs. 2"],
    [tf.scalar(0, "int32"), [[2, 3], [2]], "input 1 should contain 2 elements, but got 1"],
    [tf.scalar(0, "int32"), [[[2, 3]], [2, 3]], "input 0 should be a vector, but got shape [1,2]"],
    [tf.tensor([0], [1], "int32"), [[2], [3]], "should be a scalar integer, but got shape [1]"],
  ];
  for (const [axis, shapes, words] of cases) {
    const parts = shapes.map((s) => tf.tensor(s as number[], undefined, "int32"));
    await assertRejects(
      () => run("ConcatOffset", [axis, ...parts], { outputs: 2, attr: { N: { i: "2" } } }),
      tf.errors.InvalidArgumentError,
      words,
    );
  }
});

testOnDevices("ToBool takes scalars by value and other tensors by size", async () => {
  const cases: [tf.Tensor, boolean][] = [
    [tf.scalar(0), false],
    [tf.scalar(-0), false],
    [tf.scalar(3, "int32"), true],
    [tf.scalar(0n, "int64"), false],
    [tf.scalar(-1.5), true],
    [tf.scalar(NaN), true],
    [tf.scalar(true), true],
    [tf.scalar(false), false],
    [tf.scalar(""), false],
    [tf.scalar("a"), true],
    [tf.tensor([0]), true],
    [tf.tensor([false]), true],
    [tf.tensor([""]), true],
    [tf.zeros([0]), false],
    [tf.zeros([1, 0]), false],
  ];
  for (const [x, wanted] of cases) {
    for (const isKnown of [true, false]) {
      assertEquals(await run("ToBool", [x], { isKnown }), [wanted], `${x}`);
    }
  }
});
