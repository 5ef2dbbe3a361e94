/** The kernels of attention and of recurrent networks. */
import type { CpuKernels } from "./kernel_table.ts";
import { prepareAttention } from "./rows/attention.ts";
import { prepareRecurrence } from "./rows/recurrence.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "sequence"> = {
  "sequence": (engine, problem, { kernel }) =>
    kernel === "attention" ? prepareAttention(engine, problem) : prepareRecurrence(engine, problem),
};
