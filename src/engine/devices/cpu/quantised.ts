/** The kernels of products with rows of levels. */
import { prepareSums } from "./gemm/epilogue.ts";
import { prepareLevels } from "./gemm/levels.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";

/** By kind. */
export const kernels: KernelsOf<"quantised product"> = {
  code,
  "quantised product": (engine, problem, meaning) =>
    prepareSums(engine, problem, meaning, prepareLevels),
};
