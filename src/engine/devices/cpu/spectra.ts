/** The kernels of Fourier transforms. */
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
import { prepareFourier } from "./spectral/fourier.ts";

/** By kind. */
export const kernels: KernelsOf<"fourier"> = { code, "fourier": prepareFourier };
