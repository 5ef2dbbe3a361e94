/** Control flow, effects in their order, functions of functions. */

import * as tf from "@weft/weft";
import { after, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const gradient = (tape: tf.GradientTape, y: tf.Tensor, x: tf.Tensor): tf.Tensor =>
  tape.gradient(y, x) as tf.Tensor;

testPrograms([
  {
    name: "cond inside whileLoop inside a function, trained through",
    variables: { a: { values: [0.7, 0.4] }, b: { values: [-0.3, 0.2] } },
    inputs: { x: { shape: [2], offset: 0.6 }, y: [2] },
    build: ({ v: { a, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const iterate = forward((x: tf.Tensor) =>
        tf.whileLoop(
          (i) => tf.less(i, 5),
          (i, h) => [
            tf.add(i, 1),
            tf.cond(
              tf.greater(tf.sum(h), 0.8),
              () => tf.tanh(tf.mul(h, a)),
              () => tf.add(tf.mul(h, 1.3), tf.square(b)),
            ),
          ],
          [tf.scalar(0, "int32"), x],
        )[1]
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(iterate(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "loops in loops over captured variables",
    variables: { w: { shape: [2, 2], scale: 0.6 }, c: { values: [0.9], shape: [] }, d: [2, 1] },
    inputs: { x: [2, 2], y: [2, 1] },
    build: ({ v: { w, c, d }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const iterate = forward((x: tf.Tensor) => {
        const [, outer] = tf.whileLoop(
          (i) => tf.less(i, 2),
          (i, h) => {
            const [, inner] = tf.whileLoop(
              (j) => tf.less(j, tf.add(i, 2)),
              (j, g) => [tf.add(j, 1), tf.tanh(tf.matMul(g, w))],
              [tf.scalar(0, "int32"), h],
            );
            return [tf.add(i, 1), tf.add(tf.mul(c, inner), x)];
          },
          [tf.scalar(0, "int32"), x],
        );
        return tf.matMul(outer, d);
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(iterate(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a TensorArray that is written, read and gathered, trained through",
    variables: { w: [3], u: [3] },
    inputs: { x: { shape: [3], offset: 0.5 } },
    without: NO_FORWARD,
    build: ({ v: { w, u }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.2));
      const cost = loss((x: tf.Tensor) => {
        const [, list] = tf.whileLoop(
          (i) => tf.less(i, 5),
          (i, list) => [
            tf.add(i, 1),
            list.write(
              i,
              tf.add(tf.mul(w, list.read(tf.sub(i, 1))), tf.sin(list.read(tf.sub(i, 2)))),
            ),
          ],
          [
            tf.scalar(2, "int32"),
            new tf.TensorArray("float32", 5, { elementShape: [3] }).write(0, x).write(1, u),
          ] as [tf.Tensor, tf.TensorArray],
        );
        return tf.sum(tf.add(tf.mean(list.stack(), 0), tf.prod(list.gather([2, 4]), 0)));
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "mapFn over rows with captured variables, trained through",
    variables: { w: [3, 3], b: [3] },
    inputs: { x: [4, 3], y: [4] },
    build: ({ v: { w, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const energy = forward((x: tf.Tensor) =>
        tf.mapFn((row: tf.Tensor) => {
          const column = tf.reshape(row, [3, 1]);
          const form = tf.matMul(tf.matMul(column, w, true), column);
          return tf.add(tf.reshape(form, []), tf.sum(tf.mul(b, tf.exp(row))));
        }, x)
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(energy(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a polynomial by foldr, its coefficients trained",
    variables: { coefficients: { shape: [5], scale: 1 } },
    inputs: { x: [6], y: [6] },
    build: ({ v: { coefficients }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.momentum(0.1, 0.5));
      const value = forward((x: tf.Tensor) =>
        tf.foldr((sum: tf.Tensor, c: tf.Tensor) => tf.add(c, tf.mul(sum, x)), coefficients, {
          initializer: tf.zerosLike(x),
        })
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(value(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a branch that reads a variable and one that does not",
    variables: { w: { values: [0.5, -0.4] }, never: { values: [2, 3] } },
    inputs: { x: { shape: [2], scale: 2 } },
    without: { loss: "what is differentiated is the forward pass" },
    build: ({ v: { w, never }, forward, effect }) => {
      const f = forward((x: tf.Tensor) =>
        tf.cond(
          tf.greater(tf.sum(x), 0),
          () => tf.mul(w, x),
          () => tf.add(tf.square(x), tf.mul(never, 0)),
        )
      );
      return ({ x }) => {
        const tape = new tf.GradientTape();
        tape.watch(x);
        const y = f(x);
        const [dw, dNever, dx] = tape.gradient(y, [w, never, x], {
          unconnectedGradients: "zero",
        }) as tf.Tensor[];
        effect(w.assignSub(tf.mul(0.1, dw)));
        return { y, dw, dNever, dx };
      };
    },
  },
  {
    name: "control dependencies on effects, before what could be folded",
    variables: {
      a: { values: [1], shape: [] },
      b: { values: [1], shape: [] },
      c: { values: [1], shape: [] },
      d: { values: [1], shape: [] },
      e: { values: [1], shape: [] },
      f: { values: [1], shape: [] },
    },
    inputs: { x: { shape: [2, 3] } },
    without: ONLY_STEP,
    build: ({ v }) => ({ x }) => {
      // In a session nothing but these edges makes the assignments run.
      const added = after([v.a.assignAdd(2)], () => tf.add(tf.constant(9), tf.constant(1)));
      const same = after([v.b.assignAdd(2)], () => tf.identity(tf.constant([1, 2])));
      const cast = after([v.c.assignAdd(2)], () => tf.cast(tf.constant([1.5, 2.5]), "int32"));
      const shaped = after([v.d.assignAdd(2)], () => tf.reshape(tf.constant([1, 2, 3, 4]), [2, 2]));
      const ones = after([v.e.assignAdd(2)], () => tf.ones([3]));
      const axis = after([v.f.assignAdd(2)], () => tf.sum(x, 0));
      return { added, same, cast, shaped, ones, axis };
    },
  },
  {
    name: "a variable written and read several times in a step",
    variables: { v: { values: [1, 2] }, w: { values: [0.5], shape: [] } },
    inputs: { x: [2] },
    without: ONLY_STEP,
    build: ({ v: { v, w }, effect }) => ({ x }) => {
      const before = tf.add(v, 0);
      const one = after([before], () => effect(v.assignAdd(x)));
      const between = after([one], () => tf.mul(v, w));
      const two = after([between], () => effect(v.assign(tf.mul(between, 2))));
      const three = after([two], () => effect(w.assign(tf.sum(v))));
      const four = after([three], () => effect(v.assignSub(tf.mul(tf.ones([2]), w))));
      const end = after([four], () => tf.identity(v));
      return { before, between, end };
    },
  },
  {
    name: "counters in branches and loops",
    variables: {
      calls: { values: [0, 0, 0], dtype: "int32" },
      sum: { values: [0], shape: [] },
    },
    inputs: { x: { shape: [5], scale: 2 } },
    without: ONLY_STEP,
    build: ({ v: { calls, sum }, effect }) => {
      const count = (i: number) => calls.assignAdd(tf.oneHot(i, 3));
      return ({ x }) => {
        const [, last] = tf.whileLoop(
          (i) => tf.less(i, 5),
          (i, last) => {
            const counted = count(0), at = tf.gather(x, i);
            const taken = after([counted], () =>
              tf.cond(
                tf.greater(at, 0),
                () => after([count(1), sum.assignAdd(at)], () => tf.add(last, sum)),
                () => after([count(2)], () => tf.sub(last, at)),
              ));
            return [tf.add(i, 1), taken];
          },
          [tf.scalar(0, "int32"), tf.scalar(0)],
        );
        const counts = after([last], () => tf.identity(calls));
        effect(after([counts], () => sum.assign(tf.mul(sum, 0.5))));
        return { last, counts };
      };
    },
  },
  {
    name: "functions that update variables, called by functions",
    variables: { state: { values: [0.1, 0.2] }, turns: { values: [0], shape: [], dtype: "int32" } },
    inputs: { x: [2] },
    without: ONLY_STEP,
    build: ({ v: { state, turns } }) => {
      const turn = tf.function((x: tf.Tensor) => {
        state.assign(tf.tanh(tf.add(tf.mul(state, 2), x)));
        turns.assignAdd(1);
        return tf.identity(state);
      });
      const twice = tf.function((x: tf.Tensor) => tf.sub(turn(x), turn(tf.neg(x))));
      return ({ x }) => {
        const y = twice(x);
        const z = after([y], () => turn(x));
        return { y, z };
      };
    },
  },
  {
    name: "captured tensors that functions, branches and loops return as they are",
    variables: { w: { values: [2, 3] } },
    inputs: { x: [2] },
    without: ONLY_STEP,
    build: ({ v: { w }, own }) => {
      const kept = tf.tensor([5, 6]);
      own(kept);
      const plain = tf.function(() => kept);
      const branch = tf.function((p: tf.Tensor) => tf.cond(p, () => kept, () => tf.neg(kept)));
      const loop = tf.function(() =>
        tf.whileLoop((i) => tf.less(i, 2), (i) => [tf.add(i, 1), kept], [
          tf.scalar(0, "int32"),
          tf.zeros([2]),
        ])[1]
      );
      const rows = tf.function((x: tf.Tensor) => tf.mapFn(() => kept, x));
      return ({ x }) => ({
        plain: tf.mul(plain(), w),
        taken: branch(tf.scalar(true)),
        other: branch(tf.scalar(false)),
        loop: tf.add(loop(), x),
        rows: rows(x),
      });
    },
  },
  {
    name: "a function with a signature, called with numbers and with shapes of every kind",
    variables: { w: { values: [2], shape: [] } },
    inputs: { one: [1, 3], many: [4, 3] },
    without: ONLY_STEP,
    build: ({ v: { w } }) => {
      const scaled = tf.function((x: tf.Tensor) => tf.mul(x, w), {
        inputSignature: [tf.TensorSpec([], "float32")],
      });
      const sums = tf.function(
        (x: tf.Tensor) => tf.scan((a: tf.Tensor, r: tf.Tensor) => tf.add(a, r), x),
        { inputSignature: [tf.TensorSpec(null, "float32")] },
      );
      const rows = tf.function(
        (x: tf.Tensor) =>
          tf.whileLoop(
            (h) => tf.less(tf.gather(tf.shape(h), 0), 6),
            (h) => tf.concat([h, tf.slice(h, [0, 0], [1, 3])]),
            [x],
            { shapeInvariants: [[null, 3]] },
          )[0],
        { inputSignature: [tf.TensorSpec([null, 3], "float32")] },
      );
      return ({ one, many }) => ({
        numbers: tf.add(scaled(3 as unknown as tf.Tensor), scaled(4 as unknown as tf.Tensor)),
        one: sums(one),
        many: sums(many),
        grownOne: rows(one),
        grownMany: rows(many),
      });
    },
  },
  {
    name: "a fixed point and its gradient by the loop",
    variables: { w: { shape: [2, 2], scale: 0.4 }, b: [2, 1] },
    inputs: { y: [2, 1] },
    build: ({ v: { w, b }, forward, loss, effect }) => {
      const fixed = forward((b: tf.Tensor) =>
        tf.whileLoop(
          (_, change) => tf.greater(change, 1e-3),
          (z) => {
            const next = tf.tanh(tf.add(tf.matMul(w, z), b));
            return [next, tf.max(tf.abs(tf.sub(next, z)))];
          },
          [tf.zeros([2, 1]), tf.scalar(1)],
          { maximumIterations: 20 },
        )[0]
      );
      const cost = loss((b: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(fixed(b), y)));
      return ({ y }) => {
        const tape = new tf.GradientTape({ persistent: true });
        const value = cost(b, y);
        const dw = gradient(tape, value, w), db = gradient(tape, value, b);
        tape.dispose();
        effect(w.assignSub(tf.mul(0.1, dw)));
        effect(b.assignSub(tf.mul(0.1, db)));
        return { value, dw, db };
      };
    },
  },
]);
