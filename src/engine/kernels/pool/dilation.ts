/** Morphological dilation on the GPU: pooling with a filter added. */
import type { BufferRef, Dispatch, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { forwardGather, isDeep } from "../conv/gather.ts";
import { dilationGeometry, tapCount, type WindowGeometry } from "../conv/geometry.ts";
import { convFits } from "../conv/variants.ts";
import { flatDispatch } from "../dispatches.ts";
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

const GRADIENT: readonly BufferRef[] = [{ input: 2 }, { temp: 0 }, { output: 0 }];

/**
 * Makes a variant over windows of the image with the filter added, or over their winning taps with `second` after that.
 */
function variant(
  name: string,
  second?: (geometry: WindowGeometry, source: PoolSource, profile: Profile) => Dispatch,
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
    const dispatches = [first, second(geometry, source, profile)];
    return { dispatches, temps: [Math.max(16, count * 4)] };
  };
  return { name, fits, plan };
}

const VARIANTS: Readonly<Record<MeaningOf<"dilation">["gives"], GpuVariant>> = {
  "result": variant("dilation"),
  "input gradient": variant("dilation_input", (geometry, source, profile) => {
    const work = { geometry, source, count: inCount(geometry), profile };
    return poolDispatch(poolGradProgram("max", source), GRADIENT, work);
  }),
  "filter gradient": variant("dilation_filter", (g, source, profile) => {
    const width = source.wide ? 4 : 1;
    const params = [tapCount(g) * g.channels / width, g.channels / width, outCount(g) / g.channels];
    const program = dilationFilterProgram(source);
    return flatDispatch({ program, buffers: GRADIENT, params }, profile);
  }),
};

/** The variants of dilation or of one of its gradients. */
export function dilationVariants({ gives }: MeaningOf<"dilation">): readonly GpuVariant[] {
  return [VARIANTS[gives]];
}
