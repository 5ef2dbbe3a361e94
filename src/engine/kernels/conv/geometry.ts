/** Shapes of convolutions and pooling: output sizes, padding, and the axes every kernel walks. */
import { type PartialShape, type Shape, shapeText } from "../../core/shape.ts";
import type { Attrs } from "../../core/op.ts";
import { ValueError } from "../../core/errors.ts";

/** One spatial axis of a window that slides over `in` elements, with zeros before and after them, and stops at `out` places. */
export interface WindowAxis {
  readonly in: number;
  readonly out: number;
  readonly filter: number;
  readonly stride: number;
  readonly dilation: number;
  readonly before: number;
  readonly after: number;
}

/** The geometry of a convolution or a pooling: always three axes, so that kernels are written once. */
export interface WindowGeometry {
  readonly batch: number;
  readonly channels: number;
  /** Channels of the output; equals `channels` for pooling. */
  readonly outChannels: number;
  /** Depth, height, width; missing ones have extent 1. */
  readonly axes: readonly [WindowAxis, WindowAxis, WindowAxis];
  /** True where channels come before the spatial axes (NCHW). */
  readonly channelsFirst: boolean;
}

export type PaddingName = "SAME" | "VALID" | "EXPLICIT";

/** An axis of extent 1 without padding. */
const TRIVIAL_AXIS: WindowAxis = {
  in: 1,
  out: 1,
  filter: 1,
  stride: 1,
  dilation: 1,
  before: 0,
  after: 0,
};

export function dilatedExtent(filter: number, dilation: number): number {
  return (filter - 1) * dilation + 1;
}

/** Returns the positions of the spatial axes of a shape of this rank. */
export function spatialAxes(rank: number, channelsFirst: boolean): number[] {
  return Array.from({ length: rank - 2 }, (_, i) => i + (channelsFirst ? 2 : 1));
}

/** True for `NCHW` and `NCDHW`. */
export function isChannelsFirst(attrs: Attrs): boolean {
  const format = attrs.data_format ?? "NHWC";
  if (!["NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW"].includes(format)) {
    throw new ValueError(`Cannot use data_format "${format}": wanted NHWC, NCHW, NDHWC or NCDHW`);
  }
  return format[1] === "C";
}

/** The spatial attributes along each spatial axis. */
export interface SpatialAttrs {
  readonly strides: number[];
  readonly dilations: number[];
  readonly padding: PaddingName;
  /** Explicit padding; zeros for other kinds. */
  readonly explicit: [number, number][];
}

/** Reads `strides`, `dilations`, `padding` and `explicit_paddings` of an op over inputs of this rank. Throws `ValueError` for bad ones. */
export function spatialAttrs(attrs: Attrs, rank: number): SpatialAttrs {
  const axes = spatialAxes(rank, isChannelsFirst(attrs));
  const pick = (list: readonly number[] | undefined, what: string): number[] => {
    const full = list === undefined || list.length === 0 ? new Array<number>(rank).fill(1) : list;
    if (full.length !== rank) {
      throw new ValueError(
        `Sliding window ${what} field must specify ${rank} dimensions, received ${shapeText(full)}`,
      );
    }
    for (let i = 0; i < rank; i++) {
      if (!axes.includes(i) && full[i] !== 1) {
        throw new ValueError(
          `Current implementation does not yet support ${what} in the batch and depth dimensions, received ${
            shapeText(full)
          }`,
        );
      }
      if (!Number.isInteger(full[i]) || full[i] < 1) {
        throw new ValueError(
          `Sliding window ${what} must be positive integers, received ${shapeText(full)}`,
        );
      }
    }
    return axes.map((a) => full[a]);
  };
  const padding = attrs.padding as PaddingName;
  if (padding !== "SAME" && padding !== "VALID" && padding !== "EXPLICIT") {
    throw new ValueError(`Unknown padding type: ${padding}, wanted SAME, VALID or EXPLICIT`);
  }
  const pads = (attrs.explicit_paddings ?? []) as readonly number[];
  if (padding === "EXPLICIT" && (pads.length !== 2 * rank || pads.some((p) => p < 0))) {
    throw new ValueError(
      `explicit_paddings must hold ${
        2 * rank
      } non-negative integers where padding is EXPLICIT, received ${shapeText(pads)}`,
    );
  }
  return {
    strides: pick(attrs.strides, "strides"),
    dilations: pick(attrs.dilations, "dilations"),
    padding,
    explicit: axes.map((a) => padding === "EXPLICIT" ? [pads[2 * a], pads[2 * a + 1]] : [0, 0]),
  };
}

