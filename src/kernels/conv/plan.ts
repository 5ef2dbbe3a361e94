/**
 * From convolutions and their gradients to dispatches.
 */
import type { GpuPlan, Profile } from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { wordsOf } from "../dispatches.ts";
import {
  inPlaces,
  isPointwiseWindow,
  outPlaces,
  tapCount,
  type WindowGeometry,
} from "./geometry.ts";
import {
  backwardGather,
  forwardGather,
  type Gather,
  gatherRows,
  gatherWords,
  isDeep,
  phaseCount,
} from "./gather.ts";
import { convProgram, type ConvSource } from "./programs.ts";
import { planMatMul } from "../matmul/plan.ts";
import { flatShape } from "../matmul/shape.ts";
import { bareTask, buffersOf, type ProductTask } from "../matmul/source.ts";
import { planSplits } from "../matmul/split.ts";
import {
  foldGrid,
  gridLayers,
  splitsFor,
  tileCandidates,
  type TileChoice,
  tileFields,
} from "../matmul/tiles.ts";
import { tunedChoice } from "../matmul/tuning.ts";

/** A convolution or gradient to plan; images have channels last. `a` is what is gathered, or the image; `b` is multiplied with it. */
export interface ConvTask extends ProductTask {
  readonly geometry: WindowGeometry;
}

/** Plans a convolution or gradient, where `choice` overrides the chosen kernel. */
type Planner = (task: ConvTask, profile: Profile, choice?: TileChoice) => GpuPlan;

/** A convolution or gradient as a product of matrices. */
interface ConvWork {
  readonly task: ConvTask;
  readonly profile: Profile;
  readonly choice: TileChoice | undefined;
  readonly gather: Gather;
  readonly source: ConvSource;
  /** Rows, columns and terms. */
  readonly extents: readonly [m: number, n: number, k: number];
  /** Lines of places; they are summed where the gradient of a filter is wanted. */
  readonly lines: number;
  /** What the operands and the result are, for a device that times kernels. */
  readonly name: string;
  readonly sizes: readonly ("image" | "filter" | "result")[];
  readonly planner: Planner;
}

/** Plans the convolution. */
export const planConv: Planner = (task, profile, choice) => {
  const { geometry: g } = task;
  const places = g.batch * outPlaces(g), taps = tapCount(g);
  if (places * g.outChannels === 0) return { dispatches: [] };
  // One tap, or one place that sees the whole image: rows of the image are rows of a matrix.
  const whole = g.axes.every((a) =>
    a.out === 1 && a.before === 0 && a.filter === a.in && a.dilation === 1
  );
  if (choice === undefined && (isPointwiseWindow(g) || whole)) {
    const shape = flatShape([places, g.outChannels, taps * g.channels], false, false);
    return planMatMul({ ...task, shape }, profile);
  }
  return planGather(task, forwardGather(g), profile, choice);
};

/** Plans the gradient of the image. The geometry must have phases. */
export const planConvInput: Planner = (task, profile, choice) => {
  const { geometry: g } = task;
  const pixels = g.batch * inPlaces(g);
  if (pixels * g.channels === 0) return { dispatches: [] };
  if (choice === undefined && isPointwiseWindow(g)) {
    const shape = flatShape([pixels, g.channels, g.outChannels], false, true);
    return planMatMul({ ...task, shape }, profile);
  }
  return planGather(task, backwardGather(g), profile, choice);
};

function planGather(
  task: ConvTask,
  gather: Gather,
  profile: Profile,
  choice: TileChoice | undefined,
): GpuPlan {
  const { dtype, out, epilogue } = task, { columns, channels, transposed } = gather;
  const wideA = channels > 0 && channels % 4 === 0, wideC = columns % 4 === 0;
  return planWork({
    task,
    profile,
    choice,
    gather,
    source: {
      dtype,
      out,
      epilogue,
      ofFilter: false,
      deep: isDeep(gather),
      transB: transposed,
      phased: gather.axes.some((a) => a.phases > 1 || a.outMul !== 1 || a.outAdd !== 0),
      wideA,
      wideB: transposed ? wideA : wideC,
      wideC,
    },
    extents: [gatherRows(gather), columns, tapCount(task.geometry) * channels],
    lines: 0,
    ...(transposed
      ? { name: "conv_input", sizes: ["result", "filter", "image"], planner: planConvInput }
      : { name: "conv", sizes: ["image", "filter", "result"], planner: planConv }),
  });
}

