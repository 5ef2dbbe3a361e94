/** Counting of values on the GPU, with atomics; sums of floats go through compare-and-swap. */
import type { GpuVariant, Profile } from "../../core/dispatch.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { REDUCE_BINCOUNT } from "../../../shaders_generated.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { clearGpu } from "../rows/topk_search.ts";

/** The kernel of counts: inputs are values, size (host) and weights. Negative values are left out. */
export function countVariants({ of }: MeaningOf<"count">): readonly GpuVariant[] {
  return [{
    ...counting,
    fits: (problem, profile) =>
      (of === "rows" || problem.inputs[0].shape.length === 1) && countFits(problem, profile),
  }];
}

function countFits(problem: Problem, profile: Profile): boolean {
  const { inputs: [x], outputs: [out] } = problem;
  return gpuFits(problem, profile) && x.dtype === "int32" &&
    (out.dtype === "float32" || out.dtype === "int32");
}

const counting: GpuVariant = {
  name: "atomics",
  plan: ({ inputs: [x, , weights], outputs: [out], attrs }, profile) => {
    const bins = sizeOf(out.shape), size = sizeOf(x.shape);
    if (bins === 0) return { dispatches: [] };
    const binary = attrs.binary_output === true, floats = out.dtype === "float32";
    const weighted = !binary && sizeOf(weights.shape) > 0;
    const own = { weight: floats ? "f32" : "i32", binary, weighted, floats };
    const count = flatPlan({
      program: shaderProgram(REDUCE_BINCOUNT, own, { name: "bincount" }),
      buffers: [{ input: 0 }, ...(weighted ? [{ input: 2 }] : []), { output: 0 }],
      params: [size, x.shape.length === 2 ? x.shape[1] : size, out.shape.at(-1)!],
    }, profile);
    const clear = clearGpu("u32", "bincount_clear", bins, profile);
    return { dispatches: [...clear.dispatches, ...count.dispatches] };
  },
};
