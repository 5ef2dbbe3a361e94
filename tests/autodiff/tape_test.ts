/** Uses of tapes: unwatched sources, jacobians, tapes that continue after a use. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { forms } from "./forms.ts";

const values = (x: unknown): unknown => x === null ? null : (x as tf.Tensor).arraySync();

for (const [name, form] of Object.entries(forms)) {
  testOnDevices(`gradient() gives none for what nobody watched, used in ${name}`, () => {
    using watched = tf.variable(3), other = tf.variable(5);
    const x = tf.scalar(2), c = tf.scalar(7);
    const body = (x: tf.Tensor): tf.Tensor => tf.mul(tf.mul(tf.mul(x, watched), other), c);
    const run = (f: (x: tf.Tensor) => tf.Tensor): unknown[] => {
      using tape = new tf.GradientTape({ persistent: true, watchAccessedVariables: false });
      tape.watch([x, watched]);
      const y = f(x);
      return [
        ...[x, watched, other, c].map((s) => values(tape.gradient(y, s))),
        values(tape.gradient(y, other, { unconnectedGradients: "zero" })),
        values(tape.jacobian(y, c)),
      ];
    };
    const [dx, dWatched] = run(form.unrolled(body));
    assertEquals(run(form.wrap(body)), [dx, dWatched, null, null, 0, null]);
  });
}

testOnDevices("gradient() of a target with respect to itself is one, watched or not", () => {
  const x = tf.scalar(2);
  using tape = new tf.GradientTape({ persistent: true });
  assertEquals(values(tape.gradient(x, x)), 1);
});

testOnDevices("jacobian() takes nests of sources and keeps the dtype of the target", () => {
  using v = tf.variable([1, 2], true, undefined, "float64");
  const x = tf.tensor([3, 4], [2], "float64");
  using tape = new tf.GradientTape();
  tape.watch(x);
  const found = tape.jacobian(tf.mul(tf.square(v), x), { v, xs: [x, tf.scalar(1)] }, {
    unconnectedGradients: "zero",
  }) as unknown as { v: tf.Tensor; xs: tf.Tensor[] };
  assertEquals(values(found.v), [[6, 0], [0, 16]]);
  assertEquals(found.xs.map(values), [[[1, 0], [0, 4]], [0, 0]]);
  assertEquals([found.v.dtype, found.xs[0].dtype], ["float64", "float64"]);
  assertThrows(() => tape.jacobian(x, x), tf.RuntimeError, "can only be used to compute one set");
});

testOnDevices("reset() forgets what a tape recorded and watched", () => {
  using x = tf.tensor([1, 2]);
  using v = tf.variable([3, 4]);
  const before = tf.memory().numTensors;
  const tape = new tf.GradientTape({ persistent: true });
  tape.watch(x);
  tf.tidy(() => void tf.mul(tf.exp(x), v));
  tape.reset();
  assertEquals([tf.memory().numTensors, tape.watchedVariables().length], [before, 0]);
  tf.tidy(() => {
    const y = tf.mul(x, v);
    assertEquals(tape.gradient(y, x), null);
    assertEquals((tape.gradient(y, v) as tf.Tensor).arraySync(), [1, 2]);
  });
  tape.stopRecording(() => tape.reset());
  tape.watch(x);
  tf.tidy(() => assertEquals((tape.gradient(tf.square(x), x) as tf.Tensor).arraySync(), [2, 4]));
  tape.dispose();
  assertEquals(tf.memory().numTensors, before);
  assertThrows(() => tape.reset(), tf.RuntimeError, "has ended");
});

testOnDevices("a persistent tape goes on recording after a jacobian", () => {
  using v = tf.variable([1, 2]);
  using tape = new tf.GradientTape({ persistent: true });
  const y = tf.square(v);
  assertEquals(values(tape.jacobian(y, v)), [[2, 0], [0, 4]]);
  assertEquals(values(tape.gradient(tf.mul(y, v), v)), [3, 12]);
});

testOnDevices("gradients go through twenty functions within one another", () => {
  // Each level is differentiated once: work that grew with every level would not end.
  let f = tf.function((x: tf.Tensor) => tf.mul(x, x));
  for (let i = 1; i < 20; i++) {
    const inner = f;
    f = tf.function((x: tf.Tensor) => tf.mul(inner(x), 2));
  }
  using x = tf.tensor(3);
  using dx = tf.grad(f)(x);
  assertEquals(dx.item(), 2 ** 19 * 6);
  using second = tf.grad((x) => tf.grad(f)(x))(x);
  assertEquals(second.item(), 2 ** 20);
});

testOnDevices("batchJacobian() is the diagonal of jacobian()", () => {
  const x = tf.tensor([[1, 2], [3, 4], [5, 6]]);
  using tape = new tf.GradientTape({ persistent: true });
  tape.watch(x);
  const y = tf.stack([tf.prod(x, 1), tf.square(tf.gather(x, 0, 1)), tf.sum(x, 1)], 1);
  const rows = tape.batchJacobian(y, x)!;
  assertEquals(rows.shape, [3, 3, 2]);
  const all = tape.jacobian(y, x)!.arraySync() as number[][][][];
  assertEquals(rows.arraySync(), all.map((r, b) => r.map((e) => e[b])));
  assertEquals(tape.batchJacobian(y, tf.ones([3, 1])), null);
  const zeros = tape.batchJacobian(y, tf.ones([3, 1]), { unconnectedGradients: "zero" })!;
  assertEquals(zeros.shape, [3, 3, 1]);
  assertThrows(() => tape.batchJacobian(y, tf.ones([2, 1])), tf.ValueError, "first dimension");
});

testOnDevices("batchJacobian() in a graph takes any number of rows", async () => {
  const graph = new tf.Graph();
  const jacobianOf = (x: tf.Tensor): tf.Tensor => {
    const tape = new tf.GradientTape();
    tape.watch(x);
    return tape.batchJacobian(tf.stack([tf.prod(x, 1), tf.sum(tf.square(x), 1)], 1), x)!;
  };
  const rows = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    return jacobianOf(x);
  });
  assertEquals(rows.staticShape, [null, 2, 2]);
  await using session = new tf.Session({ graph });
  for (const x of [[[1, 2], [3, 4], [5, 6]], [[7, 8]]]) {
    const found = await session.run(rows, { feeds: { "x:0": x } }) as tf.NdArray;
    assertEquals(found.toArray(), jacobianOf(tf.tensor(x)).arraySync());
  }
});
