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

export { preparePool as pool } from "./pool/pool.ts";
export {
  prepareResponse as windowResponse,
  prepareWindowSum as windowSum,
} from "./rows/window_sum.ts";

type Sums = Readonly<Record<MeaningOf<"product">["gives"], SumsPrepare>>;

/** Sums over windows. */
export const windows: Sums = {
  "result": prepareConv,
  "input gradient": prepareInputGradient,
  "filter gradient": prepareFilterGradient,
};
/** Sums over windows of each channel. */
export const channels: Sums = {
  "result": prepareDepthwise,
  "input gradient": prepareDepthwiseInputGradient,
  "filter gradient": prepareDepthwiseFilterGradient,
};
