/** Script ops in the middle of training. */

import * as tf from "@weft/weft";
import { after, type Mode, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const numbers = (x: tf.NdArray): number[] => Array.from(x.data as Float32Array);

/** Modes that await, for programs whose bodies do. */
const AWAITED = "a body that awaits needs numpyFunctionAsync there";
const NEEDS_AWAIT: Partial<Record<Mode, string>> = {
  eager: AWAITED,
  forward: AWAITED,
  loss: AWAITED,
  step: AWAITED,
  nested: AWAITED,
};

testPrograms([
  {
    name: "labels that a numpy-style script makes from predictions",
    variables: { w: [3, 2], b: [2] },
    inputs: { x: [6, 3] },
    build: ({ v: { w, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.5));
      const predict = forward((x: tf.Tensor) => tf.add(tf.matMul(x, w), b));
      const ranks = (x: tf.NdArray): tf.NdArray => {
        const values = numbers(x);
        const sorted = [...values].sort((a, b) => a - b);
        return x.map((v) => sorted.indexOf(Number(v)) / values.length);
      };
      const cost = loss((x: tf.Tensor) => {
        const y = predict(x);
        const labels = tf.numpyFunction(ranks, [y], tf.TensorSpec([6, 2], "float32"));
        return meanSquare(tf.sub(y, labels));
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "a numpy-style script with a gradient of its own",
    variables: { w: [3, 2] },
    inputs: { x: [4, 3], y: [4, 2] },
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const predict = forward((x: tf.Tensor) =>
        tf.numpyFunction(
          (h: tf.NdArray) => h.map((v) => Math.sinh(Number(v))),
          [tf.matMul(x, w)],
          tf.TensorSpec([4, 2], "float32"),
          { vjp: ({ inputs: [h] }, dy) => tf.mul(dy, tf.cosh(h)) },
        )
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a robust loss in an eager-style script with a branch",
    variables: { w: [3, 1], b: [1] },
    inputs: { x: { shape: [5, 3], scale: 2 }, y: { shape: [5], scale: 3 } },
    build: ({ v: { w, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const predict = forward((x: tf.Tensor) => tf.squeeze(tf.add(tf.matMul(x, w), b), [1]));
      const robust = (e: tf.Tensor): tf.Tensor =>
        Math.abs(e.item()) <= 1 ? tf.square(e) : tf.add(1, tf.log(tf.square(e)));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => {
        const errors = tf.unstack(tf.sub(predict(x), y));
        const spec = tf.TensorSpec([], "float32");
        return tf.addN(errors.map((e) => tf.pyFunction(robust, [e], spec)));
      });
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "an eager-style script in mapFn, trained through",
    variables: { w: [3, 2], scale: { values: [0.8], shape: [] } },
    inputs: { x: [4, 3], y: [4] },
    build: ({ v: { w, scale }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.2));
      const body = (row: tf.Tensor, s: tf.Tensor): tf.Tensor => {
        const most = Number(row.max().item());
        return most > 0.2 ? tf.mul(s, tf.sum(tf.exp(row))) : tf.sum(tf.square(row));
      };
      const predict = forward((x: tf.Tensor) =>
        tf.mapFn(
          (row: tf.Tensor) => tf.pyFunction(body, [row, scale], tf.TensorSpec([], "float32")),
          tf.matMul(x, w),
        )
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "scripts of both styles in whileLoop, trained through",
    variables: { w: { values: [0.9, -0.6] } },
    inputs: { x: [2] },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const spec = tf.TensorSpec([2], "float32");
      const cost = loss((x: tf.Tensor) => {
        const [, h] = tf.whileLoop(
          (i) => tf.less(i, 3),
          (i, h) => {
            const noise = tf.numpyFunction(
              (i: tf.NdArray) => [Number(i.item()) * 0.1, Number(i.item()) * -0.2],
              [i],
              spec,
            );
            const next = tf.pyFunction(
              (h: tf.Tensor, w: tf.Tensor) => tf.sin(tf.mul(h, w)),
              [tf.add(h, noise), w],
              spec,
            );
            return [tf.add(i, 1), next];
          },
          [tf.scalar(0, "int32"), tf.add(x, 1)],
        );
        return tf.sum(h);
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "an eager-style script that reads variables of its own",
    variables: { w: [3, 2], inside: { values: [0.5, -0.3] } },
    inputs: { x: [4, 3], y: [4, 2] },
    build: ({ v: { w, inside }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.momentum(0.3, 0.9));
      const predict = forward((x: tf.Tensor) =>
        tf.pyFunction(
          (h: tf.Tensor) => tf.add(tf.tanh(h), tf.mul(inside, tf.abs(inside))),
          [tf.matMul(x, w)],
          tf.TensorSpec([4, 2], "float32"),
        )
      );
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "the second derivative of an eager-style script",
    variables: { w: { values: [0.7, 1.2] } },
    inputs: { x: { shape: [2], offset: 1 } },
    without: { loss: "what is differentiated is the forward pass" },
    build: ({ v: { w }, forward, effect }) => {
      const f = forward((x: tf.Tensor) =>
        tf.pyFunction(
          (x: tf.Tensor, w: tf.Tensor) => tf.mul(tf.exp(tf.mul(w, x)), x),
          [x, w],
          tf.TensorSpec([2], "float32"),
        )
      );
      return ({ x }) => {
        const outer = new tf.GradientTape(), inner = new tf.GradientTape();
        outer.watch(x);
        inner.watch(x);
        const y = f(x);
        const first = inner.gradient(y, x) as tf.Tensor;
        const [second, dw] = outer.gradient(first, [x, w]) as tf.Tensor[];
        effect(w.assignSub(tf.mul(0.01, dw)));
        return { y, first, second, dw };
      };
    },
  },
  {
    name: "scripts with effects of their own, in their order",
    variables: { v: { values: [1, 2] } },
    inputs: { x: [2] },
    without: ONLY_STEP,
    build: ({ v: { v }, effect }) => {
      let calls = 0;
      const count = () => calls++;
      // Repeated steps go on counting; their counts are not compared.
      return ({ x }) => {
        const one = tf.numpyFunction(count, [], "int32", { name: "one" });
        const added = after([one], () => effect(v.assignAdd(x)));
        const two = after(
          [added],
          () => tf.pyFunction(() => tf.scalar(count(), "int32"), [], "int32"),
        );
        const doubled = after([two], () => effect(v.assign(tf.mul(v, 2))));
        const three = after([doubled], () => tf.numpyFunction(count, [], "int32"));
        const constant = after([three], () => tf.add(tf.constant(1), tf.constant(2)));
        return { one, two, three, constant };
      };
    },
  },
  {
    name: "a stateless script over constants, after an assignment",
    variables: { v: { values: [1], shape: [] } },
    inputs: { x: [2] },
    without: ONLY_STEP,
    build: ({ v: { v } }) => ({ x }) => {
      const assigned = v.assignAdd(1);
      const twice = after([assigned], () =>
        tf.numpyFunction(
          (a: tf.NdArray) => a.map((n) => 2 * Number(n)),
          [tf.constant([1, 2])],
          tf.TensorSpec([2], "float32"),
          { stateful: false },
        ));
      return { sum: tf.add(twice, x) };
    },
  },
  {
    name: "rank-0 arrays in a body's arithmetic",
    variables: { v: { values: [0], shape: [] } },
    inputs: { x: { shape: [], scale: 2 } },
    without: ONLY_STEP,
    build: ({ v: { v }, effect }) => ({ x }) => {
      // deno-lint-ignore no-explicit-any
      const scalar = (fn: (x: any) => number) => tf.numpyFunction(fn, [x], "float32");
      const sign = scalar((x) => x > 0 ? 1 : -1);
      const twice = scalar((x) => x * 2);
      const more = scalar((x) => x + 1);
      effect(v.assignAdd(tf.reshape(twice, [])));
      return { sign, twice, more };
    },
  },
  {
    name: "outputs of several dtypes in a nest",
    variables: { w: [4] },
    inputs: { x: { shape: [4], scale: 2 } },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.2));
      const split = (x: tf.NdArray) => {
        const values = numbers(x);
        return {
          best: values.indexOf(Math.max(...values)),
          isHigh: values.map((v) => v > 0.3),
          parts: [values.filter((v) => v > 0), values.filter((v) => v <= 0)],
        };
      };
      const cost = loss((x: tf.Tensor) => {
        const { best, isHigh, parts: [up, down] } = tf.numpyFunction(split, [x], {
          best: tf.TensorSpec([], "int32"),
          isHigh: tf.TensorSpec([4], "bool"),
          parts: [tf.TensorSpec([null], "float32"), tf.TensorSpec([null], "float32")],
        });
        const chosen = tf.where(isHigh, tf.square(w), tf.mul(w, 0.5));
        return tf.sum(tf.addN([
          tf.gather(w, best),
          tf.mul(tf.sum(up), tf.sum(chosen)),
          tf.mul(tf.sum(down), tf.mean(w)),
        ]));
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "bodies that await, between layers",
    variables: { w: [3, 2], u: [2, 2] },
    inputs: { x: [4, 3], y: [4, 2] },
    without: NEEDS_AWAIT,
    build: ({ v: { w, u }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.3));
      const predict = forward((x: tf.Tensor) => {
        const spec = tf.TensorSpec([4, 2], "float32");
        const shift = tf.numpyFunction(
          async (h: tf.NdArray) => {
            await Promise.resolve();
            return h.map((v) => Math.round(Number(v) * 4) / 4);
          },
          [tf.matMul(x, w)],
          spec,
        );
        const mixed = tf.pyFunction(
          async (h: tf.Tensor, s: tf.Tensor) => {
            const [first] = await s.data();
            return Number(first) > 0 ? tf.add(h, s) : tf.mul(h, tf.sub(1, s));
          },
          [tf.matMul(x, w), shift],
          spec,
        );
        return tf.matMul(mixed, u);
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
]);
