/**
 * Has all families of kernels from the start.
 */
import { bringFamilies } from "./families.ts";
import * as images from "./images.ts";
import * as selections from "./selections.ts";
import * as vectors from "./vectors.ts";
import * as windows from "./windows.ts";

bringFamilies({ images, selections, vectors, windows });
