/**
 * Pooling on the GPU: the variants of MaxPool, AvgPool, their gradients and MaxPoolWithArgmax.
 */
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
  type Program,
  workgroupFor,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { forwardGather, gatherWords, isDeep } from "../conv/gather.ts";
import {
  isChannelsFirst,
  spatialAxes,
  type WindowGeometry,
  windowGeometry,
} from "../conv/geometry.ts";
import { convFits } from "../conv/variants.ts";
import { channelsLast, type Operand } from "../conv/layout.ts";
import {
  poolGradProgram,
  type PoolKind,
  poolProgram,
  type PoolSource,
  poolTileGradProgram,
} from "./programs.ts";
import { POOL_RESULTS } from "../thresholds.ts";

/** The geometry of a pooling over an image of this shape. */
function poolGeometry(shape: Shape, attrs: Problem["attrs"]): WindowGeometry {
  const first = isChannelsFirst(attrs);
  const window = spatialAxes(shape.length, first).map((a) => (attrs.ksize as number[])[a]);
  return windowGeometry(shape, window, shape[first ? 1 : shape.length - 1], attrs);
}

/** Taps that a program for software adapters spells out at most: their loops cost more than what is in them. */
const MAX_TAPS = 16;

/** Taps of a window. */
function tapsOf(g: WindowGeometry): number {
  return g.axes.reduce((n, a) => n * a.filter, 1);
}

/** What shapes a kernel of `count` results; one of two fours where `kind` can take them. */
function sourceOf(
  g: WindowGeometry,
  dtype: PoolSource["dtype"],
  count: number,
  profile: Profile,
  kind?: PoolKind,
): PoolSource {
  const deep = isDeep(forwardGather(g));
  const wide = g.channels % 4 === 0 && inCount(g) > 0 && outCount(g) > 0;
  const plain = (kind === "max" || kind === "avg") && dtype !== "float16";
  const eights = plain && profile.words64 && wide && g.channels % 8 === 0 && count >= POOL_RESULTS;
  const axes = g.axes.slice(deep ? 0 : 1);
  const isSoftware = !profile.barriers, few = isSoftware && tapsOf(g) <= MAX_TAPS;
  const inside = axes.every((a) =>
    a.before === 0 && (a.out - 1) * a.stride + (a.filter - 1) * a.dilation < a.in
  );
  const row = axes[axes.length - 1].filter;
  return {
    dtype,
    deep,
    wide,
    eights,
    workgroup: workgroupFor(count / widthOf({ wide, eights }), profile),
    taps: few ? axes.map((a) => a.filter) : undefined,
    inside,
    run: isSoftware && !few && inside && row <= MAX_TAPS ? row : undefined,
  };
}

/** Channels that an invocation makes. */
function widthOf({ wide, eights }: Pick<PoolSource, "wide" | "eights">): number {
  return eights ? 8 : wide ? 4 : 1;
}

function dispatch(
  program: Program,
  buffers: readonly BufferRef[],
  g: WindowGeometry,
  source: PoolSource,
  count: number,
  batched: boolean,
  profile: Profile,
): Dispatch {
  const width = widthOf(source), total = count / width;
  return {
    program,
    buffers,
    params: [
      total,
      g.channels / width,
      batched ? 1 : 0,
      f32Bits(-Infinity),
      ...gatherWords(forwardGather(g), source.deep),
    ],
    grid: gridFor(total, source.workgroup, profile),
  };
}

function outCount(g: WindowGeometry): number {
  return g.batch * g.axes[0].out * g.axes[1].out * g.axes[2].out * g.channels;
}
function inCount(g: WindowGeometry): number {
  return g.batch * g.axes[0].in * g.axes[1].in * g.axes[2].in * g.channels;
}

