/** The kernels of attention and of recurrent networks. */
import type { CpuKernels } from "./kernel_table.ts";
import { prepareAttention } from "./rows/attention.ts";
import { prepareRecurrence } from "./rows/recurrence.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "special"> = {
  "special": (engine, problem, { kernel }) => {
    if (kernel === "attention") return prepareAttention(engine, problem);
    return kernel === "recurrence" ? prepareRecurrence(engine, problem) : null;
  },
};
