/** Turning and bending images: transform, rotateWithOffset, flips. */
import { wantNumber } from "../../core/arguments.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { rotateCpu, rotateGradCpu, warpCpu, warpGradCpu } from "../../kernels/host/image/warp.ts";
import { rotationOf, warpOf } from "../../kernels/image/warp_geometry.ts";
import { knownInts, shape as shapeOf } from "../array/view.ts";
import { reverse } from "../array/move.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { imageSize } from "../array/slice.ts";
import { floatScalar, intVector, shapeOfInput, toInput } from "../input.ts";
import { toImages } from "./adjust.ts";

const WARP_ATTRS = ["interpolation: string", 'fill_mode: string = "CONSTANT"'];

function warpAttrs({ interpolation, fill_mode }: Attrs): Attrs {
  return { interpolation, fill_mode };
}

const ImageProjectiveTransformV3 = defineOp({
  name: "ImageProjectiveTransformV3",
  inputs: ["images: dtype", "transforms: float32", "output_shape: int32", "fill_value: float32"],
  outputs: ["transformed_images: dtype"],
  attrs: ["dtype: {uint8, int32, int64, float16, float32, float64}", ...WARP_ATTRS],
  hostInputs: ["output_shape", "fill_value"],
  infer: ([images, , size]) => {
    const wanted = knownInts(size);
    return [[
      images.shape?.[0] ?? null,
      wanted?.[0] ?? null,
      wanted?.[1] ?? null,
      images.shape?.[3] ?? null,
    ]];
  },
  grad: {
    saves: ["transforms"],
    vjp: ({ transforms }, [dy], { attrs, shapeOf }) => {
      const inputs = [dy, transforms, toInput(shapeOf(0), "shape", "transform")];
      return [apply1(ProjectiveTransformBack, inputs, warpAttrs(attrs)), null, null, null];
    },
  },
  meaning: { kind: "sample", how: "transform", gives: "result" },
  cpu: ([images, transforms, , fill], [out], { attrs }) =>
    warpCpu(images, transforms, warpOf(attrs, fill), out),
});

/** Exact gradient of ImageProjectiveTransformV3 with respect to the images. */
const ProjectiveTransformBack = defineOp({
  name: "ProjectiveTransformBack",
  portable: { never: "TensorFlow has no gradient of a projective transform as an op" },
  inputs: ["grads: dtype", "transforms: float32", "image_shape: int32"],
  outputs: ["output: dtype"],
  attrs: ["dtype: floating", ...WARP_ATTRS],
  hostInputs: ["image_shape"],
  infer: ([, , shape]) => [shapeFromHost(shape)],
  grad: {
    saves: ["transforms"],
    vjp: ({ transforms }, [ddx], { attrs, shapeOf }) => {
      const inputs = [ddx, transforms, imageSize(shapeOf(0)), floatScalar(0)];
      return [apply1(ImageProjectiveTransformV3, inputs, warpAttrs(attrs)), null, null];
    },
  },
  cpu: ([dy, transforms], [dx], { attrs }) =>
    warpGradCpu(dy, transforms, warpOf(attrs, undefined), dx),
});

const ROTATE_ATTRS = ["radians: float", "fill_value: list(float)", "center: list(float)"];

// An op of TensorFlow.js that TensorFlow lacks.
const RotateWithOffset = defineOp({
  name: "RotateWithOffset",
  portable: { never: "TensorFlow.js has this rotation, TensorFlow has not" },
  inputs: ["image: float32"],
  outputs: ["output: float32"],
  attrs: ROTATE_ATTRS,
  infer: ([image]) => [image.shape],
  grad: { saves: [], vjp: (_, [dy], { attrs }) => [apply1(RotateBack, [dy], rotateAttrs(attrs))] },
  meaning: { kind: "sample", how: "rotation", gives: "result" },
  cpu: ([image], [out], { attrs }) => rotateCpu(image, rotationOf(image.shape, attrs), out),
});

function rotateAttrs({ radians, center }: Attrs): Attrs {
  return { radians, center, fill_value: [0] };
}

const RotateBack = defineOp({
  name: "RotateBack",
  portable: { never: "TensorFlow.js has this rotation, TensorFlow has not" },
  inputs: ["grads: float32"],
  outputs: ["output: float32"],
  attrs: ROTATE_ATTRS,
  infer: ([grads]) => [grads.shape],
  grad: {
    saves: [],
    vjp: (_, [ddx], { attrs }) => [apply1(RotateWithOffset, [ddx], rotateAttrs(attrs))],
  },
  cpu: ([dy], [dx], { attrs }) => rotateGradCpu(dy, rotationOf(dy.shape, attrs), dx),
});

