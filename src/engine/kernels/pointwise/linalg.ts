/** Bands of matrices on the GPU. */
import type { GpuVariant } from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { bindable } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { POINTWISE_BAND_PART } from "../../../shaders_generated.ts";

/** Variants of MatrixBandPart, tried in order. */
export const BAND_PART_VARIANTS: readonly GpuVariant[] = [{
  name: "band_part",
  fits: ({ inputs: [x] }, profile) => bindable(x, profile),
  plan: ({ inputs: [x], hosts: [, lower, upper] }, profile) => {
    const [rows, columns] = x.shape.slice(-2);
    const keep = (n: unknown, all: number): number => (Number(n) < 0 ? all : Number(n));
    const kept = [keep(lower!.at(0), rows), keep(upper!.at(0), columns)];
    const own = { element: wgslType(x.dtype) };
    return flatPlan({
      program: shaderProgram(POINTWISE_BAND_PART, own, { name: "band_part" }),
      buffers: [{ input: 0 }, { output: 0 }],
      params: [sizeOf(x.shape), rows, columns, ...kept],
    }, profile);
  },
}];
