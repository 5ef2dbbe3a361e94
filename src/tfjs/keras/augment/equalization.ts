/** The layer of Keras that gives each channel's values of a batch the same share, in training. */
import * as tf from "../../../../mod.ts";
import { shapeOf } from "../layer_kinds.ts";
import { type Augmentation, augmentation, scaled, valuesOf } from "./draws.ts";

const BYTE = [0, 255] as const;

/** New values of the levels of each channel `[channels, bins]`, and which channels have one level alone. */
function curves(x: tf.Tensor, bins: number): [curve: tf.Tensor, isFlat: tf.Tensor] {
  const depth = Number(shapeOf(x)[3]);
  const level = tf.cast(tf.clipByValue(tf.div(tf.mul(x, bins - 1), 255), 0, bins - 1), "int32");
  const rows = tf.reshape(tf.transpose(level, [3, 0, 1, 2]), [depth, -1]);
  const counts = tf.denseBincount(rows, [], bins);
  const sums = tf.cast(tf.cumsum(counts, -1), "float32"), total = tf.max(sums, -1, true);
  const least = tf.min(tf.where(tf.greater(sums, 0), sums, total), -1, true);
  const rest = tf.sub(total, least), whole = tf.where(tf.equal(rest, 0), tf.onesLike(rest), rest);
  const curve = tf.round(tf.div(tf.mul(tf.sub(sums, least), 255), whole));
  const used = tf.sum(tf.cast(tf.greater(counts, 0), "int32"), -1);
  return [tf.clipByValue(curve, 0, 255), tf.lessEqual(used, 1)];
}

/** Layers by the names of Keras. */
export const EQUALIZED: Readonly<Record<string, Augmentation>> = {
  Equalization: augmentation({
    draw: () => ({}),
    change(x, config) {
      const bins = Number(config.bins ?? 256), values = valuesOf(config);
      const given = scaled(x, values, BYTE), depth = Number(shapeOf(x)[3]);
      const [curve, isFlat] = curves(given, bins);
      const level = tf.clipByValue(tf.mul(tf.div(given, 255), bins - 1), 0, bins - 1);
      const starts = tf.tensor(Array.from({ length: depth }, (_, i) => i * bins), [depth], "int32");
      const at = tf.add(tf.cast(level, "int32"), starts);
      const y = tf.gather(tf.reshape(curve, [-1]), at);
      return scaled(tf.where(isFlat, given, y), BYTE, values);
    },
  }),
};
