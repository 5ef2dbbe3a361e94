/** Nodes that only imported graphs have: what they compute, what they know of their shapes, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { apply, apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";

// deno-lint-ignore no-explicit-any
type Attrs = Record<string, any>;
const float = { type: "DT_FLOAT" }, int = { type: "DT_INT32" };
const ints = (i: number[]): Attrs => ({ list: { i: i.map(String) } });
const strings = (s: string[]): Attrs => ({ list: { s: s.map(btoa) } });

/** The first output of a node whose inputs are these values. */
async function run(op: string, inputs: tf.TensorLike[], attr: Attrs): Promise<unknown> {
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const values = inputs.map((x) => tf.constant(x as number[]));
    const node = [{ name: "y", op, input: values.map((_, i) => `in${i}`), attr }];
    const inputMap = Object.fromEntries(values.map((t, i) => [`in${i}`, t]));
    const def = { node: [...placeholders(values), ...node], versions: { producer: 1 } };
    return tf.importGraphDef(def as tf.GraphDefJson, {
      inputMap,
      prefix: "",
      returnElements: ["y:0"],
    })[0] as tf.Tensor;
  });
  await using session = new tf.Session({ graph });
  const out = await session.run(y);
  return out instanceof tf.NdArray ? out.toArray() : out;
}

function placeholders(values: readonly tf.Tensor[]): Attrs[] {
  return values.map((_, i) => ({ name: `in${i}`, op: "Placeholder", attr: { dtype: float } }));
}

Deno.test("an imported Size counts elements in the dtype it names", async () => {
  const x = [[1, 2, 3], [4, 5, 6]];
  assertEquals(await run("Size", [x], { T: float, out_type: int }), 6);
  assertEquals(await run("Size", [x], { T: float, out_type: { type: "DT_INT64" } }), 6n);
  assertEquals(await run("Size", [5], { T: float }), 1);
  assertEquals(await run("Rank", [x], { T: float }), 2);
});

Deno.test("an imported _FusedMatMul takes a bias, then one activation", async () => {
  const a = [[1, -2]], b = [[1, 0], [0, 1]], bias = [10, 1];
  const fused = (fused_ops: string[], inputs: tf.TensorLike[] = []) =>
    run("_FusedMatMul", [a, b, ...inputs], {
      T: float,
      num_args: { i: String(inputs.length) },
      fused_ops: strings(fused_ops),
    });
  assertEquals(await fused(["BiasAdd"], [bias]), [[11, -1]]);
  assertEquals(await fused(["BiasAdd", "Relu"], [bias]), [[11, 0]]);
  assertEquals(await fused(["Relu"]), [[1, 0]]);
  for (
    const [ops, inputs] of [
      [["Relu", "Relu"], []],
      [["BiasAdd", "Relu", "Relu"], [bias]],
      [["BiasAdd", "Softplus"], [bias]],
      [["Relu", "BiasAdd"], [bias]],
    ] as const
  ) {
    const error = await fused([...ops], [...inputs]).then(() => null, (e) => e);
    assertEquals(error?.message.includes("Fusion is not implemented: "), true, `${ops}: ${error}`);
  }
});

Deno.test("an imported pooling says what is wrong with its window", async () => {
  const x = [[[[1], [2]], [[3], [4]]]];
  const pool = (ksize: number[]) =>
    run("MaxPool", [x], {
      T: float,
      ksize: ints(ksize),
      strides: ints([1, 1, 1, 1]),
      padding: { s: btoa("VALID") },
    });
  assertEquals(await pool([1, 2, 2, 1]), [[[[4]]]]);
  const refused: [number[], string][] = [
    [[1, 2, 2], "ksize field must specify 4 dimensions in MaxPool, received [1,2,2]"],
    [[2, 2, 2, 1], "Pooling over batch or depth is not implemented in MaxPool"],
    [[1, 2, 2, 2], "Pooling over batch or depth is not implemented in MaxPool"],
    [[1, 0, 2, 1], "received ksize [1,0,2,1]"],
  ];
  for (const [ksize, says] of refused) {
    const error = await pool(ksize).then(() => null, (e) => e);
    assertEquals(error?.message.includes(says), true, `${ksize}: ${error?.message}`);
  }
});

