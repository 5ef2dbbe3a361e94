/** JPEGs in the namespace `tf.io`: what they are, parts of them, and images as they come back from one. */
import { apply1, compose } from "../../../engine/core/apply.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../../engine/core/tensor.ts";
import {
  drawnQuality,
  qualityInput,
  startsAsJpeg,
  throughBytes,
  windowOf,
} from "../../../engine/ops/decode/mod.ts";
import {
  type Contents,
  contentsInput,
  decodeJpeg,
  type DecodeJpegOptions,
  EncodeJpegVariableQuality,
  ExtractJpegShape,
} from "../image_ops.ts";
import { brief } from "../../../engine/core/text.ts";

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
  return compose(() => startsAsJpeg(contentsInput(contents, "isJpeg")));
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
        brief(outputType)
      }`,
    );
  }
  const input = contentsInput(contents, "extractJpegShape");
  return apply1(ExtractJpegShape, [input], { output_type: outputType });
}

/**
 * A part of a JPEG: `cropWindow` is its top, left, height and width. Of shape `[height, width, channels]`, uint8. Throws as `io.decodeJpeg`
 * does, and `InvalidArgumentError` for a window that goes beyond the image. Follows TensorFlow `tf.io.decode_and_crop_jpeg`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const jpeg = tf.io.encodeJpeg(tf.cast(tf.fill([8, 8, 3], 100), "uint8"));
 * console.log(tf.io.decodeAndCropJpeg(jpeg, [0, 0, 4, 2]).shape); // [4, 2, 1]
 * ```
 */
export function decodeAndCropJpeg(
  contents: Contents,
  cropWindow: TensorLike,
  options: DecodeJpegOptions = {},
): Tensor {
  return compose(() => windowOf(decodeJpeg(contents, options), cropWindow, "decodeAndCropJpeg"));
}

/** Encodes and decodes an image with a quality. */
function passed(
  image: TensorLike,
  quality: () => ReturnType<typeof qualityInput>,
  fn: string,
): Tensor {
  return compose(() => {
    const given = quality();
    return throughBytes(image, fn, (bytes, channels) => {
      const encoded = apply1(EncodeJpegVariableQuality, [bytes, given]);
      return decodeJpeg(encoded, channels === 0 ? {} : { channels });
    });
  });
}

/**
 * An image `[height, width, 1 or 3]` as it comes back from a JPEG of a quality from 0 to 100, in its own dtype; floats are from 0 to 1.
 * Throws as `io.encodeJpeg` does. Follows TensorFlow `tf.image.adjust_jpeg_quality`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const image = tf.cast(tf.fill([8, 8, 3], 100), "uint8");
 * console.log(tf.io.adjustJpegQuality(image, 50).shape); // [8, 8, 3]
 * ```
 */
export function adjustJpegQuality(image: TensorLike, quality: TensorLike): Tensor {
  const fn = "adjustJpegQuality";
  return passed(image, () => qualityInput(quality, fn), fn);
}

/**
 * {@linkcode adjustJpegQuality} with a quality drawn from `minQuality` up to, not including, `maxQuality`. Throws `ValueError` for
 * qualities that are not from 0 to 100 or not in order. Follows TensorFlow `tf.image.random_jpeg_quality`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const image = tf.cast(tf.fill([8, 8, 3], 100), "uint8");
 * console.log(tf.io.randomJpegQuality(image, 50, 90).shape); // [8, 8, 3]
 * ```
 */
export function randomJpegQuality(
  image: TensorLike,
  minQuality: number,
  maxQuality: number,
  seed?: number,
): Tensor {
  const fn = "randomJpegQuality";
  return passed(image, () => drawnQuality([minQuality, maxQuality], fn, { seed }), fn);
}

/**
 * {@linkcode randomJpegQuality} that is always the same for the same seed, two whole numbers. Throws as that does. Follows TensorFlow
 * `tf.image.stateless_random_jpeg_quality`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const image = tf.cast(tf.fill([8, 8, 3], 100), "uint8");
 * const changed = () => tf.io.statelessRandomJpegQuality(image, 50, 90, [1, 2]);
 * console.log(tf.all(tf.equal(changed(), changed())).item()); // true
 * ```
 */
export function statelessRandomJpegQuality(
  image: TensorLike,
  minQuality: number,
  maxQuality: number,
  seed: TensorLike,
): Tensor {
  const fn = "statelessRandomJpegQuality", stateless = seed;
  return passed(image, () => drawnQuality([minQuality, maxQuality], fn, { stateless }), fn);
}
