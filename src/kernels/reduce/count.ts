/**
 * Counting of values on the GPU, with atomics; sums of floats go through compare-and-swap.
 */
import { type BufferRef, type Dispatch, type GpuVariant, gridFor } from "../../core/dispatch.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { REDUCE_BINCOUNT, ROWS_CLEAR } from "../../shaders_generated.ts";
import { fitsGpu } from "./wgsl.ts";

const WORKGROUP = 64;

/** Kernel of Bincount and DenseBincount: inputs are values, size (host) and weights. Negative values are left out. */
export const bincountVariants: readonly GpuVariant[] = [{
  name: "atomics",
  fits: ({ inputs: [x, , weights], outputs: [out] }, profile) =>
    fitsGpu([x, weights, out], profile) && x.dtype === "int32" &&
    (out.dtype === "float32" || out.dtype === "int32"),
  plan: ({ inputs: [x, , weights], outputs: [out], attrs }, profile) => {
    const bins = sizeOf(out.shape), size = sizeOf(x.shape);
    if (bins === 0) return { dispatches: [] };
    const target: BufferRef = { output: 0 };
    const dispatches: Dispatch[] = [{
      program: shaderProgram(ROWS_CLEAR, { element: "u32" }, { name: "bincount_clear" }),
      buffers: [target],
      params: [bins],
      grid: gridFor(bins, WORKGROUP, profile),
    }];
    if (size === 0) return { dispatches };
    const binary = attrs.binary_output === true;
    const weighted = !binary && sizeOf(weights.shape) > 0;
    const float = out.dtype === "float32";
    dispatches.push({
      program: shaderProgram(REDUCE_BINCOUNT, {
        weight: float ? "f32" : "i32",
        binary,
        weighted,
        floats: float,
      }, { name: "bincount" }),
      buffers: [{ input: 0 }, ...(weighted ? [{ input: 2 }] : []), target],
      params: [size, x.shape.length === 2 ? x.shape[1] : size, out.shape[out.shape.length - 1]],
      grid: gridFor(size, WORKGROUP, profile),
    });
    return { dispatches };
  },
}];
