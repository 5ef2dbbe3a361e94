/** GraphModel: loops and arrays of TensorFlow 1, as TensorFlow.js's converter writes them. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { model, type Node, node, placeholder, type, weight } from "./models.ts";

const INT = { T: type("INT32") };
const FLOAT = { T: type("FLOAT") };

/** Nodes of a loop variable: what enters, what goes round, what leaves. */
function loopVariable(
  name: string,
  from: string,
  next: string,
  attr: Readonly<Record<string, unknown>>,
): Node[] {
  const frame = { frame_name: { s: btoa("loop") }, ...attr };
  return [
    node("Enter", `${name}/enter`, [from], frame),
    node("Merge", `${name}/merge`, [`${name}/enter`, `${name}/next`], { ...attr, N: { i: "2" } }),
    node("Switch", `${name}/switch`, [`${name}/merge`, "cond"], attr),
    node("Exit", `${name}/exit`, [`${name}/switch`], attr),
    node("Identity", `${name}/body`, [`${name}/switch:1`], attr),
    node("NextIteration", `${name}/next`, [next], attr),
  ];
}

const invariant = (name: string, from: string, attr: Readonly<Record<string, unknown>>): Node =>
  node("Enter", name, [from], {
    frame_name: { s: btoa("loop") },
    is_constant: { b: true },
    ...attr,
  });

/** `for i < n: y = y * x`, and the powers of `x`, or each `i`, in an array. */
function powers(kind: "FLOAT" | "INT32" = "FLOAT"): tf.ModelArtifacts {
  const array = { dtype: type(kind) }, written = kind === "FLOAT" ? "y/more" : "i/body";
  return model([
    placeholder("x", []),
    placeholder("n", [], "INT32"),
    weight("zero", "INT32"),
    weight("one", "INT32"),
    weight("unit"),
    node("TensorArrayV3", "array", ["n"], { ...array, element_shape: { shape: {} } }),
    ...loopVariable("i", "zero", "i/more", INT),
    ...loopVariable("y", "unit", "y/more", FLOAT),
    ...loopVariable("flow", "array:1", "write", FLOAT),
    invariant("n/in", "n", INT),
    invariant("x/in", "x", FLOAT),
    invariant("array/in", "array", { T: type("RESOURCE") }),
    node("Less", "less", ["i/merge", "n/in"], INT),
    node("LoopCond", "cond", ["less"], {}),
    node("AddV2", "i/more", ["i/body", "one/in"], INT),
    invariant("one/in", "one", INT),
    node("Mul", "y/more", ["y/body", "x/in"], FLOAT),
    node("TensorArrayWriteV3", "write", ["array/in", "i/body", written, "flow/body"], {
      T: type(kind),
    }),
    node("TensorArraySizeV3", "size", ["array", "flow/exit"], {}),
    node("Range", "range", ["zero", "size", "one"], { Tidx: type("INT32") }),
    node("TensorArrayGatherV3", "all", ["array", "range", "flow/exit"], array),
    node("Identity", "last", ["y/exit"], FLOAT),
  ], { zero: Int32Array.of(0), one: Int32Array.of(1), unit: Float32Array.of(1) });
}

testOnDevices("loops and arrays of TensorFlow 1 run, as often as inputs say", async () => {
  const m = await tf.loadGraphModel(powers());
  for (const [n, expected] of [[3, [2, 4, 8]], [1, [2]], [5, [2, 4, 8, 16, 32]]] as const) {
    const inputs = { x: tf.scalar(2), n: tf.scalar(n, "int32") };
    const [all, last] = await m.executeAsync(inputs, ["all", "last"]) as tf.Tensor[];
    assertEquals([await all.array(), await last.array()], [expected, expected.at(-1)]);
  }
  m.dispose();
});

testOnDevices("an array of integers goes round a loop as a flow of numbers", async () => {
  const m = await tf.loadGraphModel(powers("INT32"));
  const inputs = { x: tf.scalar(2), n: tf.scalar(3, "int32") };
  const all = await m.executeAsync(inputs, "all") as tf.Tensor;
  assertEquals([all.dtype, await all.array()], ["int32", [0, 1, 2]]);
  m.dispose();
});

