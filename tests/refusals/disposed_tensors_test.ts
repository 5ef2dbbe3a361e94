/**
 * Disposed tensors are refused everywhere: functions, datasets, branches, loops and scripts throw as eager code does.
 */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type T = tf.Tensor;
const spec = tf.TensorSpec([1]);
const mulBy = (w: T) => (x: T): T => tf.mul(x, w);
const zero = (): T => tf.zeros([], "int32");

/** Each makes something that reads `w` when it is called with `x`. */
const READERS: Record<string, (w: T, x: T) => (x: T) => unknown> = {
  "eager code": mulBy,
  "a function": (w) => tf.function(mulBy(w)),
  "a function that returns it": (w) => tf.function((_: T) => w),
  "a function, awaited": (w) => {
    const f = tf.function(mulBy(w));
    return (x) => f.async(x);
  },
  "a function under a tape": (w) => tf.grad(tf.function(mulBy(w)) as (x: T) => T),
  "a function in a function": (w) => {
    const f = tf.function(mulBy(w));
    return tf.function((x: T) => f(x));
  },
  "a concrete function": (w, x) =>
    tf.function(mulBy(w)).getConcreteFunction(x) as (x: T) => unknown,
  "an argument of a function": (w) => {
    const f = tf.function((y: T) => tf.mul(y, 1));
    return () => f(w);
  },
  "an awaited argument": (w) => {
    const f = tf.function((y: T) => tf.mul(y, 1));
    return () => f.async(w);
  },
  "a loop of a function": (w) =>
    tf.function((x: T) =>
      tf.whileLoop((i) => tf.less(i, 2), (i, v) => [tf.add(i, 1), tf.mul(v as T, w)], [
        zero(),
        x,
      ])[1]
    ),
  "a branch of a function": (w) =>
    tf.function((x: T) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.mul(x, w), () => x) as T),
  "a map of a function": (w) => tf.function((x: T) => tf.mapFn(mulBy(w), x) as T),
  "an eager loop": (w) => (x) =>
    tf.whileLoop((i) => tf.less(i, 2), (i, v) => [tf.add(i, 1), tf.mul(v as T, w)], [zero(), x]),
  "an eager branch": (w) => (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.mul(x, w), () => x),
  "a script's argument": (w) => () => tf.pyFunction((y: T) => tf.mul(y, 1), [w], spec),
  "a script's argument as an array": (w) => () =>
    tf.numpyFunction((y: tf.NdArray) => y, [w], "float32"),
  "an assignment": (w) => () => {
    using v = tf.variable([0]);
    v.assign(w);
  },
  "a new variable": (w) => () => tf.variable(w),
  "a dataset's map": (w) => () =>
    tf.data.range(2).map((i) => tf.mul(tf.cast(i as T, "float32"), w)).toArray(),
  "a dataset's filter": (w) => () =>
    tf.data.range(2).filter((i) => tf.greater(tf.cast(i as T, "float32"), tf.sum(w))).toArray(),
  "a trace": (w) => (x) => tf.function(mulBy(w))(x),
  "a gradient": (w) => tf.grad(mulBy(w)),
};

testOnDevices("what was disposed is read by nothing", async () => {
  for (const [name, make] of Object.entries(READERS)) {
    const w = tf.tensor([2]), x = tf.tensor([1]), read = make(w, x);
    await read(x);
    w.dispose();
    const others = [1, 2, 3, 4].map(() => tf.fill([1], 77));
    await assertRejects(
      async () => await read(x),
      tf.errors.RuntimeError,
      "Cannot use Tensor(float32[1]): it is disposed",
      name,
    );
    tf.dispose([x, others]);
  }
});

testOnDevices("what was disposed inside of a script's body fails the script", async () => {
  const w = tf.tensor([2]), x = tf.tensor([1]);
  const f = tf.function((x: T) => tf.pyFunction(mulBy(w), [x], spec));
  f(x);
  w.dispose();
  await assertRejects(() => f.async(x), tf.errors.OpError, "it is disposed");
});

testOnDevices("graphs and tapes hold what they read", async () => {
  const w = tf.tensor([2]), x = tf.tensor([1]), graph = new tf.Graph();
  const ys = graph.asDefault(() => {
    const fed = tf.placeholder("float32", [1], "x");
    return [
      tf.mul(fed, w),
      tf.function(mulBy(w))(fed),
      tf.cond(tf.greater(tf.sum(fed), 0), () => tf.mul(fed, w), () => fed),
    ] as T[];
  });
  const f = tf.function(mulBy(w));
  using tape = new tf.GradientTape({ persistent: true });
  tape.watch(x);
  const y = [tf.mul(x, w), f(x)];
  w.dispose();
  const others = [1, 2, 3, 4].map(() => tf.fill([1], 77));
  const found = await new tf.Session({ graph }).run(ys, { feeds: { "x:0": [1] } });
  assertEquals(found.map((a) => (a as tf.NdArray).toArray()), [[2], [2], [2]]);
  assertEquals(y.map((t) => (tape.gradient(t, x) as T).arraySync()), [[2], [2]]);
  tf.dispose(others);
});

testOnDevices("a call that awaits holds its inputs until it has ended", async () => {
  const w = tf.tensor([2, 3]), x = tf.tensor([1, 1]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const f = tf.function((x: T) => {
    const late = tf.numpyFunction(
      async (a: tf.NdArray) => (await promise, a),
      [tf.add(x, 1)],
      "float32",
    );
    return tf.add(tf.mul(late, x), w);
  });
  const before = tf.memory().numTensors;
  const call = f.async(x);
  w.dispose();
  x.dispose();
  const others = [1, 2, 3, 4].map(() => tf.fill([2], 77));
  resolve();
  assertEquals((await call).arraySync(), [4, 5]);
  tf.dispose([others, await call]);
  assertEquals(tf.memory().numTensors, before - 2);
});
