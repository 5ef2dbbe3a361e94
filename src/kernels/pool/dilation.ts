/**
 * Morphological dilation on the GPU: pooling with a filter added.
 */
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuVariant,
  gridFor,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { forwardGather, gatherWords, isDeep } from "../conv/gather.ts";
import { dilationGeometry, tapCount, type WindowGeometry } from "../conv/geometry.ts";
import { convFits } from "../conv/variants.ts";
import {
  dilationFilterProgram,
  poolGradProgram,
  poolProgram,
  type PoolSource,
} from "./programs.ts";

function sourceOf(g: WindowGeometry, dtype: PoolSource["dtype"], profile: Profile): PoolSource {
  return {
    dtype,
    deep: isDeep(forwardGather(g)),
    wide: g.channels % 4 === 0,
    workgroup: !profile.barriers ? profile.lanes : 64,
  };
}

function outCount({ batch, axes: [, h, w], channels }: WindowGeometry): number {
  return batch * h.out * w.out * channels;
}

function dispatch(
  program: Program,
  buffers: readonly BufferRef[],
  g: WindowGeometry,
  source: PoolSource,
  count: number,
  profile: Profile,
): Dispatch {
  const width = source.wide ? 4 : 1, total = count / width;
  return {
    program,
    buffers,
    params: [
      total,
      g.channels / width,
      0,
      f32Bits(-Infinity),
      ...gatherWords(forwardGather(g), source.deep),
    ],
    grid: gridFor(total, source.workgroup, profile),
  };
}

function fits(problem: Problem, profile: Profile): boolean {
  const [x, filter] = problem.inputs;
  return convFits(problem, profile) &&
    outCount(dilationGeometry(x.shape, filter.shape, problem.attrs)) > 0 &&
    x.shape.every((d) => d > 0);
}

/** Ways to run Dilation2D, tried in order. */
export const DILATION_VARIANTS: readonly GpuVariant[] = [{
  name: "dilation",
  fits,
  plan: ({ inputs: [x, filter], attrs }, profile) => {
    const g = dilationGeometry(x.shape, filter.shape, attrs);
    const source = { ...sourceOf(g, x.dtype, profile), filter: true };
    const buffers: BufferRef[] = [{ input: 0 }, { input: 1 }, { output: 0 }];
    return {
      dispatches: [dispatch(poolProgram("max", source), buffers, g, source, outCount(g), profile)],
    };
  },
}];

/** First which tap won in each window, then what becomes of it. */
function afterTaps(
  name: string,
  second: (g: WindowGeometry, source: PoolSource, profile: Profile) => Dispatch,
): GpuVariant {
  return {
    name,
    fits,
    plan: ({ inputs: [x, filter], attrs }, profile) => {
      const g = dilationGeometry(x.shape, filter.shape, attrs);
      const source = sourceOf(g, x.dtype, profile), filtered = { ...source, filter: true };
      const taps: BufferRef = { temp: 0 };
      return {
        dispatches: [
          dispatch(
            poolProgram("tap", filtered),
            [{ input: 0 }, { input: 1 }, taps],
            g,
            filtered,
            outCount(g),
            profile,
          ),
          second(g, source, profile),
        ],
        temps: [Math.max(16, outCount(g) * 4)],
      };
    },
  };
}

/** Ways to run the gradient of the image. */
export const DILATION_INPUT_VARIANTS: readonly GpuVariant[] = [
  afterTaps("dilation_input", (g, source, profile) => {
    const [, h, w] = g.axes;
    const count = g.batch * h.in * w.in * g.channels;
    const buffers: BufferRef[] = [{ input: 2 }, { temp: 0 }, { output: 0 }];
    return dispatch(poolGradProgram("max", source), buffers, g, source, count, profile);
  }),
];

/** Ways to run the gradient of the filter. */
export const DILATION_FILTER_VARIANTS: readonly GpuVariant[] = [
  afterTaps("dilation_filter", (g, source, profile) => {
    const width = source.wide ? 4 : 1, total = tapCount(g) * g.channels / width;
    return {
      program: dilationFilterProgram(source),
      buffers: [{ input: 2 }, { temp: 0 }, { output: 0 }],
      params: [total, g.channels / width, outCount(g) / g.channels],
      grid: gridFor(total, source.workgroup, profile),
    };
  }),
];
