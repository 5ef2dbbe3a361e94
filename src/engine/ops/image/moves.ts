/** Parts and turns of images: quarter turns, crops, pads, and random ones. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { reverse, transpose } from "../array/move.ts";
import { cast } from "../array/cast.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { identity, shape } from "../array/view.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { less } from "../pointwise/compare.ts";
import { floor } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { randomUniform } from "../random/random.ts";
import type { Seed } from "../random/state.ts";
import { toImages, toRankedImages } from "./adjust.ts";
import { resize, type ResizeOptions } from "./resize.ts";

/** Converts images of rank 3 or 4 whose height and width are known. */
function sized(
  image: TensorLike,
  fn: string,
): { x: Tensor; height: number; width: number; at: number } {
  const x = toImages(image, fn), known = shapeOfInput(x);
  const at = (known?.length ?? 0) - 3, [height, width] = known?.slice(at) ?? [];
  if (known === null || known.length > 4 || height == null || width == null) {
    throw new ValueError(
      `Error in ${fn}: wanted images of rank 3 or 4 with known height and width, received shape ${
        shapeText(known)
      }`,
    );
  }
  return { x, height, width, at };
}

/** Crops height and width. */
function cropped(
  { x, at }: { readonly x: Tensor; readonly at: number },
  [top, left, height, width]: readonly [number, number, number, number],
): Tensor {
  const lead = new Array<number>(at).fill(0), all = new Array<number>(at).fill(-1);
  return slice(x, [...lead, top, left, 0], [...all, height, width, -1]);
}

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
    const x = toRankedImages(image, "rot90"), h = x.rank - 3, w = h + 1, turns = ((k % 4) + 4) % 4;
    if (turns === 2) return reverse(x, [h, w]);
    if (turns === 0) return identity(x);
    const turned = transposed(x);
    return turns === 1 ? reverse(turned, h) : reverse(turned, w);
  });
}

function transposed(x: Tensor): Tensor {
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
  return compose(() => transposed(toRankedImages(image, "transpose")));
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
    const start = (n: number): number => Math.trunc((n - n * fraction) / 2);
    const [top, left] = [start(height), start(width)];
    return cropped(images, [top, left, height - 2 * top, width - 2 * left]);
  });
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
    const fits = top >= 0 && left >= 0 && height > 0 && width > 0 &&
      top + height <= images.height && left + width <= images.width;
    if (fits) return cropped(images, box);
    throw new ValueError(
      `Error in cropToBoundingBox: received [${box}], images are ${images.height} by ${images.width}`,
    );
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
    const bottom = height - top - images.height, right = width - left - images.width;
    if (!(top >= 0 && left >= 0 && bottom >= 0 && right >= 0)) {
      throw new ValueError(
        `Error in padToBoundingBox: received [${box}], images are ${images.height} by ${images.width}`,
      );
    }
    const lead = Array.from({ length: images.at }, (): [number, number] => [0, 0]);
    return pad(images.x, [...lead, [top, bottom], [left, right], [0, 0]]);
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
    const [h, w] = [Math.min(height, images.height), Math.min(width, images.width)];
    const half = (more: number): number => Math.floor(Math.max(more, 0) / 2);
    const part = cropped(images, [half(images.height - height), half(images.width - width), h, w]);
    return padToBoundingBox(part, half(height - h), half(width - w), height, width);
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
    const ratio = Math.max(images.width / width, images.height / height);
    const [h, w] = [images.height, images.width].map((n) => Math.floor(n / ratio));
    const top = Math.max(0, Math.floor((height - images.height / ratio) / 2));
    const left = Math.max(0, Math.floor((width - images.width / ratio) / 2));
    return padToBoundingBox(resize(images.x, [h, w], options), top, left, height, width);
  });
}

function randomFlip(image: TensorLike, fn: string, axis: number, seed?: Seed | null): Tensor {
  return compose(() => {
    const x = toRankedImages(image, fn), at = x.rank - 3 + axis;
    if (x.rank > 4) throw new ValueError(`Error in ${fn}: wanted images of rank 3 or 4`);
    const count = x.rank === 4 ? x.staticShape![0] : 1;
    const places = count === null
      ? concat([slice(shape(x), [0], [1]), [1, 1, 1]])
      : [count, 1, 1, 1].slice(4 - x.rank);
    const draws = randomUniform(places, 0, 1, "float32", seed);
    return where(less(draws, 0.5), reverse(x, at), x);
  });
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
  return randomFlip(image, "randomFlipLeftRight", 1, seed);
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
  return randomFlip(image, "randomFlipUpDown", 0, seed);
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
