/**
 * Has all families of kernels from the start.
 */
import { bringFamilies } from "./families.ts";
import { IMAGES } from "./images.ts";
import { SELECTIONS } from "./selections.ts";
import { WINDOWS } from "./windows.ts";

bringFamilies({ images: IMAGES, selections: SELECTIONS, windows: WINDOWS });
