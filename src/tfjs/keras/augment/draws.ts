/** Numbers that layers of Keras draw for images, and what layers that change images at random have in common. */
import * as tf from "../../../../mod.ts";
import type { Json } from "../../layers/keras_json.ts";
import { numbers, type Settings } from "../layer_kinds.ts";
import { gammas, shuffled, uniformly } from "./seeded.ts";

/** The least and the greatest of numbers that are drawn. */
export type Range = readonly [least: number, most: number];

/** Numbers drawn for a batch, by names. */
export type Draws<K extends string = string> = Readonly<Record<K, tf.Tensor>>;

/** A layer that changes images `[rows, height, width, channels]` by numbers that it draws before. */
export interface Augmentation<K extends string = string> {
  readonly draw: (x: tf.Tensor, config: Settings) => Draws<K>;
  readonly change: (x: tf.Tensor, config: Settings, draws: Draws<K>) => tf.Tensor;
}

/** An augmentation whose names of numbers are checked among themselves. */
export function augmentation<K extends string>(given: Augmentation<K>): Augmentation {
  return given as unknown as Augmentation;
}

/** The range of a setting: of one number both sides of 0, above `least`. */
export function range(value: Json | undefined, least: number = -Infinity): Range {
  const [a, b] = numbers(value);
  if (b === undefined) return [Math.max(-Math.abs(a), least), Math.abs(a)];
  return [Math.min(a, b), Math.max(a, b)];
}

/** Number of images, as a vector. */
export const rowsOf = (x: tf.Tensor): tf.Tensor => tf.gather(tf.shape(x), [0]);

/** Numbers of a shape, all between the ends of a range. */
export function uniform(shape: tf.TensorLike, [least, most]: Range): tf.Tensor {
  return tf.add(tf.mul(uniformly(shape), most - least), least);
}

/** A number for each image, in a shape of `rank` dimensions. */
export function drawn(x: tf.Tensor, range: Range, rank: number): tf.Tensor {
  return uniform(tf.concat([rowsOf(x), tf.ones([rank - 1], "int32")]), range);
}

/** True for images that are changed: each with a chance that is drawn from a range. */
export function chosen(x: tf.Tensor, chance: Range): tf.Tensor {
  return tf.less(drawn(x, [0, 1], 4), drawn(x, chance, 4));
}

/** Numbers of a beta distribution whose two parameters are the same. */
export function beta(shape: tf.TensorLike, alpha: tf.TensorLike): tf.Tensor {
  const [a, b] = [0, 1].map(() => gammas(shape, alpha));
  return tf.div(a, tf.add(a, b));
}

/** The order of images that are mixed with those of a batch. */
export const mixed = (x: tf.Tensor): tf.Tensor =>
  shuffled(tf.range(0, tf.gather(tf.shape(x), 0), 1, "int32"));

/** Height and width of images as numbers. */
export const extents = (x: tf.Tensor): [height: tf.Tensor, width: tf.Tensor] => {
  const [height, width] = [1, 2].map((i) => tf.cast(tf.gather(tf.shape(x), i), "float32"));
  return [height, width];
};

/** The ends of a layer's values. */
export function valuesOf(config: Settings): Range {
  const [least, most] = numbers(config.valueRange ?? [0, 255]);
  return [Math.min(least, most), Math.max(least, most)];
}

/** Numbers between the ends of a layer's values. */
export function within(x: tf.Tensor, config: Settings): tf.Tensor {
  return tf.clipByValue(x, ...valuesOf(config));
}

/** Images of one range of values in another. */
export function scaled(x: tf.Tensor, from: Range, to: Range): tf.Tensor {
  if (from[0] === to[0] && from[1] === to[1]) return x;
  const part = tf.div(tf.sub(x, from[0]), from[1] - from[0]);
  return tf.add(tf.mul(part, to[1] - to[0]), to[0]);
}