/** Converts images. Throws `ValueError` for another rank. */
function imagesInput(image: TensorLike, fn: string): OpInput {
  const images = toInput(image, "image", fn), shape = shapeOfInput(images);
  if (!shape || shape.length === 4) return images;
  throw new ValueError(`Error in ${fn}: image must be rank 4, but got shape ${shapeText(shape)}`);
}

/**
 * Reads images `[batch, height, width, depth]` through projective transforms: output pixel (x, y) is read at
 * `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)` with `k = c0 x + c1 y + 1`, for `transforms` rows
 * `[a0, a1, a2, b0, b1, b2, c0, c1]`, one for all images or one each. Throws `ValueError` for shapes that do not fit.
 * TensorFlow op `ImageProjectiveTransformV3`; its gradient is the exact one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * const moved = tf.image.transform(image, [[1, 0, 1, 0, 1, 0, 0, 0]]);
 * console.log(moved.arraySync()); // [[[[2], [0]], [[4], [0]]]]
 * ```
 */
export function transform(
  image: TensorLike,
  transforms: TensorLike,
  interpolation: "nearest" | "bilinear" = "nearest",
  fillMode: "constant" | "reflect" | "wrap" | "nearest" = "constant",
  fillValue = 0,
  outputShape?: readonly [number, number],
): Tensor {
  wantNumber(fillValue, "fillValue", "transform");
  const images = imagesInput(image, "transform");
  const rows = toInput(transforms, "transforms", "transform");
  const shape = shapeOfInput(images), rowShape = shapeOfInput(rows);
  const fits = !rowShape || !shape || (rowShape.length === 2 && (rowShape[1] ?? 8) === 8 &&
    (rowShape[0] === 1 || rowShape[0] === null || shape[0] === null || rowShape[0] === shape[0]));
  if (!fits) {
    throw new ValueError(
      `Error in transform: Input transform should be batch x 8 or 1 x 8, received shape ${
        shapeText(rowShape)
      }`,
    );
  }
  if (outputShape && outputShape.length !== 2) {
    throw new ValueError(
      `Error in transform: outputShape must be [height, width] or null, but got ${outputShape}`,
    );
  }
  const size = outputShape
    ? intVector(outputShape)
    : imageSize(isConcrete(shape) ? intVector(shape) : shapeOf(images));
  return apply1(ImageProjectiveTransformV3, [images, rows, size, floatScalar(fillValue)], {
    interpolation: interpolation.toUpperCase(),
    fill_mode: fillMode.toUpperCase(),
  });
}

/**
 * Rotates images `[batch, height, width, depth]` counter-clockwise about a point, given as parts of width and height,
 * taking nearest pixels; float32. `fillValue` is one number or one for each of three colours.
 * Throws `ValueError` for another rank, `TypeError` for another dtype.
 * Follows TensorFlow.js `tf.image.rotateWithOffset`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * console.log(tf.image.rotateWithOffset(image, 0).dataSync()); // Float32Array(4) [1, 2, 3, 4]
 * ```
 */
export function rotateWithOffset(
  image: TensorLike,
  radians: number,
  fillValue: number | readonly [number, number, number] = 0,
  center: number | readonly [number, number] = 0.5,
): Tensor {
  return apply1(RotateWithOffset, [imagesInput(image, "rotateWithOffset")], {
    radians,
    fill_value: [fillValue].flat(),
    center: typeof center === "number" ? [center, center] : [...center],
  });
}

/**
 * Mirrors images `[batch, height, width, depth]` or `[height, width, depth]` left to right. Throws `ValueError` for a lower rank.
 * Follows TensorFlow `tf.image.flip_left_right`, op `ReverseV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * console.log(tf.image.flipLeftRight(image).arraySync()); // [[[[2], [1]], [[4], [3]]]]
 * ```
 */
export function flipLeftRight(image: TensorLike): Tensor {
  return reverse(toImages(image, "flipLeftRight"), -2);
}

/**
 * Mirrors images `[batch, height, width, depth]` or `[height, width, depth]` upside down. Throws `ValueError` for a lower rank.
 * Follows TensorFlow `tf.image.flip_up_down`, op `ReverseV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * console.log(tf.image.flipUpDown(image).arraySync()); // [[[[3], [4]], [[1], [2]]]]
 * ```
 */
export function flipUpDown(image: TensorLike): Tensor {
  return reverse(toImages(image, "flipUpDown"), -3);
}
