/**
 * The kernels of convolutions and pools.
 */
import type { MeaningOf } from "../../core/meaning.ts";
import { prepareConv, prepareInputGradient } from "./conv/conv.ts";
import { prepareFilterGradient } from "./conv/conv_filter.ts";
import {
  prepareDepthwise,
  prepareDepthwiseFilterGradient,
  prepareDepthwiseInputGradient,
} from "./depthwise/depthwise.ts";
import type { SumsPrepare } from "./gemm/epilogue.ts";
import { preparePool } from "./pool/pool.ts";

type Sums = Readonly<Record<MeaningOf<"product">["gives"], SumsPrepare>>;

/** Where a window moves over images: by what is summed, and pools. */
export const WINDOWS: {
  readonly windows: Sums;
  readonly channels: Sums;
  readonly pool: typeof preparePool;
} = {
  windows: {
    "result": prepareConv,
    "input gradient": prepareInputGradient,
    "filter gradient": prepareFilterGradient,
  },
  channels: {
    "result": prepareDepthwise,
    "input gradient": prepareDepthwiseInputGradient,
    "filter gradient": prepareDepthwiseFilterGradient,
  },
  pool: preparePool,
};
