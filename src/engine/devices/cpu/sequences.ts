/** The kernels of recurrent networks. */
import type { CpuKernels } from "./kernel_table.ts";
import { prepareRecurrence } from "./rows/recurrence.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "special"> = {
  "special": (engine, problem, { kernel }) =>
    kernel === "recurrence" ? prepareRecurrence(engine, problem) : null,
};
