/** Parts and turns of images: quarter turns, crops, pads, and random ones. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Extent } from "../extents.ts";
import { concat, stack } from "../array/join.ts";
import { reverse, transpose } from "../array/move.ts";
import { cast } from "../array/cast.ts";
import { slice } from "../array/slice.ts";
import { identity, shape } from "../array/view.ts";
import { asTensor, toInput } from "../input.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { less as isLess } from "../pointwise/compare.ts";
import { floor } from "../pointwise/rounding.ts";
import { maximum, where } from "../pointwise/select.ts";
import { randomUniform } from "../random/random.ts";
import type { Seed } from "../random/state.ts";
import { toImages } from "./adjust.ts";
import { asBatch, cropped, half, least, less, padded, sized, type SizedImages } from "./extents.ts";
import { resize, type ResizeOptions } from "./resize.ts";

/**
 * Turns images `[batch, height, width, channels]` or `[height, width, channels]` counter-clockwise by `k` quarters. Follows TensorFlow
 * `tf.image.rot90`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.rot90([[[1], [2]], [[3], [4]]]).arraySync()); // [[[2], [4]], [[1], [3]]]
 * ```
 */
export function rot90(image: TensorLike, k = 1): Tensor {
  wantNumber(k, "k", "rot90");
  return compose(() => {
    const x = toImages(image, "rot90"), turns = ((k % 4) + 4) % 4;
    if (turns === 2) return reverse(x, [-3, -2]);
    if (turns === 0) return identity(x);
    return reverse(transposed(x), turns === 1 ? -3 : -2);
  });
}

function transposed(x: Tensor): Tensor {
  if (x.staticShape === null) return asBatch(x, transposed);
  const axes = Array.from({ length: x.rank }, (_, i) => i), h = x.rank - 3;
  [axes[h], axes[h + 1]] = [axes[h + 1], axes[h]];
  return transpose(x, axes);
}

/**
 * Swaps height and width of images of rank 3 or 4. Follows TensorFlow `tf.image.transpose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.transpose([[[1], [2]]]).arraySync()); // [[[1]], [[2]]]
 * ```
 */
export function transposeImage(image: TensorLike): Tensor {
  return compose(() => transposed(toImages(image, "transpose")));
}

/**
 * The middle part of images. Throws `ValueError` unless `fraction` is in `(0, 1]`. Follows TensorFlow `tf.image.central_crop`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.centralCrop(tf.zeros([8, 6, 3]), 0.5).shape); // [4, 4, 3]
 * ```
 */
export function centralCrop(image: TensorLike, fraction: number): Tensor {
  wantNumber(fraction, "fraction", "centralCrop");
  if (!(fraction > 0 && fraction <= 1)) {
    throw new ValueError(`Error in centralCrop: fraction must be in (0, 1], received ${fraction}`);
  }
  return compose(() => {
    const images = sized(image, "centralCrop"), { height, width } = images;
    const start = (n: Extent): Extent => {
      if (typeof n === "number") return Math.trunc((n - n * fraction) / 2);
      const all = cast(n, "float64");
      return cast(div(sub(all, mul(all, fraction)), 2), "int32");
    };
    const [top, left] = [start(height), start(width)];
    return cropped(images, [top, left, rest(height, top), rest(width, left)]);
  });
}

/** The extent between two ends. */
function rest(extent: Extent, end: Extent): Extent {
  return less(less(extent, end), end);
}

/** A place in images and an extent: top, left, height and width. */
export type ImageBox = readonly [top: number, left: number, height: number, width: number];

/**
 * A part of images. Throws `ValueError` where it is not within them. Follows TensorFlow `tf.image.crop_to_bounding_box`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.reshape(tf.range(0, 9), [3, 3, 1]);
 * console.log(tf.image.cropToBoundingBox(image, 1, 1, 2, 1).arraySync()); // [[[4]], [[7]]]
 * ```
 */
export function cropToBoundingBox(image: TensorLike, ...box: ImageBox): Tensor {
  return compose(() => {
    const images = sized(image, "cropToBoundingBox"), [top, left, height, width] = box;
    const isWithin = (end: number, extent: Extent): boolean =>
      typeof extent !== "number" || end <= extent;
    const fits = top >= 0 && left >= 0 && height > 0 && width > 0 &&
      isWithin(top + height, images.height) && isWithin(left + width, images.width);
    if (fits) return cropped(images, box);
    throw outside("cropToBoundingBox", box, images);
  });
}

/**
 * Images within larger ones of zeros. Throws `ValueError` where they do not fit. Follows TensorFlow `tf.image.pad_to_bounding_box`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.padToBoundingBox([[[1]]], 0, 1, 1, 3).arraySync()); // [[[0], [1], [0]]]
 * ```
 */
export function padToBoundingBox(image: TensorLike, ...box: ImageBox): Tensor {
  return compose(() => {
    const images = sized(image, "padToBoundingBox"), [top, left, height, width] = box;
    const isRoom = (room: number, extent: Extent): boolean =>
      typeof extent !== "number" || room >= extent;
    const fits = top >= 0 && left >= 0 && isRoom(height - top, images.height) &&
      isRoom(width - left, images.width);
    if (fits) return padded(images, box);
    throw outside("padToBoundingBox", box, images);
  });
}

/**
 * Crops or pads height and width about the middle. Follows TensorFlow `tf.image.resize_with_crop_or_pad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.resizeWithCropOrPad([[[1], [2], [3]]], 1, 1).arraySync()); // [[[2]]]
 * ```
 */
