/** Programs that draw at random. What is compared is what must hold whatever is drawn. */

import * as tf from "@weft/weft";
import { type Mode, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";

const all = (x: tf.Tensor): tf.Tensor => tf.all(x);
const same = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.all(tf.equal(a, b));

const INLINED =
  "in a function each place that calls it has a sequence of its own, in TensorFlow too";
const EAGER_CALLS_ONLY: Partial<Record<Mode, string>> = {
  ...ONLY_STEP,
  step: INLINED,
  async: INLINED,
  session: INLINED,
};
const DRAWN_EAGERLY = "two eager draws of one seed go on in one sequence in TensorFlow";

testPrograms([
  {
    name: "dropout, whose gradient knows what was dropped",
    variables: { w: { shape: [40], offset: 2 } },
    inputs: { x: { shape: [40], offset: 2 } },
    without: { loss: "the forward pass is what is differentiated" },
    build: ({ v: { w }, forward, effect }) => {
      const dropped = forward((x: tf.Tensor) => tf.dropout(tf.mul(x, w), 0.5));
      return ({ x }) => {
        const tape = new tf.GradientTape();
        tape.watch(x);
        const y = dropped(x);
        const [dw, dx] = tape.gradient(y, [w, x]) as tf.Tensor[];
        const kept = tf.notEqual(y, 0), double = tf.mul(tf.mul(x, w), 2);
        effect(w.assignSub(tf.mul(tf.sub(dw, dw), 1)));
        return {
          isDoubled: all(tf.logicalOr(tf.equal(y, 0), tf.less(tf.abs(tf.sub(y, double)), 1e-4))),
          some: tf.any(kept),
          notAll: tf.logicalNot(all(kept)),
          wAgrees: same(kept, tf.notEqual(dw, 0)),
          xAgrees: same(kept, tf.notEqual(dx, 0)),
        };
      };
    },
  },
  {
    name: "two draws of one seed in a function, and the next call's",
    inputs: { x: [16] },
    without: {
      eager: DRAWN_EAGERLY,
      loss: DRAWN_EAGERLY,
      nested: "the function is called in one place: the step's mode is the same",
      session:
        "there is no function: each run goes on in the sequence of each op, which step covers",
    },
    build: ({ forward, effect, own }) => {
      const before = own(tf.variable(tf.zeros([16])));
      const noise = forward(() => ({
        a: tf.randomUniform([16], 0, 1, "float32", 5),
        b: tf.randomUniform([16], 0, 1, "float32", 5),
        c: tf.randomUniform([16], 0, 1, "float32", 6),
      }));
      return ({ x }) => {
        const { a, b, c } = noise();
        const isNew = tf.logicalNot(same(a, before));
        tf.controlDependencies([isNew], () => effect(before.assign(a)));
        return {
          twins: same(a, b),
          others: same(a, c),
          isNew,
          bounded: all(tf.logicalAnd(tf.greaterEqual(a, 0), tf.less(a, 1))),
          x: tf.neg(x),
        };
      };
    },
  },
  {
    name: "each function begins a seed's sequence anew",
    inputs: { x: [3] },
    without: EAGER_CALLS_ONLY,
    build: () => ({ x }) => {
      const make = () => tf.function(() => tf.randomNormal([8], 0, 1, "float32", 5));
      const f = make(), g = make();
      const [f1, f2, g1, g2] = [f(), f(), g(), g()];
      return {
        goesOn: same(f1, f2),
        first: same(f1, g1),
        second: same(f2, g2),
        x: tf.neg(x),
      };
    },
  },
  {
    name: "samples that are shifted and scaled, and their gradients",
    variables: { mean: { values: [1, -2, 0.5, 0] }, scale: { values: [0.5, 1, 2, 3] } },
    inputs: { x: [4] },
    without: NO_FORWARD,
    build: ({ v: { mean, scale }, loss, effect }) => {
      const sample = loss(() => tf.add(mean, tf.mul(scale, tf.randomNormal([6, 4]))));
      return ({ x }) => {
        const tape = new tf.GradientTape();
        const y = sample();
        const [dMean, dScale] = tape.gradient(y, [mean, scale]) as tf.Tensor[];
        const noise = tf.sum(tf.div(tf.sub(y, mean), scale), 0);
        effect(mean.assignAdd(tf.mul(x, 0.1)));
        return { dMean, agrees: all(tf.less(tf.abs(tf.sub(noise, dScale)), 1e-3)) };
      };
    },
  },
  {
    name: "draws in a loop until one is accepted, and permutations",
    inputs: { x: { shape: [6], below: 10 } },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const [tries, accepted] = tf.whileLoop(
        (_, u) => tf.less(u, 0.7),
        (tries) => [tf.add(tries, 1), tf.randomUniform([])],
        [tf.scalar(0, "int32"), tf.scalar(0)],
        { maximumIterations: 1000 },
      );
      const order = tf.argsort(tf.randomUniform([6]));
      const drawn = tf.multinomial(tf.tensor([[0, 0, -1000]]), 20);
      const near = tf.truncatedNormal([50], 1, 2);
      const rows = tf.mapFn(() => tf.randomUniform([]), tf.zeros([4]));
      return {
        tried: tf.greaterEqual(tries, 1),
        accepted: tf.greaterEqual(accepted, 0.7),
        whole: tf.sum(tf.gather(x, order)),
        possible: tf.less(tf.max(drawn), 2),
        near: tf.lessEqual(tf.max(tf.abs(tf.sub(near, 1))), 4),
        rowsDiffer: tf.logicalNot(same(rows, tf.reverse(rows))),
      };
    },
  },
]);
