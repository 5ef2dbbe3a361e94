/** Activations of Keras 3 that `tfjs-layers` lacks, or whose name it gives to another function. */
import * as tf from "../../../mod.ts";

const hardSigmoid = (x: tf.Tensor): tf.Tensor => tf.clipByValue(tf.add(tf.div(x, 6), 0.5), 0, 1);

/** The functions by the names that `layers/keras_config.ts` writes. */
export const ACTIVATIONS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  kerasHardSigmoid: hardSigmoid,
  kerasHardSilu: (x) => tf.mul(x, hardSigmoid(x)),
  kerasLeakyRelu: (x) => tf.leakyRelu(x, 0.2),
  kerasExponential: (x) => tf.exp(x),
  kerasCelu: (x) => tf.add(tf.maximum(x, 0), tf.minimum(tf.expm1(x), 0)),
  kerasHardTanh: (x) => tf.clipByValue(x, -1, 1),
  kerasLogSigmoid: (x) => tf.logSigmoid(x),
  kerasSquareplus: (x) => tf.div(tf.add(x, tf.sqrt(tf.add(tf.square(x), 4))), 2),
};
