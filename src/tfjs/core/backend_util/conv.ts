/** Shapes of convolutions and pools. */
import { assert } from "../util/checks.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Padding of each side of each axis. */
export type ExplicitPadding = [
  [number, number],
  [number, number],
  [number, number],
  [number, number],
];
/** The way in which padding was given. */
export type PadType = "SAME" | "VALID" | "NUMBER" | "EXPLICIT";
/** Padding of an image. */
export interface PadInfo {
  /** Above. */
  top: number;
  /** Left. */
  left: number;
  /** Right. */
  right: number;
  /** Below. */
  bottom: number;
  /** The way in which it was given. */
  type: PadType;
}
/** Padding of a volume. */
export interface PadInfo3D extends PadInfo {
  /** In front. */
  front: number;
  /** Behind. */
  back: number;
}
/** A convolution or pool of images. */
export interface Conv2DInfo {
  /** Number of images. */
  batchSize: number;
  /** Rows of an image. */
  inHeight: number;
  /** Columns of an image. */
  inWidth: number;
  /** Channels of an image. */
  inChannels: number;
  /** Rows of a result. */
  outHeight: number;
  /** Columns of a result. */
  outWidth: number;
  /** Channels of a result. */
  outChannels: number;
  /** The place of the channels. */
  dataFormat: "channelsFirst" | "channelsLast";
  /** Step along rows. */
  strideHeight: number;
  /** Step along columns. */
  strideWidth: number;
  /** Distance of the filter's rows. */
  dilationHeight: number;
  /** Distance of the filter's columns. */
  dilationWidth: number;
  /** Rows of the filter. */
  filterHeight: number;
  /** Columns of the filter. */
  filterWidth: number;
  /** Rows that the dilated filter spans. */
  effectiveFilterHeight: number;
  /** Columns that the dilated filter spans. */
  effectiveFilterWidth: number;
  /** Padding. */
  padInfo: PadInfo;
  /** Shape of the images. */
  inShape: [number, number, number, number];
  /** Shape of the result. */
  outShape: [number, number, number, number];
  /** Shape of the filter. */
  filterShape: [number, number, number, number];
}
/** A convolution or pool of volumes. */
export interface Conv3DInfo
  extends Omit<Conv2DInfo, "padInfo" | "inShape" | "outShape" | "filterShape"> {
  /** Slices of a volume. */
  inDepth: number;
  /** Slices of a result. */
  outDepth: number;
  /** Step along slices. */
  strideDepth: number;
  /** Distance of the filter's slices. */
  dilationDepth: number;
  /** Slices of the filter. */
  filterDepth: number;
  /** Slices that the dilated filter spans. */
  effectiveFilterDepth: number;
  /** Padding. */
  padInfo: PadInfo3D;
  /** Shape of the volumes. */
  inShape: [number, number, number, number, number];
  /** Shape of the result. */
  outShape: [number, number, number, number, number];
  /** Shape of the filter. */
  filterShape: [number, number, number, number, number];
}
/** Rounding of fractional output sizes. */
export type RoundingMode = "floor" | "round" | "ceil";
/** A number for each axis, or one for all. */
export type PerAxis = number | readonly number[];
/** Padding as users give it. */
export type Padding = "same" | "valid" | number | ExplicitPadding;

type Shape4 = [number, number, number, number];
type Shape5 = [number, number, number, number, number];

function perAxis(value: PerAxis, axes: number): number[] {
  if (typeof value === "number") return new Array(axes).fill(value);
  return value.length === 1 ? new Array(axes).fill(value[0]) : [...value];
}

function rounded(value: number, mode: RoundingMode | undefined): number {
  switch (mode) {
    case undefined:
      return Math.trunc(value);
    case "round":
      return Math.round(value);
    case "ceil":
      return Math.ceil(value);
    case "floor":
      return Math.floor(value);
  }
  throw new Error(`Cannot round a size: wanted floor, round or ceil, received ${mode}`);
}

interface Axis {
  readonly extent: number;
  readonly stride: number;
  readonly effective: number;
}

/** Computes the output extent and padding along one axis. */
function alongAxis(
  { extent, stride, effective }: Axis,
  pad: "same" | "valid" | [number, number],
  mode: RoundingMode | undefined,
): { out: number; before: number; after: number } {
  if (pad === "valid") {
    return { out: Math.ceil((extent - effective + 1) / stride), before: 0, after: 0 };
  }
  if (pad === "same") {
    const out = Math.ceil(extent / stride);
    const all = Math.max(0, (out - 1) * stride + effective - extent);
    const before = Math.floor(all / 2);
    return { out, before, after: all - before };
  }
  const [before, after] = pad;
  return { out: rounded((extent - effective + before + after) / stride + 1, mode), before, after };
}

