/** Has the kernels of each kind loaded when it is asked for: pages on a GPU need none, and most others only a few. */
import { cpuKernels } from "./kernel_table.ts";

const decompositions = () => import("./decompositions.ts");
const quantised = () => import("./quantised.ts");
const images = () => import("./images.ts");
const selections = () => import("./selections.ts");
const spectra = () => import("./spectra.ts");
const sequences = () => import("./sequences.ts");
const vectors = () => import("./vectors.ts");
const windows = () => import("./windows.ts");

cpuKernels.loadFrom({
  "pointwise": vectors,
  "update": vectors,
  "copy": vectors,
  "exchange": vectors,
  "fill": vectors,
  "gather": vectors,
  "scatter": vectors,
  "mark": vectors,
  "reduce": vectors,
  "scan": vectors,
  "rows": vectors,
  "row steps": vectors,
  "product": vectors,
  "quantised product": quantised,
  "arg reduce": selections,
  "count": selections,
  "top": selections,
  "sequence": sequences,
  "elimination": decompositions,
  "fourier": spectra,
  "window": windows,
  "convolution": windows,
  "neighbors": windows,
  "sample": images,
});
