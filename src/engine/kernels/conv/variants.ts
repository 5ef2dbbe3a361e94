/** Kernels over images on the GPU, and the variants of Conv2D, Conv3D and their gradients. */
import type { BufferRef, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { epilogueOf, fusionOf } from "../../core/fusion.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { gpuFits } from "../copy/pieces.ts";
import { hasPhases } from "./gather.ts";
import { isChannelsFirst, type WindowGeometry, windowGeometry } from "./geometry.ts";
import { channelsLast } from "./layout.ts";
import { type ConvRole, type ConvTask, planConv } from "./plan.ts";

/** True where the GPU can hold and bind every operand. */
export function convFits(problem: Problem, profile: Profile): boolean {
  const { inputs, outputs, attrs } = problem, fusion = fusionOf(attrs);
  // Epilogues need images with channels last.
  if (fusion && (isChannelsFirst(attrs) || epilogueOf(problem) === undefined)) return false;
  const own = [...inputs.slice(0, fusion?.own), ...outputs];
  return gpuFits(problem, profile) && !own.some((s) => s.dtype === "bool");
}

/** A kernel over images, planned as if all had their channels last. */
export interface ImageKernel {
  readonly name: string;
  readonly operands: readonly number[];
  /** True for operands and results that are images, not filters. Default all. */
  readonly images?: readonly boolean[];
  readonly geometry: (problem: Problem) => WindowGeometry;
  /** Plans the work; `buffers` are those of operands and results. */
  readonly plan: (
    geometry: WindowGeometry,
    buffers: readonly BufferRef[],
    problem: Problem,
    profile: Profile,
  ) => GpuPlan;
}

/** Makes the variant of a kernel over images, for any data format. */
export function imageVariant({ name, operands, images, geometry, plan }: ImageKernel): GpuVariant {
  return {
    name,
    fits: convFits,
    plan: (problem, profile) => {
      const { inputs, outputs } = problem, g = geometry(problem);
      if (outputs.some((o) => sizeOf(o.shape) === 0)) return { dispatches: [] };
      const bound = [
        ...operands.map((input) => ({ buffer: { input }, ...inputs[input] })),
        ...outputs.map((out, output) => ({ buffer: { output }, ...out })),
      ];
      if (!g.channelsFirst) return plan(g, bound.map((o) => o.buffer), problem, profile);
      return channelsLast(
        bound.map((o, i) => ({ ...o, image: images?.[i] ?? true })),
        profile,
        (buffers) => plan({ ...g, channelsFirst: false }, buffers, problem, profile),
      );
    },
  };
}

/** Operands of each role, with the images among them, and the shapes of image and filter. */
const ROLES: Readonly<
  Record<
    ConvRole,
    Required<Pick<ImageKernel, "operands" | "images">> & {
      readonly shapes: (problem: Problem) => readonly [image: Shape, filter: Shape];
    }
  >
> = {
  forward: {
    operands: [0, 1],
    images: [true, false, true],
    shapes: ({ inputs: [x, filter] }) => [x.shape, filter.shape],
  },
  input: {
    operands: [2, 1],
    images: [true, false, true],
    shapes: ({ inputs: [, filter], outputs: [dx] }) => [dx.shape, filter.shape],
  },
  filter: {
    operands: [0, 2],
    images: [true, true, false],
    shapes: ({ inputs: [x], outputs: [df] }) => [x.shape, df.shape],
  },
};

/** Returns the geometry of a convolution or gradient; in a depthwise one each channel has filters of its own. */
export function convGeometry(role: ConvRole, problem: Problem, depthwise = false): WindowGeometry {
  const [image, filter] = ROLES[role].shapes(problem);
  const [channels, filters] = filter.slice(-2);
  return windowGeometry(image, filter, depthwise ? channels * filters : filters, problem.attrs);
}

/** Makes the task of a problem whose operands and result are these buffers. */
export function convTask(
  problem: Problem,
  geometry: WindowGeometry,
  [a, b, c]: readonly BufferRef[],
): ConvTask {
  const { inputs, hosts, outputs } = problem;
  // Sizes are read on the host.
  const { dtype } = inputs.find((_, i) => hosts[i] === undefined)!;
  return {
    geometry,
    dtype,
    out: outputs[0].dtype,
    a,
    b,
    c,
    epilogue: epilogueOf(problem) ?? undefined,
  };
}

export function convVariant(
  name: string,
  role: ConvRole,
  plan = (task: ConvTask, profile: Profile): GpuPlan => planConv(role, task, profile),
  depthwise = false,
): GpuVariant {
  return imageVariant({
    name,
    ...ROLES[role],
    geometry: (problem) => convGeometry(role, problem, depthwise),
    plan: (g, buffers, problem, profile) => plan(convTask(problem, g, buffers), profile),
  });
}

/** The variant of convolutions over all channels, and those of its gradients. */
export const MIXING: Readonly<Record<MeaningOf<"convolution">["gives"], GpuVariant>> = {
  "result": convVariant("conv", "forward"),
  "input gradient": {
    ...convVariant("conv_input", "input"),
    fits: (problem, profile) =>
      convFits(problem, profile) && hasPhases(convGeometry("input", problem)),
  },
  "filter gradient": convVariant("conv_filter", "filter"),
};
