/** Variables of files in bodies of loops, where an argument stands for them. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("parts of variables are read and changed in the bodies of loops", async () => {
  const [int, float, resource, bool] = ["DT_INT32", "DT_FLOAT", "DT_RESOURCE", "DT_BOOL"];
  const number = (name: string, value: number) => ({
    name,
    op: "Const",
    attr: {
      dtype: { type: int },
      value: { tensor: { dtype: int, tensorShape: {}, intVal: [value] } },
    },
  });
  const args = [["i", int], ["total", float], ["v", resource]].map(([name, type]) => ({
    name,
    type,
  }));
  const of = (type: string) => ({ T: { type } });
  const cond = {
    signature: { name: "cond", inputArg: args, outputArg: [{ name: "more", type: bool }] },
    nodeDef: [
      number("three", 3),
      { name: "less", op: "Less", input: ["i", "three:output:0"], attr: of(int) },
    ],
    ret: { more: "less:z:0" },
  };
  const attr = { dtype: { type: float }, Tindices: { type: int } };
  const body = {
    signature: {
      name: "body",
      inputArg: args,
      outputArg: args.map(({ name, type }) => ({ name: `${name}_out`, type })),
    },
    nodeDef: [
      number("one", 1),
      { name: "at", op: "Pack", input: ["i"], attr: { ...of(int), N: { i: "1" } } },
      { name: "row", op: "ResourceGather", input: ["v", "at:output:0"], attr },
      { name: "doubled", op: "AddV2", input: ["row:output:0", "row:output:0"], attr: of(float) },
      { name: "sum", op: "AddV2", input: ["total", "row:output:0"], attr: of(float) },
      {
        name: "change",
        op: "ResourceScatterAdd",
        input: ["v", "at:output:0", "doubled:z:0"],
        attr,
      },
      { name: "next", op: "AddV2", input: ["i", "one:output:0"], attr: of(int) },
    ],
    ret: { i_out: "next:z:0", total_out: "sum:z:0", v_out: "v" },
    controlRet: { change: "change" },
  };
  const graph = new tf.Graph();
  const [assign, total, after] = graph.asDefault(() => {
    const inputMap = {
      "start:0": tf.constant([1, 2, 3]),
      "first:0": tf.constant(0, "int32"),
      "none:0": tf.constant([0]),
    };
    const holes = [["start", float], ["first", int], ["none", float]].map(([name, type]) => ({
      ...{ name, op: "Placeholder", attr: { dtype: { type } } },
    }));
    const node = [
      ...holes,
      {
        name: "v",
        op: "VarHandleOp",
        attr: { dtype: { type: float }, shape: { shape: { dim: [{ size: "3" }] } } },
      },
      {
        name: "assign",
        op: "AssignVariableOp",
        input: ["v", "start"],
        attr: { dtype: attr.dtype },
      },
      {
        name: "loop",
        op: "While",
        input: ["first", "none", "v"],
        attr: {
          T: { list: { type: args.map(({ type }) => type) } },
          cond: { func: { name: "cond" } },
          body: { func: { name: "body" } },
        },
      },
      { name: "after", op: "ReadVariableOp", input: ["v", "^loop"], attr: { dtype: attr.dtype } },
    ];
    const def = { node, library: { function: [cond, body] }, versions: { producer: 1 } };
    return tf.importGraphDef(def as unknown as tf.GraphDefJson, {
      ...{ inputMap, prefix: "", returnElements: ["assign", "loop:1", "after:0"] },
    }) as [tf.Operation, tf.Tensor, tf.Tensor];
  });
  await using session = new tf.Session({ graph });
  await session.run(assign);
  const found = await session.run([total, after]) as tf.NdArray[];
  assertEquals(found.map((x) => x.toArray()), [[6], [3, 6, 9]]);
});
