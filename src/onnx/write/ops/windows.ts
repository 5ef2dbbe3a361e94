/** Convolutions and pools. Their images have channels at axis 1 in ONNX. */
import type { NodeAttributes } from "../builder.ts";
import { bigs, reshape, transpose, upTo } from "../helpers.ts";
import { channelsFirst, channelsLast, spatialOf } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import { intsOf, type Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";

/** A window that slides over the spatial axes of images. */
interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
}

function isFirst(n: NodeWriter): boolean {
  return String(n.attrs.data_format ?? "NHWC").startsWith("NC");
}

/** Writes what takes images with channels at axis 1, and gives them. */
function overImages(n: NodeWriter, x: Ref, write: (first: Ref) => Ref): Ref {
  if (isFirst(n)) return write(x);
  return channelsLast(n, write(channelsFirst(n, x)), n.rank(x));
}

function windowOf(n: NodeWriter, kernel: readonly number[]): Window {
  const ones = kernel.map(() => 1),
    at = (name: string): readonly number[] => {
      const given = n.attrs[name] as readonly number[] | undefined;
      return given === undefined || given.length === 0 ? ones : spatialOf(given, isFirst(n));
    };
  return { kernel, strides: at("strides"), dilations: at("dilations") };
}

/** Returns the pads that the attribute `padding` means, as attributes. */
function padsOf(n: NodeWriter, x: Ref, { kernel, strides, dilations }: Window): NodeAttributes {
  const { padding, explicit_paddings: given } = n.attrs as {
    padding: string;
    explicit_paddings?: readonly number[];
  };
  if (padding === "VALID") return {};
  if (padding === "EXPLICIT") {
    const pairs = upTo(given!.length / 2).map((i) => given!.slice(2 * i, 2 * i + 2));
    const own = isFirst(n) ? pairs.slice(2) : pairs.slice(1, -1);
    return { pads: bigs([...own.map(([a]) => a), ...own.map(([, b]) => b)]) };
  }
  const extents = x.shape && spatialOf(x.shape as number[], isFirst(n));
  if (extents === null || extents.some((d) => d === null)) return { auto_pad: "SAME_UPPER" };
  const total = extents.map((d, i) =>
    Math.max(
      (Math.ceil(d / strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - d,
      0,
    )
  );
  const before = total.map((t) => Math.floor(t / 2));
  return { pads: bigs([...before, ...total.map((t, i) => t - before[i])]) };
}

/** Returns the known shape of a filter. */
function filterShape(n: NodeWriter, i: number): number[] {
  const { shape } = n.xs[i];
  if (shape === null || shape.includes(null)) return n.lacks("the shape of a filter is not known");
  return shape as number[];
}

function attributes({ kernel, strides, dilations }: Window): NodeAttributes {
  return {
    kernel_shape: bigs(kernel),
    strides: bigs(strides),
    ...(dilations.some((d) => d !== 1) && { dilations: bigs(dilations) }),
  };
}

/** Converts a filter `[…, in, out]` to `[out, in, …]`. */
function filterFirst(n: NodeWriter, w: Ref): Ref {
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

function depthwise(n: NodeWriter): Ref {
  const [x, w] = n.xs, [height, width, depth, times] = filterShape(n, 1);
  const window = windowOf(n, [height, width]);
  const filter = reshape(n, transpose(n, w, [2, 3, 0, 1]), [depth * times, 1, height, width]);
  return overImages(n, x, (first) =>
    n.node("Conv", [first, filter], {
      ...attributes(window),
      ...padsOf(n, x, window),
      group: BigInt(depth),
    }));
}

/** The gradient of a convolution with respect to its images is a transposed convolution. */
function convTranspose(n: NodeWriter): Ref {
  const [sizes, w, dy] = n.xs, window = windowOf(n, filterShape(n, 1).slice(0, -2));
  const first = isFirst(n), { kernel, strides, dilations } = window;
  const known = intsOf(sizes), out = n.outputs[0].shape;
  const wanted = known !== null && known.length > kernel.length
    ? spatialOf(known, first)
    : known ?? (out && spatialOf(out as number[], first));
  const from = dy.shape && spatialOf(dy.shape as number[], first);
  if (!wanted || !from || [...wanted, ...from].some((d) => d === null)) {
    return n.lacks("the extents of its images are not known");
  }
  const pads = kernel.map((k, i): [number, number, number] => {
    const reach = (k - 1) * dilations[i] + 1, natural = strides[i] * (from[i] - 1) + reach;
    const { padding, explicit_paddings: given } = n.attrs as {
      padding: string;
      explicit_paddings?: number[];
    };
    const excess = natural - wanted[i];
    let [before, after] = [0, 0];
    if (padding === "SAME") before = Math.floor(Math.max(excess, 0) / 2);
    if (padding === "EXPLICIT") before = given![2 * (i + (first ? 2 : 1))];
    after = excess - before;
    return [before, Math.max(after, 0), Math.max(-after, 0)];
  });
  return overImages(n, dy, (x) =>
    n.node("ConvTranspose", [x, filterFirst(n, w)], {
      ...attributes(window),
      pads: bigs([...pads.map(([a]) => a), ...pads.map(([, b]) => b)]),
      ...(pads.some(([, , more]) => more > 0) &&
        { output_padding: bigs(pads.map(([, , m]) => m)) }),
    }));
}

/** Makes the rule of a pool. */
function pool(op: "MaxPool" | "AveragePool"): WriteRule {
  return (n) => {
    const [x] = n.xs, ksize = n.attrs.ksize as readonly number[];
    const edges = isFirst(n) ? ksize.slice(0, 2) : [ksize[0], ksize[ksize.length - 1]];
    if (edges.some((k) => k !== 1)) return n.lacks("a window over the batch or the channels");
    const window = windowOf(n, spatialOf(ksize, isFirst(n)));
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
  Conv2DBackpropInput: convTranspose,
  Conv3D: conv,
  Conv3DBackpropInputV2: convTranspose,
  DepthwiseConv2dNative: depthwise,
  MaxPool: pool("MaxPool"),
  MaxPool3D: pool("MaxPool"),
};
