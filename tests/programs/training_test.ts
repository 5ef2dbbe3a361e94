/** Ways to train: accumulation, clipping, averages, inner steps, second order, tapes of every kind. */

import * as tf from "@weft/weft";
import { after, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";
import type { Start } from "./values.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const gradient = (tape: tf.GradientTape, y: tf.Tensor, x: tf.Tensor): tf.Tensor =>
  tape.gradient(y, x) as tf.Tensor;
const gradientsOf = (
  tape: tf.GradientTape,
  y: tf.Tensor,
  xs: readonly tf.Tensor[],
): tf.Tensor[] => tape.gradient(y, xs) as tf.Tensor[];

/** A network of two layers, by which most of these programs are tried. */
const NETWORK: Record<string, Start> = { w: [3, 4], b: [4], o: [4, 2] };
const DATA: Record<string, Start> = { x: [5, 3], y: [5, 2] };
const network = (
  x: tf.Tensor,
  { w, b, o }: { readonly [name: string]: tf.Tensor },
): tf.Tensor => tf.matMul(tf.tanh(tf.add(tf.matMul(x, w), b)), o);

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
        const grads = gradientsOf(tape, value, trained);
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
        const grads = gradientsOf(tape, value, trained);
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
        const grads = gradientsOf(tape, value, trained);
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
        const [dw, db, dO] = gradientsOf(tape, inner, [w, b, o]);
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
        const first = gradientsOf(tape, a, [v.w, v.o]), second = gradientsOf(tape, b, [v.w, v.b]);
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
        const grads = gradientsOf(tape, value, trained);
        effect(optimizer.applyGradients(
          grads.map((tensor, i) => ({ name: trained[i].name, tensor })),
        ));
        tf.dispose(grads);
        // A tape whose gradient nobody asks for.
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
        const [dw, db, dFrozen] = tape.gradient(value, [v.w, v.b, v.frozen], {
          unconnectedGradients: "zero",
        }) as tf.Tensor[];
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
        const [dO, dx, db] = tape.gradient(value, [v.o, x, v.b], {
          unconnectedGradients: "zero",
        }) as tf.Tensor[];
        effect(v.o.assignSub(tf.mul(0.2, dO)));
        return { value, dx, db };
      };
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
          const [dw, db] = gradientsOf(tape, cost(x, y), [w, b]);
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