function padType(pad: Padding): PadType {
  if (pad === "same") return "SAME";
  if (pad === "valid" || pad === 0) return "VALID";
  if (typeof pad === "number") return "NUMBER";
  return pad.flat().every((n) => n === 0) ? "VALID" : "EXPLICIT";
}

/** Returns the padding of an axis of space. */
function padOf(pad: Padding, axis: number): "same" | "valid" | [number, number] {
  if (pad === "same" || pad === "valid") return pad;
  if (typeof pad === "number") return [pad, pad];
  if (Array.isArray(pad)) return pad[axis];
  throw new Error(`Cannot pad: wanted same, valid, a number or pairs, received ${pad}`);
}

interface Convolution {
  readonly strides: PerAxis;
  readonly dilations: PerAxis;
  readonly pad: Padding;
  readonly mode: RoundingMode | undefined;
  readonly depthwise: boolean;
  readonly dataFormat: "channelsFirst" | "channelsLast";
}

/**
 * Computes the shapes of a convolution over some axes of space, of which the last are rows and columns; `slices` is the
 * first of them.
 */
function computeInfo<S extends Shape4 | Shape5>(
  inShape: S,
  filterShape: S,
  { strides, dilations, pad, mode, depthwise, dataFormat }: Convolution,
) {
  if (dataFormat !== "channelsLast" && dataFormat !== "channelsFirst") {
    throw new Error(`Unknown dataFormat ${dataFormat}`);
  }
  const isLast = dataFormat === "channelsLast", first = isLast ? 1 : 2, n = inShape.length - 2;
  const steps = perAxis(strides, n), distances = perAxis(dilations, n);
  const axes = inShape.slice(first, first + n).map((extent, i) => {
    const filter = filterShape[i], stride = steps[i], dilation = distances[i];
    const axis = { extent, filter, stride, dilation, effective: (filter - 1) * dilation + 1 };
    return { ...axis, ...alongAxis(axis, padOf(pad, first + i), mode) };
  });
  const [batchSize] = inShape, inChannels = inShape[isLast ? n + 1 : 1];
  const outChannels = depthwise ? filterShape[n + 1] * inChannels : filterShape[n + 1];
  const sizes = axes.map(({ out }) => out), [rows, columns] = axes.slice(-2);
  const outShape = isLast ? [batchSize, ...sizes, outChannels] : [batchSize, outChannels, ...sizes];
  const info = {
    batchSize,
    dataFormat,
    inHeight: rows.extent,
    inWidth: columns.extent,
    inChannels,
    outHeight: rows.out,
    outWidth: columns.out,
    outChannels,
    padInfo: {
      top: rows.before,
      bottom: rows.after,
      left: columns.before,
      right: columns.after,
      type: padType(pad),
    },
    strideHeight: rows.stride,
    strideWidth: columns.stride,
    filterHeight: rows.filter,
    filterWidth: columns.filter,
    effectiveFilterHeight: rows.effective,
    effectiveFilterWidth: columns.effective,
    dilationHeight: rows.dilation,
    dilationWidth: columns.dilation,
    inShape,
    outShape: outShape as S,
    filterShape,
  };
  return { info, slices: axes[0] };
}

/** Computes the shapes of a convolution of images. Throws for an unknown format. */
export function computeConv2DInfo(
  inShape: Shape4,
  filterShape: Shape4,
  strides: PerAxis,
  dilations: PerAxis,
  pad: Padding,
  roundingMode?: RoundingMode,
  depthwise = false,
  dataFormat: "channelsFirst" | "channelsLast" = "channelsLast",
): Conv2DInfo {
  const given = { strides, dilations, pad, mode: roundingMode, depthwise, dataFormat };
  return computeInfo(inShape, filterShape, given).info;
}

/** Computes the shapes of a dilation of images. */
export function computeDilation2DInfo(
  inputShape: Shape4,
  filterShape: [number, number, number],
  strides: PerAxis,
  pad: "same" | "valid" | number,
  dataFormat: "NHWC" = "NHWC",
  dilations: PerAxis = 1,
): Conv2DInfo {
  const filter: Shape4 = [...filterShape, inputShape[3]];
  const format = convertConv2DDataFormat(dataFormat);
  return computeConv2DInfo(
    inputShape,
    filter,
    strides,
    dilations,
    pad,
    undefined,
    undefined,
    format,
  );
}

