/** Layers of Keras that change the colours of images at random. */
import * as tf from "../../../../mod.ts";
import { numbers, shapeOf } from "../layer_kinds.ts";
import {
  type Augmentation,
  augmentation,
  chosen,
  drawn,
  range,
  rowsOf,
  scaled,
  uniform,
  valuesOf,
  within,
} from "./draws.ts";
import { wholly } from "./seeded.ts";

const UNIT = [0, 1] as const, BYTE = [0, 255] as const;
/** A number of Keras that keeps quotients finite. */
const EPSILON = 1e-7;

/** Convolves each channel with one kernel. */
function filtered(x: tf.Tensor, kernel: tf.Tensor): tf.Tensor {
  const depth = Number(shapeOf(x)[3]);
  const all = tf.tile(tf.expandDims(tf.expandDims(kernel, -1), -1), [1, 1, depth, 1]);
  return tf.depthwiseConv2d(x as tf.Tensor4D, all as tf.Tensor4D, 1, "same");
}

/** Hue, saturation and value, of which one is changed. */
function recolored(
  x: tf.Tensor,
  channel: 0 | 1,
  change: (x: tf.Tensor) => tf.Tensor,
): tf.Tensor {
  const parts = tf.split(tf.image.rgbToHsv(x), 3, -1);
  parts[channel] = change(parts[channel]);
  return tf.image.hsvToRgb(tf.concat(parts, -1));
}

const gray = (x: tf.Tensor): tf.Tensor => shapeOf(x)[3] === 1 ? x : tf.image.rgbToGrayscale(x);

/** The weights of a Gaussian over `size` pixels. */
function bell(size: number, sigma: tf.Tensor): tf.Tensor {
  const at = Array.from({ length: size }, (_, i) => i - (size - 1) / 2);
  const weights = tf.exp(tf.mul(tf.square(tf.div(tf.tensor(at), sigma)), -0.5));
  return tf.div(weights, tf.sum(weights));
}

/** Layers by the names of Keras. */
export const COLORS: Readonly<Record<string, Augmentation>> = {
  RandomContrast: augmentation({
    draw(x, { factor }) {
      const [less, more = less] = numbers(factor);
      return { factor: drawn(x, [1 - less, 1 + more], 4) };
    },
    change(x, config, { factor }) {
      const middle = tf.mean(x, [1, 2], true);
      return within(tf.add(tf.mul(tf.sub(x, middle), factor), middle), config);
    },
  }),
  RandomBrightness: augmentation({
    draw: (x, { factor }) => ({ factor: drawn(x, range(factor), 4) }),
    change(x, config, { factor }) {
      const [least, most] = valuesOf(config);
      return within(tf.add(x, tf.mul(factor, most - least)), config);
    },
  }),
  RandomHue: augmentation({
    draw(x, { factor }) {
      const side = tf.sign(drawn(x, [1, -1], 4));
      return { factor: tf.mul(tf.mul(side, drawn(x, range(factor, 0), 4)), 0.5) };
    },
    change(x, config, { factor }) {
      const values = valuesOf(config);
      const y = recolored(scaled(x, values, UNIT), 0, (hue) => {
        const moved = tf.add(hue, factor);
        const below = tf.where(tf.greater(moved, 1), tf.sub(moved, 1), moved);
        return tf.where(tf.less(below, 0), tf.add(below, 1), below);
      });
      return scaled(tf.clipByValue(y, 0, 1), UNIT, values);
    },
  }),
  RandomSaturation: augmentation({
    draw(x, { factor }) {
      const part = drawn(x, range(factor), 4);
      return { factor: tf.div(part, tf.add(tf.sub(1, part), EPSILON)) };
    },
    change: (x, config, { factor }) =>
      recolored(x, 1, (saturation) => within(tf.mul(saturation, factor), config)),
  }),
  RandomColorDegeneration: augmentation({
    draw: (x, { factor }) => ({ factor: drawn(x, range(factor), 4) }),
    change: (x, config, { factor }) =>
      within(tf.add(x, tf.mul(factor, tf.sub(gray(x), x))), config),
  }),
  RandomGrayscale: augmentation({
    draw: (x, { factor }) => ({ apply: tf.less(drawn(x, UNIT, 4), Number(factor ?? 0.5)) }),
    change: (x, _, { apply }) => tf.where(apply, gray(x), x),
  }),
  RandomInvert: augmentation({
    draw: (x, { factor }) => ({ apply: chosen(x, range(factor ?? 1, 0)) }),
    change: (x, config, { apply }) =>
      tf.where(apply, tf.sub(numbers(config.valueRange ?? [0, 255])[1], x), x),
  }),
  RandomPosterization: augmentation({
    draw(x, { factor }) {
      const [least, most] = range(factor, 1), rows = rowsOf(x);
      const bits = least === most
        ? tf.fill(rows, least)
        : tf.cast(wholly(rows, least, most), "float32");
      return { step: tf.reshape(tf.pow(2, tf.sub(8, bits)), [-1, 1, 1, 1]) };
    },
    change(x, config, { step }) {
      const values = valuesOf(config),
        bytes = tf.cast(tf.cast(scaled(x, values, BYTE), "int32"), "float32");
      return scaled(tf.mul(tf.floor(tf.div(tf.mod(bytes, 256), step)), step), BYTE, values);
    },
  }),
  Solarization: augmentation({
    draw(x, { additionFactor, thresholdFactor }) {
      const [added, limit] = [additionFactor, thresholdFactor].map((factor) => {
        const [least, most] = range(factor ?? 0, 0);
        return drawn(x, [least, most * 255], 4);
      });
      return { added, limit };
    },
    change(x, config, { added, limit }) {
      const values = valuesOf(config);
      const y = tf.clipByValue(tf.add(scaled(x, values, BYTE), added), 0, 255);
      return scaled(tf.where(tf.less(y, limit), y, tf.sub(255, y)), BYTE, values);
    },
  }),
  RandomSharpness: augmentation({
    draw: (x, { factor }) => ({ factor: drawn(x, range(factor, 0), 4) }),
    change(x, config, { factor }) {
      const kernel = tf.tensor([1, 1, 1, 1, 5, 1, 1, 1, 1].map((n) => n / 13), [3, 3]);
      const less = tf.sub(1, tf.mul(factor, 2));
      return within(tf.add(x, tf.mul(less, tf.sub(filtered(x, kernel), x))), config);
    },
  }),
  RandomGaussianBlur: augmentation({
    draw: (x, { factor, sigma }) => ({
      apply: chosen(x, range(factor ?? 1, 0)),
      sigma: tf.add(uniform([2], range(sigma ?? 1, 0)), 1e-6),
    }),
    change(x, config, { apply, sigma }) {
      const [across, down = across] = numbers(config.kernelSize ?? 3);
      const [a, b] = [[across, 0], [down, 1]].map(([n, i]) => bell(n, tf.gather(sigma, i)));
      // Keras lays the kernel out in this order where its extents differ, too.
      const kernel = tf.reshape(tf.mul(tf.expandDims(b, 1), a), [across, down]);
      return within(tf.where(apply, filtered(x, kernel), x), config);
    },
  }),
};
