/** The kernels that sample images. */
import type { FastPrepare } from "./fast.ts";
import { prepareBilinear, prepareCrop, prepareNearest } from "./image/resize.ts";
import { prepareRotation, prepareTransform } from "./image/warp.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";

const SAMPLES: Readonly<Record<MeaningOf<"sample">["how"], FastPrepare>> = {
  bilinear: prepareBilinear,
  nearest: prepareNearest,
  crop: prepareCrop,
  transform: prepareTransform,
  rotation: prepareRotation,
};

/** By kind. */
export const kernels: KernelsOf<"sample"> = {
  code,
  sample: (engine, problem, { how, gives }) =>
    gives === "result" ? SAMPLES[how](engine, problem) : null,
};
