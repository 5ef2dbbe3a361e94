/** Layers of Keras that cut, erase or exchange parts of images at random, and mix images with others of their batch. */
import * as tf from "../../../../mod.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { numbers, type Settings, shapeOf } from "../layer_kinds.ts";
import { resized } from "../resizing.ts";
import {
  type Augmentation,
  augmentation,
  beta,
  chosen,
  drawn,
  type Draws,
  extents,
  mixed,
  type Range,
  range,
  rowsOf,
  uniform,
  valuesOf,
  within,
} from "./draws.ts";
import { normally, wholly } from "./seeded.ts";

/** The ends of a part of images along both axes, in pixels. */
type Ends = "left" | "right" | "top" | "bottom";

/** A part of each image, of lengths that are parts of its extents. */
function part(x: tf.Tensor, wide: tf.Tensor, tall: tf.Tensor): Draws<Ends> {
  const [height, width] = extents(x);
  const [left, right, top, bottom] = [[wide, width], [tall, height]].flatMap(([ratio, extent]) => {
    const length = tf.mul(ratio, extent);
    const begin = tf.mul(drawn(x, [0, 1], 4), tf.sub(extent, length));
    return [begin, tf.add(begin, length)];
  });
  return { left, right, top, bottom };
}

/** True for the pixels of a part. */
function inside(x: tf.Tensor, { left, right, top, bottom }: Draws<Ends>): tf.Tensor {
  const [down, across] = [1, 2].map((axis) => {
    const at = tf.range(0, tf.gather(tf.shape(x), axis), 1, "int32");
    return tf.reshape(tf.cast(at, "float32"), axis === 1 ? [1, -1, 1, 1] : [1, 1, -1, 1]);
  });
  const between = (at: tf.Tensor, from: tf.Tensor, to: tf.Tensor): tf.Tensor =>
    tf.logicalAnd(tf.greaterEqual(at, from), tf.less(at, to));
  return tf.logicalAnd(between(across, left, right), between(down, top, bottom));
}

/** The values of erased pixels. */
function filling(x: tf.Tensor, config: Settings): tf.Tensor {
  if (config.fillValue == null) {
    return within(tf.mul(normally(tf.shape(x)), valuesOf(config)[1]), config);
  }
  return within(tf.tensor(numbers(config.fillValue)), config);
}

/** A cut of images of known size. */
interface Cut {
  readonly size: readonly [number, number];
  /** Numbers of places for its beginning along both axes; null where it has one. */
  readonly places: readonly [number, number] | null;
  readonly begin: readonly [number, number];
}

/** Images that are larger along both axes are cut anywhere, others in the middle at the cut's aspect ratio. */
function cutOf(x: tf.Tensor, config: Settings): Cut {
  const [, height, width] = shapeOf(x);
  if (height === null || width === null) {
    throw new UnimplementedError(
      `Cannot train layer ${config.name}: it needs images of known size`,
    );
  }
  const size = [Number(config.height), Number(config.width)] as const;
  const [down, across] = [height - size[0], width - size[1]];
  if (down > 0 && across > 0) return { size, places: [down + 1, across + 1], begin: [0, 0] };
  const middle = (n: number, other: number): number =>
    Math.trunc((n - Math.max(Math.min(n, Math.trunc(other)), 1)) / 2);
  const top = middle(height, width * size[0] / size[1]);
  return { size, places: null, begin: [top, middle(width, height * size[1] / size[0])] };
}

const uniformRows = (x: tf.Tensor, of: Range): tf.Tensor => tf.sqrt(drawn(x, of, 4));

/** Layers by the names of Keras. */
export const REGIONS: Readonly<Record<string, Augmentation>> = {
  RandomCrop: augmentation({
    draw(x, config) {
      const [top, left] = (cutOf(x, config).places ?? [1, 1]).map((count) => wholly([], 0, count));
      return { top, left };
    },
    change(x, config, { top, left }) {
      const { size, begin, places } = cutOf(x, config), none = tf.zerosLike(top);
      const [tall, wide] = [1, 2].map((axis, i) =>
        Math.min(size[i], Number(shapeOf(x)[axis]) - begin[i])
      );
      const from = places ? tf.stack([none, top, left, none]) : [0, ...begin, 0];
      const y = tf.slice(x, from, [-1, tall, wide, -1]);
      if (tall === size[0] && wide === size[1]) return y;
      return resized(y, size, { interpolation: "bilinear" });
    },
  }),
  RandomErasing: augmentation({
    draw(x, config) {
      const scale = range(config.scale ?? [0.02, 0.33], 0);
      const ends = part(x, uniformRows(x, scale), uniformRows(x, scale));
      const apply = chosen(x, range(config.factor ?? 1, 0));
      return { ...ends, apply, filling: filling(x, config) };
    },
    change: (x, _, draws) =>
      tf.where(tf.logicalAnd(draws.apply, inside(x, draws)), draws.filling, x),
  }),
  MixUp: augmentation({
    draw: (x, { alpha }) => ({
      order: mixed(x),
      weight: tf.reshape(beta(rowsOf(x), Number(alpha ?? 0.2)), [-1, 1, 1, 1]),
    }),
    change: (x, _, { order, weight }) =>
      tf.add(tf.mul(weight, x), tf.mul(tf.sub(1, weight), tf.gather(x, order))),
  }),
  CutMix: augmentation({
    draw(x, { factor }) {
      const alpha = tf.add(uniform([], range(factor ?? 1, 0)), 1e-6);
      const ratio = tf.reshape(tf.sqrt(tf.sub(1, beta(rowsOf(x), alpha))), [-1, 1, 1, 1]);
      return { order: mixed(x), ...part(x, ratio, ratio) };
    },
    change: (x, _, draws) => tf.where(inside(x, draws), tf.gather(x, draws.order), x),
  }),
};
