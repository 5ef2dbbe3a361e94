/** A gradient is its caller's: to dispose it disposes no other gradient, and nothing that was there before. */
import * as tf from "@weft/weft";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const SAME = { shapeFn: (spec: tf.Spec) => spec };
const double = (a: tf.NdArray) => a.map((v) => 2 * Number(v));

/** Functions whose gradients are values that something else holds: of x, and of a constant k of its shape. */
const HELD: Readonly<Record<string, (k: tf.Tensor) => Fn>> = {
  "the gradient from above": () => (x) => tf.identity(x),
  "that of a script: its input": () => (x) =>
    tf.numpyFunction(double, [x], "float32", { ...SAME, vjp: ({ inputs: [x] }) => x! }),
  "that of a script: its output": () => (x) =>
    tf.numpyFunction(double, [x], "float32", { ...SAME, vjp: ({ outputs: [y] }) => y! }),
  "that of a script: the gradient from above": () => (x) =>
    tf.numpyFunction(double, [x], "float32", { ...SAME, vjp: (_, dy) => dy }),
  "that of a script: a constant": (k) => (x) =>
    tf.numpyFunction(double, [x], "float32", { ...SAME, vjp: () => k }),
  "customGrad(): its input": () =>
    tf.customGrad((x) => ({ value: tf.mul(x, 2), gradFunc: () => x })),
  "customGrad(): what it saved": () =>
    tf.customGrad((x, save) => {
      save([x]);
      return { value: tf.mul(x, 2), gradFunc: (_, [x]) => x };
    }),
  "customGrad(): a constant": (k) =>
    tf.customGrad((x) => ({ value: tf.mul(x, 2), gradFunc: () => k })),
  "a script of tensors: a constant": (k) => (x) =>
    tf.pyFunction(
      (x) => tf.customGrad((x) => ({ value: tf.mul(x, 2), gradFunc: () => k }))(x),
      [x],
      tf.TensorSpec([2]),
    ),
};

/** Ways to a gradient of f at x with dy from above. */
const WAYS: Readonly<Record<string, (f: Fn, x: tf.Tensor, dy: tf.Tensor) => tf.Tensor>> = {
  "grad()": (f, x, dy) => tf.grad(f)(x, dy),
  "grads()": (f, x, dy) => tf.grads(f)([x], dy)[0]!,
  "valueAndGrad()": (f, x, dy) => tf.valueAndGrad(f)(x, dy).grad,
  "a tape": (f, x, dy) => {
    using tape = new tf.GradientTape();
    tape.watch(x);
    return tape.gradient(f(x), x, { outputGradients: dy })!;
  },
  "a persistent tape": (f, x, dy) => {
    using tape = new tf.GradientTape({ persistent: true });
    tape.watch(x);
    const y = f(x);
    tape.gradient(y, x, { outputGradients: dy })!.dispose();
    return tape.gradient(y, x, { outputGradients: dy })!;
  },
  "a function": (f, x, dy) => tf.function((x, dy) => tf.grad(f)(x!, dy!))(x, dy) as tf.Tensor,
  "the gradient of a function": (f, x, dy) => tf.grad(tf.function((x) => f(x!)) as Fn)(x, dy),
};

/** The gradient at [1, 2] with [3, 4] from above and the constant [5, 6]. */
function expected(held: string): number[] {
  if (held.endsWith("above")) return [3, 4];
  if (held.endsWith("constant")) return [5, 6];
  return held.endsWith("output") ? [2, 4] : [1, 2];
}

for (const [held, of] of Object.entries(HELD)) {
  testOnDevices(`a gradient may be disposed alone: ${held}`, async () => {
    for (const [way, gradient] of Object.entries(WAYS)) {
      using x = tf.tensor([1, 2]);
      using dy = tf.tensor([3, 4]);
      using k = tf.tensor([5, 6]);
      const f = of(k);
      const before = tf.memory().numTensors;
      const dx = gradient(f, x, dy);
      assertEquals(await dx.array(), expected(held), way);
      dx.dispose();
      assertEquals(await x.array(), [1, 2], way);
      assertEquals(await dy.array(), [3, 4], way);
      assertEquals(await k.array(), [5, 6], way);
      if (way.startsWith("grad")) assertEquals(tf.memory().numTensors, before, way);
    }
  });
}

