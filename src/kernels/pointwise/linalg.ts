/**
 * Bands of matrices on the GPU.
 */
import { type GpuVariant, gridFor } from "../../core/dispatch.ts";
import { gpuBytes, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { POINTWISE_BAND_PART } from "../../shaders_generated.ts";

const WORKGROUP = 64;

/** Ways to run MatrixBandPart, tried in order. */
export const BAND_PART_VARIANTS: readonly GpuVariant[] = [{
  name: "band_part",
  fits: ({ inputs: [x] }, profile) => sizeOf(x.shape) * gpuBytes(x.dtype) <= profile.maxBinding,
  plan: ({ inputs: [x], hosts: [, lower, upper] }, profile) => {
    const size = sizeOf(x.shape);
    if (size === 0) return { dispatches: [] };
    const [rows, columns] = x.shape.slice(-2);
    const keep = (n: unknown, all: number): number => (Number(n) < 0 ? all : Number(n));
    const program = shaderProgram(
      POINTWISE_BAND_PART,
      { element: wgslType(x.dtype) },
      { name: "band_part" },
    );
    return {
      dispatches: [{
        program,
        buffers: [{ input: 0 }, { output: 0 }],
        params: [size, rows, columns, keep(lower!.at(0), rows), keep(upper!.at(0), columns)],
        grid: gridFor(size, WORKGROUP, profile),
      }],
    };
  },
}];
