/** Resizing images: bilinear, nearest neighbour, and TensorFlow's `resize`. */
import { apply1, compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type GradRule, type OpDef, type OpInit } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { optionCheck } from "../../core/arguments.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import {
  resizeBilinearCpu,
  resizeBilinearGradCpu,
  resizeNearestCpu,
  resizeNearestGradCpu,
} from "../../kernels/host/image/resize.ts";
import { expandDims, knownInts, reshape, squeeze } from "../array/view.ts";
import { imageSize } from "../array/slice.ts";
import { intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";

const CONVENTION = ["align_corners: bool = false", "half_pixel_centers: bool = false"];
const FLOATS = "{float32, float16, bfloat16, float64}";

/** Returns the shape of resized images. Throws `ValueError` for tensors that are no images. */
export function resizedShape(images: PartialShape, size: Spec): PartialShape {
  if (images && images.length !== 4) {
    throw new ValueError(
      `Cannot resize images of shape ${shapeText(images)}: input must be 4-dimensional`,
    );
  }
  const wanted = knownInts(size);
  if (wanted && (wanted.length !== 2 || wanted.some((d) => d <= 0))) {
    throw new ValueError(`Cannot resize images to [${wanted}]: output dimensions must be positive`);
  }
  return [images?.[0] ?? null, wanted?.[0] ?? null, wanted?.[1] ?? null, images?.[3] ?? null];
}

/** Makes a gradient rule that is another op of the first input's size, in the same convention. */
function resizedBy(other: () => OpDef): GradRule {
  return {
    saves: [],
    vjp: (_, [dy], { attrs, shapeOf }) => [
      apply1(other(), [dy, imageSize(shapeOf(0))], attrs),
      null,
    ],
  };
}

/** The individual parts of an op that resizes images. */
interface ResizeInit extends Pick<OpInit, "name" | "portable" | "meaning"> {
  readonly input: string;
  readonly output: string;
  readonly types: string;
  /** The op of its gradient. */
  readonly other: () => OpDef;
  readonly cpu: (x: NdArray, out: NdArray, attrs: Attrs) => void;
}

function defineResize({ input, output, types, other, cpu, ...init }: ResizeInit): OpDef {
  return defineOp({
    ...init,
    inputs: [input, "size: int32"],
    outputs: [output],
    attrs: [types, ...CONVENTION],
    hostInputs: ["size"],
    infer: ([images, size]) => [resizedShape(images.shape, size)],
    grad: resizedBy(other),
    cpu: ([x], [out], { attrs }) => cpu(x, out, attrs),
  });
}

const ResizeBilinear: OpDef = defineResize({
  name: "ResizeBilinear",
  input: "images: T",
  output: "resized_images: float32",
  types: "T: {int8, uint8, int16, uint16, int32, int64, float16, float32, float64, bfloat16, bool}",
  meaning: { kind: "sample", how: "bilinear", gives: "result" },
  other: () => ResizeBilinearBack,
  cpu: resizeBilinearCpu,
});

/** Gradient of ResizeBilinear; takes the images' size, where TensorFlow's op takes the images. */
const ResizeBilinearBack = defineResize({
  name: "ResizeBilinearBack",
  portable: "parts",
  input: "grads: float32",
  output: "output: T",
  types: `T: ${FLOATS}`,
  meaning: { kind: "sample", how: "bilinear", gives: "gradient" },
  other: () => ResizeBilinear,
  cpu: resizeBilinearGradCpu,
});

defineOp({
  name: "ResizeBilinearGrad",
  inputs: ["grads: float32", "original_image: T"],
  outputs: ["output: T"],
  attrs: [`T: ${FLOATS}`, ...CONVENTION],
  infer: ([, image]) => [image.shape],
  grad: resizedBy(() => ResizeBilinear),
  expand: ([dy, image], attrs) => [
    apply1(ResizeBilinearBack, [dy, intVector(image.shape.slice(1, 3))], attrs),
  ],
});

const ResizeNearestNeighbor: OpDef = defineResize({
  name: "ResizeNearestNeighbor",
  input: "images: T",
  output: "resized_images: T",
  types: "T: type",
  meaning: { kind: "sample", how: "nearest", gives: "result" },
  other: () => ResizeNearestNeighborGrad,
  cpu: resizeNearestCpu,
});

const ResizeNearestNeighborGrad = defineResize({
  name: "ResizeNearestNeighborGrad",
  input: "grads: T",
  output: "output: T",
  types: "T: numeric",
  meaning: { kind: "sample", how: "nearest", gives: "gradient" },
  other: () => ResizeNearestNeighbor,
  cpu: resizeNearestGradCpu,
});

function resizeWith(
  op: OpDef,
  fn: string,
  images: TensorLike,
  size: TensorLike,
  convention: readonly [alignCorners: boolean, halfPixelCenters: boolean],
): Tensor {
  return compose(() => {
    const [align_corners, half_pixel_centers] = convention;
    const input = toInput(images, "images", fn);
    const shape = shapeOfInput(input);
    if (shape && shape.length !== 3 && shape.length !== 4) {
      throw new ValueError(`Error in ${fn}: x must be rank 3 or 4, but got rank ${shape.length}`);
    }
    if (align_corners && half_pixel_centers) {
      throw new ValueError(
        `Error in ${fn}: If halfPixelCenters is true, alignCorners must be false`,
      );
    }
    if (Array.isArray(size) && size.length !== 2) {
      throw new ValueError(`Error in ${fn}: new shape must 2D, but got shape ${size}`);
    }
    const single = shape?.length === 3;
    const inputs = [single ? expandDims(input, 0) : input, toIndexInput(size, "size", fn)];
    const out = apply1(op, inputs, { align_corners, half_pixel_centers });
    return single ? dropBatch(out) : out;
  });
}

function dropBatch(x: Tensor): Tensor {
  const shape = x.staticShape;
  const known = shape && shape.slice(1);
  return known && !known.includes(null) ? reshape(x, known as number[]) : squeeze(x, [0]);
}

/**
 * Resizes an image `[height, width, depth]` or a batch of them by bilinear interpolation; gives float32.
 * Throws `ValueError` for another rank, a size that is not two numbers, or both conventions at once.
 * TensorFlow op `ResizeBilinear`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * console.log(tf.image.resizeBilinear(x, [1, 3], true).arraySync()); // [[[2], [3], [4]]]
 * ```
 */
export function resizeBilinear(
  images: TensorLike,
  size: TensorLike,
  alignCorners = false,
  halfPixelCenters = false,
): Tensor {
  return resizeWith(ResizeBilinear, "resizeBilinear", images, size, [
    alignCorners,
    halfPixelCenters,
  ]);
}

/**
 * Resizes an image `[height, width, depth]` or a batch of them by taking the nearest pixels; keeps the dtype.
 * Throws `ValueError` as {@linkcode resizeBilinear} does. TensorFlow op `ResizeNearestNeighbor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * console.log(tf.image.resizeNearestNeighbor(x, [1, 4]).arraySync()); // [[[2], [2], [4], [4]]]
 * ```
 */
export function resizeNearestNeighbor(
  images: TensorLike,
  size: TensorLike,
  alignCorners = false,
  halfPixelCenters = false,
): Tensor {
  return resizeWith(ResizeNearestNeighbor, "resizeNearestNeighbor", images, size, [
    alignCorners,
    halfPixelCenters,
  ]);
}

/** Options of {@linkcode resize}. */
export interface ResizeOptions {
  /** Interpolation. Default `"bilinear"`. */
  readonly method?: "bilinear" | "nearest";
}

const checkOptions = optionCheck<ResizeOptions>("image.resize", { method: true });

/**
 * Resizes as TensorFlow's `tf.image.resize` does, with pixel centres at halves. Bilinear gives float32.
 * Throws `ValueError` for another method. TensorFlow ops `ResizeBilinear` and `ResizeNearestNeighbor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * console.log(tf.image.resize(x, [1, 4], { method: "nearest" }).arraySync()); // [[[2], [2], [4], [4]]]
 * ```
 */
export function resize(
  images: TensorLike,
  size: TensorLike,
  options: ResizeOptions = {},
): Tensor {
  checkOptions(options);
  const { method = "bilinear" } = options;
  if (method === "nearest") return resizeNearestNeighbor(images, size, false, true);
  if (method === "bilinear") return resizeBilinear(images, size, false, true);
  throw new ValueError(`Resize method is not implemented: ${method}`);
}
