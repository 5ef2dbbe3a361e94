/**
 * Crops resized to one size, and their gradient with respect to the image, on the GPU.
 * A box of an image that does not exist gives zeros.
 */
import { f32Bits, type GpuPlan, gridFor, type Profile } from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { IMAGE_CROP, IMAGE_CROP_GRAD } from "../window_shaders_generated.ts";
import { fillGpu, STREAM_WORKGROUP } from "../copy/fill.ts";
import { imageDims } from "./geometry.ts";

function paramsOf(n: number, image: ConcreteSpec, crops: ConcreteSpec, attrs: Attrs): number[] {
  const { batch, height, width, depth } = imageDims(image.shape);
  return [
    n,
    batch,
    height,
    width,
    depth,
    crops.shape[1],
    crops.shape[2],
    f32Bits(attrs.extrapolation_value ?? 0),
  ];
}

/** Cuts the boxes out of the images: inputs image, boxes, box indices. */
export function cropGpu(
  image: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const n = sizeOf(out.shape);
  if (n === 0) return { dispatches: [] };
  const program = shaderProgram(IMAGE_CROP, {
    element: wgslType(image.dtype),
    nearest: attrs.method === "nearest",
  }, { name: "crop_and_resize" });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: paramsOf(n, image, out, attrs),
      grid: gridFor(n, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Gives gradients back to the image: inputs gradients, boxes, box indices. float32 only: sums are atomic. */
export function cropImageGradGpu(
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const n = sizeOf(dy.shape);
  const start = fillGpu(dx, profile, { value: 0 }).dispatches;
  if (n === 0 || sizeOf(dx.shape) === 0) return { dispatches: start };
  const program = shaderProgram(
    IMAGE_CROP_GRAD,
    { nearest: attrs.method === "nearest" },
    { name: "crop_and_resize_grad" },
  );
  return {
    dispatches: [...start, {
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: paramsOf(n, dx, dy, attrs),
      grid: gridFor(n, STREAM_WORKGROUP, profile),
    }],
  };
}