/** Plans the gradient of the filter. */
export const planConvFilter: Planner = (task, profile, choice) => {
  const { geometry: g, dtype, out } = task, gather = forwardGather(g);
  const m = tapCount(g) * g.channels, n = g.outChannels, k = gatherRows(gather);
  if (m * n === 0) return { dispatches: [] };
  if (choice === undefined && isPointwiseWindow(g) && k > 0) {
    return planMatMul({ ...task, shape: flatShape([m, n, k], true, false) }, profile);
  }
  const wideA = g.channels % 4 === 0, wideB = n % 4 === 0;
  return planWork({
    task,
    profile,
    choice,
    gather,
    source: {
      dtype,
      out,
      ofFilter: true,
      deep: isDeep(gather),
      transB: false,
      phased: false,
      wideA,
      wideB,
      wideC: wideB,
    },
    extents: [m, n, k],
    lines: k / Math.max(1, gather.axes[2].rows),
    name: "conv_filter",
    sizes: ["image", "result", "filter"],
    planner: planConvFilter,
  });
};

function planWork(work: ConvWork): GpuPlan {
  const { task, profile, gather, source, extents: [m, n, k], lines } = work;
  const { ofFilter, transB, phased, wideB, wideC } = source;
  const choice = work.choice ?? tunedKernel(work);
  const { channels } = gather, ldc = n / (wideC ? 4 : 1);
  const words = gatherWords(gather, source.deep);
  const place = tileFields(choice.tile, m, n, profile);
  const cut = phased || (choice.kind === "register" && !ofFilter) ? 1 : choice.splits;
  return planSplits(task, { size: m * n, columns: n, splits: cut }, profile, (own, splits) => {
    const { out, epilogue } = own;
    const program = convProgram({ ...source, out, epilogue }, choice, splits > 1, profile);
    const terms = choice.kind === "shared" ? choice.tile.bk : 1;
    const fields = {
      ...{ m, n, k, kfrom: 0, channels, ldc, cbase: 0, col0: 0, splits, lines },
      kstep: Math.ceil(k / splits / terms) * terms,
      step: Math.ceil(lines / splits),
      ldb: (transB ? channels : n) / (wideB ? 4 : 1),
      cz: ofFilter || splits > 1 ? m * ldc : 0,
      ...place,
    };
    return gridLayers(splits * (ofFilter ? 1 : phaseCount(gather)), profile, (zbase, depth) => ({
      program,
      buffers: buffersOf(own),
      params: wordsOf(program, { ...fields, zbase }, words),
      grid: [...foldGrid(place.groups, profile), depth],
    }));
  });
}

/** The kernel for some work: by timing where the device does that. */
function tunedKernel(work: ConvWork): TileChoice {
  const { task, profile, gather, source, extents: [m, n, k], lines } = work;
  const { ofFilter, wideA, wideB, transB } = source;
  const candidates = tileCandidates(
    [m, n, k, ofFilter ? 1 : phaseCount(gather)],
    { wideA, wideB, transB, quads: ofFilter && wideA, splits: ofFilter && lines >= 32 },
    profile,
    (groups) => (ofFilter ? splitsFor(groups, lines, 4, 8) : 1),
  );
  return tunedChoice(candidates, profile, () => {
    const { geometry: g, dtype, out } = task;
    const places = g.batch * outPlaces(g), taps = tapCount(g);
    const sizes = {
      image: g.batch * inPlaces(g) * g.channels,
      filter: taps * g.channels * g.outChannels,
      result: places * g.outChannels,
    };
    const [a, b, c] = work.sizes.map((of) => sizes[of]);
    return {
      name: `${work.name} ${dtype} ${g.channels % 4 === 0} ${g.outChannels % 4 === 0}`,
      extents: [places, taps, g.channels, g.outChannels],
      flop: 2 * places * sizes.filter,
      inputs: [a * gpuBytes(dtype), b * gpuBytes(dtype)],
      output: c * gpuBytes(out),
      plan: (choice) => work.planner(bareTask(task), profile, choice),
    };
  });
}
