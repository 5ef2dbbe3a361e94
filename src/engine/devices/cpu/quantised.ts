/** The kernels of products with rows of levels. */
import { prepareSums } from "./gemm/epilogue.ts";
import { prepareLevels } from "./gemm/levels.ts";
import type { CpuKernels } from "./kernel_table.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "quantised product"> = {
  "quantised product": (engine, problem, meaning) =>
    prepareSums(engine, problem, meaning, prepareLevels),
};