/** Computes the shapes of a pool of images. Throws for an unknown format. */
export function computePool2DInfo(
  inShape: Shape4,
  filterSize: PerAxis,
  strides: PerAxis,
  dilations: PerAxis,
  pad: Padding,
  roundingMode?: RoundingMode,
  dataFormat: "channelsFirst" | "channelsLast" = "channelsLast",
): Conv2DInfo {
  const [height, width] = perAxis(filterSize, 2);
  const channels = inShape[dataFormat === "channelsFirst" ? 1 : 3];
  return computeConv2DInfo(
    inShape,
    [height, width, channels, channels],
    strides,
    dilations,
    pad,
    roundingMode,
    false,
    dataFormat,
  );
}

/** Computes the shapes of a convolution of volumes. Throws for an unknown format. */
export function computeConv3DInfo(
  inShape: Shape5,
  filterShape: Shape5,
  strides: PerAxis,
  dilations: PerAxis,
  pad: "same" | "valid" | number,
  depthwise = false,
  dataFormat: "channelsFirst" | "channelsLast" = "channelsLast",
  roundingMode?: RoundingMode,
): Conv3DInfo {
  const given = { strides, dilations, pad, mode: roundingMode, depthwise, dataFormat };
  const { info, slices } = computeInfo(inShape, filterShape, given);
  return {
    ...info,
    inDepth: slices.extent,
    outDepth: slices.out,
    padInfo: { front: slices.before, back: slices.after, ...info.padInfo },
    strideDepth: slices.stride,
    filterDepth: slices.filter,
    effectiveFilterDepth: slices.effective,
    dilationDepth: slices.dilation,
  };
}

/** Computes the shapes of a pool of volumes. Throws for an unknown format. */
export function computePool3DInfo(
  inShape: Shape5,
  filterSize: PerAxis,
  strides: PerAxis,
  dilations: PerAxis,
  pad: "same" | "valid" | number,
  roundingMode?: RoundingMode,
  dataFormat: "NDHWC" | "NCDHW" = "NDHWC",
): Conv3DInfo {
  const formats = { NDHWC: "channelsLast", NCDHW: "channelsFirst" } as const;
  const format = formats[dataFormat];
  if (format === undefined) throw new Error(`Unknown dataFormat ${dataFormat}`);
  const [depth, height, width] = perAxis(filterSize, 3);
  const channels = inShape[format === "channelsLast" ? 4 : 1];
  const filter: Shape5 = [depth, height, width, channels, channels];
  return computeConv3DInfo(inShape, filter, strides, dilations, pad, false, format, roundingMode);
}

/** Returns the padding that keeps the extent where the stride is 1. */
export function computeDefaultPad(
  inputShape: readonly number[],
  fieldSize: number,
  stride: number,
  dilation = 1,
): number {
  const effective = (fieldSize - 1) * dilation + 1;
  return Math.floor((inputShape[0] * (stride - 1) - stride + effective) / 2);
}
/** True where all are 1. */
export function tupleValuesAreOne(param: PerAxis): boolean {
  return perAxis(param, 3).every((n) => n === 1);
}
/** True where strides or dilations are all 1. */
export function eitherStridesOrDilationsAreOne(strides: PerAxis, dilations: PerAxis): boolean {
  return tupleValuesAreOne(strides) || tupleValuesAreOne(dilations);
}
/** True where all are above 0. */
export function stridesOrDilationsArePositive(values: PerAxis): boolean {
  return perAxis(values, 3).every((n) => n > 0);
}
/** Returns the place of the channels. Throws for an unknown format. */
export function convertConv2DDataFormat(
  dataFormat: "NHWC" | "NCHW",
): "channelsLast" | "channelsFirst" {
  if (dataFormat === "NHWC") return "channelsLast";
  if (dataFormat === "NCHW") return "channelsFirst";
  throw new Error(`Unknown dataFormat ${dataFormat}`);
}
/** Throws where rounding is requested and the padding is not made of integers. */
export function checkPadOnDimRoundingMode(
  opDesc: string,
  pad: Padding,
  dimRoundingMode?: RoundingMode | null,
): void {
  if (dimRoundingMode === undefined || dimRoundingMode === null) return;
  const numbers = typeof pad === "string" ? [NaN] : [pad].flat(2);
  assert(
    numbers.every((n) => Number.isInteger(n)),
    () =>
      `${opDesc} with dimRoundingMode ${dimRoundingMode} wants padding in integers, received ${pad}`,
  );
}
