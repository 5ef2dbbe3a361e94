/** JPEGs in the namespace `tf.io`: what they are, parts of them, and images as they come back from one. */
import { wantNumber } from "../../../engine/core/arguments.ts";
import { apply1, compose, type OpInput } from "../../../engine/core/apply.ts";
import { DTYPES, isInteger } from "../../../engine/core/dtype.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../../engine/core/tensor.ts";
import { slice } from "../../../engine/ops/array/slice.ts";
import { convertImageDtype } from "../../../engine/ops/image/adjust.ts";
import { concat } from "../../../engine/ops/array/join.ts";
import {
  asTensor,
  castInput,
  intVector,
  toIndexInput,
  toInput,
} from "../../../engine/ops/input.ts";
import { equal } from "../../../engine/ops/pointwise/compare.ts";
import { statelessUniformInt } from "../../../engine/ops/random/namespace.ts";
import { randomUniformInt } from "../../../engine/ops/random/random.ts";
import { substr } from "../../../engine/ops/text/strings.ts";
import {
  type Contents,
  contentsInput,
  decodeJpeg,
  type DecodeJpegOptions,
  EncodeJpegVariableQuality,
  ExtractJpegShape,
} from "../image_ops.ts";

const START = new NdArray("string", [], [Uint8Array.of(0xff, 0xd8, 0xff)]);

/**
 * True where encoded bytes begin as those of a JPEG do, a bool scalar. Follows TensorFlow `tf.io.is_jpeg`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const png = tf.io.encodePng(tf.zeros([1, 1, 3], "uint8"));
 * console.log(tf.io.isJpeg(png).item(), tf.io.isJpeg(Uint8Array.of(255, 216, 255)).item()); // false true
 * ```
 */
export function isJpeg(contents: Contents): Tensor {
  return compose(() => equal(substr(asTensor(contentsInput(contents, "isJpeg")), 0, 3), START));
}

/**
 * Height, width and channels of a JPEG, which is not decoded for them. Throws `InvalidArgumentError` for bytes that are no JPEG.
 * TensorFlow op `ExtractJpegShape`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const start = [255, 216], frame = [255, 192, 0, 11, 8, 0, 20, 0, 30, 1];
 * console.log(tf.io.extractJpegShape(Uint8Array.from([...start, ...frame])).arraySync()); // [20, 30, 1]
 * ```
 */
export function extractJpegShape(
  contents: Contents,
  outputType: "int32" | "int64" = "int32",
): Tensor {
  if (outputType !== "int32" && outputType !== "int64") {
    throw new TypeError(
      `Cannot apply extractJpegShape: outputType must be "int32" or "int64", received ${
        String(outputType)
      }`,
    );
  }
  const input = contentsInput(contents, "extractJpegShape");
  return apply1(ExtractJpegShape, [input], { output_type: outputType });
}

/**
 * A part of a JPEG: `cropWindow` is its top, left, height and width. Of shape `[height, width, channels]`, uint8. Throws as `io.decodeJpeg`
 * does, and `InvalidArgumentError` for a window that goes beyond the image. Follows TensorFlow `tf.io.decode_and_crop_jpeg`.
 */
export function decodeAndCropJpeg(
  contents: Contents,
  cropWindow: TensorLike,
  options: DecodeJpegOptions = {},
): Tensor {
  return compose(() => {
    const window = asTensor(toIndexInput(cropWindow, "cropWindow", "decodeAndCropJpeg"));
    const image = decodeJpeg(contents, options);
    return slice(
      image,
      concat([slice(window, [0], [2]), intVector([0])]),
      concat([slice(window, [2], [2]), intVector([-1])]),
    );
  });
}

/** Encodes and decodes an image, in its own dtype. */
function passed(image: TensorLike, quality: OpInput, fn: string): Tensor {
  const given = asTensor(toInput(image, "image", fn)), { dtype } = given;
  const { kind } = DTYPES[dtype];
  if (kind !== "float" && !isInteger(dtype)) {
    throw new TypeError(`Cannot apply ${fn} to ${dtype}: wanted an image of numbers`);
  }
  const bytes = convertImageDtype(given, "uint8", true);
  const known = given.staticShape?.at(-1);
  const channels = known === 1 || known === 3 ? { channels: known as 1 | 3 } : {};
  const encoded = apply1(EncodeJpegVariableQuality, [bytes, castInput(quality, "int32")]);
  return convertImageDtype(decodeJpeg(encoded, channels), dtype, true);
}

/**
 * An image `[height, width, 1 or 3]` as it comes back from a JPEG of a quality from 0 to 100, in its own dtype; floats are from 0 to 1.
 * Throws as `io.encodeJpeg` does. Follows TensorFlow `tf.image.adjust_jpeg_quality`.
 */
export function adjustJpegQuality(image: TensorLike, quality: TensorLike): Tensor {
  return compose(() =>
    passed(image, toIndexInput(quality, "quality", "adjustJpegQuality"), "adjustJpegQuality")
  );
}

/**
 * {@linkcode adjustJpegQuality} with a quality drawn from `minQuality` up to, not including, `maxQuality`. Throws `ValueError` for
 * qualities that are not from 0 to 100 or not in order. Follows TensorFlow `tf.image.random_jpeg_quality`.
 */
export function randomJpegQuality(
  image: TensorLike,
  minQuality: number,
  maxQuality: number,
  seed?: number,
): Tensor {
  const fn = "randomJpegQuality";
  wantQualities(minQuality, maxQuality, fn);
  return compose(() => passed(image, randomUniformInt([], minQuality, maxQuality, seed), fn));
}

function wantQualities(least: number, most: number, fn: string): void {
  wantNumber(least, "minQuality", fn);
  wantNumber(most, "maxQuality", fn);
  if (least >= 0 && most <= 100 && least < most) return;
  throw new ValueError(
    `Cannot apply ${fn}: wanted qualities from 0 to 100 in order, received ${least} and ${most}`,
  );
}

/**
 * {@linkcode randomJpegQuality} that is always the same for the same seed, two whole numbers. Throws as that does. Follows TensorFlow
 * `tf.image.stateless_random_jpeg_quality`.
 */
export function statelessRandomJpegQuality(
  image: TensorLike,
  minQuality: number,
  maxQuality: number,
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomJpegQuality";
  wantQualities(minQuality, maxQuality, fn);
  return compose(() => passed(image, statelessUniformInt([], seed, minQuality, maxQuality), fn));
}
