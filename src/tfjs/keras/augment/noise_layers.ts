/** Layers of Keras that drop values or add noise by a seed; without one they are the package's own. */
import * as tf from "../../../../mod.ts";
import type { Json } from "../../layers/keras_json.ts";
import type { CallOf, Kind } from "../layer_kinds.ts";
import { dropped, normally, uniformly } from "./seeded.ts";

/** A layer that gives back its input in predictions. */
function inTraining(change: (x: tf.Tensor, rate: number, given: CallOf) => tf.Tensor): Kind {
  return {
    masks: true,
    call(given) {
      const { inputs: [x], config, training } = given, rate = Number(config.rate ?? config.stddev);
      return training && rate > 0 ? change(x, rate, given) : tf.clone(x);
    },
  };
}

/** The shape of a mask: extents that a setting names, those of the input for others. */
function noiseShape(x: tf.Tensor, given: Json | undefined): tf.Tensor {
  const extents = tf.shape(x);
  if (!Array.isArray(given)) return extents;
  return tf.stack(
    given.map((n, i) => n === null ? tf.gather(extents, i) : tf.scalar(Number(n), "int32")),
  );
}

/** Limit of the activation `selu` on its negative side. */
const LEAST = -1.6732632423543772 * 1.0507009873554805;

/** Layers by the names of Keras. */
export const NOISE_LAYERS: Readonly<Record<string, Kind>> = {
  Dropout: inTraining((x, rate, { config }) => dropped(x, rate, noiseShape(x, config.noiseShape))),
  SpatialDropout1D: inTraining((x, rate) => {
    const [rows, channels] = [0, 2].map((axis) => tf.gather(tf.shape(x), axis));
    return dropped(x, rate, tf.stack([rows, tf.onesLike(rows), channels]));
  }),
  GaussianNoise: inTraining((x, deviation) => tf.add(x, tf.mul(normally(tf.shape(x)), deviation))),
  GaussianDropout: inTraining((x, rate) =>
    tf.mul(x, tf.add(tf.mul(normally(tf.shape(x)), Math.sqrt(rate / (1 - rate))), 1))
  ),
  AlphaDropout: inTraining((x, rate, { config }) => {
    const kept = tf.greaterEqual(uniformly(noiseShape(x, config.noiseShape)), rate);
    const scale = ((1 - rate) * (1 + rate * LEAST ** 2)) ** -0.5;
    return tf.add(tf.mul(tf.where(kept, x, LEAST), scale), -scale * LEAST * rate);
  }),
};
