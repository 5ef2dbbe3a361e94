/**
 * Sound GraphDefs to read, from which the fuzzer makes others.
 */
import * as tf from "@weft/weft";
import type { Json } from "./mutate.ts";

function def(build: () => unknown): Json {
  const graph = new tf.Graph();
  graph.asDefault(build);
  return JSON.parse(JSON.stringify(graph.toGraphDef({ addShapes: true })));
}

tf.registerScript("hostile.double@1", (x: tf.NdArray) => x.map((v) => Number(v) * 2));
const script = tf.registerScript("hostile.pair@1", (x: tf.NdArray) => ({ a: x, b: x }));

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
  ];
}