/** A kernel of one plan over images: `inputs` are positions of the op's inputs, `image` the one whose shape decides. */
function variant(
  name: string,
  inputs: readonly number[],
  shapeOf: (problem: Problem) => Shape,
  plan: (
    geometry: WindowGeometry,
    ins: readonly BufferRef[],
    outs: readonly BufferRef[],
    problem: Problem,
    profile: Profile,
  ) => GpuPlan,
): GpuVariant {
  return {
    name,
    fits: (problem, profile) => convFits(problem, profile),
    plan: (problem, profile) => {
      const geometry = poolGeometry(shapeOf(problem), problem.attrs);
      if (problem.outputs.some((o) => sizeOf(o.shape) === 0)) return { dispatches: [] };
      const outs = problem.outputs.map((_, output): BufferRef => ({ output }));
      if (!geometry.channelsFirst) {
        return plan(geometry, inputs.map((input) => ({ input })), outs, problem, profile);
      }
      const operand = (
        buffer: BufferRef,
        spec: { dtype: Operand["dtype"]; shape: Shape },
      ): Operand => ({
        buffer,
        shape: spec.shape,
        dtype: spec.dtype,
        image: true,
      });
      return channelsLast(
        inputs.map((input) => operand({ input }, problem.inputs[input])),
        problem.outputs.map((o, output) => operand({ output }, o)),
        profile,
        (a, c) => plan({ ...geometry, channelsFirst: false }, a, c, problem, profile),
      );
    },
  };
}

const last = (problem: Problem): PoolSource["dtype"] =>
  problem.inputs[problem.inputs.length - 1].dtype;
const ofInput = (problem: Problem): Shape => problem.inputs[0].shape;

function windows(kind: PoolKind, name: string, inputs: readonly number[]): GpuVariant {
  return variant(name, inputs, ofInput, (g, ins, outs, problem, profile) => {
    const source = sourceOf(g, last(problem), outCount(g), profile, kind);
    const batched = Boolean(problem.attrs.include_batch_in_index);
    return {
      dispatches: [
        dispatch(
          poolProgram(kind, source),
          [...ins, ...outs],
          g,
          source,
          outCount(g),
          batched,
          profile,
        ),
      ],
    };
  });
}

/** Greatest element of each window. */
export const MAX_POOL_VARIANTS: readonly GpuVariant[] = [windows("max", "max_pool", [0])];

/** Mean of each window. */
export const AVG_POOL_VARIANTS: readonly GpuVariant[] = [windows("avg", "avg_pool", [0])];

/** Gradient of the gradient of the greatest element. */
export const MAX_POOL_GRAD_GRAD_VARIANTS: readonly GpuVariant[] = [
  windows("pick", "max_pool_grad_grad", [0, 2]),
];

/** Greatest element and where it stands. */
export const ARG_MAX_POOL_VARIANTS: readonly GpuVariant[] = [
  windows("argmax", "max_pool_argmax", [0]),
];

/** True where each element lies in just one window, and windows are small enough to be spelled out. */
function tilesImage(g: WindowGeometry): boolean {
  return tapsOf(g) <= MAX_TAPS &&
    g.axes.every((a) =>
      a.before === 0 && a.dilation === 1 && a.stride === a.filter && a.out * a.stride === a.in
    );
}

/**
 * Gradient of the greatest element. Where windows overlap, first which tap won in each window, then what each element collects;
 * where they do not, both at once.
 */
export const MAX_POOL_GRAD_VARIANTS: readonly GpuVariant[] = [
  variant("max_pool_grad", [0, 2], ofInput, (g, [x, dy], [dx], problem, profile) => {
    if (tilesImage(g)) {
      const source = sourceOf(g, last(problem), outCount(g), profile);
      const axes = g.axes.slice(source.deep ? 0 : 1);
      const tiles = { ...source, taps: axes.map((a) => a.filter), inside: true };
      const program = poolTileGradProgram(tiles);
      return {
        dispatches: [dispatch(program, [x, dy, dx], g, tiles, outCount(g), false, profile)],
      };
    }
    const source = sourceOf(g, last(problem), inCount(g), profile);
    const images = sourceOf(g, problem.inputs[0].dtype, outCount(g), profile);
    const taps: BufferRef = { temp: 0 };
    return {
      dispatches: [
        dispatch(poolProgram("tap", images), [x, taps], g, images, outCount(g), false, profile),
        dispatch(
          poolGradProgram("max", source),
          [dy, taps, dx],
          g,
          source,
          inCount(g),
          false,
          profile,
        ),
      ],
      temps: [Math.max(16, outCount(g) * 4)],
    };
  }),
];

/** Gradient of the mean. */
export const AVG_POOL_GRAD_VARIANTS: readonly GpuVariant[] = [
  variant(
    "avg_pool_grad",
    [1],
    ({ outputs: [dx] }) => dx.shape,
    (g, [dy], [dx], problem, profile) => {
      const source = sourceOf(g, last(problem), inCount(g), profile);
      return {
        dispatches: [
          dispatch(poolGradProgram("avg", source), [dy, dx], g, source, inCount(g), false, profile),
        ],
      };
    },
  ),
];
