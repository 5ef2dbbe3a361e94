/** Sound GraphDefs to read, from which the fuzzer makes others. */
import * as tf from "@weft/weft";
import type { Json } from "./mutate.ts";

function def(build: () => unknown): Json {
  const graph = new tf.Graph();
  graph.asDefault(build);
  return JSON.parse(JSON.stringify(graph.toGraphDef({ addShapes: true })));
}

tf.registerScript("hostile.double@1", (x: tf.NdArray) => x.map((v) => Number(v) * 2));
const script = tf.registerScript("hostile.pair@1", (x: tf.NdArray) => ({ a: x, b: x }));

const T = { type: "DT_FLOAT" };
const node = (name: string, op: string, input: string[] = [], attr: Json = {}): Json => ({
  name,
  op,
  input,
  attr,
});
const constant = (name: string, dtype: string, values: Json, sizes: string[] = []): Json =>
  node(name, "Const", [], {
    dtype: { type: dtype },
    value: {
      tensor: {
        dtype,
        tensorShape: { dim: sizes.map((size) => ({ size })) },
        [dtype === "DT_FLOAT" ? "floatVal" : "intVal"]: values,
      },
    },
  });

/** A loop and a condition as TensorFlow 1 has them. */
const VERSION_1: Json = {
  node: [
    constant("zero", "DT_FLOAT", [0]),
    constant("one", "DT_FLOAT", [1]),
    node("enter", "Enter", ["zero"], { T, frame_name: { s: "Zg==" } }),
    node("fixed", "Enter", ["one"], { T, frame_name: { s: "Zg==" }, is_constant: { b: true } }),
    node("merge", "Merge", ["enter", "next"], { T }),
    node("less", "Less", ["merge", "fixed"], { T }),
    node("cond", "LoopCond", ["less"]),
    node("switch", "Switch", ["merge", "cond"], { T }),
    node("add", "AddV2", ["switch:1", "fixed"], { T }),
    node("next", "NextIteration", ["add"], { T }),
    node("exit", "Exit", ["switch"], { T }),
    node("p", "Less", ["zero", "one"], { T }),
    node("choose", "Switch", ["one", "p"], { T }),
    node("a", "Neg", ["choose:0"], { T }),
    node("b", "Abs", ["choose:1"], { T }),
    node("chosen", "Merge", ["a", "b"], { T }),
  ],
  versions: { producer: 1 },
};

/** Lists of tensors and a table, as only files have them. */
const LISTS: Json = {
  node: [
    constant("shape", "DT_INT32", [2], ["1"]),
    constant("n", "DT_INT32", [3]),
    node("list", "TensorListReserve", ["shape", "n"], { element_dtype: T }),
    node("stack", "TensorListStack", ["list", "shape"], { element_dtype: T }),
    node("length", "TensorListLength", ["list"]),
    node("table", "HashTableV2", [], {
      key_dtype: { type: "DT_STRING" },
      value_dtype: { type: "DT_INT64" },
    }),
    node("many", "IdentityN", ["n", "shape"]),
  ],
  versions: { producer: 1 },
};

/** Graphs that hold every way in which nodes, attributes and functions refer to each other. */
export function soundGraphs(): Json[] {
  const x = (): tf.Tensor => tf.placeholderWithDefault(tf.tensor([[1, 2, 3], [4, 5, 6]]), [2, 3]);
  return [
    def(() => tf.add(tf.placeholder("float32", [null, 2], "x"), tf.constant([1, 2]))),
    def(() => {
      const parts = tf.split(x(), 3, 1);
      return tf.addN([tf.concat(parts, 1), x(), tf.stack(tf.unstack(x()))]);
    }),
    def(() => tf.matMul(tf.transpose(x()), tf.reshape(x(), [2, -1]))),
    def(() => tf.sum(tf.cast(tf.gather(x(), tf.tensor([1, 0], [2], "int32")), "float64"), 0)),
    def(() => {
      const f = tf.function((a: tf.Tensor) => tf.mul(a, 2), { name: "f" });
      const g = tf.function((a: tf.Tensor) => tf.add(f(a), f(tf.neg(a))), { name: "g" });
      return g(x());
    }),
    def(() => tf.cond(tf.greater(tf.sum(x()), 0), () => tf.neg(x()), () => tf.abs(x()))),
    def(() =>
      tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, 2)], [
        tf.constant(0),
        x(),
      ])
    ),
    def(() => tf.scan((a, row) => tf.add(a, row), x())),
    def(() => tf.mapFn((row) => tf.sum(row), x())),
    def(() => {
      const v = tf.variable([1, 2, 3]);
      const next = v.assign(tf.mul(v, 2)) as unknown as tf.Tensor;
      const y = tf.controlDependencies([next], () => tf.add(v, 1));
      return y;
    }),
    def(() =>
      tf.numpyFunction(script, [x()], { a: "float32", b: tf.TensorSpec([2, 3], "float32") })
    ),
    def(() => tf.conv2d(tf.reshape(x(), [1, 2, 3, 1]), tf.ones([2, 2, 1, 1]), 1, "same")),
    def(() => tf.stridedSlice(tf.pad(x(), [[1, 1], [0, 2]]), [0, 1], [3, 4], [2, 1])),
    def(() => tf.device("/CPU:0", () => tf.oneHot(tf.tensor([0, 2], [2], "int32"), 3))),
    def(() => tf.constant(["a", "bc"])),
    // As TensorFlow writes constants: in fields of their own, equal ones once.
    {
      node: [{
        name: "c",
        op: "Const",
        attr: {
          dtype: { type: "DT_FLOAT" },
          value: {
            tensor: { dtype: "DT_FLOAT", tensorShape: { dim: [{ size: "4" }] }, floatVal: [1, 2] },
          },
        },
      }, { name: "y", op: "Neg", input: ["c"], attr: { T: { type: "DT_FLOAT" } } }],
      versions: { producer: 1 },
    },
    VERSION_1,
    LISTS,
  ];
}
