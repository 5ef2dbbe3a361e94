/** Dispatches of convolutions and their gradients. */
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
import { helpersOf } from "../matmul/epilogue.ts";
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

/**
 * A convolution or gradient to plan; images have channels last. `a` is gathered, or the image; `b` is multiplied with
 * it.
 */
export interface ConvTask extends ProductTask {
  readonly geometry: WindowGeometry;
}

/** A convolution, or one of its gradients. */
export type ConvRole = "forward" | "input" | "filter";

/** Operands and result of each. */
const OPERANDS = {
  forward: ["image", "filter", "result"],
  input: ["result", "filter", "image"],
  filter: ["image", "result", "filter"],
} as const;

/** A convolution or gradient as a product of matrices. */
interface ConvWork {
  readonly role: ConvRole;
  readonly task: ConvTask;
  readonly profile: Profile;
  readonly gather: Gather;
  readonly source: ConvSource;
  readonly extents: readonly [m: number, n: number, k: number];
  /** Lines of places, over which the gradient of a filter is summed. */
  readonly lines: number;
}

/** Returns the elements of the operands and the result. */
function sizesOf(role: ConvRole, g: WindowGeometry): number[] {
  const sizes = {
    image: g.batch * inPlaces(g) * g.channels,
    filter: tapCount(g) * g.channels * g.outChannels,
    result: g.batch * outPlaces(g) * g.outChannels,
  };
  return OPERANDS[role].map((of) => sizes[of]);
}

/**
 * Plans a convolution or gradient; `choice` overrides the chosen kernel. For the gradient of the image the geometry
 * must have phases.
 */
export function planConv(
  role: ConvRole,
  task: ConvTask,
  profile: Profile,
  choice?: TileChoice,
): GpuPlan {
  const { geometry: g, dtype, out, epilogue } = task, ofFilter = role === "filter";
  if (sizesOf(role, g)[2] === 0) return { dispatches: [] };
  const gather = role === "input" ? backwardGather(g) : forwardGather(g);
  const { columns, channels, transposed } = gather;
  const rows = gatherRows(gather), depth = tapCount(g) * channels;
  const extents = ofFilter ? [depth, columns, rows] as const : [rows, columns, depth] as const;
  if (choice === undefined && isProduct(role, g) && !(ofFilter && rows === 0)) {
    return planMatMul({ ...task, shape: flatShape(extents, ofFilter, transposed) }, profile);
  }
  const wideA = channels > 0 && channels % 4 === 0, wideC = columns % 4 === 0;
  const source = {
    dtype,
    out,
    epilogue,
    ofFilter,
    deep: isDeep(gather),
    transB: transposed,
    phased: gather.axes.some((a) => a.phases > 1 || a.outMul !== 1 || a.outAdd !== 0),
    wideA,
    wideB: transposed ? wideA : wideC,
    wideC,
  };
  const lines = ofFilter ? rows / Math.max(1, gather.axes[2].rows) : 0;
  const work = { role, task, profile, gather, source, extents, lines };
  return planWork(work, choice ?? tunedKernel(work));
}

/** True where there is one tap, or one place that sees the whole image: rows of the image are rows of a matrix. */
function isProduct(role: ConvRole, g: WindowGeometry): boolean {
  const isWhole = role === "forward" &&
    g.axes.every((a) => a.out === 1 && a.before === 0 && a.filter === a.in && a.dilation === 1);
  return isWhole || isPointwiseWindow(g);
}

function planWork(work: ConvWork, choice: TileChoice): GpuPlan {
  const { task, profile, gather, source, extents: [m, n, k], lines } = work;
  const { ofFilter, transB, phased, wideB, wideC } = source;
  const { channels } = gather, ldc = n / (wideC ? 4 : 1);
  const words = gatherWords(gather, source.deep);
  const place = tileFields(choice.tile, m, n, profile);
  const cut = phased || (choice.kind === "register" && !ofFilter) ? 1 : choice.splits;
  return planSplits(task, { size: m * n, columns: n, splits: cut }, profile, (own, splits) => {
    const { out, epilogue } = own;
    const program = convProgram({ ...source, out, epilogue }, choice, splits > 1, profile);
    const terms = choice.kind === "shared" ? choice.tile.bk : 1;
    const fields = {
      m,
      n,
      k,
      kfrom: 0,
      channels,
      ldc,
      cbase: 0,
      col0: 0,
      splits,
      lines,
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

/** Chooses the kernel, by timing where the device does that. */
function tunedKernel(work: ConvWork): TileChoice {
  const { role, task, profile, gather, source, extents: [m, n, k], lines } = work;
  const { ofFilter, wideA, wideB, transB } = source;
  const candidates = tileCandidates(
    [m, n, k, ofFilter ? 1 : phaseCount(gather)],
    {
      ...{ wideA, wideB, transB, quads: ofFilter && wideA },
      splits: ofFilter && lines >= 32,
      helpers: helpersOf(task.epilogue),
    },
    profile,
    (groups) => (ofFilter ? splitsFor(groups, lines, 4, 8) : 1),
  );
  return tunedChoice(candidates, profile, () => {
    const { geometry: g, dtype, out } = task, [a, b, c] = sizesOf(role, g);
    const name = role === "forward" ? "conv" : `conv_${role}`;
    return {
      name: `${name} ${dtype} ${g.channels % 4 === 0} ${g.outChannels % 4 === 0}`,
      extents: [g.batch * outPlaces(g), tapCount(g), g.channels, g.outChannels],
      flop: 2 * g.batch * outPlaces(g) * tapCount(g) * g.channels * g.outChannels,
      inputs: [a * gpuBytes(dtype), b * gpuBytes(dtype)],
      outputs: [c * gpuBytes(out)],
      plan: (choice) => planConv(role, bareTask(task), profile, choice),
    };
  });
}
