/** Convolutions and pools. Their images have channels at axis 1 in ONNX. */
import type { NodeAttributes } from "../builder.ts";
import { bigs, reshape, transpose, upTo } from "../helpers.ts";
import { channelsFirst, channelsLast, spatialOf } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";

/** A window that slides over the spatial axes of images. */
export interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
}

/** True for images with channels at axis 1. */
export function isFirst(n: NodeWriter): boolean {
  return String(n.attrs.data_format ?? "NHWC").startsWith("NC");
}

/** Writes what takes images with channels at axis 1, and gives them. */
function overImages(n: NodeWriter, x: Ref, write: (first: Ref) => Ref): Ref {
  if (isFirst(n)) return write(x);
  return channelsLast(n, write(channelsFirst(n, x)), n.rank(x));
}

/** Returns the window of a kernel with the node's strides and dilations. */
export function windowOf(n: NodeWriter, kernel: readonly number[]): Window {
  const ones = kernel.map(() => 1),
    at = (name: string): readonly number[] => {
      const given = n.attrs[name] as readonly number[] | undefined;
      return given === undefined || given.length === 0 ? ones : spatialOf(given, isFirst(n));
    };
  return { kernel, strides: at("strides"), dilations: at("dilations") };
}

/** Returns the pads before and after images of these extents. */
export function padsAround(
  n: NodeWriter,
  { kernel, strides, dilations }: Window,
  extents: readonly number[],
): { readonly before: readonly number[]; readonly after: readonly number[] } {
  const { padding, explicit_paddings: given } = n.attrs as {
    padding: string;
    explicit_paddings?: readonly number[];
  };
  const none = kernel.map(() => 0);
  if (padding === "VALID") return { before: none, after: none };
  if (padding === "EXPLICIT") {
    const pairs = upTo(given!.length / 2).map((i) => given!.slice(2 * i, 2 * i + 2));
    const own = isFirst(n) ? pairs.slice(2) : pairs.slice(1, -1);
    return { before: own.map(([a]) => a), after: own.map(([, b]) => b) };
  }
  const total = extents.map((d, i) =>
    Math.max(
      (Math.ceil(d / strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - d,
      0,
    )
  );
  const before = total.map((t) => Math.floor(t / 2));
  return { before, after: total.map((t, i) => t - before[i]) };
}

/** Returns the pads that the attribute `padding` means, as attributes. */
export function padsOf(n: NodeWriter, x: Ref, window: Window): NodeAttributes {
  const { padding } = n.attrs;
  if (padding === "VALID") return {};
  const extents = x.shape && spatialOf(x.shape as number[], isFirst(n));
  if (padding === "SAME" && (extents === null || extents.some((d) => d === null))) {
    return { auto_pad: "SAME_UPPER" };
  }
  const { before, after } = padsAround(n, window, extents ?? []);
  return { pads: bigs([...before, ...after]) };
}

/** Returns the known shape of a filter. */
export function filterShape(n: NodeWriter, i: number): number[] {
  const { shape } = n.xs[i];
  if (shape === null || shape.includes(null)) return n.lacks("the shape of a filter is not known");
  return shape as number[];
}

/** Returns a window as attributes. */
export function attributes({ kernel, strides, dilations }: Window): NodeAttributes {
  return {
    kernel_shape: bigs(kernel),
    strides: bigs(strides),
    ...(dilations.some((d) => d !== 1) && { dilations: bigs(dilations) }),
  };
}

/** Converts a filter `[…, in, out]` to `[out, in, …]`. */
export function filterFirst(n: NodeWriter, w: Ref): Ref {
  const rank = n.rank(w);
  return transpose(n, w, [rank - 1, rank - 2, ...upTo(rank - 2)]);
}

function conv(n: NodeWriter): Ref {
  const [x, w] = n.xs, shape = filterShape(n, 1), window = windowOf(n, shape.slice(0, -2));
  const depth = x.shape?.[isFirst(n) ? 1 : x.shape.length - 1] ?? shape.at(-2)!;
  const group = depth / shape.at(-2)!;
  return overImages(n, x, (first) =>
    n.node("Conv", [first, filterFirst(n, w)], {
      ...attributes(window),
      ...padsOf(n, x, window),
      ...(group > 1 && { group: BigInt(group) }),
    }));
}

/** Converts a filter `[height, width, in, times]` to `[in * times, 1, height, width]`. */
export function depthwiseFirst(
  n: NodeWriter,
  w: Ref,
  [height, width, depth, times]: readonly number[],
): Ref {
  return reshape(n, transpose(n, w, [2, 3, 0, 1]), [depth * times, 1, height, width]);
}

function depthwise(n: NodeWriter): Ref {
  const [x, w] = n.xs, [height, width, depth] = filterShape(n, 1);
  const window = windowOf(n, [height, width]), filter = depthwiseFirst(n, w, filterShape(n, 1));
  return overImages(n, x, (first) =>
    n.node("Conv", [first, filter], {
      ...attributes(window),
      ...padsOf(n, x, window),
      group: BigInt(depth),
    }));
}

/** Returns the window of a pool. */
export function poolWindow(n: NodeWriter): Window {
  const ksize = n.attrs.ksize as readonly number[];
  const edges = isFirst(n) ? ksize.slice(0, 2) : [ksize[0], ksize[ksize.length - 1]];
  if (edges.some((k) => k !== 1)) return n.lacks("a window over the batch or the channels");
  return windowOf(n, spatialOf(ksize, isFirst(n)));
}

/** Makes the rule of a pool. */
function pool(op: "MaxPool" | "AveragePool"): WriteRule {
  return (n) => {
    const [x] = n.xs, window = poolWindow(n);
    const { dilations, ...own } = attributes(window) as Record<string, NodeAttributes[string]>;
    if (dilations !== undefined && op === "AveragePool" && n.target.opset < 19) {
      return n.lacks("a dilated mean pool is of version 19, pass { opset: 19 }");
    }
    return overImages(n, x, (first) =>
      n.node(op, [first], {
        ...own,
        ...(dilations !== undefined && { dilations }),
        ...padsOf(n, x, window),
      }));
  };
}

export const WINDOWS: WriteRules = {
  AvgPool: pool("AveragePool"),
  AvgPool3D: pool("AveragePool"),
  Conv2D: conv,
  Conv3D: conv,
  DepthwiseConv2dNative: depthwise,
  MaxPool: pool("MaxPool"),
  MaxPool3D: pool("MaxPool"),
};
