/** Colours of images: their spaces, brightness, contrast, and random changes of them. */
import { wantBoolean, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { asDType, DTYPES, INTEGER_ENDS, isFloating, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { saturateCast } from "../array/saturate.ts";
import { reshape, shape, size } from "../array/view.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { tensordot } from "../linalg/linalg.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, div, floorDiv, mul, sub } from "../pointwise/arithmetic.ts";
import { pow, sqrt, square } from "../pointwise/power.ts";
import { maximum } from "../pointwise/select.ts";
import { randomUniform } from "../random/random.ts";
import type { Seed } from "../random/state.ts";
import { mean } from "../reduce/reduce.ts";
import { contrasted, hsvOf, rgbOf, saturated, turnedHue } from "./hue.ts";

/** Converts images, whose last axis is that of channels. Throws `ValueError` for a rank below `rank` and another number of channels. */
export function toImages(x: TensorLike, fn: string, rank = 3, channels?: number): Tensor {
  const images = asTensor(toInput(x, "image", fn)), known = shapeOfInput(images);
  const last = known?.at(-1);
  if (
    known && (known.length < rank || channels !== undefined && last !== null && last !== channels)
  ) {
    throw new ValueError(
      `Error in ${fn}: wanted images of rank ${rank} or more${
        channels === undefined ? "" : ` with ${channels} channels last`
      }, received shape ${shapeText(known)}`,
    );
  }
  return images;
}

/** Converts images as {@linkcode toImages} does. Throws `ValueError` for an unknown rank, too. */
export function toRankedImages(x: TensorLike, fn: string, rank = 3): Tensor {
  const images = toImages(x, fn, rank);
  if (images.staticShape === null) throw wantKnown(fn, images, "rank");
  return images;
}

/** An error of a function that needs to know more of its images' shape. */
export function wantKnown(fn: string, images: Tensor, what: string): ValueError {
  return new ValueError(
    `Error in ${fn}: wanted images of known ${what}, received shape ${
      shapeText(images.staticShape)
    }`,
  );
}

/** The number that stands for 1 in images of a dtype. */
export function greatest(dtype: DType): number {
  return Number(INTEGER_ENDS[dtype]?.[1] ?? 1);
}

const isComplex = (dtype: DType): boolean => DTYPES[dtype].kind === "complex";

/** Throws `TypeError` for images of another dtype than floats, or than those that `also` takes. */
export function wantDType(x: Tensor, fn: string, also?: (dtype: DType) => boolean): Tensor {
  if (isFloating(x.dtype) || also?.(x.dtype)) return x;
  const names = (Object.keys(DTYPES) as DType[]).filter((d) => isFloating(d) || also?.(d));
  throw new TypeError(
    `Error in ${fn}: images have dtype ${x.dtype}, wanted ${names.join(", ")}`,
  );
}

/** From 0 to 1 in float32, or the floating dtype that images have. */
function scaled(x: Tensor): Tensor {
  return isFloating(x.dtype) ? x : mul(cast(x, "float32"), 1 / greatest(x.dtype));
}

/** Changes images as numbers from 0 to 1 and gives them back in their dtype. */
function change(
  image: TensorLike,
  fn: string,
  make: (x: Tensor) => Tensor,
  channels?: number,
): Tensor {
  return compose(() => {
    const x = toImages(image, fn, channels === undefined ? 3 : 1, channels);
    wantDType(x, fn, isInteger);
    return convertImageDtype(make(scaled(x)), x.dtype, true);
  });
}

/**
 * Converts between dtypes of images: whole numbers stand for their part of the greatest one, floats for parts of 1. Without `saturate`
 * numbers out of range are undefined. Follows TensorFlow `tf.image.convert_image_dtype`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor([0, 255], [1, 1, 2], "uint8");
 * console.log(tf.image.convertImageDtype(image, "float32").arraySync()); // [[[0, 1]]]
 * ```
 */
export function convertImageDtype(image: TensorLike, dtype: DType, saturate = false): Tensor {
  wantBoolean(saturate, "saturate", "convertImageDtype");
  return compose(() => {
    const x = asTensor(toInput(image, "image", "convertImageDtype")), to = asDType(dtype);
    if (x.dtype === to) return add(x, 0);
    if (isFloating(x.dtype) && isFloating(to)) return cast(x, to);
    const cut = (y: Tensor): Tensor => saturate ? saturateCast(y, to) : cast(y, to);
    const most = greatest(to), own = greatest(x.dtype);
    if (isInteger(x.dtype) && isInteger(to)) {
      const ratio = (Math.max(most, own) + 1) / (Math.min(most, own) + 1);
      return own > most ? cut(floorDiv(x, ratio)) : mul(cut(x), ratio);
    }
    if (isFloating(to)) return mul(cast(x, to), 1 / own);
    return cut(mul(x, most + 0.5));
  });
}

/**
 * Adds to the brightness: `delta` is a part of the range. Results of whole numbers stay within it. Follows TensorFlow
 * `tf.image.adjust_brightness`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.adjustBrightness([[[0.25]]], 0.5).arraySync()); // [[[0.75]]]
 * ```
 */
export function adjustBrightness(image: TensorLike, delta: TensorLike): Tensor {
  return change(image, "adjustBrightness", (x) => add(x, cast(delta, x.dtype)));
}

/**
 * Multiplies each channel's distance from its mean over an image `[…, height, width, channels]`. Follows TensorFlow `tf.image.adjust_contrast`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.adjustContrast([[[1], [3]]], 2).arraySync()); // [[[0], [4]]]
 * ```
 */
export function adjustContrast(image: TensorLike, contrastFactor: TensorLike): Tensor {
  return change(image, "adjustContrast", (x) => contrasted(x, cast(contrastFactor, x.dtype)));
}

/**
 * Turns the hue of RGB images by a part of a whole turn, from -1 to 1. Follows TensorFlow `tf.image.adjust_hue`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.adjustHue([[[1, 0, 0]]], 0.5).arraySync()); // [[[0, 1, 1]]]
 * ```
 */
export function adjustHue(image: TensorLike, delta: TensorLike): Tensor {
  return change(image, "adjustHue", (x) => turnedHue(x, cast(delta, x.dtype)), 3);
}

/**
 * Multiplies the saturation of RGB images. Follows TensorFlow `tf.image.adjust_saturation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.adjustSaturation([[[1, 0.5, 0.5]]], 0).arraySync()); // [[[1, 1, 1]]]
 * ```
 */
export function adjustSaturation(image: TensorLike, saturationFactor: TensorLike): Tensor {
  return change(image, "adjustSaturation", (x) => saturated(x, cast(saturationFactor, x.dtype)), 3);
}

/**
 * `gain · image ^ gamma`, of parts of the range. Throws `ValueError` for a negative `gamma`. Follows TensorFlow `tf.image.adjust_gamma`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.adjustGamma([[[0.5]]], 2).arraySync()); // [[[0.25]]]
 * ```
 */
export function adjustGamma(image: TensorLike, gamma = 1, gain = 1): Tensor {
  wantNumber(gamma, "gamma", "adjustGamma");
  wantNumber(gain, "gain", "adjustGamma");
  if (gamma < 0) {
    throw new ValueError(`Error in adjustGamma: gamma must be 0 or more, received ${gamma}`);
  }
  return change(image, "adjustGamma", (x) => mul(pow(x, gamma), gain));
}

/**
 * Hue, saturation and value of RGB images of floats, from 0 to 1. Throws `TypeError` for other dtypes. Follows TensorFlow `tf.image.rgb_to_hsv`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.rgbToHsv([[[0.5, 0, 0]]]).arraySync()); // [[[0, 1, 0.5]]]
 * ```
 */
export function rgbToHsv(images: TensorLike): Tensor {
  return compose(() => hsvOf(wantDType(toImages(images, "rgbToHsv", 1, 3), "rgbToHsv")));
}

/**
 * RGB images of hue, saturation and value, floats. Throws `TypeError` for other dtypes. Follows TensorFlow `tf.image.hsv_to_rgb`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.hsvToRgb([[[0, 1, 0.5]]]).arraySync()); // [[[0.5, 0, 0]]]
 * ```
 */
export function hsvToRgb(images: TensorLike): Tensor {
  return compose(() => rgbOf(wantDType(toImages(images, "hsvToRgb", 1, 3), "hsvToRgb")));
}

/** The matrix of a linear space of colours, of rows of red, green and blue. */
const YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [
  0.114,
  -0.32134392,
  0.31119955,
]];
const FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [
  0.6208248,
  -0.64720424,
  1.70423049,
]];
const YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [
  0.114,
  0.43601035,
  -0.10001026,
]];
const FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]];

