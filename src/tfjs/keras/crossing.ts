/** Crossed categories of Keras, and images that are stretched to their range. */
import * as tf from "../../../mod.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { encoded, modeOf } from "./encoding.ts";
import { type Kind, numbers, type Settings, shapeOf } from "./layer_kinds.ts";

function binsOf({ numBins, name }: Settings): number {
  if (Number.isInteger(numBins) && Number(numBins) > 0) return Number(numBins);
  throw new ValueError(
    `Cannot make layer ${name}: numBins must be a whole number of at least 1, received ${numBins}`,
  );
}

/** The bin of each row's values, crossed. */
const crossing: Kind = {
  check: binsOf,
  call({ inputs, config }) {
    const rank = shapeOf(inputs[0]).length, depth = binsOf(config);
    if (inputs.length < 2 || rank > 2) {
      throw new ValueError(
        `Cannot run layer ${config.name}: wanted two or more inputs of shape [batch] or [batch, 1]`,
      );
    }
    const columns = inputs.map((x) => {
      const whole = x.dtype === "string" ? x : tf.cast(x, "int64");
      return rank === 2 ? whole : tf.expandDims(whole, -1);
    });
    const dense = tf.sparse.toDense(tf.sparse.crossHashed(columns, { numBuckets: depth }));
    const bins = tf.reshape(dense, rank === 2 ? [-1, 1] : [-1]);
    return encoded(bins, { mode: modeOf(config.outputMode), depth, name: config.name });
  },
};

/** Each channel of an image from its least to its greatest value. */
const contrast: Kind = {
  call({ inputs: [x], config }) {
    const [from, to] = numbers(config.valueRange ?? [0, 255]), given = tf.cast(x, "float32");
    const rank = shapeOf(x).length, axes = [rank - 3, rank - 2];
    const low = tf.min(given, axes, true), range = tf.sub(tf.max(given, axes, true), low);
    const isFlat = tf.equal(range, 0);
    const scale = tf.div(to - from, tf.where(isFlat, tf.onesLike(range), range));
    const stretched = tf.clipByValue(tf.add(tf.mul(tf.sub(given, low), scale), from), from, to);
    return tf.where(isFlat, given, stretched);
  },
};

/** Layers by the names of Keras. */
export const CROSSINGS: Readonly<Record<string, Kind>> = {
  HashedCrossing: crossing,
  AutoContrast: contrast,
};
