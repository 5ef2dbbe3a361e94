/**
 * A convolution and the gradient of its image are the same walk: each place gathers taps of an image and multiplies
 * them with the filter. This file describes both, in the numbers that are uniforms.
 */
import type { WindowAxis, WindowGeometry } from "./geometry.ts";

/** One axis of a gather. Place `t` of phase `f` reads `t * mul + add + u * step` for its taps `f + u * phases`. */
export interface GatherAxis {
  /** Places of one phase. */
  readonly rows: number;
  readonly mul: number;
  readonly add: number;
  readonly step: number;
  /** Extent of the source. */
  readonly limit: number;
  readonly taps: number;
  /** Phases: places of a stride that meet different taps. */
  readonly phases: number;
  /** Scale from place to position in the result. */
  readonly outMul: number;
  /** Offset in the result. */
  readonly outAdd: number;
  /** Extent of the result. */
  readonly outLimit: number;
}

/** A gather: rows are places, columns channels of the result, sums run over taps and channels of the source. */
export interface Gather {
  readonly batch: number;
  /** Depth, height, width. */
  readonly axes: readonly [GatherAxis, GatherAxis, GatherAxis];
  readonly channels: number;
  /** Channels of the result. */
  readonly columns: number;
  /** The filter is read transposed: `[taps, columns, channels]`. */
  readonly transposed: boolean;
}

export function forwardGather({ batch, axes, channels, outChannels }: WindowGeometry): Gather {
  return {
    batch,
    axes: eachAxis(axes, (a) => ({
      rows: a.out,
      mul: a.stride,
      add: -a.before,
      step: a.dilation,
      limit: a.in,
      taps: a.filter,
      phases: 1,
      outMul: 1,
      outAdd: 0,
      outLimit: a.out,
    })),
    channels,
    columns: outChannels,
    transposed: false,
  };
}

/**
 * Returns the gather of the image's gradient. Strides and dilations may not meet on one axis: {@linkcode hasPhases}.
 */
export function backwardGather({ batch, axes, channels, outChannels }: WindowGeometry): Gather {
  return {
    batch,
    axes: eachAxis(axes, (a) => {
      // Element i of the image meets tap f of place t where i + before = t * stride + f * dilation.
      const first = Math.ceil((a.before - (a.stride - 1)) / a.stride);
      const last = Math.floor((a.in - 1 + a.before) / a.stride);
      return {
        rows: last - first + 1,
        mul: 1,
        add: first,
        step: -a.dilation,
        limit: a.out,
        taps: a.filter,
        phases: a.stride,
        outMul: a.stride,
        outAdd: first * a.stride - a.before,
        outLimit: a.in,
      };
    }),
    channels: outChannels,
    columns: channels,
    transposed: true,
  };
}

function eachAxis(
  [d, h, w]: WindowGeometry["axes"],
  gather: (axis: WindowAxis) => GatherAxis,
): Gather["axes"] {
  return [gather(d), gather(h), gather(w)];
}

/** True where the gradient of the image splits into phases: no axis has both a stride and a dilation. */
export function hasPhases(g: WindowGeometry): boolean {
  return g.axes.every((a) => a.stride === 1 || a.dilation === 1);
}

export function gatherRows({ batch, axes }: Gather): number {
  return batch * axes[0].rows * axes[1].rows * axes[2].rows;
}

export function phaseCount({ axes }: Gather): number {
  return axes[0].phases * axes[1].phases * axes[2].phases;
}

/** True where depth is an axis; else programs leave it out. */
export function isDeep({ axes: [d] }: Gather): boolean {
  return d.rows > 1 || d.taps > 1 || d.limit > 1 || d.phases > 1 || d.add !== 0;
}

/** Returns the words of the uniform fields of the axes, in the order of shaders/conv/places.wgsl. */
export function gatherWords({ axes }: Gather, deep: boolean): number[] {
  return axes.slice(deep ? 0 : 1).flatMap((a) => [
    ...[a.rows, a.mul, a.add, a.step, a.limit, a.taps, a.phases],
    ...[a.outMul, a.outAdd, a.outLimit],
  ]);
}
