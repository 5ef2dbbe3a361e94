/** Tapes of every kind: persistent, nested, stopped, left alone; gradients of gradients. */

import * as tf from "@weft/weft";
import { after, NO_FORWARD, testPrograms } from "./harness.ts";
import { DATA, gradient, gradients, meanSquare, NETWORK, network } from "./network.ts";

testPrograms([
  {
    name: "MAML: a step of gradients inside the loss",
    variables: NETWORK,
    inputs: { ...DATA, x2: [5, 3], y2: [5, 2] },
    build: ({ v, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const predict = forward((x: tf.Tensor, w: tf.Tensor, b: tf.Tensor, o: tf.Tensor) =>
        network(x, { w, b, o })
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor, x2: tf.Tensor, y2: tf.Tensor) => {
        const { w, b, o } = v;
        const tape = new tf.GradientTape();
        const inner = meanSquare(tf.sub(predict(x, w, b, o), y));
        const [dw, db, dO] = gradients(tape, inner, [w, b, o]);
        const step = (p: tf.Tensor, d: tf.Tensor): tf.Tensor => tf.sub(p, tf.mul(0.5, d));
        return meanSquare(tf.sub(predict(x2, step(w, dw), step(b, db), step(o, dO)), y2));
      });
      return ({ x, y, x2, y2 }) => ({ cost: minimize(optimizer, () => cost(x, y, x2, y2)).cost });
    },
  },
  {
    name: "a gradient penalty",
    variables: { w: [3, 4], b: [4], o: [4, 1] },
    inputs: { real: { shape: [4, 3], offset: 0.5 }, fake: [4, 3] },
    build: ({ v, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.02, 0.5, 0.9));
      const judge = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((real: tf.Tensor, fake: tf.Tensor) => {
        const between = tf.add(tf.mul(real, 0.3), tf.mul(fake, 0.7));
        const tape = new tf.GradientTape();
        tape.watch(between);
        const slope = gradient(tape, judge(between), between);
        const norm = tf.sqrt(tf.sum(tf.square(slope), 1));
        const penalty = tf.mul(10, meanSquare(tf.sub(norm, 1)));
        return tf.add(tf.sub(tf.mean(judge(fake)), tf.mean(judge(real))), penalty);
      });
      return ({ real, fake }) => ({ cost: minimize(optimizer, () => cost(real, fake)).cost });
    },
  },
  {
    name: "the product of a Hessian and a vector",
    variables: NETWORK,
    inputs: { ...DATA, p: [3, 4] },
    build: ({ v, forward, loss }) => {
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y, p }) => {
        const outer = new tf.GradientTape();
        const inner = new tf.GradientTape();
        const slope = gradient(inner, cost(x, y), v.w);
        const product = gradient(outer, tf.sum(tf.mul(slope, p)), v.w);
        return { slope, product };
      };
    },
  },
  {
    name: "Newton's method with a jacobian of gradients",
    variables: { w: { values: [1.2, -0.7] } },
    inputs: { a: { shape: [2], offset: 2 } },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, effect }) => {
      const cost = loss((a: tf.Tensor) =>
        tf.add(tf.sum(tf.mul(a, tf.cosh(w))), tf.mul(0.3, tf.prod(w)))
      );
      return ({ a }) => {
        const outer = new tf.GradientTape({ persistent: true });
        const inner = new tf.GradientTape();
        const value = cost(a);
        const slope = gradient(inner, value, w);
        const hessian = outer.jacobian(slope, w)!;
        outer.dispose();
        const [p, q, r, s] = tf.unstack(tf.reshape(hessian, [4]));
        const det = tf.sub(tf.mul(p, s), tf.mul(q, r));
        const inverse = tf.div(tf.reshape(tf.stack([s, tf.neg(q), tf.neg(r), p]), [2, 2]), det);
        effect(w.assignSub(tf.reshape(tf.matMul(inverse, tf.reshape(slope, [2, 1])), [2])));
        return { value, hessian };
      };
    },
  },
  {
    name: "a persistent tape for two losses",
    variables: NETWORK,
    inputs: DATA,
    build: ({ v, forward, loss, effect }) => {
      const predict = forward((x: tf.Tensor) => network(x, v));
      const square = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      const size = loss((x: tf.Tensor) => tf.mean(tf.abs(predict(x))));
      return ({ x, y }) => {
        const tape = new tf.GradientTape({ persistent: true });
        const a = square(x, y), b = size(x);
        const first = gradients(tape, a, [v.w, v.o]), second = gradients(tape, b, [v.w, v.b]);
        tape.dispose();
        const done = [v.w, v.o].map((p, i) => effect(p.assignSub(tf.mul(0.1, first[i]))));
        after(done, () => effect(v.b.assignSub(tf.mul(0.1, second[1]))));
        return { a, b, dw: second[0] };
      };
    },
  },
  {
    name: "a step that frees what it makes, without a scope around it",
    variables: NETWORK,
    inputs: DATA,
    frees: true,
    build: ({ v, forward, loss, effect, own }) => {
      const optimizer = own(tf.train.momentum(0.1, 0.9));
      const trained = [v.w, v.b, v.o];
      const predict = forward((x: tf.Tensor) => tf.tidy(() => network(x, v)));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) =>
        tf.tidy(() => meanSquare(tf.sub(predict(x), y)))
      );
      return ({ x, y }) => {
        // As TensorFlow 2 is written, with a tape that is left by the end of its block.
        using tape = new tf.GradientTape({ persistent: true });
        const value = cost(x, y);
        const grads = gradients(tape, value, trained);
        effect(optimizer.applyGradients(
          grads.map((tensor, i) => ({ name: trained[i].name, tensor })),
        ));
        tf.dispose(grads);
        // A tape without a gradient.
        new tf.GradientTape().dispose();
        return { cost: value };
      };
    },
  },
  {
    name: "three nested tapes give a third derivative",
    variables: { w: { values: [0.8, -0.3] } },
    inputs: { x: { shape: [2], offset: 1 } },
    without: { loss: "what is differentiated is the forward pass" },
    build: ({ v: { w }, forward, effect }) => {
      const f = forward((x: tf.Tensor) => tf.mul(tf.sin(tf.mul(w, x)), tf.square(x)));
      return ({ x }) => {
        const [t3, t2, t1] = [0, 0, 0].map(() => {
          const tape = new tf.GradientTape();
          tape.watch(x);
          return tape;
        });
        const y = f(x);
        const first = gradient(t1, y, x);
        const second = gradient(t2, first, x);
        const third = gradient(t3, second, x);
        effect(w.assignSub(tf.mul(third, 0.01)));
        return { y, first, second, third };
      };
    },
  },
  {
    name: "a tape that stops recording, and a stopped gradient",
    variables: { ...NETWORK, frozen: [4, 2] },
    inputs: DATA,
    build: ({ v, forward, loss, effect }) => {
      const predict = forward((x: tf.Tensor, o: tf.Tensor) => network(x, { ...v, o }));
      // The target network of Q-learning: its answer is a constant of the loss.
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => {
        const target = tf.stopGradient(tf.add(y, tf.mul(0.9, predict(x, v.frozen))));
        return meanSquare(tf.sub(predict(x, v.o), target));
      });
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const scale = tape.stopRecording(() => tf.add(1, tf.sum(tf.abs(v.b))));
        const value = tf.mul(scale, cost(x, y));
        const [dw, db, dFrozen] = gradients(tape, value, [v.w, v.b, v.frozen]);
        effect(v.w.assignSub(tf.mul(0.1, dw)));
        effect(v.b.assignSub(tf.mul(0.1, db)));
        return { value, dFrozen };
      };
    },
  },
  {
    name: "a tape that watches only what it is told",
    variables: NETWORK,
    inputs: DATA,
    build: ({ v, forward, loss, effect }) => {
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const tape = new tf.GradientTape({ watchAccessedVariables: false });
        tape.watch([v.o, x]);
        const value = cost(x, y);
        const [dO, dx, db] = gradients(tape, value, [v.o, x, v.b]);
        effect(v.o.assignSub(tf.mul(0.2, dO)));
        return { value, dx, db };
      };
    },
  },
]);
