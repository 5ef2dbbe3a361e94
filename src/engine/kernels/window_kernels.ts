/** GPU kernels of convolutions, pools, images and Fourier transforms: a device loads them where ops need them. */
import type { GpuVariant } from "../core/dispatch.ts";
import type { MeaningOf } from "../core/meaning.ts";
import { DEPTHWISE } from "./conv/depthwise.ts";
import { MIXING } from "./conv/variants.ts";
import { fourierVariants } from "./fourier/variants.ts";
import type { GpuKernels } from "./gpu_kernels.ts";
import { cropGradVariants, cropVariants } from "./image/crop.ts";
import { resizeVariants } from "./image/resize.ts";
import { rotationVariants, warpVariants } from "./image/warp.ts";
import { sumVariants } from "./matmul/fused.ts";
import { dilationVariants } from "./pool/dilation.ts";
import { windowVariants } from "./pool/variants.ts";

function sampleVariants({ how, gives }: MeaningOf<"sample">): readonly GpuVariant[] {
  switch (how) {
    case "bilinear":
    case "nearest":
      return resizeVariants(how, gives);
    case "crop":
      return gives === "result" ? cropVariants : cropGradVariants;
    case "transform":
      return gives === "result" ? warpVariants : [];
    case "rotation":
      return gives === "result" ? rotationVariants : [];
  }
}

/** By kind. */
export const kernels: Pick<
  GpuKernels,
  "window" | "dilation" | "convolution" | "sample" | "fourier"
> = {
  window: windowVariants,
  dilation: dilationVariants,
  convolution: (meaning) =>
    sumVariants([(meaning.of === "windows" ? MIXING : DEPTHWISE)[meaning.gives]], meaning),
  sample: sampleVariants,
  fourier: fourierVariants,
};
