/** Has all kernels from the start. */
import { cpuKernels } from "./kernel_table.ts";
import * as decompositions from "./decompositions.ts";
import * as images from "./images.ts";
import * as quantised from "./quantised.ts";
import * as selections from "./selections.ts";
import * as sequences from "./sequences.ts";
import * as vectors from "./vectors.ts";
import * as spectra from "./spectra.ts";
import * as windows from "./windows.ts";

const ALL = [
  vectors,
  decompositions,
  images,
  quantised,
  selections,
  sequences,
  spectra,
  windows,
];
for (const { kernels } of ALL) cpuKernels.bring(kernels);
