/** First steps from guides to modules and training loops: custom models, custom optimizers, loops over batches. */

import * as tf from "@weft/weft";
import { after, type Effect, ONLY_STEP, testPrograms } from "./harness.ts";
import { gradients } from "./network.ts";

type T = tf.Tensor;

/** A layer that makes its weights when it first sees an input. */
class Dense implements Disposable {
  readonly #units: number;
  readonly #activation: (x: T) => T;
  #weights: { w: tf.Variable; b: tf.Variable } | null = null;

  constructor(units: number, activation: (x: T) => T = (x) => x) {
    this.#units = units;
    this.#activation = activation;
  }
  get variables(): tf.Variable[] {
    return this.#weights === null ? [] : [this.#weights.w, this.#weights.b];
  }
  build(inputs: number): this {
    const n = inputs * this.#units;
    const wave = Array.from({ length: n }, (_, i) => Math.sin(1 + i));
    this.#weights ??= {
      w: tf.variable(tf.tensor(wave, [inputs, this.#units])),
      b: tf.variable(tf.zeros([this.#units])),
    };
    return this;
  }
  call(x: T): T {
    const { w, b } = this.#weights!;
    return this.#activation(tf.add(tf.matMul(x, w), b));
  }
  [Symbol.dispose](): void {
    for (const v of this.variables) v.dispose();
  }
}

/** Momentum as one writes it oneself: the state is variables. */
class Momentum implements Disposable {
  readonly #variables: readonly tf.Variable[];
  readonly #speeds: readonly tf.Variable[];

  constructor(variables: readonly tf.Variable[]) {
    this.#variables = variables;
    this.#speeds = variables.map((v) => tf.variable(tf.zeros(v.shape), false));
  }
  apply(grads: readonly T[], effect: (e: Effect) => Effect): void {
    this.#variables.forEach((v, i) => {
      const speed = this.#speeds[i];
      const moved = effect(speed.assign(tf.add(tf.mul(speed, 0.9), tf.mul(grads[i], 0.1))));
      after([moved], () => effect(v.assignSub(speed)));
    });
  }
  [Symbol.dispose](): void {
    for (const v of this.#speeds) v.dispose();
  }
}

testPrograms([
  {
    name: "guide: a line through points, by gradients taken off by hand",
    variables: { w: { values: [5], shape: [] }, b: { values: [0], shape: [] } },
    inputs: { x: { shape: [20], scale: 2 }, noise: { shape: [20], scale: 0.2 } },
    without: ONLY_STEP,
    build: ({ v: { w, b }, effect }) => ({ x, noise }) => {
      const y = tf.add(tf.add(tf.mul(x, 3), 2), noise);
      const tape = new tf.GradientTape();
      const loss = tf.mean(tf.square(tf.sub(y, tf.add(tf.mul(w, x), b))));
      const [dw, db] = gradients(tape, loss, [w, b]);
      effect(w.assignSub(tf.mul(0.1, dw)));
      effect(b.assignSub(tf.mul(0.1, db)));
      return { loss };
    },
  },
  {
    name: "guide: a module of two layers that are built when first called",
    inputs: { x: [4, 3], y: [4, 2] },
    without: ONLY_STEP,
    build: ({ own, effect }) => {
      const layers = [own(new Dense(5, tf.tanh).build(3)), own(new Dense(2).build(5))];
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const out = layers.reduce((h, layer) => layer.call(h), x);
        const loss = tf.mean(tf.square(tf.sub(out, y)));
        const trained = layers.flatMap((l) => l.variables);
        const grads = gradients(tape, loss, trained);
        trained.forEach((v, i) => effect(v.assignSub(tf.mul(grads[i], 0.1))));
        return { out, loss, seen: tf.scalar(tape.watchedVariables().length) };
      };
    },
  },
  {
    name: "guide: momentum of one's own",
    variables: { w: [3, 2], b: [2] },
    inputs: { x: [4, 3], y: [4, 2] },
    without: ONLY_STEP,
    build: ({ v: { w, b }, own, effect }) => {
      const optimizer = own(new Momentum([w, b]));
      return ({ x, y }) => {
        const tape = new tf.GradientTape();
        const loss = tf.mean(tf.abs(tf.sub(tf.add(tf.matMul(x, w), b), y)));
        optimizer.apply(gradients(tape, loss, [w, b]), effect);
        return { loss };
      };
    },
  },
  {
    name: "guide: which of two classes, with accuracy and standardized features",
    variables: { w: { values: [0.1, -0.1, 0.2], shape: [3, 1] }, b: { values: [0] } },
    inputs: { x: { shape: [8, 3], scale: 5, offset: 3 }, y: { below: 2, shape: [8, 1] } },
    without: ONLY_STEP,
    build: ({ v: { w, b }, effect }) => ({ x, y }) => {
      const { mean, variance } = tf.moments(x, 0);
      const features = tf.div(tf.sub(x, mean), tf.sqrt(variance));
      const labels = tf.cast(y, "float32");
      const tape = new tf.GradientTape();
      const logits = tf.add(tf.matMul(features, w), b);
      const loss = tf.losses.sigmoidCrossEntropy(labels, logits);
      const [dw, db] = gradients(tape, loss, [w, b]);
      const guess = tf.cast(tf.greater(tf.sigmoid(logits), 0.5), "float32");
      effect(w.assignSub(tf.mul(dw, 0.5)));
      effect(b.assignSub(tf.mul(db, 0.5)));
      return { loss, accuracy: tf.mean(tf.cast(tf.equal(guess, labels), "float32")) };
    },
  },
  {
    name: "guide: which of several classes, by sparse labels, with L2",
    variables: { w1: [4, 6], b1: [6], w2: [6, 3], b2: [3] },
    inputs: { x: [9, 4], y: { below: 3, shape: [9] } },
    without: ONLY_STEP,
    build: ({ v, effect }) => ({ x, y }) => {
      const { w1, b1, w2, b2 } = v, trained = [w1, b1, w2, b2];
      const tape = new tf.GradientTape();
      const logits = tf.add(tf.matMul(tf.relu(tf.add(tf.matMul(x, w1), b1)), w2), b2);
      const each = tf.sparseSoftmaxCrossEntropyWithLogits({ labels: y, logits });
      const l2 = tf.addN([w1, w2].map((w) => tf.sum(tf.square(w))));
      const loss = tf.add(tf.mean(each), tf.mul(l2, 0.01));
      const [clipped, norm] = tf.clipByGlobalNorm(gradients(tape, loss, trained), 0.3);
      trained.forEach((p, i) => effect(p.assignSub(clipped[i] as T)));
      return { loss, norm, top: tf.cast(tf.argMax(logits, 1), "int32") };
    },
  },
  {
    name: "guide: a polynomial fitted over batches of a dataset",
    variables: { c: { values: [0, 0, 0] } },
    dataset: () => {
      const x = Array.from({ length: 12 }, (_, i) => (i - 6) / 4);
      const y = x.map((x) => 1 - 2 * x + 0.5 * x * x);
      return tf.data.fromTensorSlices({ x: tf.tensor(x), y: tf.tensor(y) }).repeat(2).batch(5)
        .map(({ x, y }: Record<string, T>) => ({ x: tf.mul(x, 1), y }));
    },
    without: { ...ONLY_STEP, session: "the last batch is smaller than the others" },
    build: ({ v: { c }, effect }) => ({ x, y }) => {
      const powers = tf.stack([tf.onesLike(x), x, tf.square(x)], 1);
      const tape = new tf.GradientTape();
      const found = tf.squeeze(tf.matMul(powers, tf.expandDims(c, 1)), [1]);
      const loss = tf.mean(tf.square(tf.sub(found, y)));
      const [dc] = gradients(tape, loss, [c]);
      effect(c.assignSub(tf.mul(dc, 0.1)));
      return { loss, rows: tf.shape(x) };
    },
  },
  {
    name: "guide: gradients summed over pieces of a batch before a step",
    variables: { w: [3, 1], sum: { values: [0, 0, 0], shape: [3, 1] } },
    inputs: { x: [6, 3], y: [6, 1] },
    without: { ...ONLY_STEP },
    build: ({ v: { w, sum }, effect }) => ({ x, y }) => {
      let done: Effect | T = effect(sum.assign(tf.zeros([3, 1])));
      const losses = [0, 2, 4].map((from) => {
        const tape = new tf.GradientTape();
        const loss = tf.losses.meanSquaredError(
          tf.slice(y, [from, 0], [2, 1]),
          tf.matMul(tf.slice(x, [from, 0], [2, 3]), w),
        );
        const [dw] = gradients(tape, loss, [w]);
        done = effect(after([done], () => sum.assignAdd(dw)));
        return loss;
      });
      after([done], () => effect(w.assignSub(tf.div(sum, 3))));
      return { losses: tf.stack(losses) };
    },
  },
]);
