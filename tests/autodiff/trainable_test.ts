/** Freezing variables: `trainable` can be set at any time. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { forms } from "./forms.ts";

for (const [name, form] of Object.entries(forms)) {
  testOnDevices(`a frozen variable is left alone and can be thawed, read in ${name}`, () => {
    for (const compiled of [false, true]) {
      using a = tf.variable(0.5, true);
      using b = tf.variable(-0.3, true);
      using optimizer = tf.train.momentum(0.1, 0.9);
      const f = form.wrap((x) => tf.tanh(tf.add(tf.mul(x, a), b)));
      const body = (x: tf.Tensor): void => void optimizer.minimize(() => f(x));
      const traced = tf.function(body), step = compiled ? traced : body;
      using x = tf.scalar(0.8);
      /** Which of the two a step changes. */
      const moved = (): boolean[] => {
        const before = [a.item(), b.item()];
        step(x);
        return [a.item() !== before[0], b.item() !== before[1]];
      };
      assertEquals(moved(), [true, true]);
      b.trainable = false;
      assertEquals([b.trainable, ...moved(), ...moved()], [false, true, false, true, false]);
      b.trainable = true;
      a.trainable = false;
      assertEquals(moved(), [false, true]);
      a.trainable = true;
      assertEquals([...moved(), ...moved()], [true, true, true, true]);
      a.trainable = b.trainable = false;
      assertThrows(moved, Error, "Cannot find a connection");
      // Each set was traced once at most.
      if (compiled) assertEquals(traced.traceCount <= 4, true);
    }
  });

  testOnDevices(`a frozen variable has a gradient where a tape watches it, read in ${name}`, () => {
    for (const compiled of [false, true]) {
      using a = tf.variable(0.5, true);
      using frozen = tf.variable(-0.3, false);
      const read = (x: tf.Tensor): tf.Tensor => tf.tanh(tf.add(tf.mul(x, a), frozen));
      const gradient = (f: (x: tf.Tensor) => tf.Tensor) => (x: tf.Tensor): tf.Tensor[] => {
        using tape = new tf.GradientTape();
        tape.watch(frozen);
        return tape.gradient(f(x), [a, frozen]) as tf.Tensor[];
      };
      const f = gradient(form.wrap(read));
      using x = tf.scalar(0.8);
      const got = (compiled ? tf.function(f) : f)(x), wanted = gradient(form.unrolled(read))(x);
      got.forEach((g, i) => assertAlmostEquals(g.item(), wanted[i].item(), 1e-5));
    }
  });
}

testOnDevices("tapes and variableGrads() respect what is trainable now", () => {
  using a = tf.variable(2, true, "trainable_a");
  using b = tf.variable(3, true, "trainable_b");
  const f = tf.function(() => tf.mul(a, b));
  const seen = (): string[] => {
    using tape = new tf.GradientTape();
    f();
    return tape.watchedVariables().map((v) => v.sharedName);
  };
  const found = (list?: tf.Variable[]): string[] => Object.keys(tf.variableGrads(f, list).grads);
  assertEquals([seen(), found()], [[a.name, b.name], [a.name, b.name]]);
  b.trainable = false;
  assertEquals([seen(), found(), found([a, b])], [[a.name], [a.name], [a.name]]);
  assertThrows(
    () => tf.variableGrads(f, [b]),
    tf.ValueError,
    "none of the 1 variables is trainable",
  );
  b.trainable = true;
  assertEquals([seen(), found()], [[a.name, b.name], [a.name, b.name]]);
});

testOnDevices(
  "a function that is not about gradients has a trace for each set, and no more",
  () => {
    using v = tf.variable(1);
    const f = tf.function((x: tf.Tensor) => tf.mul(x, v));
    for (let i = 0; i < 6; i++) {
      v.trainable = i % 2 === 0;
      assertEquals(f(tf.scalar(3)).item(), 3);
    }
    assertEquals(f.traceCount, 2);
  },
);