Deno.test("an imported variable knows its shape, and its reads do", () => {
  const node = (shape?: Attrs): Attrs[] => [
    {
      name: "v",
      op: "VarHandleOp",
      attr: {
        dtype: float,
        shape: { shape: { dim: [{ size: "3" }] } },
        shared_name: { s: btoa("v") },
      },
    },
    {
      name: "read",
      op: "ReadVariableOp",
      input: ["v"],
      attr: { dtype: float, ...(shape ? { _shape: shape } : {}) },
    },
    { name: "other", op: "VarHandleOp", attr: { dtype: float, shape: { shape: {} } } },
  ];
  const shapeOfRead = (shape?: Attrs) =>
    new tf.Graph().asDefault(() => {
      const def = { node: node(shape), versions: { producer: 1 } } as tf.GraphDefJson;
      const [read] = tf.importGraphDef(def, { prefix: "", returnElements: ["read:0"] });
      return (read as tf.Tensor).staticShape;
    });
  assertEquals(shapeOfRead(), [3]);
  assertEquals(shapeOfRead({ shape: { dim: [{ size: "-1" }] } }), [null]);
});

Deno.test("an imported function with effects keeps its place among others", () => {
  using v = tf.variable([1, 2]);
  const first = new tf.Graph();
  first.asDefault(() => {
    const x = tf.placeholder("bool", [], "x");
    const adding = (by: number) => () => {
      v.assignAdd([by, by]);
      return tf.scalar(by);
    };
    tf.cond(x, adding(1), adding(5));
  });
  const def = first.toGraphDef();
  assertEquals(def.library!.function!.every((f) => f.signature.isStateful), true);
  const graph = new tf.Graph();
  const after = graph.asDefault(() => {
    tf.importGraphDef(def, { prefix: "" });
    const [op] = graph.operations.filter((o) => o.type === "If");
    return { op, attrs: op.attrs };
  });
  assertEquals(after.attrs._ordered, true);
});

Deno.test("an op's inputs and attributes are counted before anything runs", () => {
  const cast = lookupOp("Cast")!, add = lookupOp("AddV2")!, x = tf.scalar(1);
  const check = lookupOp("Assert")!, holds = tf.scalar(true, "bool");
  assertEquals(apply(check, [holds, x, tf.scalar(1, "int32")]), []);
  assertThrows(
    () => apply(check, [holds, x], { T: ["int32"] }),
    TypeError,
    "Input 'data' of 'Assert' Op has type float32 that does not match expected type of int32",
  );
  assertThrows(() => apply1(cast, [x]), tf.ValueError, "Missing attr 'DstT' of 'Cast' Op");
  assertThrows(() => apply1(add, [x]), TypeError, "Missing input 'y' of 'AddV2' Op: received 1");
  assertThrows(
    () => apply1(add, [x, x, x]),
    TypeError,
    "Too many inputs for 'AddV2' Op: received 3, wanted 2",
  );
  assertThrows(
    () => apply1(add, [x, tf.scalar(1, "int32")]),
    TypeError,
    "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'",
  );
});

const DT = { dtype: { type: "DT_FLOAT" } };
/** Nodes that take the handle of another kind of resource, and what they say. */
const HANDLES: Readonly<Record<string, readonly [node: tf.NodeDefJson, error: string]>> = {
  "reads a table": [
    { name: "n", op: "ReadVariableOp", input: ["table"], attr: DT },
    "Cannot use a variable: its handle is none",
  ],
  "assigns to a table": [
    { name: "n", op: "AssignVariableOp", input: ["table", "one"], attr: DT },
    "Cannot use a variable: its handle is none",
  ],
  "looks up in a variable": [
    { name: "n", op: "LookupTableSizeV2", input: ["variable"] },
    "Cannot look up: wanted the handle of a table",
  ],
};

for (const [what, [node, error]] of Object.entries(HANDLES)) {
  Deno.test(`an imported node that ${what} says which handle it wants`, async () => {
    const types = { key_dtype: { type: "DT_INT64" }, value_dtype: { type: "DT_INT64" } };
    const value = { tensor: { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [1] } };
    const graph = new tf.Graph();
    graph.asDefault(() =>
      tf.importGraphDef({
        versions: { producer: 1 },
        node: [
          { name: "table", op: "HashTableV2", attr: types },
          { name: "variable", op: "VarHandleOp", attr: { ...DT, shape: { shape: { dim: [] } } } },
          { name: "one", op: "Const", attr: { ...DT, value } },
          node,
        ],
      }, { prefix: "" })
    );
    await using session = new tf.Session({ graph });
    const fetch = node.op === "AssignVariableOp" ? graph.getOperationByName("n") : "n:0";
    await assertRejects(
      () => session.run(fetch as string),
      tf.errors.InvalidArgumentError,
      error,
    );
  });
}
