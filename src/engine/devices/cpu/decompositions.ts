/** The kernels of decompositions of matrices. */
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
import { prepareElimination } from "./linalg/elimination.ts";

/** By kind. */
export const kernels: KernelsOf<"elimination"> = { code, "elimination": prepareElimination };