testOnDevices("gradients flow through loops of TensorFlow 1", async () => {
  const m = await tf.loadGraphModel(powers());
  using tape = new tf.GradientTape();
  const x = tf.scalar(2);
  tape.watch(x);
  const y = await m.executeAsync({ x, n: tf.scalar(3, "int32") }, "last") as tf.Tensor;
  assertEquals(await (tape.gradient(y, x) as tf.Tensor).array(), 12);
  m.dispose();
});

testOnDevices("conditions of TensorFlow 1 run the branch that holds", async () => {
  const m = await tf.loadGraphModel(model([
    placeholder("x", []),
    weight("zero"),
    node("Less", "negative", ["x", "zero"], FLOAT),
    node("Switch", "switch", ["x", "negative"], FLOAT),
    node("Exp", "no", ["switch"], FLOAT),
    node("Neg", "yes", ["switch:1"], FLOAT),
    node("Merge", "y", ["no", "yes"], { ...FLOAT, N: { i: "2" } }),
  ], { zero: Float32Array.of(0) }));
  assertEquals(await (await m.executeAsync(tf.scalar(-3), "y") as tf.Tensor).array(), 3);
  assertEquals(await (await m.executeAsync(tf.scalar(0), "y") as tf.Tensor).array(), 1);
  m.dispose();
});

/** A function of a library. */
function fn(name: string, nodes: readonly Node[], outputs: Readonly<Record<string, string>>) {
  const arg = (name: string, kind: string) => ({ name, type: `DT_${kind}` });
  return {
    signature: {
      name,
      inputArg: [arg("i", "INT32"), arg("list", "VARIANT"), arg("n", "INT32")],
      outputArg: Object.keys(outputs).map((o) =>
        arg(o, o === "list_" ? "VARIANT" : o === "more" ? "BOOL" : "INT32")
      ),
    },
    nodeDef: nodes,
    ret: outputs,
  };
}

testOnDevices("loops of functions fill lists, whose parts are named by argument", async () => {
  const list = { element_dtype: type("FLOAT") };
  const one: Node = {
    name: "one",
    op: "Const",
    attr: { dtype: type("INT32"), value: { tensor: { dtype: "DT_INT32", intVal: [1] } } },
  };
  const body = fn("body", [
    one,
    node("AddV2", "next", ["i", "one:output:0"], INT),
    node("Cast", "square", ["product:z:0"], { SrcT: type("INT32"), DstT: type("FLOAT") }),
    node("Mul", "product", ["i", "i"], INT),
    node("TensorListSetItem", "set", ["list", "i", "square:y:0"], list),
  ], { i_: "next:z:0", list_: "set:output_handle:0", n_: "n" });
  const cond = fn("cond", [node("Less", "less", ["i", "n"], INT)], { more: "less:z:0" });
  const artifacts = model([
    placeholder("n", [], "INT32"),
    weight("zero", "INT32"),
    weight("shape", "INT32"),
    node("TensorListReserve", "reserve", ["shape", "n"], list),
    node("StatelessWhile", "loop", ["zero", "reserve", "n"], {
      T: { list: { type: ["DT_INT32", "DT_VARIANT", "DT_INT32"] } },
      cond: { func: { name: "cond" } },
      body: { func: { name: "body" } },
      output_shapes: { list: { shape: [{}, {}, {}] } },
    }),
    node("TensorListStack", "all", ["loop:1", "shape"], list),
  ], { zero: Int32Array.of(0), shape: new Int32Array(0) });
  const m = await tf.loadGraphModel({
    ...artifacts,
    modelTopology: {
      ...artifacts.modelTopology as object,
      library: { function: [cond, body] },
    },
    weightSpecs: artifacts.weightSpecs!.map((s) => (s.name === "shape" ? { ...s, shape: [0] } : s)),
  });
  const all = await m.executeAsync(tf.scalar(4, "int32"), "all") as tf.Tensor;
  assertEquals(await all.array(), [0, 1, 4, 9]);
  m.dispose();
});
