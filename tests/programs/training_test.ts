/** Ways to train: accumulation, clipping, averages, rates, loops, reinforcement. */

import * as tf from "@weft/weft";
import { after, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";
import { DATA, gradient, gradients, meanSquare, NETWORK, network } from "./network.ts";

testPrograms([
  {
    name: "gradients summed over two batches",
    variables: {
      ...NETWORK,
      sumW: { values: Array(12).fill(0), shape: [3, 4] },
      sumB: { values: Array(4).fill(0) },
      sumO: { values: Array(8).fill(0), shape: [4, 2] },
      count: { values: [0], shape: [], dtype: "int32" },
    },
    inputs: DATA,
    steps: 4,
    build: ({ v, forward, loss, effect }) => {
      const trained = [v.w, v.b, v.o], sums = [v.sumW, v.sumB, v.sumO];
      for (const s of sums) s.trainable = false;
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const value = cost(x, y);
        const grads = gradients(tape, value, trained);
        const added = sums.map((s, i) => effect(s.assignAdd(grads[i])));
        const counted = effect(v.count.assignAdd(1));
        const isFull = after([...added, counted], () => tf.equal(tf.mod(v.count, 2), 0));
        const size = tf.cond(
          isFull,
          () => {
            const stepped = trained.map((w, i) => w.assignSub(tf.mul(sums[i], 0.1)));
            const emptied = after(stepped, () => sums.map((s) => s.assign(tf.zerosLike(s))));
            return after(emptied, () => tf.scalar(1));
          },
          () => tf.scalar(0),
        );
        return { cost: value, stepped: size };
      };
    },
  },
  {
    name: "gradients clipped by their global norm",
    variables: NETWORK,
    inputs: { x: { shape: [5, 3], scale: 3 }, y: { shape: [5, 2], scale: 3 } },
    build: ({ v, forward, loss, effect, own }) => {
      const optimizer = own(tf.train.momentum(0.2, 0.9));
      const trained = [v.w, v.b, v.o];
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const value = cost(x, y);
        const grads = gradients(tape, value, trained);
        const norm = tf.sqrt(tf.addN(grads.map((g) => tf.sum(tf.square(g)))));
        const scale = tf.div(0.5, tf.maximum(norm, 0.5));
        effect(optimizer.applyGradients(
          grads.map((g, i) => ({ name: trained[i].name, tensor: tf.mul(g, scale) })),
        ));
        return { cost: value, norm };
      };
    },
  },
  {
    name: "an exponential moving average of the weights",
    variables: { ...NETWORK, average: { values: Array(12).fill(0), shape: [3, 4] } },
    inputs: DATA,
    build: ({ v, forward, loss, minimize, effect, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      v.average.trainable = false;
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const { cost: value, train } = minimize(optimizer, () => cost(x, y));
        const moved = after(
          [train],
          () => effect(v.average.assign(tf.add(tf.mul(v.average, 0.8), tf.mul(v.w, 0.2)))),
        );
        const smooth = after([moved], () => tf.sum(v.average));
        return { cost: value, smooth };
      };
    },
  },
  {
    name: "a learning rate that a variable keeps and the step lowers",
    variables: { ...NETWORK, rate: { values: [0.5], shape: [] } },
    inputs: DATA,
    steps: 5,
    build: ({ v, forward, loss, effect }) => {
      const trained = [v.w, v.b, v.o];
      v.rate.trainable = false;
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const value = cost(x, y);
        const grads = gradients(tape, value, trained);
        const steps = trained.map((w, i) => effect(w.assignSub(tf.mul(v.rate, grads[i]))));
        after(steps, () => effect(v.rate.assign(tf.mul(v.rate, 0.7))));
        return { cost: value };
      };
    },
  },
  {
    name: "two optimizers, each for its part of the model",
    variables: NETWORK,
    inputs: DATA,
    build: ({ v, forward, loss, effect, own }) => {
      const slow = own(tf.train.sgd(0.05)), fast = own(tf.train.adam(0.05));
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const { value, grads } = tf.variableGrads(() => cost(x, y));
        const { [v.o.name]: ofOutput, ...others } = grads;
        effect(slow.applyGradients(others));
        effect(fast.applyGradients({ [v.o.name]: ofOutput }));
        return { cost: value };
      };
    },
  },
  {
    name: "weight decay in the loss",
    variables: NETWORK,
    inputs: DATA,
    build: ({ v, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.momentum(0.1, 0.5, true));
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) =>
        tf.add(
          meanSquare(tf.sub(predict(x), y)),
          tf.mul(0.01, tf.addN([v.w, v.o].map((w) => tf.sum(tf.abs(w)).add(tf.sum(tf.square(w)))))),
        )
      );
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a line search",
    variables: { w: { values: [1.5, -1, 0.5] } },
    inputs: { a: { shape: [3], offset: 1.5 } },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, effect }) => {
      const cost = loss((p: tf.Tensor, a: tf.Tensor) => tf.sum(tf.mul(a, tf.pow(p, 4))));
      return ({ a }) => {
        const tape = new tf.GradientTape();
        const value = cost(w, a);
        const slope = gradient(tape, value, w);
        const trial = (rate: tf.Tensor): tf.Tensor => tf.sub(w, tf.mul(rate, slope));
        const enough = tf.mul(0.3, tf.sum(tf.square(slope)));
        const [rate, tries] = tf.whileLoop(
          (rate) => tf.greater(cost(trial(rate), a), tf.sub(value, tf.mul(rate, enough))),
          (rate, tries) => [tf.mul(rate, 0.5), tf.add(tries, 1)],
          [tf.scalar(1), tf.scalar(0, "int32")],
          { maximumIterations: 30 },
        );
        const next = trial(rate);
        effect(w.assign(next));
        return { value, rate, tries };
      };
    },
  },
  {
    name: "training inside foldl",
    variables: { w: [3, 2] },
    inputs: { xs: [4, 5, 3], ys: [4, 5, 2] },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, effect }) => {
      const cost = loss((p: tf.Tensor, x: tf.Tensor, y: tf.Tensor) =>
        meanSquare(tf.sub(tf.matMul(x, p), y))
      );
      return ({ xs, ys }) => {
        const learnt = tf.foldl(
          (p: tf.Tensor, [x, y]: [tf.Tensor, tf.Tensor]) => {
            const tape = new tf.GradientTape();
            tape.watch(p);
            return tf.sub(p, tf.mul(0.5, gradient(tape, cost(p, x, y), p)));
          },
          [xs, ys] as [tf.Tensor, tf.Tensor],
          { initializer: w.readValue() },
        );
        effect(w.assign(learnt));
        return { learnt };
      };
    },
  },
  {
    name: "gradients of single examples by mapFn",
    variables: { w: [3, 2], b: [2] },
    inputs: { xs: [4, 3], ys: [4, 2] },
    without: NO_FORWARD,
    build: ({ v: { w, b }, loss, effect }) => {
      const cost = loss((x: tf.Tensor, y: tf.Tensor) =>
        meanSquare(tf.sub(tf.add(tf.matMul(tf.expandDims(x, 0), w), b), y))
      );
      return ({ xs, ys }) => {
        const { dw, norm } = tf.mapFn(([x, y]: [tf.Tensor, tf.Tensor]) => {
          const tape = new tf.GradientTape();
          const [dw, db] = gradients(tape, cost(x, y), [w, b]);
          return { dw, norm: tf.sqrt(tf.add(tf.sum(tf.square(dw)), tf.sum(tf.square(db)))) };
        }, [xs, ys] as [tf.Tensor, tf.Tensor]);
        effect(w.assignSub(tf.mul(0.3, tf.mean(dw, 0))));
        return { norm };
      };
    },
  },
  {
    name: "an optimizer inside whileLoop",
    variables: NETWORK,
    inputs: DATA,
    steps: 2,
    without: {
      session: "the loop's body is a function in a session too: the step's mode covers it",
    },
    build: ({ v, forward, loss, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const predict = forward((x: tf.Tensor) => network(x, v));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => {
        const [, last] = tf.whileLoop(
          (i) => tf.less(i, 4),
          (i) => [tf.add(i, 1), optimizer.minimize(() => cost(x, y), true)],
          [tf.scalar(0, "int32"), tf.scalar(0)],
        );
        return { last };
      };
    },
  },
  {
    name: "Q-learning of a table",
    variables: { q: { shape: [4, 2], scale: 0.1 } },
    inputs: {
      state: { shape: [3], below: 4 },
      action: { shape: [3], below: 2 },
      next: { shape: [3], below: 4 },
      reward: [3],
    },
    without: ONLY_STEP,
    build: ({ v: { q }, effect }) => ({ state, action, next, reward }) => {
      const best = tf.max(tf.gather(q, next), 1);
      const at = tf.stack([state, action], 1);
      const error = tf.sub(tf.add(reward, tf.mul(0.9, best)), tf.gatherND(q, at));
      effect(q.assign(tf.tensorScatterAdd(q, at, tf.mul(0.5, error))));
      return { error };
    },
  },
  {
    name: "a policy gradient with discounted rewards",
    variables: { w: [3, 2] },
    inputs: { states: [6, 3], actions: { shape: [6], below: 2 }, rewards: [6] },
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.2));
      const policy = forward((s: tf.Tensor) => tf.logSoftmax(tf.matMul(s, w)));
      const cost = loss((s: tf.Tensor, a: tf.Tensor, r: tf.Tensor) => {
        const returns = tf.scan(
          (sum: tf.Tensor, now: tf.Tensor) => tf.add(now, tf.mul(0.9, sum)),
          r,
          { reverse: true, initializer: tf.scalar(0) },
        );
        const { mean, variance } = tf.moments(returns);
        const scaled = tf.div(tf.sub(returns, mean), tf.sqrt(tf.add(variance, 1e-3)));
        const chosen = tf.sum(tf.mul(policy(s), tf.cast(tf.oneHot(a, 2), "float32")), 1);
        return tf.neg(tf.mean(tf.mul(chosen, tf.stopGradient(scaled))));
      });
      return ({ states, actions, rewards }) => ({
        cost: minimize(optimizer, () => cost(states, actions, rewards)).cost,
      });
    },
  },
]);
