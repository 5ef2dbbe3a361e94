/** Layers of Keras that change images at random while they train, each image of a batch by numbers of its own. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { Json } from "../layers/keras_json.ts";
import { type Kind, numbers, type Settings, shapeOf } from "./layer_kinds.ts";

/** Images `[rows, height, width, channels]` changed at random. */
type Change = (x: tf.Tensor, config: Settings) => tf.Tensor;

/** The range of a factor: of one number both sides of 0. */
function range(value: Json | undefined): [number, number] {
  const [a, b] = numbers(value);
  return b === undefined ? [-Math.abs(a), Math.abs(a)] : [Math.min(a, b), Math.max(a, b)];
}

/** A number for each image, in a shape of `rank` dimensions. */
function drawn(x: tf.Tensor, [least, most]: readonly [number, number], rank: number): tf.Tensor {
  const rows = tf.gather(tf.shape(x), [0]);
  const shape = tf.concat([rows, tf.ones([rank - 1], "int32")]);
  return tf.add(tf.mul(tf.randomUniform(shape, 0, 1), most - least), least);
}

const extents = (x: tf.Tensor): [height: tf.Tensor, width: tf.Tensor] => {
  const [height, width] = [1, 2].map((i) => tf.cast(tf.gather(tf.shape(x), i), "float32"));
  return [height, width];
};

/** Reads images through the transforms of each: places of the result lead to places of the image. */
function moved(
  x: tf.Tensor,
  config: Settings,
  { a, b }: Readonly<Record<"a" | "b", readonly [tf.Tensor, tf.Tensor, tf.Tensor]>>,
): tf.Tensor {
  const none = tf.zerosLike(a[0]), rows = tf.concat([...a, ...b, none, none], 1);
  return tf.image.transform(
    x,
    rows,
    String(config.interpolation ?? "bilinear") as "bilinear",
    String(config.fillMode ?? "reflect") as "reflect",
    Number(config.fillValue ?? 0),
  );
}

/** Numbers between the ends of a layer's values. */
function within(x: tf.Tensor, config: Settings): tf.Tensor {
  const [least, most] = numbers(config.valueRange ?? [0, 255]);
  return tf.clipByValue(x, least, most);
}

const CHANGES: Readonly<Record<string, Change>> = {
  RandomFlip(x, config) {
    const mode = String(config.mode ?? "horizontal_and_vertical");
    const turned = tf.lessEqual(drawn(x, [0, 1], 4), 0.5);
    const flip = (y: tf.Tensor, axis: number, name: string): tf.Tensor =>
      mode.includes(name) ? tf.where(turned, tf.reverse(y, axis), y) : y;
    return flip(flip(x, 2, "horizontal"), 1, "vertical");
  },
  RandomRotation(x, config) {
    const [least, most] = range(config.factor), turn = 2 * Math.PI;
    const angle = drawn(x, [least * turn, most * turn], 2), [height, width] = extents(x);
    const cos = tf.cos(angle), sin = tf.sin(angle);
    const [cx, cy] = [width, height].map((n) => tf.mul(tf.sub(n, 1), 0.5));
    const shiftX = tf.add(tf.sub(cx, tf.mul(cx, cos)), tf.mul(cy, sin));
    const shiftY = tf.sub(tf.sub(cy, tf.mul(cx, sin)), tf.mul(cy, cos));
    return moved(x, config, { a: [cos, tf.neg(sin), shiftX], b: [sin, cos, shiftY] });
  },
  RandomTranslation(x, config) {
    const [height, width] = extents(x);
    const down = tf.mul(drawn(x, range(config.heightFactor), 2), height);
    const right = tf.mul(drawn(x, range(config.widthFactor), 2), width);
    const one = tf.onesLike(down), none = tf.zerosLike(down);
    return moved(x, config, { a: [one, none, tf.neg(right)], b: [none, one, tf.neg(down)] });
  },
  RandomZoom(x, config) {
    const [height, width] = extents(x);
    const zoom = (factor: Json | undefined): tf.Tensor => tf.add(drawn(x, range(factor), 2), 1);
    const tall = zoom(config.heightFactor);
    const wide = config.widthFactor == null ? tall : zoom(config.widthFactor);
    const shift = (n: tf.Tensor, by: tf.Tensor): tf.Tensor =>
      tf.mul(tf.mul(tf.sub(n, 1), 0.5), tf.sub(1, by));
    const none = tf.zerosLike(tall);
    return moved(x, config, {
      a: [wide, none, shift(width, wide)],
      b: [none, tall, shift(height, tall)],
    });
  },
  RandomContrast(x, config) {
    const [less, more = less] = numbers(config.factor);
    const factor = drawn(x, [1 - less, 1 + more], 4), middle = tf.mean(x, [1, 2], true);
    return within(tf.add(tf.mul(tf.sub(x, middle), factor), middle), config);
  },
  RandomBrightness(x, config) {
    const [least, most] = numbers(config.valueRange ?? [0, 255]);
    const change = drawn(x, range(config.factor), 4);
    return within(tf.add(x, tf.mul(change, most - least)), config);
  },
};

/** Layers that change nothing in predictions, by their names in Keras. */
export const RANDOM_IMAGES: Readonly<Record<string, Kind>> = Object.fromEntries(
  Object.entries(CHANGES).map(([name, change]): [string, Kind] => [name, {
    masks: true,
    call({ inputs: [given], config, training }) {
      const x = tf.cast(given, "float32");
      if (!training) return x;
      const format = String(config.dataFormat ?? "channels_last");
      if (shapeOf(x).length !== 4 || /first/i.test(format)) {
        throw new UnimplementedError(
          `Cannot train layer ${config.name}: it takes images [rows, height, width, channels] alone`,
        );
      }
      return change(x, config);
    },
  }]),
);
