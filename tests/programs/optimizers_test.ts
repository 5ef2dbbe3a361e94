/** Each optimizer over 20 steps of a small network, beside Keras. */

import * as tf from "@weft/weft";
import { testPrograms } from "./harness.ts";

const OPTIMIZERS: Record<string, () => tf.Optimizer> = {
  "SGD": () => tf.train.sgd(0.1),
  "momentum": () => tf.train.momentum(0.05, 0.9),
  "Nesterov's momentum": () => tf.train.momentum(0.05, 0.9, true),
  "Adagrad": () => tf.train.adagrad(0.1, 0.1),
  "Adadelta": () => tf.train.adadelta(0.5, 0.9, 1e-3),
  "RMSProp": () => tf.train.rmsprop(0.01, 0.8, 0.5, 1e-3),
  "RMSProp, centered": () => tf.train.rmsprop(0.01, 0.8, 0.5, 1e-3, true),
  "Adam": () => tf.train.adam(0.02, 0.8, 0.9),
  "Adamax with decay": () => tf.train.adamax(0.05, 0.8, 0.9, 1e-7, 0.1),
  "AdamW": () => tf.train.adamw(0.02, 0.1, 0.8, 0.9),
};

const ALL = [
  ...Object.entries(OPTIMIZERS).map(([name, make]) => ({ name, make, dtype: "float32" as const })),
  { name: "Adam of float64", make: OPTIMIZERS.Adam, dtype: "float64" as const },
];

testPrograms(ALL.map(({ name, make, dtype }) => ({
  name: `${name}, 20 steps`,
  variables: {
    w: { shape: [3, 4], dtype },
    b: { shape: [4], dtype },
    o: { shape: [4, 2], dtype },
  },
  inputs: { x: { shape: [5, 3], dtype }, y: { shape: [5, 2], dtype } },
  steps: 20,
  build: ({ v: { w, b, o }, forward, loss, minimize, own }) => {
    const optimizer = own(make());
    const predict = forward((x: tf.Tensor) => tf.matMul(tf.tanh(tf.add(tf.matMul(x, w), b)), o));
    const error = loss((x: tf.Tensor, y: tf.Tensor) => tf.mean(tf.square(tf.sub(predict(x), y))));
    return ({ x, y }) => ({ cost: minimize(optimizer, () => error(x, y)).cost });
  },
})));
