/**
 * Resizing on the GPU. Gradients are gathered: each input pixel looks through the output pixels it may have gone into.
 */
import { f32Bits, type GpuPlan, gridFor, type Profile } from "../../core/dispatch.ts";
import { accType, vec, wgslType, wordType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { IMAGE_BILINEAR, IMAGE_NEAREST, IMAGE_RESIZE_GRAD } from "../window_shaders_generated.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { STREAM_WORKGROUP } from "../copy/fill.ts";
import { axisScale, imageDims } from "./geometry.ts";

function paramsOf(
  from: readonly number[],
  to: readonly number[],
  n: number,
  depth: number,
  attrs: Attrs,
): number[] {
  const { height, width } = imageDims(from);
  const [, rows, columns] = to;
  return [
    n,
    height,
    width,
    depth,
    rows,
    columns,
    f32Bits(axisScale(height, rows, attrs).scale),
    f32Bits(axisScale(width, columns, attrs).scale),
  ];
}

/** What the shaders take of the attributes. */
function placing({ align_corners, half_pixel_centers }: Attrs): {
  readonly halfPixels: boolean;
  readonly aligned: boolean;
} {
  return { halfPixels: Boolean(half_pixel_centers), aligned: Boolean(align_corners) };
}

/** Bilinear interpolation of input 0; four channels at once where there are as many. */
export function resizeBilinearGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const wide = x.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const program = shaderProgram(IMAGE_BILINEAR, {
    ...placing(attrs),
    element: vec(wgslType(x.dtype), unit),
    real: vec("f32", unit),
  }, { name: "resize_bilinear" });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: paramsOf(x.shape, out.shape, size / unit, x.shape[3] / unit, attrs),
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Copies the nearest pixels of input 0. */
export function resizeNearestGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const wide = x.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const program = shaderProgram(IMAGE_NEAREST, {
    ...placing(attrs),
    element: vec(wordType(x.dtype), unit),
  }, { name: "resize_nearest" });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: paramsOf(x.shape, out.shape, size / unit, x.shape[3] / unit, attrs),
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Gradient of either way of resizing: input 0 is the gradient of the output. */
export function resizeGradGpu(
  way: "bilinear" | "nearest",
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(dx.shape);
  if (size === 0) return { dispatches: [] };
  const wide = dx.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const stored = wgslType(dx.dtype), sum = accType(dx.dtype);
  const program = shaderProgram(IMAGE_RESIZE_GRAD, {
    ...placing(attrs),
    element: vec(wgslType(dy.dtype), unit),
    stored: vec(stored, unit),
    sum: vec(sum, unit),
    bilinear: way === "bilinear",
    whole: sum !== "f32",
    converted: stored !== sum,
  }, { name: `resize_${way}_grad` });
  const { height, width } = imageDims(dx.shape);
  const inverse = (scale: number): number => f32Bits(scale === 0 ? 0 : 1 / scale);
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: [
        ...paramsOf(dx.shape, dy.shape, size / unit, dx.shape[3] / unit, attrs),
        inverse(axisScale(height, dy.shape[1], attrs).scale),
        inverse(axisScale(width, dy.shape[2], attrs).scale),
      ],
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}
