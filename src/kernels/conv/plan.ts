/**
 * From convolutions and their gradients to dispatches.
 */
import type { BufferRef, Dispatch, GpuPlan, Profile } from "../../core/dispatch.ts";
import { accDType } from "../../core/gpu_storage.ts";
import {
  type ConvChoice,
  type ConvTask,
  filterCandidates,
  gatherCandidates,
  tunedConv,
} from "./candidates.ts";
import { isPointwiseWindow, outPlaces, tapCount } from "./geometry.ts";
import {
  backwardGather,
  forwardGather,
  type Gather,
  gatherRows,
  gatherWords,
  isDeep,
  phaseCount,
} from "./gather.ts";
import { convRegisterProgram, type ConvSource, filterRegisterProgram } from "./register.ts";
import { convSharedProgram, filterSharedProgram } from "./shared.ts";
import { planSplitSum } from "../matmul/split.ts";
import { foldGrid, registerGroups } from "../matmul/tiles.ts";
import { tunedChoice } from "../matmul/tuning.ts";
import { planMatMul } from "../matmul/plan.ts";
import type { MatMulShape } from "../matmul/shape.ts";

/** Plans the convolution. */
export function planConv(task: ConvTask, profile: Profile, choice?: ConvChoice): GpuPlan {
  const { geometry: g } = task;
  const places = g.batch * outPlaces(g), taps = tapCount(g);
  if (places * g.outChannels === 0) return { dispatches: [] };
  // One tap, or one place that sees the whole image: rows of the image are rows of a matrix.
  const whole = g.axes.every((a) =>
    a.out === 1 && a.before === 0 && a.filter === a.in && a.dilation === 1
  );
  if (choice === undefined && (isPointwiseWindow(g) || whole)) {
    return planMatMul({
      shape: flatShape(places, g.outChannels, taps * g.channels, false, false),
      dtype: task.dtype,
      out: task.out,
      a: task.a,
      b: task.b,
      c: task.c,
      epilogue: task.epilogue,
    }, profile);
  }
  return planGather(task, forwardGather(g), profile, choice);
}

function flatShape(m: number, n: number, k: number, transA: boolean, transB: boolean): MatMulShape {
  return { m, n, k, transA, transB, batch: 1, walk: { dims: [1], strides: [[0], [0]] } };
}

/** Plans the gradient of the image. The geometry must have phases. */
export function planConvInput(task: ConvTask, profile: Profile, choice?: ConvChoice): GpuPlan {
  const { geometry: g } = task;
  const pixels = g.batch * g.axes[0].in * g.axes[1].in * g.axes[2].in;
  if (pixels * g.channels === 0) return { dispatches: [] };
  if (choice === undefined && isPointwiseWindow(g)) {
    return planMatMul({
      shape: flatShape(pixels, g.channels, g.outChannels, false, true),
      dtype: task.dtype,
      out: task.out,
      a: task.a,
      b: task.b,
      c: task.c,
    }, profile);
  }
  return planGather(task, backwardGather(g), profile, choice);
}

function planGather(
  task: ConvTask,
  gather: Gather,
  profile: Profile,
  forced?: ConvChoice,
): GpuPlan {
  const { dtype, out } = task;
  const m = gatherRows(gather), n = gather.columns, channels = gather.channels;
  const taps = gather.axes.reduce((p, a) => p * a.taps, 1);
  const k = taps * channels, phases = phaseCount(gather);
  const deep = isDeep(gather),
    phased = gather.axes.some((a) => a.phases > 1 || a.outMul !== 1 || a.outAdd !== 0);
  const wideA = channels > 0 && channels % 4 === 0, wideC = n % 4 === 0;
  const source: ConvSource = {
    dtype,
    out,
    deep,
    transposed: gather.transposed,
    phased,
    wideA,
    wideB: gather.transposed ? wideA : wideC,
    wideC,
    epilogue: task.epilogue,
  };
  const candidates = gatherCandidates(source, [m, n, k, phases], profile);
  const choice = forced ?? tunedChoice(candidates, profile, () =>
    gather.transposed
      ? tunedConv(
        task,
        "conv_input",
        ["result", "filter", "image"],
        (bare, choice) => planConvInput(bare, profile, choice),
      )
      : tunedConv(
        task,
        "conv",
        ["image", "filter", "result"],
        (bare, choice) => planConv(bare, profile, choice),
      ));
  const words = gatherWords(gather, deep);
  const ldb = (gather.transposed ? channels : n) / (source.wideB ? 4 : 1),
    ldc = n / (wideC ? 4 : 1);
  const operands = (task.epilogue?.operands ?? []).map((o) => o.buffer);
  if (choice.kind === "register") {
    const { groups, rowgroups, across } = registerGroups(m, n, choice.tile, profile.lanes);
    return {
      dispatches: layers(phases, profile, (zbase, depth) => ({
        program: convRegisterProgram(source, choice.tile, profile),
        buffers: [task.a, task.b, ...operands, task.c],
        params: [
          m,
          n,
          channels,
          ldb,
          ldc,
          0,
          zbase,
          groups,
          rowgroups,
          across - 1,
          Math.log2(across),
          ...words,
        ],
        grid: [...foldGrid(groups, profile), depth],
      })),
    };
  }
  const rowgroups = Math.ceil(m / choice.tile.bm),
    groups = rowgroups * Math.ceil(n / choice.tile.bn);
  const splits = phased ? 1 : choice.splits;
  const kstep = Math.ceil(k / splits / choice.tile.bk) * choice.tile.bk;
  const params = (zbase: number): number[] => [
    m,
    n,
    k,
    0,
    kstep,
    ldc,
    0,
    splits > 1 ? m * ldc : 0,
    0,
    zbase,
    splits,
    groups,
    rowgroups,
    channels,
    ldb,
    ...words,
  ];
  if (splits === 1) {
    return {
      dispatches: layers(phases, profile, (zbase, depth) => ({
        program: convSharedProgram(source, choice.tile, false),
        buffers: [task.a, task.b, ...operands, task.c],
        params: params(zbase),
        grid: [...foldGrid(groups, profile), depth],
      })),
    };
  }
  const partial = { ...source, out: accDType(dtype), epilogue: undefined };
  return {
    dispatches: [
      ...layers(splits, profile, (zbase, depth) => ({
        program: convSharedProgram(partial, choice.tile, true),
        buffers: [task.a, task.b, { temp: 0 }],
        params: params(zbase),
        grid: [...foldGrid(groups, profile), depth],
      })),
      planSplitSum({
        partial: { temp: 0 },
        out: task.c,
        sum: accDType(dtype),
        dtype: out,
        batch: 1,
        size: m * n,
        columns: n,
        splits,
        epilogue: task.epilogue,
      }, profile),
    ],
    temps: [splits * m * n * 4],
  };
}