function linear(images: TensorLike, fn: string, matrix: number[][]): Tensor {
  return compose(() => {
    const x = wantDType(toImages(images, fn, 1, 3), fn, isComplex);
    const rank = x.staticShape?.length, factors = cast(matrix, x.dtype);
    if (rank !== undefined) return tensordot(x, factors, [[rank - 1], [0]]);
    return reshape(matMul(reshape(x, [-1, 3]), factors), shape(x));
  });
}

/**
 * Luma and two chromas (YIQ) of RGB images. Follows TensorFlow `tf.image.rgb_to_yiq`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const yiq = tf.image.rgbToYiq([[[1, 0, 0]]]);
 * console.log(await tf.round(tf.mul(yiq, 100)).data()); // Float32Array(3) [30, 60, 21]
 * ```
 */
export function rgbToYiq(images: TensorLike): Tensor {
  return linear(images, "rgbToYiq", YIQ);
}
/**
 * RGB images of YIQ. Follows TensorFlow `tf.image.yiq_to_rgb`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.yiqToRgb([[[0.5, 0, 0]]]).arraySync()); // [[[0.5, 0.5, 0.5]]]
 * ```
 */
export function yiqToRgb(images: TensorLike): Tensor {
  return linear(images, "yiqToRgb", FROM_YIQ);
}
/**
 * Luma and two chromas (YUV) of RGB images. Follows TensorFlow `tf.image.rgb_to_yuv`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const yuv = tf.image.rgbToYuv([[[1, 0, 0]]]);
 * console.log(await tf.round(tf.mul(yuv, 100)).data()); // Float32Array(3) [30, -15, 61]
 * ```
 */
