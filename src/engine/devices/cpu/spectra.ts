/** The kernels of Fourier transforms. */
import type { CpuKernels } from "./kernel_table.ts";
import { prepareFourier } from "./spectral/fourier.ts";

/** By kind. */
export const kernels: Pick<CpuKernels, "fourier"> = { "fourier": prepareFourier };
