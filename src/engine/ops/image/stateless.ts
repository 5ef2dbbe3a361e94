/** Random changes of images that are functions of a seed of two integers: TensorFlow's for the same seed. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { reverse } from "../array/move.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape as shapeOf } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput, toInput } from "../input.ts";
import { mod } from "../pointwise/arithmetic.ts";
import { greater, less } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { integersOfSeed, uniformOfSeed } from "../random/philox.ts";
import {
  adjustBrightness,
  adjustContrast,
  adjustHue,
  adjustSaturation,
  toImages,
} from "./adjust.ts";

/** Greatest offset that is drawn, before it is brought within the tensor. */
const INT_MAX = 2 ** 31 - 1;

function flipped(image: TensorLike, seed: TensorLike, fn: string, axis: number): Tensor {
  return compose(() => {
    const x = toImages(image, fn), known = shapeOfInput(x);
    if (known === null || known.length > 4) {
      throw new ValueError(
        `Error in ${fn}: wanted images of rank 3 or 4, received shape ${shapeText(known)}`,
      );
    }
    const mirrored = reverse(x, known.length - 3 + axis);
    // TensorFlow flips one image below a half, images of a batch above it.
    if (known.length === 3) return where(less(uniformOfSeed([], seed, [0, 1]), 0.5), mirrored, x);
    const count = known[0] === null ? expandDims(gather(shapeOf(x), 0), 0) : [known[0]];
    const draws = uniformOfSeed(count as TensorLike, seed, [0, 1]);
    return where(reshape(greater(draws, 0.5), [-1, 1, 1, 1]), mirrored, x);
  });
}

/**
 * Mirrors each image `[height, width, channels]` or `[batch, height, width, channels]` left to right with a chance of one half: the same
 * ones for the same seed. Throws `ValueError` for other ranks. Follows TensorFlow `tf.image.stateless_random_flip_left_right`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const flip = () => tf.image.statelessRandomFlipLeftRight([[[1], [2]]], [2, 3]);
 * console.log(tf.all(tf.equal(flip(), flip())).item()); // true
 * ```
 */
export function statelessRandomFlipLeftRight(image: TensorLike, seed: TensorLike): Tensor {
  return flipped(image, seed, "statelessRandomFlipLeftRight", 1);
}
/**
 * {@linkcode statelessRandomFlipLeftRight}, upside down. Follows TensorFlow `tf.image.stateless_random_flip_up_down`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const flip = () => tf.image.statelessRandomFlipUpDown([[[1]], [[2]]], [2, 3]);
 * console.log(tf.all(tf.equal(flip(), flip())).item()); // true
 * ```
 */
export function statelessRandomFlipUpDown(image: TensorLike, seed: TensorLike): Tensor {
  return flipped(image, seed, "statelessRandomFlipUpDown", 0);
}

/**
 * A part of `size` of a tensor: the same place for the same seed. Throws `ValueError` where it is larger than the tensor. Follows TensorFlow
 * `tf.image.stateless_random_crop`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [2, 2, 3], "int32");
 * console.log(tf.image.statelessRandomCrop(image, [1, 2, 3], [1, 2]).arraySync()); // [[[1, 2, 3], [4, 5, 6]]]
 * ```
 */
export function statelessRandomCrop(
  value: TensorLike,
  size: readonly number[],
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomCrop";
  wantList(size, "size", fn, "numbers");
  for (const n of size) wantNumber(n, "size", fn);
  return compose(() => {
    const x = asTensor(toInput(value, "value", fn)), known = shapeOfInput(x);
    const fits = known?.length === size.length &&
      size.every((n, i) => Number.isInteger(n) && known[i] !== null && n >= 0 && n <= known[i]);
    if (!fits) {
      throw new ValueError(
        `Error in ${fn}: wanted a size within a known shape, received shape ${
          shapeText(known)
        } and size [${size}]`,
      );
    }
    const places = intVector(size.map((n, i) => known[i]! - n + 1));
    return slice(x, mod(integersOfSeed([size.length], seed, [0, INT_MAX]), places), [...size]);
  });
}

/** A number that TensorFlow draws for the seed. Throws `ValueError` for ends that are out of order or below 0. */
function between(fn: string, seed: TensorLike, low: number, high: number): Tensor {
  wantNumber(low, "lower", fn);
  wantNumber(high, "upper", fn);
  if (0 <= low && low < high) return uniformOfSeed([], seed, [low, high]);
  throw new ValueError(
    `Error in ${fn}: wanted lower of 0 or more and upper above it, received ${low} and ${high}`,
  );
}

/** A number from `-most` to `most` that TensorFlow draws for the seed. Throws `ValueError` for one beyond `limit`. */
function about(fn: string, seed: TensorLike, most: number, limit: number): Tensor {
  wantNumber(most, "maxDelta", fn);
  if (0 <= most && most <= limit) return uniformOfSeed([], seed, [-most, most]);
  throw new ValueError(
    `Error in ${fn}: maxDelta must be from 0 to ${limit}, received ${most}`,
  );
}

/**
 * {@linkcode adjustBrightness} by a number from `-maxDelta` to `maxDelta`, the same for the same seed. Throws `ValueError` for a negative
 * `maxDelta`. Follows TensorFlow `tf.image.stateless_random_brightness`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.statelessRandomBrightness([[[0.5]]], 0, [1, 2]).arraySync()); // [[[0.5]]]
 * ```
 */
export function statelessRandomBrightness(
  image: TensorLike,
  maxDelta: number,
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomBrightness";
  return compose(() => adjustBrightness(image, about(fn, seed, maxDelta, Infinity)));
}
/**
 * {@linkcode adjustContrast} by a number from `lower` to `upper`, the same for the same seed. Throws `ValueError` unless
 * `0 <= lower < upper`. Follows TensorFlow `tf.image.stateless_random_contrast`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const change = () => tf.image.statelessRandomContrast([[[1], [3]]], 0.5, 2, [1, 2]);
 * console.log(tf.all(tf.equal(change(), change())).item()); // true
 * ```
 */
export function statelessRandomContrast(
  image: TensorLike,
  lower: number,
  upper: number,
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomContrast";
  return compose(() => adjustContrast(image, between(fn, seed, lower, upper)));
}
/**
 * {@linkcode adjustHue} by a number from `-maxDelta` to `maxDelta`, the same for the same seed. Throws `ValueError` for a `maxDelta` below 0 or
 * above a half. Follows TensorFlow `tf.image.stateless_random_hue`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const turn = () => tf.image.statelessRandomHue([[[1, 0, 0]]], 0.2, [1, 2]);
 * console.log(tf.all(tf.equal(turn(), turn())).item()); // true
 * ```
 */
export function statelessRandomHue(image: TensorLike, maxDelta: number, seed: TensorLike): Tensor {
  return compose(() => adjustHue(image, about("statelessRandomHue", seed, maxDelta, 0.5)));
}
/**
 * {@linkcode adjustSaturation} by a number from `lower` to `upper`, the same for the same seed. Throws `ValueError` unless
 * `0 <= lower < upper`. Follows TensorFlow `tf.image.stateless_random_saturation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const fade = () => tf.image.statelessRandomSaturation([[[1, 0.5, 0.5]]], 0.5, 1, [1, 2]);
 * console.log(tf.all(tf.equal(fade(), fade())).item()); // true
 * ```
 */
export function statelessRandomSaturation(
  image: TensorLike,
  lower: number,
  upper: number,
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomSaturation";
  return compose(() => adjustSaturation(image, between(fn, seed, lower, upper)));
}
