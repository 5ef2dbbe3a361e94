/**
 * Morphological dilation on the GPU: pooling with a filter added.
 */
import type { BufferRef, GpuPlan, GpuVariant, Profile, Program } from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { forwardGather, isDeep } from "../conv/gather.ts";
import { dilationGeometry, tapCount, type WindowGeometry } from "../conv/geometry.ts";
import { convFits } from "../conv/variants.ts";
import {
  dilationFilterProgram,
  poolGradProgram,
  poolProgram,
  type PoolSource,
} from "./programs.ts";
import { inCount, outCount, poolDispatch } from "./variants.ts";

function geometryOf({ inputs: [x, filter], attrs }: Problem): WindowGeometry {
  return dilationGeometry(x.shape, filter.shape, attrs);
}

function fits(problem: Problem, profile: Profile): boolean {
  return convFits(problem, profile) && outCount(geometryOf(problem)) > 0 &&
    problem.inputs[0].shape.every((d) => d > 0);
}

/** Windows of the image with the filter added, and what `second` makes of those that are the taps that won. */
function variant(
  name: string,
  second?: {
    readonly program: (source: PoolSource) => Program;
    readonly count: (geometry: WindowGeometry) => number;
  },
): GpuVariant {
  const plan = (problem: Problem, profile: Profile): GpuPlan => {
    const geometry = geometryOf(problem);
    const source: PoolSource = {
      dtype: problem.inputs[0].dtype,
      deep: isDeep(forwardGather(geometry)),
      wide: geometry.channels % 4 === 0,
      workgroup: profile.barriers ? 64 : profile.lanes,
    };
    const filtered = { ...source, filter: true }, count = outCount(geometry);
    const made: BufferRef = second ? { temp: 0 } : { output: 0 };
    const first = poolDispatch(
      poolProgram(second ? "tap" : "max", filtered),
      [{ input: 0 }, { input: 1 }, made],
      { geometry, source: filtered, count, profile },
    );
    if (!second) return { dispatches: [first] };
    const gradient = poolDispatch(
      second.program(source),
      [{ input: 2 }, made, { output: 0 }],
      { geometry, source, count: second.count(geometry), profile },
    );
    return { dispatches: [first, gradient], temps: [Math.max(16, count * 4)] };
  };
  return { name, fits, plan };
}

/** Ways to run Dilation2D. */
export const DILATION_VARIANTS: readonly GpuVariant[] = [variant("dilation")];

/** Ways to run the gradient of the image. */
export const DILATION_INPUT_VARIANTS: readonly GpuVariant[] = [
  variant("dilation_input", { program: (s) => poolGradProgram("max", s), count: inCount }),
];

/** Ways to run the gradient of the filter. */
export const DILATION_FILTER_VARIANTS: readonly GpuVariant[] = [
  variant("dilation_filter", {
    program: dilationFilterProgram,
    count: (g) => tapCount(g) * g.channels,
  }),
];
