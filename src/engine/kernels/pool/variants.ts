/** Pooling on the GPU: the variants of MaxPool, AvgPool, their gradients and MaxPoolWithArgmax. */
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuVariant,
  type Profile,
  type Program,
  workgroupFor,
} from "../../core/dispatch.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import type { Shape } from "../../core/shape.ts";
import { forwardGather, gatherWords, isDeep } from "../conv/gather.ts";
import {
  inPlaces,
  isChannelsFirst,
  outPlaces,
  spatialAxes,
  tapCount,
  type WindowGeometry,
  windowGeometry,
} from "../conv/geometry.ts";
import { type ImageKernel, imageVariant } from "../conv/variants.ts";
import { flatDispatch, wordsOf } from "../dispatches.ts";
import {
  poolGradProgram,
  type PoolKind,
  poolProgram,
  type PoolSource,
  poolTileGradProgram,
} from "./programs.ts";
import { POOL_RESULTS } from "../thresholds.ts";

/** Returns the geometry of a pooling over an image of this shape. */
function poolGeometry(shape: Shape, attrs: Problem["attrs"]): WindowGeometry {
  const first = isChannelsFirst(attrs);
  const window = spatialAxes(shape.length, first).map((a) => (attrs.ksize as number[])[a]);
  return windowGeometry(shape, window, shape[first ? 1 : shape.length - 1], attrs);
}

/** Most taps that a program for software adapters unrolls: their loops cost more than their bodies. */
const MAX_TAPS = 16;

/** Returns the source of a kernel of `count` results; one of two fours where `kind` supports them. */
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
  const isSoftware = !profile.barriers, few = isSoftware && tapCount(g) <= MAX_TAPS;
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

/** Returns the channels of an invocation. */
function widthOf({ wide, eights }: Pick<PoolSource, "wide" | "eights">): number {
  return eights ? 8 : wide ? 4 : 1;
}

/** Makes a dispatch of a program with the fields of shaders/pool/. */
export function poolDispatch(
  program: Program,
  buffers: readonly BufferRef[],
  { geometry: g, source, count, profile, batched = false }: {
    readonly geometry: WindowGeometry;
    readonly source: PoolSource;
    readonly count: number;
    readonly profile: Profile;
    readonly batched?: boolean;
  },
): Dispatch {
  const width = widthOf(source);
  const params = wordsOf(program, {
    total: count / width,
    channels: g.channels / width,
    batched: batched ? 1 : 0,
    lowest: f32Bits(-Infinity),
  }, gatherWords(forwardGather(g), source.deep));
  return flatDispatch({ program, buffers, params }, profile);
}

/** Elements of the result of a pooling. */
export function outCount(g: WindowGeometry): number {
  return g.batch * outPlaces(g) * g.channels;
}
export function inCount(g: WindowGeometry): number {
  return g.batch * inPlaces(g) * g.channels;
}

/**
 * Makes a kernel of one plan over images: `operands` are positions of the op's inputs, `image` is the shape that
 * decides.
 */
function variant(
  name: string,
  operands: readonly number[],
  plan: ImageKernel["plan"],
  image: (problem: Problem) => Shape = ({ inputs: [x] }) => x.shape,
): GpuVariant {
  const geometry = (problem: Problem): WindowGeometry =>
    poolGeometry(image(problem), problem.attrs);
  return imageVariant({ name, operands, geometry, plan });
}

const last = (problem: Problem): PoolSource["dtype"] => problem.inputs.at(-1)!.dtype;

function windows(kind: PoolKind, name: string, operands: readonly number[]): GpuVariant {
  return variant(name, operands, (geometry, buffers, problem, profile) => {
    const count = outCount(geometry);
    const source = sourceOf(geometry, last(problem), count, profile, kind);
    const batched = Boolean(problem.attrs.include_batch_in_index);
    const work = { geometry, source, count, profile, batched };
    return { dispatches: [poolDispatch(poolProgram(kind, source), buffers, work)] };
  });
}

/** True where each element lies in just one window, and windows are small enough to be unrolled. */
function tilesImage(g: WindowGeometry): boolean {
  return tapCount(g) <= MAX_TAPS &&
    g.axes.every((a) =>
      a.before === 0 && a.dilation === 1 && a.stride === a.filter && a.out * a.stride === a.in
    );
}

/**
 * Gradient of the maximum. Where windows overlap, one dispatch finds the winning tap of each window, and another
 * collects for each element; else one dispatch does both.
 */
const MAX_POOL_GRAD: readonly GpuVariant[] = [
  variant("max_pool_grad", [0, 2], (geometry, [x, dy, dx], problem, profile) => {
    const outs = outCount(geometry), ins = inCount(geometry);
    if (tilesImage(geometry)) {
      const own = sourceOf(geometry, last(problem), outs, profile);
      const axes = geometry.axes.slice(own.deep ? 0 : 1);
      const source = { ...own, taps: axes.map((a) => a.filter), inside: true };
      const work = { geometry, source, count: outs, profile };
      return { dispatches: [poolDispatch(poolTileGradProgram(source), [x, dy, dx], work)] };
    }
    const source = sourceOf(geometry, last(problem), ins, profile);
    const images = sourceOf(geometry, problem.inputs[0].dtype, outs, profile);
    const taps: BufferRef = { temp: 0 };
    const [first, second] = [
      { geometry, source: images, count: outs, profile },
      { geometry, source, count: ins, profile },
    ];
    return {
      dispatches: [
        poolDispatch(poolProgram("tap", images), [x, taps], first),
        poolDispatch(poolGradProgram("max", source), [dy, taps, dx], second),
      ],
      temps: [Math.max(16, outs * 4)],
    };
  }),
];

const AVG_POOL_GRAD: readonly GpuVariant[] = [
  variant("avg_pool_grad", [1], (geometry, buffers, problem, profile) => {
    const count = inCount(geometry), source = sourceOf(geometry, last(problem), count, profile);
    const work = { geometry, source, count, profile };
    return { dispatches: [poolDispatch(poolGradProgram("avg", source), buffers, work)] };
  }, ({ outputs: [dx] }) => dx.shape),
];

const VARIANTS: Readonly<Record<"max" | "mean", Readonly<Record<string, readonly GpuVariant[]>>>> =
  {
    max: {
      "result": [windows("max", "max_pool", [0])],
      "gradient": MAX_POOL_GRAD,
      "second gradient": [windows("pick", "max_pool_grad_grad", [0, 2])],
      "result and place": [windows("argmax", "max_pool_argmax", [0])],
    },
    mean: {
      "result": [windows("avg", "avg_pool", [0])],
      "gradient": AVG_POOL_GRAD,
    },
  };

/** The variants of an op over windows. */
export function windowVariants({ takes, gives }: MeaningOf<"window">): readonly GpuVariant[] {
  return VARIANTS[takes][gives];
}
