/**
 * Images sampled anew by cubics, areas and other kernels, which only files have. On the host.
 */
import { apply1 } from "../../core/apply.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { resample, resampleBack } from "../../kernels/host/image_resize.ts";
import {
  areaTaps,
  bicubicTaps,
  kernelTaps,
  type Sampling,
  SAMPLING_KERNELS,
  type Taps,
} from "../../kernels/image/taps.ts";
import { resizedShape } from "../image/resize.ts";
import { refuse } from "./shared.ts";

const IMAGES = "T: {int8, uint8, int16, uint16, int32, int64, float16, float32, float64, bfloat16}";
const CONVENTION = ["align_corners: bool = false", "half_pixel_centers: bool = false"];

/** Samples each axis of images, from their shape to another. */
function both(
  from: readonly number[],
  to: readonly number[],
  taps: (size: number, wanted: number, axis: 0 | 1) => Taps[],
): Sampling {
  return { rows: taps(from[1], to[1], 0), columns: taps(from[2], to[2], 1) };
}

function checkConvention({ align_corners, half_pixel_centers }: Attrs): void {
  if (!align_corners || !half_pixel_centers) return;
  throw new ValueError(
    "Cannot resize images: If half_pixel_centers is True, align_corners must be False",
  );
}

function bicubic(from: readonly number[], to: readonly number[], attrs: Attrs): Sampling {
  return both(from, to, (n, m) => bicubicTaps(n, m, attrs));
}

defineOp({
  name: "ResizeBicubic",
  inputs: ["images: T", "size: int32"],
  outputs: ["resized_images: float32"],
  attrs: [IMAGES, ...CONVENTION],
  hostInputs: ["size"],
  infer: ([images, size], attrs) => {
    checkConvention(attrs);
    return [resizedShape(images.shape, size)];
  },
  grad: {
    saves: ["images"],
    vjp: ({ images }, [dy], { attrs: { align_corners, half_pixel_centers } }) => {
      // As in TensorFlow there is none for other dtypes.
      if (images.dtype !== "float32" && images.dtype !== "float64") return [null, null];
      return [
        apply1(ResizeBicubicGrad, [dy, images], { align_corners, half_pixel_centers }),
        null,
      ];
    },
  },
  cpu: ([x], [out], { attrs }) => resample(x, out, bicubic(x.shape, out.shape, attrs)),
});

const ResizeBicubicGrad = defineOp({
  name: "ResizeBicubicGrad",
  inputs: ["grads: float32", "original_image: T"],
  outputs: ["output: T"],
  attrs: ["T: {float32, float64}", ...CONVENTION],
  infer: ([, image], attrs) => {
    checkConvention(attrs);
    return [image.shape];
  },
  grad: null,
  cpu: ([dy], [dx], { attrs }) => resampleBack(dy, dx, bicubic(dx.shape, dy.shape, attrs)),
});

defineOp({
  name: "ResizeArea",
  inputs: ["images: T", "size: int32"],
  outputs: ["resized_images: float32"],
  attrs: [IMAGES, "align_corners: bool = false"],
  hostInputs: ["size"],
  infer: ([images, size]) => [resizedShape(images.shape, size)],
  grad: null,
  cpu: ([x], [out], { attrs }) =>
    resample(x, out, both(x.shape, out.shape, (n, m) => areaTaps(n, m, attrs))),
});

const KERNEL = ['kernel_type: string = "lanczos3"', "antialias: bool = true"];

function checkKernel({ kernel_type }: Attrs): void {
  if (Object.hasOwn(SAMPLING_KERNELS, kernel_type)) return;
  throw new InvalidArgumentError(`Unrecognized kernel type: ${kernel_type}`, {
    op: "ScaleAndTranslate",
  });
}

/** How images are sampled that are made `scale` times as large and moved. */
function moved(
  from: readonly number[],
  to: readonly number[],
  { scale, translation, attrs }: { scale: NdArray; translation: NdArray; attrs: Attrs },
): Sampling {
  for (const [name, { size }] of Object.entries({ scale, translation })) {
    if (size === 2) continue;
    refuse(`${name} must have two elements, received ${size}`);
  }
  const [scales, moves] = [scale, translation].map((v) => v.data as Float32Array);
  if (!(scales[0] > 0 && scales[1] > 0)) {
    refuse(`Scale must be greater than zero, received [${scales}]`);
  }
  const kernel = SAMPLING_KERNELS[attrs.kernel_type], { antialias } = attrs;
  return both(from, to, (n, m, axis) => {
    const place = { scale: scales[axis], translation: moves[axis] };
    return kernelTaps(n, m, { kernel, antialias, ...place });
  });
}

defineOp({
  name: "ScaleAndTranslate",
  inputs: ["images: T", "size: int32", "scale: float32", "translation: float32"],
  outputs: ["resized_images: float32"],
  attrs: [IMAGES, ...KERNEL],
  hostInputs: ["size"],
  infer: ([images, size], attrs) => {
    checkKernel(attrs);
    return [resizedShape(images.shape, size)];
  },
  grad: {
    saves: ["images", "scale", "translation"],
    vjp: ({ images, scale, translation }, [dy], { attrs: { kernel_type, antialias } }) => {
      // As in TensorFlow there is none for other dtypes.
      const dx = images.dtype === "float32"
        ? apply1(ScaleAndTranslateGrad, [dy, images, scale, translation], {
          kernel_type,
          antialias,
        })
        : null;
      return [dx, null, null, null];
    },
  },
  cpu: ([x, , scale, translation], [out], { attrs }) =>
    resample(x, out, moved(x.shape, out.shape, { scale, translation, attrs })),
});

const ScaleAndTranslateGrad = defineOp({
  name: "ScaleAndTranslateGrad",
  inputs: ["grads: T", "original_image: T", "scale: float32", "translation: float32"],
  outputs: ["output: T"],
  attrs: ["T: {float32}", ...KERNEL],
  infer: ([, image], attrs) => {
    checkKernel(attrs);
    return [image.shape];
  },
  grad: null,
  cpu: ([dy, , scale, translation], [dx], { attrs }) =>
    resampleBack(dy, dx, moved(dx.shape, dy.shape, { scale, translation, attrs })),
});
