/** Gathers and scatters of elements of rows by index, and binary search in sorted rows, on the GPU. */
import type { BufferRef, GpuPlan, GpuVariant, Profile, Program } from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ROWS_CLEAR, ROWS_PICK, ROWS_PLACE, ROWS_SEARCH } from "../../../shaders_generated.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { rowsOf } from "./row.ts";

const BUFFERS: readonly BufferRef[] = [{ input: 0 }, { input: 1 }, { output: 0 }];

/** Plans one dispatch over the elements of `each`, whose rows correspond to those of `of`. */
function overRows(
  program: Program,
  each: ConcreteSpec,
  of: ConcreteSpec,
  profile: Profile,
): GpuPlan {
  const params = [sizeOf(each.shape), rowsOf(of.shape).columns, rowsOf(each.shape).columns];
  return flatPlan({ program, buffers: BUFFERS, params }, profile);
}

/** Plans zeros for all elements of the output, seen as of this type. */
export function clearGpu(element: string, name: string, size: number, profile: Profile): GpuPlan {
  const program = shaderProgram(ROWS_CLEAR, { element }, { name });
  return flatPlan({ program, buffers: [{ output: 0 }], params: [size] }, profile);
}

/** Kernel that gathers elements of rows: inputs are the tensor and int32 indices. */
export const pickVariants: readonly GpuVariant[] = [{
  name: "pick",
  fits: gpuFits,
  plan: ({ inputs: [x, indices] }, profile) => {
    const program = shaderProgram(ROWS_PICK, { element: wgslType(x.dtype) }, { name: "pick" });
    return overRows(program, indices, x, profile);
  },
}];

/**
 * Kernel that scatters elements into zeros, at indices distinct within a row: inputs are int32 indices and elements.
 */
export const placeVariants: readonly GpuVariant[] = [{
  name: "place",
  fits: gpuFits,
  plan: ({ inputs: [indices, updates], outputs: [out] }, profile) => {
    const element = wgslType(updates.dtype);
    const clear = clearGpu(element, "clear", sizeOf(out.shape), profile);
    const program = shaderProgram(ROWS_PLACE, { element }, { name: "place" });
    const place = overRows(program, indices, out, profile);
    return { dispatches: [...clear.dispatches, ...place.dispatches] };
  },
}];

/** Kernel of binary search: inputs are sorted rows and values. */
export function searchVariants(upper: boolean): GpuVariant[] {
  return [{
    name: "search",
    fits: gpuFits,
    plan: ({ inputs: [sorted, values] }, profile) => {
      const own = { element: wgslType(sorted.dtype), upper };
      const name = upper ? "upper_bound" : "lower_bound";
      return overRows(shaderProgram(ROWS_SEARCH, own, { name }), values, sorted, profile);
    },
  }];
}
