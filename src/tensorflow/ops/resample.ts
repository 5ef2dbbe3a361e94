/** Image resampling by cubics, areas and other kernels, which only files have. On the host. */
import { apply1 } from "../../engine/core/apply.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { type Attrs, defineOp, lookupOp } from "../../engine/core/op.ts";
import { resample, resampleBack } from "../../engine/kernels/host/image/resize.ts";
import {
  areaTaps,
  bicubicTaps,
  kernelTaps,
  type Sampling,
  SAMPLING_KERNELS,
  type Taps,
} from "../../engine/kernels/image/taps.ts";
import { resizedShape } from "../../engine/ops/image/resize.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";
import { toIndexInput } from "../../engine/ops/input.ts";

const IMAGES = "T: {int8, uint8, int16, uint16, int32, int64, float16, float32, float64, bfloat16}";

/** Resamples each axis of images to another shape. */
function both(
  from: readonly number[],
  to: readonly number[],
  taps: (size: number, wanted: number, axis: 0 | 1) => Taps[],
): Sampling {
  return { rows: taps(from[1], to[1], 0), columns: taps(from[2], to[2], 1) };
}

/** An op that resamples images, and its gradient op. */
function defineResample(
  name: string,
  { given = [], attrs, grads, dtypes, check, sampling }: {
    /** Names of the vectors that both ops take. */
    readonly given?: readonly string[];
    readonly attrs: readonly string[];
    /** Dtype of the gradients, and dtypes of images that have some, as in TensorFlow. */
    readonly grads: string;
    readonly dtypes: readonly DType[];
    readonly check: (attrs: Attrs) => void;
    readonly sampling: (
      from: readonly number[],
      to: readonly number[],
      options: { readonly attrs: Attrs; readonly given: readonly NdArray[] },
    ) => Sampling;
  },
): void {
  const vectors = given.map((name) => `${name}: float32`);
  const gradient = defineOp({
    name: `${name}Grad`,
    inputs: [`grads: ${grads}`, "original_image: T", ...vectors],
    outputs: ["output: T"],
    attrs: [`T: {${dtypes.join(", ")}}`, ...attrs],
    infer: ([, image], attrs) => {
      check(attrs);
      return [image.shape];
    },
    // The op itself: both are linear.
    grad: {
      saves: given,
      vjp: (saved, [g], { attrs: { T: _, ...attrs }, shapeOf }) => {
        const size = slice(shapeOf(0), [1], [2]);
        const inputs = [g, toIndexInput(size, "size", name), ...given.map((name) => saved[name])];
        const back = apply1(lookupOp(name)!, inputs, attrs);
        return [cast(back, "float32"), null, ...given.map(() => null)];
      },
    },
    cpu: ([dy, , ...given], [dx], { attrs }) =>
      resampleBack(dy, dx, sampling(dx.shape, dy.shape, { attrs, given })),
  });
  defineOp({
    name,
    inputs: ["images: T", "size: int32", ...vectors],
    outputs: ["resized_images: float32"],
    attrs: [IMAGES, ...attrs],
    hostInputs: ["size"],
    infer: ([images, size], attrs) => {
      check(attrs);
      return [resizedShape(images.shape, size)];
    },
    grad: {
      saves: ["images", ...given],
      vjp: ({ images, ...saved }, [dy], { attrs: { T: _, ...attrs } }) => {
        const isKnown = dtypes.includes(images.dtype);
        const inputs = [dy, images, ...given.map((name) => saved[name])];
        return [isKnown ? apply1(gradient, inputs, attrs) : null, null, ...given.map(() => null)];
      },
    },
    cpu: ([x, , ...given], [out], { attrs }) =>
      resample(x, out, sampling(x.shape, out.shape, { attrs, given })),
  });
}

defineResample("ResizeBicubic", {
  attrs: ["align_corners: bool = false", "half_pixel_centers: bool = false"],
  grads: "float32",
  dtypes: ["float32", "float64"],
  check: ({ align_corners, half_pixel_centers }) => {
    if (!align_corners || !half_pixel_centers) return;
    throw new ValueError(
      "Cannot resize images: If half_pixel_centers is True, align_corners must be False",
    );
  },
  sampling: (from, to, { attrs }) => both(from, to, (n, m) => bicubicTaps(n, m, attrs)),
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

defineResample("ScaleAndTranslate", {
  given: ["scale", "translation"],
  attrs: ['kernel_type: string = "lanczos3"', "antialias: bool = true"],
  grads: "T",
  dtypes: ["float32"],
  check: ({ kernel_type }) => {
    if (Object.hasOwn(SAMPLING_KERNELS, kernel_type)) return;
    throw new InvalidArgumentError(`Unrecognized kernel type: ${kernel_type}`, {
      op: "ScaleAndTranslate",
    });
  },
  sampling: moved,
});

/** Returns the sampling of images that are scaled by `scale` and moved. */
function moved(
  from: readonly number[],
  to: readonly number[],
  { attrs, given: [scale, translation] }: {
    readonly attrs: Attrs;
    readonly given: readonly NdArray[];
  },
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
