/**
 * Convolutions on the GPU: the variants of Conv2D, Conv3D and their gradients.
 */
import type { BufferRef, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { epilogueOf, fusionOf } from "../../core/fusion.ts";
import { GPU_DTYPES, gpuBytes } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { hasPhases } from "./gather.ts";
import { mayEnd } from "../matmul/variants.ts";
import { isChannelsFirst, type WindowGeometry, windowGeometry } from "./geometry.ts";
import { channelsLast, type Operand } from "./layout.ts";
import type { ConvTask } from "./candidates.ts";
import { planConv, planConvFilter, planConvInput } from "./plan.ts";

/** True where the GPU can hold and bind every operand. */
export function convFits(problem: Problem, profile: Profile): boolean {
  const { inputs, hosts, outputs, attrs } = problem;
  // An epilogue would meet images that have their channels first.
  if (fusionOf(attrs) && (isChannelsFirst(attrs) || !mayEnd(problem, profile))) return false;
  const specs = [...inputs.filter((_, i) => hosts[i] === undefined), ...outputs];
  return specs.every(({ dtype, shape }) =>
    dtype !== "bool" && GPU_DTYPES.includes(dtype) &&
    sizeOf(shape) * gpuBytes(dtype) <= profile.maxBinding
  );
}

/** Plans a kernel of two operands and one result, whatever the data format. `images` says which of the three are images. */
export function planImages(
  problem: Problem,
  profile: Profile,
  geometry: WindowGeometry,
  operands: readonly [number, number],
  images: readonly [boolean, boolean, boolean],
  plan: (geometry: WindowGeometry, a: BufferRef, b: BufferRef, c: BufferRef) => GpuPlan,
): GpuPlan {
  const [i, j] = operands;
  if (!geometry.channelsFirst) return plan(geometry, { input: i }, { input: j }, { output: 0 });
  const operand = (input: number, image: boolean): Operand => ({
    buffer: { input },
    shape: problem.inputs[input].shape,
    dtype: problem.inputs[input].dtype,
    image,
  });
  const out: Operand = {
    buffer: { output: 0 },
    shape: problem.outputs[0].shape,
    dtype: problem.outputs[0].dtype,
    image: images[2],
  };
  return channelsLast(
    [operand(i, images[0]), operand(j, images[1])],
    [out],
    profile,
    ([a, b], [c]) => plan({ ...geometry, channelsFirst: false }, a, b, c),
  );
}

/** The work of a problem whose operands and result lie here. */
export function convTask(
  problem: Problem,
  geometry: WindowGeometry,
  a: BufferRef,
  b: BufferRef,
  c: BufferRef,
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

const last = <T>(list: readonly T[]): T => list[list.length - 1];

/** The geometry of a convolution: image and filter are inputs. */
export function forwardGeometry({ inputs: [x, filter], attrs }: Problem): WindowGeometry {
  return windowGeometry(x.shape, filter.shape, last(filter.shape), attrs);
}
/** The geometry of the gradient of the image: sizes, filter and gradient are inputs. */
export function inputGeometry(
  { inputs: [, filter], outputs: [dx], attrs }: Problem,
): WindowGeometry {
  return windowGeometry(dx.shape, filter.shape, last(filter.shape), attrs);
}
/** The geometry of the gradient of the filter: image, sizes and gradient are inputs. */
export function filterGeometry({ inputs: [x], outputs: [df], attrs }: Problem): WindowGeometry {
  return windowGeometry(x.shape, df.shape, last(df.shape), attrs);
}

/** Ways to run Conv2D and Conv3D, tried in order. */
export const CONV_VARIANTS: readonly GpuVariant[] = [{
  name: "conv",
  fits: convFits,
  plan: (problem, profile) =>
    planImages(
      problem,
      profile,
      forwardGeometry(problem),
      [0, 1],
      [true, false, true],
      (g, a, b, c) => planConv(convTask(problem, g, a, b, c), profile),
    ),
}];

/** Ways to run the gradient of the image. */
export const CONV_INPUT_VARIANTS: readonly GpuVariant[] = [{
  name: "conv_input",
  fits: (problem, profile) => convFits(problem, profile) && hasPhases(inputGeometry(problem)),
  plan: (problem, profile) =>
    planImages(
      problem,
      profile,
      inputGeometry(problem),
      [2, 1],
      [true, false, true],
      (g, a, b, c) => planConvInput(convTask(problem, g, a, b, c), profile),
    ),
}];

/** Ways to run the gradient of the filter. */
export const CONV_FILTER_VARIANTS: readonly GpuVariant[] = [{
  name: "conv_filter",
  fits: convFits,
  plan: (problem, profile) =>
    planImages(
      problem,
      profile,
      filterGeometry(problem),
      [0, 2],
      [true, true, false],
      (g, a, b, c) => planConvFilter(convTask(problem, g, a, b, c), profile),
    ),
}];
