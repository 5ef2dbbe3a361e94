/**
 * The kernels that sample images.
 */
import type { MeaningOf } from "../../core/meaning.ts";
import type { FastPrepare } from "./fast.ts";
import { prepareBilinear, prepareCrop, prepareNearest } from "./image/resize.ts";
import { prepareRotation, prepareTransform } from "./image/warp.ts";

/** By how images are sampled. */
export const IMAGES: Readonly<Record<MeaningOf<"sample">["how"], FastPrepare>> = {
  bilinear: prepareBilinear,
  nearest: prepareNearest,
  crop: prepareCrop,
  transform: prepareTransform,
  rotation: prepareRotation,
};
