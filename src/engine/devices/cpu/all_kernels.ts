/** Has all kernels from the start. */
import { cpuKernels } from "./kernel_table.ts";
import * as images from "./images.ts";
import * as selections from "./selections.ts";
import * as vectors from "./vectors.ts";
import * as windows from "./windows.ts";

for (const { kernels } of [vectors, images, selections, windows]) cpuKernels.bring(kernels);