export function resizeWithCropOrPad(image: TensorLike, height: number, width: number): Tensor {
  wantNumber(height, "height", "resizeWithCropOrPad");
  wantNumber(width, "width", "resizeWithCropOrPad");
  return compose(() => {
    const images = sized(image, "resizeWithCropOrPad");
    const h = least(height, images.height), w = least(width, images.width);
    const top = half(less(images.height, height)), left = half(less(images.width, width));
    const part = { x: cropped(images, [top, left, h, w]), height: h, width: w, at: images.at };
    return padded(part, [half(less(height, h)), half(less(width, w)), height, width]);
  });
}

/**
 * Resizes images without distortion and pads them with zeros about the middle. Follows TensorFlow `tf.image.resize_with_pad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.resizeWithPad(tf.ones([2, 4, 3]), 6, 6).shape); // [6, 6, 3]
 * ```
 */
export function resizeWithPad(
  image: TensorLike,
  height: number,
  width: number,
  options: ResizeOptions = {},
): Tensor {
  return compose(() => {
    const images = sized(image, "resizeWithPad");
    const sizes = fitted([images.height, images.width], [height, width]);
    const [h, w] = sizes.map(({ extent }) => extent),
      [top, left] = sizes.map(({ before }) => before);
    const size = typeof h === "number" && typeof w === "number" ? [h, w] : stack([h, w]);
    const x = resize(images.x, size, options);
    return padded({ x, height: h, width: w, at: images.at }, [top, left, height, width]);
  });
}

/** The extents of images that are resized into others without distortion, and the room before them. */
function fitted(
  extents: readonly Extent[],
  wanted: readonly number[],
): { readonly extent: Extent; readonly before: Extent }[] {
  if (extents.every((n) => typeof n === "number")) {
    const ratio = Math.max(...extents.map((n, i) => n / wanted[i]));
    return extents.map((n, i) => ({
      extent: Math.floor(n / ratio),
      before: Math.max(0, Math.floor((wanted[i] - n / ratio) / 2)),
    }));
  }
  const all = extents.map((n) => cast(n, "float64"));
  const [a, b] = all.map((n, i) => div(n, wanted[i])), ratio = maximum(a, b);
  return all.map((n, i) => {
    const resized = div(n, ratio), before = floor(div(sub(wanted[i], resized), 2));
    return { extent: cast(floor(resized), "int32"), before: maximum(cast(before, "int32"), 0) };
  });
}

function outside(fn: string, box: ImageBox, { height, width }: SizedImages): ValueError {
  const [h, w] = [height, width].map((n) => typeof n === "number" ? n : "?");
  return new ValueError(`Error in ${fn}: received [${box}], images are ${h} by ${w}`);
}

function randomFlip(image: TensorLike, fn: string, axis: number, seed?: Seed | null): Tensor {
  return compose(() => {
    const x = toImages(image, fn);
    if (x.staticShape === null) return asBatch(x, (all) => flippedAtRandom(all, axis, seed));
    if (x.rank > 4) throw new ValueError(`Error in ${fn}: wanted images of rank 3 or 4`);
    return flippedAtRandom(x, axis, seed);
  });
}

function flippedAtRandom(x: Tensor, axis: number, seed?: Seed | null): Tensor {
  const count = x.rank === 4 ? x.staticShape![0] : 1;
  const places = count === null
    ? concat([slice(shape(x), [0], [1]), [1, 1, 1]])
    : [count, 1, 1, 1].slice(4 - x.rank);
  const draws = randomUniform(places, 0, 1, "float32", seed);
  return where(isLess(draws, 0.5), reverse(x, axis), x);
}

/**
 * Mirrors each image left to right with a chance of one half. Follows TensorFlow `tf.image.random_flip_left_right`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const flipped = tf.image.randomFlipLeftRight([[[1], [2]]]);
 * console.log(tf.sort(tf.reshape(flipped, [-1])).arraySync()); // [1, 2]
 * ```
 */
export function randomFlipLeftRight(image: TensorLike, seed?: Seed | null): Tensor {
  return randomFlip(image, "randomFlipLeftRight", -2, seed);
}
/**
 * Mirrors each image upside down with a chance of one half. Follows TensorFlow `tf.image.random_flip_up_down`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const flipped = tf.image.randomFlipUpDown([[[1]], [[2]]]);
 * console.log(tf.sort(tf.reshape(flipped, [-1])).arraySync()); // [1, 2]
 * ```
 */
export function randomFlipUpDown(image: TensorLike, seed?: Seed | null): Tensor {
  return randomFlip(image, "randomFlipUpDown", -3, seed);
}

/**
 * A part of `size` anywhere in a tensor, as likely at each place. Throws `ValueError` where it is larger than the tensor. Follows TensorFlow
 * `tf.image.random_crop`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.randomCrop(tf.zeros([8, 8, 3]), [4, 5, 3]).shape); // [4, 5, 3]
 * ```
 */
export function randomCrop(value: TensorLike, size: readonly number[], seed?: Seed | null): Tensor {
  wantList(size, "size", "randomCrop", "numbers");
  for (const n of size) wantNumber(n, "size", "randomCrop");
  return compose(() => {
    const x = asTensor(toInput(value, "value", "randomCrop")), known = x.staticShape;
    const fits = known === null || known.length === size.length &&
        size.every((n, i) => n >= 0 && !(n > (known[i] ?? Infinity)));
    if (!fits) {
      throw new ValueError(
        `Error in randomCrop: wanted a size within shape ${shapeText(known)}, received [${size}]`,
      );
    }
    const places = isConcrete(known)
      ? known.map((n, i) => n - size[i] + 1)
      : add(sub(shape(x), cast([...size], "int32")), 1);
    const draws = randomUniform([size.length], 0, 1, "float64", seed);
    const starts = cast(floor(mul(draws, cast(places, "float64"))), "int32");
    return slice(x, starts, [...size]);
  });
}
