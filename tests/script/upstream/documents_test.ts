/**
 * The examples of TensorFlow's five documents about script ops, word for word: `tf.py_func` and `tf.contrib.framework.py_func` of 1.x,
 * `tf.compat.v1.py_func`, `tf.numpy_function` and `tf.py_function`. Their recipe for clusters is in recipe_test.ts.
 */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const sinh = (x: tf.NdArray): tf.NdArray => x.map((v) => Math.sinh(Number(v)));
const elements = async (t: tf.Tensor): Promise<number[]> => [...await t.data() as Float32Array];

testOnDevices("tf.py_func, tf.compat.v1.py_func: np.sinh in a graph", async () => {
  // x will be an array with the contents of the placeholder below
  const myFunc = (x: tf.NdArray) => sinh(x);
  for (const pyFunc of [tf.pyFunc, tf.compat.v1.pyFunc]) {
    const graph = new tf.Graph();
    const [input, y] = graph.asDefault(() => {
      const input = tf.compat.v1.placeholder("float32");
      return [input, pyFunc(myFunc, [input], "float32")];
    });
    await using sess = new tf.compat.v1.Session({ graph });
    const value = await sess.run(y, { feeds: new Map([[input, 1]]) });
    assertAlmostEquals(Number(value), 1.1752012, 1e-6);
  }
});

testOnDevices("tf.contrib.framework.py_func: np.sinh, with what it adds", async () => {
  const graph = new tf.Graph();
  const [inp, y, z] = graph.asDefault(() => {
    const inp = tf.compat.v1.placeholder("float32", [2]);
    const scaled = (x: tf.NdArray, { by }: { by: tf.NdArray }) =>
      x.map((v) => Math.sinh(Number(v)) * Number(by));
    const y = tf.contrib.framework.pyFunc(sinh, { args: [inp], outputTypes: "float32" });
    const z = tf.contrib.framework.pyFunc(scaled, {
      args: [inp],
      kwargs: { by: 2 },
      outputTypes: "float32",
      outputShapes: [2],
      stateful: false,
      name: "scaled",
    });
    return [inp, y, z] as tf.Tensor[];
  });
  assertEquals([y.staticShape, z.staticShape, z.name], [null, [2], "scaled:0"]);
  await using sess = new tf.Session({ graph });
  const [a, b] = await sess.run([y, z], { feeds: new Map([[inp, [0, 1]]]) }) as tf.NdArray[];
  assertAlmostEquals(Number(a[1]), 1.1752012, 1e-6);
  assertAlmostEquals(Number(b[1]), 2.3504024, 1e-6);
});

testOnDevices("tf.compat.v1.py_func: before and after, x[0] = 0", async () => {
  const fnUsingNumpy = (x: tf.NdArray): tf.NdArray => {
    x[0] = 0;
    return x;
  };
  const given = tf.constant([1, 2]);
  using before = tf.compat.v1.pyFunc(fnUsingNumpy, [given], "float32", false);
  assertEquals(await elements(before), [0, 2]);
  using after = tf.numpyFunction(fnUsingNumpy, [given], "float32");
  assertEquals(await elements(after), [0, 2]);
  // The body's array is its own, which TensorFlow does not promise.
  assertEquals(await elements(given), [1, 2]);
  given.dispose();
});

testOnDevices("tf.compat.v1.py_func: shapes for what is done with a result", async () => {
  const makeSyntheticData = (i: tf.Tensor): tf.Tensor =>
    tf.div(tf.mul(tf.cast(i, "float32"), tf.ones([2, 8, 8, 3], "float32")), 10);
  const preprocessFn = (i: tf.Tensor): tf.Tensor => {
    const ones = tf.pyFunction(makeSyntheticData, [i], "float32");
    ones.setShape([null, null, null, null]);
    return tf.image.resize(ones, [4, 4]);
  };
  const ds = tf.data.range(10).map(preprocessFn);
  assertEquals(String(ds.elementSpec), "float32[?,4,4,?]");
  let i = 0;
  for await (const x of ds) {
    const all = await elements(x);
    assertEquals([x.shape, all.length], [[2, 4, 4, 3], 96]);
    for (const v of all) assertAlmostEquals(v, i / 10, 1e-6);
    x.dispose();
    i++;
  }
  assertEquals(i, 10);
});

testOnDevices("tf.numpy_function: np.sinh in a tf.function", async () => {
  const myNumpyFunc = (x: tf.NdArray) => sinh(x);
  const tfFunction = tf.function((input: tf.Tensor) => {
    const y = tf.numpyFunction(myNumpyFunc, [input], "float32");
    return tf.mul(y, y);
  }, { inputSignature: [tf.TensorSpec(null, "float32")] });
  using one = tf.constant(1), y = await tfFunction.async(one);
  assertEquals([y.shape, y.dtype], [[], "float32"]);
  assertAlmostEquals((await elements(y))[0], 1.3810978, 1e-6);
});

testOnDevices("tf.py_function: log_huber and its gradient", async () => {
  const logHuber = (x: tf.Tensor, m: tf.Tensor): tf.Tensor =>
    tf.abs(x).item() <= m.item()
      ? tf.square(x)
      : tf.mul(tf.square(m), tf.add(tf.sub(1, tf.mul(2, tf.log(m))), tf.log(tf.square(x))));
  const graph = new tf.Graph();
  const { x, m, y, dyDx } = graph.asDefault(() => {
    const x = tf.compat.v1.placeholder("float32"), m = tf.compat.v1.placeholder("float32");
    const y = tf.pyFunction(logHuber, [x, m], "float32");
    return { x, m, y, dyDx: tf.gradients(y, x)[0]! };
  });
  await using sess = new tf.compat.v1.Session({ graph });
  // The first branch: y is 1.0, dy_dx is 2.0.
  assertEquals(await sess.run([y, dyDx], { feeds: new Map([[x, 1], [m, 2]]) }), [1, 2]);
  const [far, slope] = await sess.run([y, dyDx], { feeds: new Map([[x, -8], [m, 2]]) });
  assertAlmostEquals(Number(far), 4 * (1 - 2 * Math.log(2) + Math.log(64)), 1e-5);
  assertAlmostEquals(Number(slope), -1, 1e-6);
});

testOnDevices(
  "the documents' limitations: a graph written here runs where its scripts are registered",
  async () => {
    const twice = tf.registerScript(
      "documents.twice@1",
      (x: tf.NdArray) => x.map((v) => 2 * Number(v)),
    );
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const x = tf.placeholder("float32", [2], "x");
      return tf.numpyFunction(twice, [x], tf.TensorSpec([2], "float32"), { name: "y" });
    });
    const def = JSON.parse(JSON.stringify(graph.toGraphDef()));
    const copy = new tf.Graph();
    copy.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
    await using sess = new tf.Session({ graph: copy });
    const y = await sess.run("y:0", { feeds: { "x:0": [1, 2] } }) as tf.NdArray;
    assertEquals([...y], [2, 4]);
    tf.unregisterScript("documents.twice@1");
  },
);
