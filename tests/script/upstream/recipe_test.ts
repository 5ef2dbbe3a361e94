/**
 * The recipe of TensorFlow's documents for clusters: a `Server` in the process of the program, and the op pinned to a device in it. Test 37
 * of py_func_test.py is here as well: pages, which run the other files, have no sockets.
 */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { Server } from "@weft/weft/distribute";
import { testOnDevices } from "../../devices.ts";
import { open, plain } from "../helpers.ts";

type T = tf.Tensor;
const PINNED = "/job:worker/task:0/cpu:0";
const twice = (x: tf.NdArray): tf.NdArray => x.map((v) => 2 * Number(v));

/** The op of each of the five documents: doubles a vector. */
const OPS: Readonly<Record<string, (x: T) => T>> = {
  "tf.py_func": (x) => tf.pyFunc(twice, [x], "float32"),
  "tf.compat.v1.py_func": (x) => tf.compat.v1.pyFunc(twice, [x], "float32", false),
  "tf.contrib.framework.py_func": (x) =>
    tf.contrib.framework.pyFunc(twice, { args: [x], outputTypes: "float32" }) as T,
  "tf.numpy_function": (x) => tf.numpyFunction(twice, [x], "float32"),
  "tf.py_function": (x) => tf.pyFunction((x: T) => tf.mul(x, 2), [x], "float32"),
};

testOnDevices("the documents' recipe: a Server in this process, each op pinned to it", async () => {
  await using server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, device: "" });
  await server.start();
  for (const [name, op] of Object.entries(OPS)) {
    await using g = open(() => tf.device(PINNED, () => op(tf.constant([1, 2]))), {
      target: server.target,
    });
    assertEquals(plain(await g.sess.run(g.parts)), [2, 4], name);
  }
  await using g = open(() =>
    tf.device(PINNED, () => {
      const x = tf.constant([1, 2]), y = tf.pyFunction((x: T) => tf.pow(x, 3), [x], "float32");
      return [y, tf.gradients(y, [x])[0]!];
    }), { target: server.target });
  assertEquals(plain(await g.sess.run(g.parts)), [[1, 8], [3, 12]]);
});

testOnDevices("37 testRenamedDevice…: a task of a cluster is this process", async () => {
  await using server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, device: "" });
  await server.start();
  const build = () =>
    tf.device(PINNED, () =>
      tf.pyFunction(
        (a: T, b: T) => tf.matMul(a, b),
        [tf.ones([3, 3], "float32"), tf.ones([3, 1], "float32")],
        "float32",
      ));
  await using g = open(build, { target: server.target });
  assertEquals(plain(await g.sess.run(g.parts)), [[3], [3], [3]]);
});
