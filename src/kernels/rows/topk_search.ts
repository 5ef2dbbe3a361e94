/**
 * Picking and placing elements of rows by index, and binary search in sorted rows, on the GPU.
 */
import {
  type Dispatch,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ROWS_CLEAR, ROWS_PICK, ROWS_PLACE, ROWS_SEARCH } from "../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { fitsGpu } from "../reduce/wgsl.ts";
import { rowsOf } from "./row.ts";

const WORKGROUP = 64;
function flat(
  program: Program,
  buffers: Dispatch["buffers"],
  size: number,
  params: readonly number[],
  profile: Profile,
): Dispatch[] {
  if (size === 0) return [];
  return [{ program, buffers, params: [size, ...params], grid: gridFor(size, WORKGROUP, profile) }];
}

/** Kernel of elements of rows by index: inputs are the tensor and int32 indices. */
export const pickVariants: readonly GpuVariant[] = [{
  name: "pick",
  fits: ({ inputs, outputs }, profile) => fitsGpu([...inputs, ...outputs], profile),
  plan: ({ inputs: [x, indices] }, profile): GpuPlan => {
    const program = shaderProgram(ROWS_PICK, { element: wgslType(x.dtype) }, { name: "pick" });
    const size = sizeOf(indices.shape),
      words = [rowsOf(x.shape).columns, rowsOf(indices.shape).columns];
    return {
      dispatches: flat(program, [{ input: 0 }, { input: 1 }, { output: 0 }], size, words, profile),
    };
  },
}];

/** Kernel of zeros with elements at indices, no two of a row alike: inputs are int32 indices and elements. */
export const placeVariants: readonly GpuVariant[] = [{
  name: "place",
  fits: ({ inputs: [indices, updates], outputs }, profile) =>
    fitsGpu([indices, updates, ...outputs], profile),
  plan: ({ inputs: [indices, updates], outputs: [out] }, profile): GpuPlan => {
    const own = { element: wgslType(updates.dtype) };
    const clear = shaderProgram(ROWS_CLEAR, own, { name: "clear" });
    const place = shaderProgram(ROWS_PLACE, own, { name: "place" });
    const size = sizeOf(indices.shape),
      words = [rowsOf(out.shape).columns, rowsOf(indices.shape).columns];
    return {
      dispatches: [
        ...flat(clear, [{ output: 0 }], sizeOf(out.shape), [], profile),
        ...flat(place, [{ input: 0 }, { input: 1 }, { output: 0 }], size, words, profile),
      ],
    };
  },
}];

/** Kernel of binary search: inputs are sorted rows and values. */
export function searchVariants(upper: boolean): GpuVariant[] {
  return [{
    name: "search",
    fits: ({ inputs, outputs }: Problem, profile: Profile) =>
      fitsGpu([...inputs, ...outputs], profile),
    plan: ({ inputs: [sorted, values] }: Problem, profile: Profile): GpuPlan => {
      const program = shaderProgram(
        ROWS_SEARCH,
        { element: wgslType(sorted.dtype), upper },
        { name: upper ? "upper_bound" : "lower_bound" },
      );
      const size = sizeOf(values.shape),
        words = [rowsOf(sorted.shape).columns, rowsOf(values.shape).columns];
      return {
        dispatches: flat(
          program,
          [{ input: 0 }, { input: 1 }, { output: 0 }],
          size,
          words,
          profile,
        ),
      };
    },
  }];
}
