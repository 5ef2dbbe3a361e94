/**
 * The prototypes of host arrays end in a Proxy, which engines ask by calls that they cannot compile. Literals are host arrays, so code that
 * runs for each op asks whether something is an array before it asks for anything else.
 */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const proxy = Object.getPrototypeOf(tf.NdArray.prototype);

/** Returns the questions that `fn` leads to, with their numbers. */
async function questions(fn: () => unknown): Promise<Record<string, number>> {
  const asked: Record<string, number> = {};
  const count = (name: string): void => void (asked[name] = (asked[name] ?? 0) + 1);
  const counting: ProxyHandler<object> = {
    getPrototypeOf: (target) => (count("instanceof"), Reflect.getPrototypeOf(target)),
    get: (target, key, self) => (count(String(key)), Reflect.get(target, key, self)),
    has: (target, key) => (count(`${String(key)} in`), Reflect.has(target, key)),
  };
  Object.setPrototypeOf(tf.NdArray.prototype, new Proxy(proxy, counting));
  try {
    await fn();
  } finally {
    Object.setPrototypeOf(tf.NdArray.prototype, proxy);
  }
  return asked;
}

const x = (): tf.Tensor => tf.tensor([[1, -2, 3, -4], [5, -6, 7, -8]]);

/** Programs of eager code: each makes its values, and returns what is repeated. */
const PROGRAMS: Readonly<Record<string, () => () => unknown>> = {
  "numbers beside a tensor": () => {
    const a = x();
    return () => tf.where(tf.greater(tf.mul(tf.add(a, 1), 2), 0), tf.pow(a, 2), 0);
  },
  "a list beside a tensor": () => {
    const a = x();
    return () => tf.sub(a, [1, 2, 3, 4]);
  },
  "an array beside a tensor": () => {
    const a = x(), b = new tf.NdArray("float32", [4], new Float32Array(4));
    return () => tf.add(a, b);
  },
  "axes and shapes": () => {
    const a = x();
    return () => [
      tf.sum(a),
      tf.max(a, 1),
      tf.reshape(a, [4, 2]),
      tf.transpose(a, [1, 0]),
      tf.slice(a, [0, 1], [2, 2]),
      tf.pad(a, [[1, 1], [0, 0]]),
      tf.tile(a, [2, 1]),
      tf.concat([a, a], 1),
      tf.gather(a, [1, 0], 1),
      tf.oneHot([1, 2], 4),
      tf.broadcastTo(a, [3, 2, 4]),
      tf.clipByValue(a, -1, 1),
    ];
  },
  "a gradient": () => {
    const a = x(), f = (v: tf.Tensor) => tf.mean(tf.sin(tf.mul(tf.add(v, 1), 0.5)));
    return () => tf.grad(f)(a);
  },
  "a step of an optimizer": () => {
    const w = tf.variable(x()), adam = tf.train.adam(0.1);
    return () => {
      adam.minimize(() => tf.sum(tf.square(tf.sub(w, 1))), false, [w]);
      return [];
    };
  },
  "loops and branches": () => {
    const a = x();
    return () => [
      tf.whileLoop((i: tf.Tensor) => tf.less(i, 3), (i: tf.Tensor, y: tf.Tensor) => [
        tf.add(i, 1),
        tf.mul(y, 0.5),
      ], [tf.scalar(0, "int32"), a]),
      tf.cond(true, () => tf.add(a, 1), () => tf.sub(a, 1)),
    ];
  },
  "a function of a number": () => {
    const a = x(), f = tf.function((u: tf.Tensor, v: tf.TensorLike) => tf.add(u, v));
    return () => f(a, 1);
  },
  "a numpyFunction": () => {
    const a = x();
    return () =>
      tf.numpyFunction((u: tf.NdArray, v: tf.NdArray) => [u, v], [a, 2], ["float32", "float32"]);
  },
  "a pyFunction": () => {
    const a = x();
    return () => tf.pyFunction((u: tf.Tensor) => tf.mul(u, 2), [a], "float32");
  },
  "a session with a script": () => {
    const graph = new tf.Graph();
    const { fed, y } = graph.asDefault(() => {
      const fed = tf.placeholder("float32", [4]);
      const same = tf.numpyFunction((u: tf.NdArray) => u, [tf.sin(fed)], "float32");
      return { fed, y: tf.sum(tf.mul(same, 2)) };
    });
    const session = new tf.Session({ graph }), feeds = new Map([[fed, new Float32Array(4)]]);
    return () => session.run(y, { feeds });
  },
};

for (const [name, make] of Object.entries(PROGRAMS)) {
  testOnDevices(`${name}: no prototype of a host array is asked`, async () => {
    using _scope = tf.scope();
    const program = make();
    // The first runs prepare kernels and plans.
    for (let i = 0; i < 2; i++) await program();
    assertEquals(await questions(program), {});
  });
}

testOnDevices("the questions to the prototype of a host array are counted", async () => {
  const a = new tf.NdArray("float32", [0], new Float32Array(0));
  const ask = (): unknown => (a as unknown) instanceof tf.Tensor || "then" in a;
  assertEquals(await questions(ask), { instanceof: 1, "then in": 1 });
});
