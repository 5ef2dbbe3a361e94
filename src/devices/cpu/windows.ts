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
import type { FastPrepare } from "./fast.ts";
import type { SumsPrepare } from "./gemm/epilogue.ts";
import { preparePool } from "./pool/pool.ts";
import { prepareResponse, prepareWindowSum } from "./rows/window_sum.ts";

type Sums = Readonly<Record<MeaningOf<"product">["gives"], SumsPrepare>>;

/** Where a window moves over images: by what is summed, pools, and windows along channels. */
export const WINDOWS: {
  readonly windows: Sums;
  readonly channels: Sums;
  readonly pool: typeof preparePool;
  readonly windowSum: FastPrepare;
  readonly windowResponse: FastPrepare;
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
  windowSum: prepareWindowSum,
  windowResponse: prepareResponse,
};
