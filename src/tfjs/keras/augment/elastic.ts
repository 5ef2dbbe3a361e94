/** The layer of Keras that bends images at random. */
import * as tf from "../../../../mod.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { type Settings, shapeOf } from "../layer_kinds.ts";
import { normally } from "./seeded.ts";
import { type Augmentation, augmentation, chosen, range, uniform, within } from "./draws.ts";

/** The greatest part of the lesser extent that pixels are spread over. */
const SPREAD = 0.05;

function sizeOf(x: tf.Tensor, { name }: Settings): [height: number, width: number] {
  const [, height, width] = shapeOf(x);
  if (height !== null && width !== null) return [height, width];
  throw new UnimplementedError(`Cannot train layer ${name}: it needs images of known size`);
}

/** Smooths fields `[rows, height, width]` over 3 times the whole part of `sigma` pixels to each side, `most` at most. */
function smooth(field: tf.Tensor, sigma: tf.Tensor, most: number): tf.Tensor {
  const at = tf.tensor(Array.from({ length: 2 * most + 1 }, (_, i) => i - most));
  const bell = tf.exp(tf.mul(tf.square(tf.div(at, sigma)), -0.5));
  const near = tf.lessEqual(tf.abs(at), tf.mul(tf.floor(sigma), 3));
  const weights = tf.where(near, bell, tf.zerosLike(bell)),
    kernel = tf.div(weights, tf.sum(weights));
  const once = (x: tf.Tensor, shape: number[]): tf.Tensor =>
    tf.conv2d(x as tf.Tensor4D, tf.reshape(kernel, shape) as tf.Tensor4D, 1, "same");
  const y = once(once(tf.expandDims(field, -1), [-1, 1, 1, 1]), [1, -1, 1, 1]);
  return tf.squeeze(y, [-1]);
}

/** Pixels that places outside of `extent` of them lead to, and whether they lie inside. */
function placed(
  at: tf.Tensor,
  extent: number,
  mode: string,
): [place: tf.Tensor, inside: tf.Tensor] {
  const last = extent - 1, all = tf.greaterEqual(at, at);
  if (mode === "constant") {
    const inside = tf.logicalAnd(tf.greaterEqual(at, 0), tf.lessEqual(at, last));
    return [tf.clipByValue(at, 0, last), inside];
  }
  if (mode === "nearest") return [tf.clipByValue(at, 0, last), all];
  if (mode === "wrap") return [tf.mod(at, extent), all];
  const inTwo = tf.mod(tf.abs(at), 2 * extent);
  return [tf.where(tf.less(inTwo, extent), inTwo, tf.sub(2 * extent - 1, inTwo)), all];
}

/** Reads images at places `[rows, height, width]` of their own. */
function readAt(x: tf.Tensor, down: tf.Tensor, across: tf.Tensor, config: Settings): tf.Tensor {
  const [height, width] = sizeOf(x, config), mode = String(config.fillMode ?? "reflect");
  const pixels = tf.reshape(x, [-1, height * width, Number(shapeOf(x)[3])]);
  const corners = (at: tf.Tensor): (readonly [at: tf.Tensor, weight: tf.Tensor])[] => {
    if (config.interpolation === "nearest") return [[tf.round(at), tf.onesLike(at)]];
    const low = tf.floor(at), part = tf.sub(at, low);
    return [[low, tf.sub(1, part)], [tf.add(low, 1), part]];
  };
  const parts = corners(down).flatMap(([y, a]) =>
    corners(across).map(([z, b]) => {
      const [row, rowIn] = placed(y, height, mode), [column, columnIn] = placed(z, width, mode);
      const place = tf.cast(tf.add(tf.mul(row, width), column), "int32");
      const at = tf.gather(pixels, tf.reshape(place, [-1, height * width]), 1, 1);
      const read = tf.reshape(at, [-1, height, width, Number(shapeOf(x)[3])]);
      const isIn = tf.expandDims(tf.logicalAnd(rowIn, columnIn), -1);
      const value = mode === "constant"
        ? tf.where(isIn, read, Number(config.fillValue ?? 0))
        : read;
      return tf.mul(value, tf.expandDims(tf.mul(a, b), -1));
    })
  );
  return parts.reduce((sum, each) => tf.add(sum, each));
}

/** Layers by the names of Keras. */
export const ELASTIC: Readonly<Record<string, Augmentation>> = {
  RandomElasticTransform: augmentation({
    draw: (x, { factor, scale }) => ({
      apply: chosen(x, range(factor ?? 1, 0)),
      strength: uniform([], range(scale ?? 1, 0)),
      noise: normally(tf.gather(tf.shape(x), [0, 1, 2])),
    }),
    change(x, config, { apply, strength, noise }) {
      const most = range(config.scale ?? 1, 0)[1];
      if (most === 0 || range(config.factor ?? 1, 0)[1] === 0) return x;
      const [height, width] = sizeOf(x, config), lesser = Math.min(height, width);
      const sigma = tf.mul(strength, SPREAD * lesser);
      const field = smooth(tf.mul(noise, sigma), sigma, 3 * Math.floor(SPREAD * lesser * most));
      // Keras draws the same numbers for both axes.
      const shift = tf.mul(field, tf.mul(strength, 0.1 * Math.max(height, width)));
      const [down, across] = [height, width].map((n, i) => {
        const at = tf.tensor(
          Array.from({ length: n }, (_, k) => k),
          i === 0 ? [1, n, 1] : [1, 1, n],
        );
        return tf.add(at, shift);
      });
      return within(tf.where(apply, readAt(x, down, across, config), x), config);
    },
  }),
};
