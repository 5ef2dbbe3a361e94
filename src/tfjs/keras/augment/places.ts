/** Layers of Keras that move the pixels of images at random. */
import * as tf from "../../../../mod.ts";
import type { Json } from "../../layers/keras_json.ts";
import type { Settings } from "../layer_kinds.ts";
import {
  type Augmentation,
  augmentation,
  chosen,
  drawn,
  extents,
  range,
  rowsOf,
  uniform,
} from "./draws.ts";

/** Reads images through transforms: places of the result lead to places of the image. */
function moved(x: tf.Tensor, config: Settings, rows: tf.Tensor, fill = "reflect"): tf.Tensor {
  return tf.image.transform(
    x,
    rows,
    String(config.interpolation ?? "bilinear") as "bilinear",
    String(config.fillMode ?? fill) as "reflect",
    Number(config.fillValue ?? 0),
  );
}

/** Transforms of numbers for each image: two rows of three, of which the third is constant. */
function affine(a: readonly tf.Tensor[], b: readonly tf.Tensor[]): tf.Tensor {
  const none = tf.zerosLike(a[0]);
  return tf.concat([...a, ...b, none, none], 1);
}

/** The corners of images as `[1, 4, 2]`: left above, right above, left below, right below. */
function cornersOf(x: tf.Tensor): tf.Tensor {
  const [height, width] = extents(x), none = tf.scalar(0);
  const right = tf.sub(width, 1), low = tf.sub(height, 1);
  return tf.reshape(tf.stack([none, none, right, none, none, low, right, low]), [1, 4, 2]);
}

/** The projective transforms that lead points `from` to points `to`: both `[rows, 4, 2]`. */
function projections(from: tf.Tensor, to: tf.Tensor): tf.Tensor {
  const one = tf.onesLike(tf.slice(from, [0, 0, 0], [-1, -1, 1])), none = tf.zerosLike(one);
  const empty = tf.concat([none, none, none], -1), at = tf.concat([from, one], -1);
  const equations = [0, 1].map((axis) => {
    const goal = tf.slice(to, [0, 0, axis], [-1, -1, 1]), depth = tf.neg(tf.mul(goal, from));
    return tf.concat(axis === 0 ? [at, empty, depth] : [empty, at, depth], -1);
  });
  const matrix = tf.reshape(tf.stack(equations, 2), [-1, 8, 8]);
  return tf.reshape(tf.linalg.solve(matrix, tf.reshape(to, [-1, 8, 1])), [-1, 8]);
}

/** Layers by the names of Keras. */
export const PLACES: Readonly<Record<string, Augmentation>> = {
  RandomFlip: augmentation({
    draw: (x) => ({ apply: tf.lessEqual(drawn(x, [0, 1], 4), 0.5) }),
    change(x, config, { apply }) {
      const mode = String(config.mode ?? "horizontal_and_vertical");
      const flip = (y: tf.Tensor, axis: number, name: string): tf.Tensor =>
        mode.includes(name) ? tf.where(apply, tf.reverse(y, axis), y) : y;
      return flip(flip(x, 2, "horizontal"), 1, "vertical");
    },
  }),
  RandomRotation: augmentation({
    draw(x, config) {
      const [least, most] = range(config.factor), turn = 2 * Math.PI;
      return { angle: drawn(x, [least * turn, most * turn], 2) };
    },
    change(x, config, { angle }) {
      const cos = tf.cos(angle), sin = tf.sin(angle), [height, width] = extents(x);
      const [cx, cy] = [width, height].map((n) => tf.mul(tf.sub(n, 1), 0.5));
      const shiftX = tf.add(tf.sub(cx, tf.mul(cx, cos)), tf.mul(cy, sin));
      const shiftY = tf.sub(tf.sub(cy, tf.mul(cx, sin)), tf.mul(cy, cos));
      return moved(x, config, affine([cos, tf.neg(sin), shiftX], [sin, cos, shiftY]));
    },
  }),
  RandomTranslation: augmentation({
    draw: (x, { heightFactor, widthFactor }) => ({
      down: drawn(x, range(heightFactor), 2),
      right: drawn(x, range(widthFactor), 2),
    }),
    change(x, config, { down, right }) {
      const [height, width] = extents(x), one = tf.onesLike(down), none = tf.zerosLike(down);
      const [shiftX, shiftY] = [tf.neg(tf.mul(right, width)), tf.neg(tf.mul(down, height))];
      return moved(x, config, affine([one, none, shiftX], [none, one, shiftY]));
    },
  }),
  RandomZoom: augmentation({
    draw(x, { heightFactor, widthFactor }) {
      const zoom = (factor: Json | undefined): tf.Tensor => tf.add(drawn(x, range(factor), 2), 1);
      const tall = zoom(heightFactor);
      return { tall, wide: widthFactor == null ? tall : zoom(widthFactor) };
    },
    change(x, config, { tall, wide }) {
      const [height, width] = extents(x), none = tf.zerosLike(tall);
      const shift = (n: tf.Tensor, by: tf.Tensor): tf.Tensor =>
        tf.mul(tf.mul(tf.sub(n, 1), 0.5), tf.sub(1, by));
      const [a, b] = [[wide, none, shift(width, wide)], [none, tall, shift(height, tall)]];
      return moved(x, config, affine(a, b));
    },
  }),
  RandomShear: augmentation({
    draw(x, { xFactor, yFactor }) {
      const side = tf.sign(drawn(x, [1, -1], 2));
      const [down, across] = [yFactor, xFactor].map((factor) =>
        tf.mul(drawn(x, range(factor ?? 0), 2), side)
      );
      return { across, down };
    },
    change(x, config, { across, down }) {
      const one = tf.onesLike(across), none = tf.zerosLike(across);
      return moved(x, config, affine([one, across, none], [down, one, none]));
    },
  }),
  RandomPerspective: augmentation({
    draw(x, config) {
      const half = Number(config.scale ?? 1) / 2, shape = tf.concat([rowsOf(x), [4, 2]]);
      return {
        apply: chosen(x, range(config.factor ?? 1, 0)),
        part: uniform(shape, [-half, half]),
      };
    },
    change(x, config, { apply, part }) {
      const corners = tf.mul(cornersOf(x), tf.onesLike(part));
      const moves = projections(tf.add(corners, tf.mul(corners, part)), corners);
      return tf.where(apply, moved(x, config, moves, "constant"), x);
    },
  }),
};