testOnDevices("gradients of several sources may be disposed one by one", async () => {
  const both = (rule: "sum" | "script") => (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
    rule === "sum" ? tf.add(a, b) : tf.numpyFunction((a: tf.NdArray) => a, [a, b], "float32", {
      shapeFn: (spec) => spec,
      vjp: (_, dy) => [dy, dy],
    });
  for (const rule of ["sum", "script"] as const) {
    const [da, db] = tf.grads(both(rule))([tf.tensor([1]), tf.tensor([2])]);
    da!.dispose();
    assertEquals(await db!.array(), [1], rule);
  }
  using v = tf.variable([1, 2, 3]);
  for (const f of [(x: tf.Tensor) => tf.mul(x, 3), (x: tf.Tensor) => tf.gather(x, [0, 1, 2])]) {
    using tape = new tf.GradientTape();
    const [first, second] = tape.gradient(f(v), [v, v]) as tf.Tensor[];
    const values = await tf.add(second!, 0).array();
    first!.dispose();
    assertEquals(await tf.add(second!, 0).array(), values);
  }
});

testOnDevices("tangents and a step of an optimizer leave what they were given", async () => {
  using x = tf.tensor([1]);
  using dx = tf.tensor([2]);
  const [, push] = tf.linearize((x) => tf.identity(x), [x]);
  push([dx]).dispose();
  tf.jvp((x) => tf.identity(x), [x], [dx])[1].dispose();
  assertEquals(await push([dx]).array(), [2]);

  using w = tf.variable([1]);
  using k = tf.tensor([0.5]);
  const f = tf.customGrad((x) => ({ value: tf.sum(x), gradFunc: () => k }));
  tf.train.sgd(1).minimize(() => f(w) as tf.Scalar);
  assertEquals([await w.array(), await k.array()], [[0.5], [0.5]]);
});

/** A gradient function that returns `made()`. */
const GIVEN: Readonly<Record<string, (made: () => tf.Tensor) => Fn>> = {
  "a vjp": (made) => (x) => tf.numpyFunction(double, [x], "float32", { ...SAME, vjp: made }),
  "customGrad()": (made) => tf.customGrad((x) => ({ value: tf.mul(x, 2), gradFunc: made })),
};

for (const [what, of] of Object.entries(GIVEN)) {
  testOnDevices(`a gradient of ${what} may be the program's, in a graph too`, async () => {
    using k = tf.tensor([5, 6]);
    using v = tf.variable([5, 6]);
    using x = tf.tensor([1, 2]);
    for (const held of [k, v]) {
      const f = of(() => held), graph = new tf.Graph();
      const dx = graph.asDefault(() => {
        const x = tf.placeholder("float32", [2], "x");
        return tf.gradients(f(x), [x])[0] as tf.Tensor;
      });
      await using sess = new tf.Session({ graph });
      const value = await sess.run(dx, { feeds: { "x:0": [1, 2] } }) as tf.NdArray;
      assertEquals(value.toArray(), [5, 6]);
      for (const way of Object.values(WAYS)) {
        assertEquals(await way(f, x, x).array(), [5, 6]);
      }
    }
  });

  testOnDevices(`a gradient of ${what} that is of another graph is refused`, () => {
    const f = of(() => new tf.Graph().asDefault(() => tf.constant([5, 6])));
    using x = tf.tensor([1, 2]);
    for (const way of Object.values(WAYS)) {
      const error = assertThrows(() => way(f, x, x), Error);
      assertMatch(error.message, /out of scope/);
    }
    new tf.Graph().asDefault(() => {
      const x = tf.constant([1, 2]);
      assertThrows(() => tf.gradients(f(x), [x]), Error, "must be from the same graph");
    });
  });
}
