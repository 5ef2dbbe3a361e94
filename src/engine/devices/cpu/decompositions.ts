/** The kernels of decompositions of matrices. */
import type { CpuKernels } from "./kernel_table.ts";
import { prepareElimination } from "./linalg/elimination.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "elimination"> = { "elimination": prepareElimination };