export function rgbToYuv(images: TensorLike): Tensor {
  return linear(images, "rgbToYuv", YUV);
}
/**
 * RGB images of YUV. Follows TensorFlow `tf.image.yuv_to_rgb`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.yuvToRgb([[[0.5, 0, 0]]]).arraySync()); // [[[0.5, 0.5, 0.5]]]
 * ```
 */
export function yuvToRgb(images: TensorLike): Tensor {
  return linear(images, "yuvToRgb", FROM_YUV);
}

/**
 * Images `[…, height, width, channels]` of mean 0 and variance 1, float32; the deviation counts as at least one over the root of the number
 * of elements. Follows TensorFlow `tf.image.per_image_standardization`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.perImageStandardization([[[1], [3]]]).arraySync()); // [[[-1], [1]]]
 * ```
 */
export function perImageStandardization(image: TensorLike): Tensor {
  return compose(() => {
    const x = cast(toImages(image, "perImageStandardization"), "float32"), axes = [-3, -2, -1];
    const centred = sub(x, mean(x, axes, true));
    const deviation = sqrt(mean(square(centred), axes, true));
    // All images have one size.
    const count = div(cast(size(x), x.dtype), cast(size(deviation), x.dtype));
    return div(centred, maximum(deviation, div(1, sqrt(count))));
  });
}

/** A number from `low` to `high`. Throws `ValueError` where these are out of order. */
function between(fn: string, low: number, high: number, seed?: Seed | null): Tensor {
  wantNumber(low, "lower", fn);
  wantNumber(high, "upper", fn);
  if (!(low <= high)) {
    throw new ValueError(
      `Error in ${fn}: wanted an upper end above the lower, received ${low} and ${high}`,
    );
  }
  return randomUniform([], low, high, "float32", seed);
}

/**
 * {@linkcode adjustBrightness} by a number from `-maxDelta` to `maxDelta`. Follows TensorFlow `tf.image.random_brightness`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const changed = tf.image.randomBrightness([[[0.5]]], 0.25).item();
 * console.log(changed >= 0.25 && changed <= 0.75); // true
 * ```
 */
export function randomBrightness(image: TensorLike, maxDelta: number, seed?: Seed | null): Tensor {
  wantNumber(maxDelta, "maxDelta", "randomBrightness");
  return compose(() =>
    adjustBrightness(image, between("randomBrightness", -maxDelta, maxDelta, seed))
  );
}
/**
 * {@linkcode adjustContrast} by a number from `lower` to `upper`. Follows TensorFlow `tf.image.random_contrast`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.randomContrast([[[1], [3]]], 2, 2).arraySync()); // [[[0], [4]]]
 * ```
 */
export function randomContrast(
  image: TensorLike,
  lower: number,
  upper: number,
  seed?: Seed | null,
): Tensor {
  return compose(() => adjustContrast(image, between("randomContrast", lower, upper, seed)));
}
/**
 * {@linkcode adjustHue} by a number from `-maxDelta` to `maxDelta`. Follows TensorFlow `tf.image.random_hue`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.randomHue([[[1, 0, 0]]], 0.1).shape); // [1, 1, 3]
 * ```
 */
export function randomHue(image: TensorLike, maxDelta: number, seed?: Seed | null): Tensor {
  wantNumber(maxDelta, "maxDelta", "randomHue");
  return compose(() => adjustHue(image, between("randomHue", -maxDelta, maxDelta, seed)));
}
/**
 * {@linkcode adjustSaturation} by a number from `lower` to `upper`. Follows TensorFlow `tf.image.random_saturation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.randomSaturation([[[1, 0.5, 0.5]]], 0, 0).arraySync()); // [[[1, 1, 1]]]
 * ```
 */
export function randomSaturation(
  image: TensorLike,
  lower: number,
  upper: number,
  seed?: Seed | null,
): Tensor {
  return compose(() => adjustSaturation(image, between("randomSaturation", lower, upper, seed)));
}
