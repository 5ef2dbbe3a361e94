/**
 * Resizing images: bilinear, nearest neighbour, and TensorFlow's `resize`.
 */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { optionCheck } from "../../core/options.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { boundWhole } from "../../kernels/copy/pieces.ts";
import {
  resizeBilinearCpu,
  resizeBilinearGradCpu,
  resizeNearestCpu,
  resizeNearestGradCpu,
} from "../../kernels/host/image_resize.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import { expandDims, hostInts, knownInts, reshape, shape as shapeOf } from "../array/view.ts";
import { slice } from "../array/slice.ts";
import { intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";

const CONVENTION = ["align_corners: bool = false", "half_pixel_centers: bool = false"];
const FLOATS = "{float32, float16, bfloat16, float64}";

/** Shape of images brought to another size. Throws `ValueError` for images that are none. */
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

/** Height and width out of the shape of an image batch. */
function spatial(shape: TensorLike): OpInput {
  if (shape instanceof NdArray) return intVector(hostInts(shape).slice(1, 3));
  return slice(shape, [1], [2]);
}

function convention({ align_corners, half_pixel_centers }: Attrs): Attrs {
  return { align_corners, half_pixel_centers };
}

const ResizeBilinear = defineOp({
  name: "ResizeBilinear",
  inputs: ["images: T", "size: int32"],
  outputs: ["resized_images: float32"],
  attrs: [
    "T: {int8, uint8, int16, uint16, int32, int64, float16, float32, float64, bfloat16, bool}",
    ...CONVENTION,
  ],
  hostInputs: ["size"],
  infer: ([images, size]) => [resizedShape(images.shape, size)],
  grad: {
    saves: [],
    vjp: (_, [dy], ctx) => [
      apply1(ResizeBilinearBack, [dy, spatial(ctx.shapeOf(0))], {
        T: ctx.attrs.T,
        ...convention(ctx.attrs),
      }),
      null,
    ],
  },
  meaning: { kind: "sample", how: "bilinear" },
  cpu: ([x], [out], { attrs }) => resizeBilinearCpu(x, out, attrs),
  gpu: onGpu(({ resizeBilinearGpu }) =>
    boundWhole([{
      name: "bilinear",
      plan: ({ inputs: [x], outputs: [out], attrs }, profile) =>
        resizeBilinearGpu(x, out, attrs, profile),
    }]), "windows"),
});

/** Gradient of ResizeBilinear; takes the size of the images where TensorFlow's op takes the images. */
const ResizeBilinearBack = defineOp({
  name: "ResizeBilinearBack",
  portable: "parts",
  inputs: ["grads: float32", "size: int32"],
  outputs: ["output: T"],
  attrs: [`T: ${FLOATS}`, ...CONVENTION],
  hostInputs: ["size"],
  infer: ([grads, size]) => [resizedShape(grads.shape, size)],
  grad: {
    saves: [],
    vjp: (_, [ddx], ctx) => [
      apply1(ResizeBilinear, [ddx, spatial(ctx.shapeOf(0))], convention(ctx.attrs)),
      null,
    ],
  },
  cpu: ([dy], [dx], { attrs }) => resizeBilinearGradCpu(dy, dx, attrs),
  gpu: onGpu(({ resizeGradGpu }) =>
    boundWhole([{
      name: "gather",
      plan: ({ inputs: [dy], outputs: [dx], attrs }, profile) =>
        resizeGradGpu("bilinear", dy, dx, attrs, profile),
    }]), "windows"),
});

defineOp({
  name: "ResizeBilinearGrad",
  inputs: ["grads: float32", "original_image: T"],
  outputs: ["output: T"],
  attrs: [`T: ${FLOATS}`, ...CONVENTION],
  infer: ([, image]) => [image.shape],
  grad: {
    saves: [],
    vjp: (
      _,
      [ddx],
      ctx,
    ) => [apply1(ResizeBilinear, [ddx, spatial(ctx.shapeOf(0))], convention(ctx.attrs)), null],
  },
  expand: ([dy, image], attrs) => [
    apply1(ResizeBilinearBack, [dy, intVector(image.shape.slice(1, 3))], {
      T: image.dtype,
      ...convention(attrs),
    }),
  ],
});

const ResizeNearestNeighbor = defineOp({
  name: "ResizeNearestNeighbor",
  inputs: ["images: T", "size: int32"],
  outputs: ["resized_images: T"],
  attrs: ["T: type", ...CONVENTION],
  hostInputs: ["size"],
  infer: ([images, size]) => [resizedShape(images.shape, size)],
  grad: {
    saves: [],
    vjp: (_, [dy], ctx) => [
      apply1(ResizeNearestNeighborGrad, [dy, spatial(ctx.shapeOf(0))], convention(ctx.attrs)),
      null,
    ],
  },
  meaning: { kind: "sample", how: "nearest" },
  cpu: ([x], [out], { attrs }) => resizeNearestCpu(x, out, attrs),
  gpu: onGpu(({ resizeNearestGpu }) =>
    boundWhole([{
      name: "nearest",
      plan: ({ inputs: [x], outputs: [out], attrs }, profile) =>
        resizeNearestGpu(x, out, attrs, profile),
    }]), "windows"),
});

const ResizeNearestNeighborGrad = defineOp({
  name: "ResizeNearestNeighborGrad",
  inputs: ["grads: T", "size: int32"],
  outputs: ["output: T"],
  attrs: ["T: numeric", ...CONVENTION],
  hostInputs: ["size"],
  infer: ([grads, size]) => [resizedShape(grads.shape, size)],
  grad: {
    saves: [],
    vjp: (_, [ddx], ctx) => [
      apply1(ResizeNearestNeighbor, [ddx, spatial(ctx.shapeOf(0))], convention(ctx.attrs)),
      null,
    ],
  },
  cpu: ([dy], [dx], { attrs }) => resizeNearestGradCpu(dy, dx, attrs),
  gpu: onGpu(({ resizeGradGpu }) =>
    boundWhole([{
      name: "gather",
      plan: ({ inputs: [dy], outputs: [dx], attrs }, profile) =>
        resizeGradGpu("nearest", dy, dx, attrs, profile),
    }]), "windows"),
});

type Resize = (images: OpInput, size: OpInput, attrs: Attrs) => Tensor;

function resizeWith(
  fn: string,
  resize: Resize,
  images: TensorLike,
  size: TensorLike,
  alignCorners: boolean,
  halfPixelCenters: boolean,
): Tensor {
  return compose(() => {
    const input = toInput(images, "images", fn);
    const shape = shapeOfInput(input);
    if (shape && shape.length !== 3 && shape.length !== 4) {
      throw new ValueError(`Error in ${fn}: x must be rank 3 or 4, but got rank ${shape.length}`);
    }
    if (alignCorners && halfPixelCenters) {
      throw new ValueError(
        `Error in ${fn}: If halfPixelCenters is true, alignCorners must be false`,
      );
    }
    if (Array.isArray(size) && size.length !== 2) {
      throw new ValueError(`Error in ${fn}: new shape must 2D, but got shape ${size}`);
    }
    const single = shape?.length === 3;
    const batch = single ? expandDims(input, 0) : input;
    const out = resize(batch, toIndexInput(size, "size", fn), {
      align_corners: alignCorners,
      half_pixel_centers: halfPixelCenters,
    });
    return single ? dropBatch(out) : out;
  });
}

function dropBatch(x: Tensor): Tensor {
  const shape = x.staticShape;
  const known = shape && shape.slice(1);
  return known && !known.includes(null)
    ? reshape(x, known as number[])
    : reshape(x, slice(shapeOf(x), [1], [3]));
}

/**
 * Resizes an image `[height, width, depth]` or a batch of them by bilinear interpolation; gives float32.
 * Throws `ValueError` for another rank, a size that is not two numbers, or both conventions at once.
 * TensorFlow op `ResizeBilinear`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * assertEquals(tf.image.resizeBilinear(x, [1, 3], true).arraySync(), [[[2], [3], [4]]]);
 * ```
 */
export function resizeBilinear(
  images: TensorLike,
  size: TensorLike,
  alignCorners = false,
  halfPixelCenters = false,
): Tensor {
  const run: Resize = (x, to, attrs) => apply1(ResizeBilinear, [x, to], attrs);
  return resizeWith("resizeBilinear", run, images, size, alignCorners, halfPixelCenters);
}

/**
 * Resizes an image `[height, width, depth]` or a batch of them by taking the nearest pixels; keeps the dtype.
 * Throws `ValueError` as {@linkcode resizeBilinear} does. TensorFlow op `ResizeNearestNeighbor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * assertEquals(tf.image.resizeNearestNeighbor(x, [1, 4]).arraySync(), [[[2], [2], [4], [4]]]);
 * ```
 */
export function resizeNearestNeighbor(
  images: TensorLike,
  size: TensorLike,
  alignCorners = false,
  halfPixelCenters = false,
): Tensor {
  const run: Resize = (x, to, attrs) => apply1(ResizeNearestNeighbor, [x, to], attrs);
  return resizeWith("resizeNearestNeighbor", run, images, size, alignCorners, halfPixelCenters);
}

/** Options of {@linkcode resize}. */
export interface ResizeOptions {
  /** How pixels are made. Default `"bilinear"`. */
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
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor3d([2, 4], [1, 2, 1]);
 * assertEquals(tf.image.resize(x, [1, 4], { method: "nearest" }).arraySync(), [[[2], [2], [4], [4]]]);
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
