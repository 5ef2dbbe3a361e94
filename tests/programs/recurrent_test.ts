/** Recurrent networks: unrolled, in `whileLoop` with a `TensorArray`, and in `scan`. All three compute the same. */

import * as tf from "@weft/weft";
import { testPrograms } from "./harness.ts";
import type { Start } from "./values.ts";

/** The next states from a row of inputs and the states; the last state is the output. */
type Cell = (x: tf.Tensor, states: readonly tf.Tensor[]) => tf.Tensor[];
/** The outputs of all times, stacked. */
type Walk = (cell: Cell, xs: tf.Tensor, start: readonly tf.Tensor[]) => tf.Tensor;

const TIMES = 4, BATCH = 2, INPUTS = 3, UNITS = 2;

const CELLS: Record<string, {
  readonly variables: Record<string, Start>;
  readonly states: number;
  readonly make: (v: Record<string, tf.Variable>) => Cell;
}> = {
  LSTM: {
    variables: { kernel: [INPUTS + UNITS, 4 * UNITS], bias: [4 * UNITS] },
    states: 2,
    make: ({ kernel, bias }) => (x, [c, h]) => tf.basicLSTMCell(1, kernel, bias, x, c, h),
  },
  GRU: {
    variables: {
      gates: [INPUTS + UNITS, 2 * UNITS],
      gateBias: [2 * UNITS],
      candidate: [INPUTS + UNITS, UNITS],
      bias: [UNITS],
    },
    states: 1,
    make: ({ gates, gateBias, candidate, bias }) => (x, [h]) => {
      const both = tf.sigmoid(tf.add(tf.matMul(tf.concat([x, h], 1), gates), gateBias));
      const [reset, update] = tf.split(both, 2, 1);
      const fresh = tf.concat([x, tf.mul(reset, h)], 1);
      const next = tf.tanh(tf.add(tf.matMul(fresh, candidate), bias));
      return [tf.add(tf.mul(update, h), tf.mul(tf.sub(1, update), next))];
    },
  },
};

const WALKS: Record<string, Walk> = {
  unrolled: (cell, xs, start) => {
    let states = start;
    return tf.stack(tf.unstack(xs).map((x) => (states = cell(x, states)).at(-1)!));
  },
  "in whileLoop": (cell, xs, start) => {
    const outputs = new tf.TensorArray("float32", TIMES, { elementShape: [BATCH, UNITS] });
    const [, list] = tf.whileLoop(
      (t) => tf.less(t, TIMES),
      (t, list, ...states) => {
        const next = cell(tf.gather(xs, t as tf.Tensor), states as tf.Tensor[]);
        return [
          tf.add(t as tf.Tensor, 1),
          (list as tf.TensorArray).write(t as tf.Tensor, next.at(-1)!),
          ...next,
        ];
      },
      [tf.scalar(0, "int32"), outputs, ...start] as [tf.Tensor, tf.TensorArray, ...tf.Tensor[]],
    );
    return (list as tf.TensorArray).stack();
  },
  "in scan": (cell, xs, start) =>
    tf.scan(
      (states: tf.Tensor[], x: tf.Tensor) => cell(x, states),
      xs,
      { initializer: [...start] },
    ).at(-1)!,
};

const zeros = (): tf.Tensor => tf.zeros([BATCH, UNITS]);

testPrograms(
  Object.entries(CELLS).flatMap(([cellName, { variables, states, make }]) =>
    Object.entries(WALKS).map(([walkName, walk]) => ({
      name: `${cellName} ${walkName}`,
      variables,
      inputs: { xs: { shape: [TIMES, BATCH, INPUTS], scale: 1 }, ys: [TIMES, BATCH, UNITS] },
      build: ({ v, forward, loss, minimize, own }) => {
        const optimizer = own(tf.train.sgd(0.5));
        const predict = forward((xs: tf.Tensor) =>
          walk(make(v), xs, Array.from({ length: states }, zeros))
        );
        const cost = loss((xs: tf.Tensor, ys: tf.Tensor) =>
          tf.mean(tf.square(tf.sub(predict(xs), ys)))
        );
        return ({ xs, ys }) => ({ cost: minimize(optimizer, () => cost(xs, ys)).cost });
      },
    }))
  ),
);

testPrograms([{
  name: "a recurrent network in both directions over masked rows",
  variables: { w: [3, 2], u: [2, 2], back: [2, 2], out: [4, 1] },
  inputs: {
    xs: { shape: [5, 2, 3], scale: 1 },
    length: { values: [5, 3], dtype: "int32" },
    y: [2, 1],
  },
  build: ({ v: { w, u, back, out }, forward, loss, minimize, own }) => {
    const optimizer = own(tf.train.momentum(0.2, 0.9));
    const summary = forward((xs: tf.Tensor, length: tf.Tensor) => {
      const isIn = tf.less(
        tf.reshape(tf.range(0, 5, 1, "int32"), [5, 1, 1]),
        tf.reshape(length, [2, 1]),
      );
      const walk = (u: tf.Tensor, reverse: boolean): tf.Tensor =>
        tf.scan(
          (h: tf.Tensor, [x, on]: [tf.Tensor, tf.Tensor]) =>
            tf.where(on, tf.tanh(tf.add(tf.matMul(x, w), tf.matMul(h, u))), h),
          [xs, isIn] as [tf.Tensor, tf.Tensor],
          { initializer: tf.zeros([2, 2]), reverse },
        );
      const last = tf.gather(walk(u, false), 4), first = tf.gather(walk(back, true), 0);
      return tf.matMul(tf.concat([last, first], 1), out);
    });
    const cost = loss((xs: tf.Tensor, length: tf.Tensor, y: tf.Tensor) =>
      tf.mean(tf.square(tf.sub(summary(xs, length), y)))
    );
    return ({ xs, length, y }) => ({ cost: minimize(optimizer, () => cost(xs, length, y)).cost });
  },
}]);