/** Returns spatial axis `i` with its padding resolved. Throws `ValueError` where the window does not fit. */
function windowAxis(
  size: number,
  filter: number,
  { strides, dilations, padding, explicit }: SpatialAttrs,
  i: number,
): WindowAxis {
  const stride = strides[i], dilation = dilations[i], extent = dilatedExtent(filter, dilation);
  let [before, after] = explicit[i];
  let out: number;
  if (padding === "SAME") {
    out = Math.ceil(size / stride);
    const total = Math.max(0, (out - 1) * stride + extent - size);
    before = total >> 1;
    after = total - before;
  } else {
    out = Math.floor((size + before + after - extent) / stride) + 1;
  }
  if (out < 0 || filter < 1) {
    throw new ValueError(
      `Computed output size would be negative: ${out} [input_size: ${size}, effective_filter_size: ${extent}, stride: ${stride}]`,
    );
  }
  return { in: size, out, filter, stride, dilation, before, after };
}

/** Returns output extents along the spatial axes; null where the input's or the filter's is unknown. */
export function spatialOutputs(
  sizes: readonly (number | null)[],
  filter: readonly (number | null)[],
  spatial: SpatialAttrs,
): (number | null)[] {
  return sizes.map((size, i) => {
    const f = filter[i];
    if (size === null || (f === null && spatial.padding !== "SAME")) return null;
    return windowAxis(size, f ?? 1, spatial, i).out;
  });
}

/** Orders batch, channels and spatial extents by the data format. */
export function orderShape(
  batch: number | null,
  spatial: readonly (number | null)[],
  channels: number | null,
  channelsFirst: boolean,
): (number | null)[] {
  return channelsFirst ? [batch, channels, ...spatial] : [batch, ...spatial, channels];
}

export function windowGeometry(
  input: Shape,
  filter: readonly number[],
  outChannels: number,
  attrs: Attrs,
): WindowGeometry {
  const rank = input.length;
  const channelsFirst = isChannelsFirst(attrs);
  const spatial = spatialAttrs(attrs, rank);
  const axes = spatialAxes(rank, channelsFirst).map((a, i) =>
    windowAxis(input[a], filter[i], spatial, i)
  );
  while (axes.length < 3) axes.unshift(TRIVIAL_AXIS);
  return {
    batch: input[0],
    channels: input[channelsFirst ? 1 : rank - 1],
    outChannels,
    axes: axes as unknown as WindowGeometry["axes"],
    channelsFirst,
  };
}

/** Returns the geometry of a dilation: `rates` are its dilations. */
export function dilationGeometry(
  image: Shape,
  filter: readonly number[],
  attrs: Attrs,
): WindowGeometry {
  const { strides, rates, padding } = attrs;
  return windowGeometry(image, filter, filter[2], { strides, dilations: rates, padding });
}

export function outPlaces(g: WindowGeometry): number {
  return g.axes[0].out * g.axes[1].out * g.axes[2].out;
}
export function inPlaces(g: WindowGeometry): number {
  return g.axes[0].in * g.axes[1].in * g.axes[2].in;
}
export function tapCount(g: WindowGeometry): number {
  return g.axes[0].filter * g.axes[1].filter * g.axes[2].filter;
}

/** True where the window is one tap that visits every input place: the convolution is a matrix product. */
export function isPointwiseWindow(g: WindowGeometry): boolean {
  return g.axes.every((a) => a.filter === 1 && a.stride === 1 && a.before === 0 && a.out === a.in);
}

/** Checks the rank of a shape. Throws `ValueError` where it is known and another. */
export function checkRank(shape: PartialShape, rank: number, op: string, what: string): void {
  if (shape !== null && shape.length !== rank) {
    throw new ValueError(
      `Shape must be rank ${rank} but is rank ${shape.length} for '${what}' of ${op}`,
    );
  }
}
