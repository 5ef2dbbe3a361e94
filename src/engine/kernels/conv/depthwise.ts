/**
 * Depthwise convolutions on the GPU: the variants of DepthwiseConv2dNative and its gradients. An invocation makes a few
 * neighbouring results of four channels, or, where channels do not come in fours, one result.
 */
import {
  type Dispatch,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  workgroupFor,
} from "../../core/dispatch.ts";
import { vec } from "../../core/gpu_storage.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import { shaderProgram } from "../../core/shader.ts";
import { type Fields, flatDispatch, wordsOf } from "../dispatches.ts";
import { printProduct } from "../matmul/programs.ts";
import { buffersOf } from "../matmul/source.ts";
import { planSplits } from "../matmul/split.ts";
import { thresholdsOf } from "../thresholds.ts";
import {
  DEPTHWISE_FILTER,
  DEPTHWISE_INPUT_ONE,
  DEPTHWISE_ONE,
  DEPTHWISE_ROWS,
  DEPTHWISE_TILE,
  type DepthwiseOne,
  type DepthwiseRows,
} from "../window_shaders_generated.ts";
import type { WindowAxis, WindowGeometry } from "./geometry.ts";
import type { ConvTask } from "./plan.ts";
import { convVariant } from "./variants.ts";

/** Longest row of taps that a program unrolls. */
const MAX_TAPS = 7;

/** Most loads and stores in a program for software adapters: each takes the compiler some milliseconds. */
const MAX_ACCESSES = 64;

/** Returns the channels that are computed at once: four only where each has one filter. */
function widthOf({ channels, outChannels }: WindowGeometry): 1 | 4 {
  return outChannels === channels && channels % 4 === 0 ? 4 : 1;
}

/** Returns the parameters of all shaders, and the types of an epilogue's operands. */
function printDepthwise(task: ConvTask, width: 1 | 4, workgroup: number): {
  readonly texts: DepthwiseOne & Pick<DepthwiseRows, "acc">;
  readonly inputs: readonly string[];
} {
  const wide = width === 4;
  const { texts, inputs } = printProduct({ ...task, wideA: wide, wideB: wide, wideC: wide });
  const { a: element, c, acc, half, finish } = texts;
  return { texts: { element, c, acc, sum: vec(acc, width), half, workgroup, finish }, inputs };
}

/** Returns the extents of the result and of the source: for the gradient of the image these are swapped. */
function rowsAndLimits(axes: readonly WindowAxis[], backward: boolean): [number[], number[]] {
  const ins = axes.map((a) => a.in), outs = axes.map((a) => a.out);
  return backward ? [ins, outs] : [outs, ins];
}

/** Returns the fields of the shaders that take any filter. */
function windowFields(g: WindowGeometry, backward: boolean): Fields {
  const [, h, w] = g.axes, [[yrows, xrows], [ylimit, xlimit]] = rowsAndLimits([h, w], backward);
  return {
    yrows,
    xrows,
    ylimit,
    xlimit,
    channels: g.channels / widthOf(g),
    filters: g.outChannels / g.channels,
    ytaps: h.filter,
    xtaps: w.filter,
    ystride: h.stride,
    xstride: w.stride,
    ydilation: h.dilation,
    xdilation: w.dilation,
    ybefore: h.before,
    xbefore: w.before,
  };
}

/** Plans the convolution, or backwards the gradient of the image. */
function planImage(task: ConvTask, profile: Profile, backward: boolean): GpuPlan {
  const { geometry: g } = task, [, h, w] = g.axes;
  const [[height, columns]] = rowsAndLimits([h, w], backward);
  const count = g.batch * height * columns * (backward ? g.channels : g.outChannels);
  if (count === 0) return { dispatches: [] };
  const strides = backward ? h.stride === 1 && w.stride === 1 : w.stride <= 2;
  if (widthOf(g) === 4 && w.filter <= MAX_TAPS && w.dilation === 1 && strides) {
    const results = profile.barriers ? null : tileResults([h, w], [height, columns]);
    const dispatch = results
      ? tiles(task, profile, results, backward)
      : rows(task, profile, backward);
    return { dispatches: [dispatch] };
  }
  const width = widthOf(g), total = count / width, workgroup = workgroupFor(total, profile);
  const { texts, inputs } = printDepthwise(task, width, workgroup);
  const program = shaderProgram(backward ? DEPTHWISE_INPUT_ONE : DEPTHWISE_ONE, texts, { inputs });
  const params = wordsOf(program, { total, ...windowFields(g, backward) });
  return {
    dispatches: [flatDispatch({ program, buffers: buffersOf(task), params }, profile)],
  };
}

/**
 * Dispatches neighbours along whole rows of four channels: each element of an image row is loaded once for all the taps
 * that meet it.
 */
