/**
 * Crops resized to one size, and their gradient with respect to the image, on the GPU. A box of a nonexistent image
 * gives zeros.
 */
import {
  type BufferRef,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { IMAGE_CROP, IMAGE_CROP_GRAD } from "../window_shaders_generated.ts";
import { fillGpu } from "../copy/fill.ts";
import { boundWhole } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { imageDims } from "./geometry.ts";

export const cropVariants: readonly GpuVariant[] = boundWhole([{
  name: "crop",
  plan: ({ inputs: [image], outputs: [out], attrs }, profile) =>
    cropGpu(image, out, attrs, profile),
}]);

/** The kernel of the gradient with respect to the image. */
export const cropGradVariants: readonly GpuVariant[] = boundWhole([{
  name: "atomic",
  fits: ({ outputs }) => outputs[0].dtype === "float32",
  plan: ({ inputs: [dy], outputs: [dx], attrs }, profile) =>
    cropImageGradGpu(dy, dx, attrs, profile),
}]);

const BUFFERS: readonly BufferRef[] = [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }];

/** Plans one dispatch over the elements of the crops. */
function cropPlan(
  program: Program,
  image: ConcreteSpec,
  crops: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const { batch, height, width, depth } = imageDims(image.shape), [, rows, columns] = crops.shape;
  const sizes = [sizeOf(crops.shape), batch, height, width, depth, rows, columns];
  const params = [...sizes, f32Bits(attrs.extrapolation_value ?? 0)];
  return flatPlan({ program, buffers: BUFFERS, params }, profile);
}

/** Plans the crops of the images: inputs image, boxes, box indices. */
function cropGpu(
  image: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const program = shaderProgram(IMAGE_CROP, {
    element: wgslType(image.dtype),
    nearest: attrs.method === "nearest",
  }, { name: "crop_and_resize" });
  return cropPlan(program, image, out, attrs, profile);
}

/** Plans the gradient of the image: inputs gradients, boxes, box indices. float32 only: sums are atomic. */
function cropImageGradGpu(
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  if (sizeOf(dx.shape) === 0) return { dispatches: [] };
  const program = shaderProgram(
    IMAGE_CROP_GRAD,
    { nearest: attrs.method === "nearest" },
    { name: "crop_and_resize_grad" },
  );
  const start = fillGpu(dx, profile, { value: 0 });
  const add = cropPlan(program, dx, dy, attrs, profile);
  return { dispatches: [...start.dispatches, ...add.dispatches] };
}
