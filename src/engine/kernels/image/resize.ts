/**
 * Resizing on the GPU. Gradients are gathered: each input pixel goes through the output pixels that may depend on it.
 */
import {
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import { accType, vec, wgslType, wordType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { IMAGE_BILINEAR, IMAGE_NEAREST, IMAGE_RESIZE_GRAD } from "../window_shaders_generated.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { boundWhole } from "../copy/pieces.ts";
import { flatPlan, wordsOf } from "../dispatches.ts";
import { axisScale, imageDims } from "./geometry.ts";

/** The variants of resizing one way or the other, or of its gradient. */
export function resizeVariants(
  how: "bilinear" | "nearest",
  gives: "result" | "gradient",
): readonly GpuVariant[] {
  const plan = how === "bilinear" ? resizeBilinearGpu : resizeNearestGpu;
  return boundWhole([{
    name: "resize",
    plan: ({ inputs: [x], outputs: [out], attrs }, profile) =>
      gives === "result"
        ? plan(x, out, attrs, profile)
        : resizeGradGpu(how, x, out, attrs, profile),
  }]);
}

interface Placing {
  readonly halfPixels: boolean;
  readonly aligned: boolean;
}

/**
 * Plans one dispatch that computes `made`, one of an image and its resized copy; four channels at once where possible.
 */
function resizePlan(
  made: ConcreteSpec,
  [image, resized]: readonly [ConcreteSpec, ConcreteSpec],
  attrs: Attrs,
  profile: Profile,
  make: (unit: number, placing: Placing) => Program,
): GpuPlan {
  const { height, width, depth } = imageDims(image.shape), unit = depth % 4 === 0 ? 4 : 1;
  const [, rows, columns] = resized.shape;
  const program = make(unit, {
    halfPixels: Boolean(attrs.half_pixel_centers),
    aligned: Boolean(attrs.align_corners),
  });
  const [down, across] = [axisScale(height, rows, attrs), axisScale(width, columns, attrs)]
    .map(({ scale }) => scale);
  const inverse = (scale: number): number => f32Bits(scale === 0 ? 0 : 1 / scale);
  return flatPlan({
    program,
    buffers: [{ input: 0 }, { output: 0 }],
    params: wordsOf(program, {
      n: sizeOf(made.shape) / unit,
      height,
      width,
      depth: depth / unit,
      rows,
      columns,
      down: f32Bits(down),
      across: f32Bits(across),
      up: inverse(down),
      back: inverse(across),
    }),
  }, profile);
}

function resizeBilinearGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  return resizePlan(out, [x, out], attrs, profile, (unit, placing) => {
    const types = { element: vec(wgslType(x.dtype), unit), real: vec("f32", unit) };
    return shaderProgram(IMAGE_BILINEAR, { ...placing, ...types }, { name: "resize_bilinear" });
  });
}

/** Copies the nearest pixels of input 0. */
function resizeNearestGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  return resizePlan(out, [x, out], attrs, profile, (unit, placing) => {
    const element = vec(wordType(x.dtype), unit);
    return shaderProgram(IMAGE_NEAREST, { ...placing, element }, { name: "resize_nearest" });
  });
}

/** Plans the gradient of either way of resizing: input 0 is the gradient of the output. */
function resizeGradGpu(
  way: "bilinear" | "nearest",
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const stored = wgslType(dx.dtype), sum = accType(dx.dtype);
  return resizePlan(dx, [dx, dy], attrs, profile, (unit, placing) => {
    return shaderProgram(IMAGE_RESIZE_GRAD, {
      ...placing,
      element: vec(wgslType(dy.dtype), unit),
      stored: vec(stored, unit),
      sum: vec(sum, unit),
      bilinear: way === "bilinear",
      whole: sum !== "f32",
      converted: stored !== sum,
    }, { name: `resize_${way}_grad` });
  });
}
