/**
 * Depthwise convolutions on the GPU: the variants of DepthwiseConv2dNative and its gradients.
 */
import {
  type BufferRef,
  type Dispatch,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
  workgroupFor,
} from "../../core/dispatch.ts";
import { accDType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { type WindowGeometry, windowGeometry } from "./geometry.ts";
import type { ConvTask } from "./candidates.ts";
import { convFits, convTask, planImages } from "./variants.ts";
import { filterProgram, oneInputProgram, oneProgram, rowsProgram } from "./depthwise_programs.ts";
import { type DepthwiseTile, tileProgram, tileResults } from "./depthwise_tile.ts";
import { planSplitSum } from "../matmul/split.ts";
import { thresholdsOf } from "../thresholds.ts";

/** Longest row of taps that a program spells out. */
const MAX_TAPS = 7;

function multiplier(g: WindowGeometry): number {
  return g.outChannels / g.channels;
}

function isWide(g: WindowGeometry): boolean {
  return g.outChannels === g.channels && g.channels % 4 === 0;
}

/** Plans the convolution. */
export function planDepthwise(task: ConvTask, profile: Profile): GpuPlan {
  const { geometry: g, epilogue } = task;
  const [, h, w] = g.axes;
  const count = g.batch * h.out * w.out * g.outChannels;
  if (count === 0) return { dispatches: [] };
  if (isWide(g) && w.filter <= MAX_TAPS && w.dilation === 1 && w.stride <= 2) {
    return rows(task, profile, false);
  }
  const wide = isWide(g),
    width = wide ? 4 : 1,
    total = count / width,
    workgroup = workgroupFor(total, profile);
  return {
    dispatches: [{
      program: oneProgram({ dtype: task.dtype, out: task.out, wide, workgroup, epilogue }),
      buffers: buffersOf(task),
      params: [
        total,
        g.channels / width,
        multiplier(g),
        h.out,
        w.out,
        h.in,
        w.in,
        ...windowWords(g),
      ],
      grid: gridFor(total, workgroup, profile),
    }],
  };
}

function windowWords({ axes: [, h, w] }: WindowGeometry): number[] {
  return [h.filter, w.filter, h.stride, w.stride, h.dilation, w.dilation, h.before, w.before];
}

function buffersOf({ a, b, c, epilogue }: ConvTask): BufferRef[] {
  return [a, b, ...(epilogue?.operands ?? []).map((o) => o.buffer), c];
}

/** Whole rows of four channels: the convolution, or backwards the gradient of the image where the stride is 1. */
function rows(task: ConvTask, profile: Profile, backward: boolean): GpuPlan {
  const { geometry: g, dtype, out, epilogue } = task;
  const [, h, w] = g.axes;
  const results = !profile.barriers && h.dilation === 1
    ? tileResults({
      taps: [h.filter, w.filter],
      stride: [h.stride, w.stride],
      places: backward ? [h.in, w.in] : [h.out, w.out],
    })
    : null;
  if (results) return tiles(task, profile, { results, backward });
  const pixels = w.stride === 1 ? 4 : 2;
  const [yrows, xrows, ylimit, xlimit] = backward
    ? [h.in, w.in, h.out, w.out]
    : [h.out, w.out, h.in, w.in];
  const blocks = Math.ceil(xrows / pixels), c4 = g.channels / 4;
  const total = g.batch * yrows * blocks * c4;
  const workgroup = workgroupFor(total, profile);
  return {
    dispatches: [{
      program: rowsProgram({
        dtype,
        out,
        taps: w.filter,
        stride: w.stride,
        backward,
        pixels,
        workgroup,
        epilogue,
      }),
      buffers: buffersOf(task),
      params: [
        total,
        c4,
        blocks,
        yrows,
        xrows,
        ylimit,
        xlimit,
        h.filter,
        h.stride,
        backward ? h.before : -h.before,
        backward ? -h.dilation : h.dilation,
        backward ? w.before : -w.before,
      ],
      grid: gridFor(total, workgroup, profile),
    }],
  };
}

/** The same in rectangles. */
function tiles(
  task: ConvTask,
  profile: Profile,
  { results, backward }: Pick<DepthwiseTile, "results" | "backward">,
): GpuPlan {
  const { geometry: g, dtype, out, epilogue } = task;
  const [, h, w] = g.axes, axes = [h, w];
  const rows = axes.map((a) => (backward ? a.in : a.out));
  const limits = axes.map((a) => (backward ? a.out : a.in));
  const blocks = rows.map((n, d) => Math.ceil(n / results[d]));
  const c4 = g.channels / 4;
  const total = g.batch * blocks[0] * blocks[1] * c4;
  const workgroup = workgroupFor(total, profile);
  return {
    dispatches: [{
      program: tileProgram({
        dtype,
        out,
        taps: [h.filter, w.filter],
        stride: [h.stride, w.stride],
        backward,
        results,
        even: rows.every((n, d) => n % results[d] === 0),
        workgroup,
        epilogue,
      }),
      buffers: buffersOf(task),
      params: [
        total,
        c4,
        ...blocks,
        ...rows,
        ...limits,
        ...axes.map((a) => (backward ? a.before : -a.before)),
      ],
      grid: gridFor(total, workgroup, profile),
    }],
  };
}

/** Plans the gradient of the image. */
export function planDepthwiseInput(task: ConvTask, profile: Profile): GpuPlan {
  const { geometry: g } = task;
  const [, h, w] = g.axes;
  const count = g.batch * h.in * w.in * g.channels;
  if (count === 0) return { dispatches: [] };
  if (isWide(g) && w.filter <= MAX_TAPS && w.dilation === 1 && w.stride === 1 && h.stride === 1) {
    return rows(task, profile, true);
  }
  const wide = isWide(g),
    width = wide ? 4 : 1,
    total = count / width,
    workgroup = workgroupFor(total, profile);
  return {
    dispatches: [{
      program: oneInputProgram({ dtype: task.dtype, out: task.out, wide, workgroup }),
      buffers: buffersOf(task),
      params: [
        total,
        g.channels / width,
        multiplier(g),
        h.in,
        w.in,
        h.out,
        w.out,
        ...windowWords(g),
      ],
      grid: gridFor(total, workgroup, profile),
    }],
  };
}

/** Plans the gradient of the filter. */
export function planDepthwiseFilter(task: ConvTask, profile: Profile): GpuPlan {
  const { geometry: g, dtype } = task;
  const [, h, w] = g.axes;
  const size = h.filter * w.filter * g.outChannels, lines = g.batch * h.out;
  if (size === 0) return { dispatches: [] };
  const wide = isWide(g), width = wide ? 4 : 1;
  const taps = w.filter <= MAX_TAPS ? w.filter : 1;
  const total = size / taps / width;
  const workgroup = workgroupFor(total, profile);
  const { invocations: wanted } = thresholdsOf(profile);
  const room = Math.floor(profile.maxBinding / (4 * size));
  const splits = Math.max(
    1,
    Math.min(lines, profile.maxGrid, 256, Math.ceil(wanted / total), room),
  );
  const sum = accDType(dtype);
  const out = splits > 1 ? sum : task.out;
  const dispatches: Dispatch[] = [{
    program: filterProgram({ dtype, out, wide, workgroup }, taps),
    buffers: [task.a, task.b, splits > 1 ? { temp: 0 } : task.c],
    params: [
      total,
      g.channels / width,
      multiplier(g),
      lines,
      Math.ceil(lines / splits),
      h.out,
      w.out,
      h.in,
      w.in,
      w.filter,
      h.stride,
      w.stride,
      h.dilation,
      w.dilation,
      h.before,
      w.before,
    ],
    grid: withDepth(gridFor(total, workgroup, profile), splits),
  }];
  if (splits === 1) return { dispatches };
  dispatches.push(planSplitSum({
    partial: { temp: 0 },
    out: task.c,
    sum,
    dtype: task.out,
    batch: 1,
    size,
    columns: g.outChannels,
    splits,
  }, profile));
  return { dispatches, temps: [splits * size * 4] };
}

function withDepth([x, y]: readonly [number, number, number], z: number): [number, number, number] {
  return [x, y, z];
}

/** The geometry of a filter of this shape over an image of that. */
export function depthwiseGeometry(
  image: readonly number[],
  filter: readonly number[],
  attrs: Problem["attrs"],
): WindowGeometry {
  return windowGeometry(image, filter, filter[2] * filter[3], attrs);
}

/** Ways to run DepthwiseConv2dNative, tried in order. */
export const DEPTHWISE_VARIANTS: readonly GpuVariant[] = [{
  name: "depthwise",
  fits: convFits,
  plan: (problem, profile) => {
    const [x, filter] = problem.inputs;
    const geometry = depthwiseGeometry(x.shape, filter.shape, problem.attrs);
    return planImages(
      problem,
      profile,
      geometry,
      [0, 1],
      [true, false, true],
      (g, a, b, c) => planDepthwise(convTask(problem, g, a, b, c), profile),
    );
  },
}];

/** Ways to run the gradient of the image. */
export const DEPTHWISE_INPUT_VARIANTS: readonly GpuVariant[] = [{
  name: "depthwise_input",
  fits: convFits,
  plan: (problem, profile) => {
    const [, filter] = problem.inputs, [dx] = problem.outputs;
    const geometry = depthwiseGeometry(dx.shape, filter.shape, problem.attrs);
    return planImages(
      problem,
      profile,
      geometry,
      [2, 1],
      [true, false, true],
      (g, a, b, c) => planDepthwiseInput(convTask(problem, g, a, b, c), profile),
    );
  },
}];

/** Ways to run the gradient of the filter. */
export const DEPTHWISE_FILTER_VARIANTS: readonly GpuVariant[] = [{
  name: "depthwise_filter",
  fits: convFits,
  plan: (problem, profile) => {
    const [x] = problem.inputs, [df] = problem.outputs;
    const geometry = depthwiseGeometry(x.shape, df.shape, problem.attrs);
    return planImages(
      problem,
      profile,
      geometry,
      [0, 2],
      [true, true, false],
      (g, a, b, c) => planDepthwiseFilter(convTask(problem, g, a, b, c), profile),
    );
  },
}];
