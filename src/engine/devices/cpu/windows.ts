/** The kernels of convolutions, pools and sums of neighbours. */
import type { MeaningOf } from "../../core/meaning.ts";
import { prepareConv, prepareInputGradient } from "./conv/conv.ts";
import { prepareFilterGradient } from "./conv/conv_filter.ts";
import {
  prepareDepthwise,
  prepareDepthwiseFilterGradient,
  prepareDepthwiseInputGradient,
} from "./depthwise/depthwise.ts";
import { prepareSums, type SumsPrepare } from "./gemm/epilogue.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
import { preparePool } from "./pool/pool.ts";
import { prepareResponse, prepareWindowSum } from "./rows/window_sum.ts";

type Convolution = MeaningOf<"convolution">;

const CONVOLUTIONS: Readonly<
  Record<Convolution["of"], Readonly<Record<Convolution["gives"], SumsPrepare>>>
> = {
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
};

/** By kind. */
export const kernels: KernelsOf<"window" | "convolution" | "neighbors"> = {
  code,
  window: preparePool,
  convolution: (engine, problem, meaning) =>
    prepareSums(engine, problem, meaning, CONVOLUTIONS[meaning.of][meaning.gives]),
  neighbors: (engine, problem, { gives }) =>
    (gives === "sum" ? prepareWindowSum : prepareResponse)(engine, problem),
};