/** Plans the gradient of the filter. */
export function planConvFilter(task: ConvTask, profile: Profile, forced?: ConvChoice): GpuPlan {
  const { geometry: g, dtype } = task;
  const gather = forwardGather(g);
  const m = tapCount(g) * g.channels, n = g.outChannels, k = gatherRows(gather);
  if (m * n === 0) return { dispatches: [] };
  if (forced === undefined && isPointwiseWindow(g) && k > 0) {
    return planMatMul({
      shape: flatShape(m, n, k, true, false),
      dtype,
      out: task.out,
      a: task.a,
      b: task.b,
      c: task.c,
    }, profile);
  }
  const deep = isDeep(gather), wideA = g.channels % 4 === 0, wideB = n % 4 === 0;
  const lines = k / Math.max(1, gather.axes[2].rows);
  const candidates = filterCandidates([m, n, k, lines], { wideA, wideB }, profile);
  const choice = forced ?? tunedChoice(candidates, profile, () =>
    tunedConv(
      task,
      "conv_filter",
      ["image", "result", "filter"],
      (bare, choice) => planConvFilter(bare, profile, choice),
    ));
  const splits = choice.splits * m * n * 4 > profile.maxBinding ? 1 : choice.splits;
  const source = { dtype, out: splits > 1 ? accDType(dtype) : task.out, deep, wideA, wideB };
  const width = wideB ? 4 : 1, words = gatherWords(gather, deep);
  const buffers: BufferRef[] = [task.a, task.b, splits > 1 ? { temp: 0 } : task.c];
  let dispatches: Dispatch[];
  if (choice.kind === "register") {
    const { groups, rowgroups, across } = registerGroups(m, n, choice.tile, profile.lanes);
    const step = Math.ceil(lines / splits);
    dispatches = layers(splits, profile, (zbase, depth) => ({
      program: filterRegisterProgram(source, choice.tile, profile),
      buffers,
      params: [
        m,
        n,
        lines,
        step,
        g.channels,
        n / width,
        n / width,
        m * n / width,
        0,
        zbase,
        groups,
        rowgroups,
        across - 1,
        Math.log2(across),
        ...words,
      ],
      grid: [...foldGrid(groups, profile), depth],
    }));
  } else {
    const rowgroups = Math.ceil(m / choice.tile.bm),
      groups = rowgroups * Math.ceil(n / choice.tile.bn);
    const kstep = Math.ceil(k / splits / choice.tile.bk) * choice.tile.bk;
    dispatches = layers(splits, profile, (zbase, depth) => ({
      program: filterSharedProgram(source, choice.tile, splits > 1),
      buffers,
      params: [
        m,
        n,
        k,
        0,
        kstep,
        n / width,
        0,
        m * n / width,
        0,
        zbase,
        splits,
        groups,
        rowgroups,
        g.channels,
        n / width,
        ...words,
      ],
      grid: [...foldGrid(groups, profile), depth],
    }));
  }
  if (splits === 1) return { dispatches };
  dispatches.push(planSplitSum({
    partial: { temp: 0 },
    out: task.c,
    sum: accDType(dtype),
    dtype: task.out,
    batch: 1,
    size: m * n,
    columns: n,
    splits,
  }, profile));
  return { dispatches, temps: [splits * m * n * 4] };
}

/** Dispatches for a third axis that may exceed the grid's. */
function layers(
  total: number,
  { maxGrid }: Profile,
  make: (zbase: number, depth: number) => Dispatch,
): Dispatch[] {
  const list: Dispatch[] = [];
  for (let z = 0; z < total; z += maxGrid) list.push(make(z, Math.min(maxGrid, total - z)));
  return list;
}
