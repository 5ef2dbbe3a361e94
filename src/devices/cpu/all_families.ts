/**
 * Has all families of kernels from the start.
 */
import { bringFamilies } from "./families.ts";
import { IMAGES } from "./images.ts";
import { SELECTIONS } from "./selections.ts";
import { prepareFast } from "./vectors.ts";
import { WINDOWS } from "./windows.ts";

bringFamilies({ images: IMAGES, selections: SELECTIONS, vectors: prepareFast, windows: WINDOWS });