function rows(task: ConvTask, profile: Profile, backward: boolean): Dispatch {
  const { geometry: g } = task, [, h, w] = g.axes, c4 = g.channels / 4;
  const pixels = w.stride === 1 ? 4 : 2, sign = backward ? -1 : 1;
  const [[yrows, xrows], [ylimit, xlimit]] = rowsAndLimits([h, w], backward);
  const blocks = Math.ceil(xrows / pixels), total = g.batch * yrows * blocks * c4;
  const workgroup = workgroupFor(total, profile);
  const { texts, inputs } = printDepthwise(task, 4, workgroup);
  const program = shaderProgram(
    DEPTHWISE_ROWS,
    { ...texts, taps: w.filter, stride: w.stride, backward, pixels },
    { name: `depthwise_rows_${w.filter}`, inputs },
  );
  const params = wordsOf(program, {
    total,
    c4,
    blocks,
    yrows,
    xrows,
    ylimit,
    xlimit,
    ytaps: h.filter,
    ymul: h.stride,
    yadd: -sign * h.before,
    ystep: sign * h.dilation,
    xadd: -sign * w.before,
  });
  return flatDispatch({ program, buffers: buffersOf(task), params }, profile);
}

/** Returns the rows and columns of results that an invocation makes; null where even a few are too much to unroll. */
function tileResults(
  axes: readonly [WindowAxis, WindowAxis],
  places: readonly [number, number],
): readonly [number, number] | null {
  if (axes[0].dilation !== 1) return null;
  for (const results of [[4, 4], [2, 4], [2, 2], [1, 4], [1, 2], [1, 1]] as const) {
    const [height, width] = axes.map((a, d) => (results[d] - 1) * a.stride + a.filter);
    const accesses = height * width + axes[0].filter * axes[1].filter + results[0] * results[1];
    const fits = results.every((n, d) => n < 2 * places[d]);
    if (fits && accesses <= MAX_ACCESSES) return results;
  }
  return null;
}

/**
 * Dispatches rectangles of results, with every tap unrolled: loops and branches cost software adapters more than taps
 * outside.
 */
function tiles(
  task: ConvTask,
  profile: Profile,
  results: readonly [number, number],
  backward: boolean,
): Dispatch {
  const { geometry: g } = task, [, h, w] = g.axes, c4 = g.channels / 4;
  const [made, [ylimit, xlimit]] = rowsAndLimits([h, w], backward), [yrows, xrows] = made;
  const [yblocks, xblocks] = made.map((n, d) => Math.ceil(n / results[d]));
  const total = g.batch * yblocks * xblocks * c4, workgroup = workgroupFor(total, profile);
  const { texts, inputs } = printDepthwise(task, 4, workgroup);
  const program = shaderProgram(DEPTHWISE_TILE, {
    ...texts,
    tapsY: h.filter,
    tapsX: w.filter,
    strideY: h.stride,
    strideX: w.stride,
    backward,
    rows: results[0],
    columns: results[1],
    even: made.every((n, d) => n % results[d] === 0),
  }, { name: `depthwise_tile_${h.filter}x${w.filter}`, inputs });
  const sign = backward ? 1 : -1;
  const params = wordsOf(program, {
    total,
    c4,
    yblocks,
    xblocks,
    yrows,
    xrows,
    ylimit,
    xlimit,
    yadd: sign * h.before,
    xadd: sign * w.before,
  });
  return flatDispatch({ program, buffers: buffersOf(task), params }, profile);
}

/**
 * Plans the gradient of the filter: neighbours along a row of it, summed over some lines of places. `wid.z` counts
 * parts.
 */
function planFilter(task: ConvTask, profile: Profile): GpuPlan {
  const { geometry: g } = task, [, h, w] = g.axes, width = widthOf(g);
  const size = h.filter * w.filter * g.outChannels, lines = g.batch * h.out;
  if (size === 0) return { dispatches: [] };
  const taps = w.filter <= MAX_TAPS ? w.filter : 1;
  const total = size / taps / width, workgroup = workgroupFor(total, profile);
  const wanted = Math.ceil(thresholdsOf(profile).invocations / total);
  const room = Math.floor(profile.maxBinding / (4 * size));
  const parts = Math.max(1, Math.min(lines, profile.maxGrid, 256, wanted, room));
  const extents = { size, columns: g.outChannels, splits: parts };
  return planSplits(task, extents, profile, (own, splits) => {
    const { texts } = printDepthwise(own, width, workgroup);
    const name = `depthwise_filter_${taps}`;
    const program = shaderProgram(DEPTHWISE_FILTER, { ...texts, taps }, { name });
    const step = Math.ceil(lines / splits);
    const params = wordsOf(program, { total, lines, step, ...windowFields(g, false) });
    const work = { program, buffers: buffersOf(own), params };
    const { grid: [x, y], ...dispatch } = flatDispatch(work, profile);
    return [{ ...dispatch, grid: [x, y, splits] }];
  });
}

/** The variant of convolutions of each channel alone, and those of its gradients. */
export const DEPTHWISE: Readonly<Record<MeaningOf<"convolution">["gives"], GpuVariant>> = {
  "result": convVariant(
    "depthwise",
    "forward",
    (task, profile) => planImage(task, profile, false),
    true,
  ),
  "input gradient": convVariant(
    "depthwise_input",
    "input",
    (task, profile) => planImage(task, profile, true),
    true,
  ),
  "filter gradient": convVariant("depthwise_filter", "filter", planFilter, true),
};
