/** Gradients of convolutions and pools: other convolutions, and elements scattered to where they come from. */
import type { NodeAttributes } from "../builder.ts";
import {
  bigs,
  concat,
  extents,
  filled,
  gather,
  reshape,
  scalarOf,
  slice,
  transpose,
  upTo,
} from "../helpers.ts";
import { channelsFirst, channelsLast, spatialOf } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import { intsOf, numbers, type Ref } from "../ref.ts";
import type { WriteRule, WriteRules } from "../rule.ts";
import {
  attributes,
  depthwiseFirst,
  filterFirst,
  isFirst,
  padsAround,
  padsOf,
  poolWindow,
  type Window,
  windowOf,
} from "./windows.ts";

/** Returns an image of the node's as ONNX has it. */
function toOnnx(n: NodeWriter, x: Ref): Ref {
  return isFirst(n) ? x : channelsFirst(n, x);
}

/** Returns an image of ONNX's as the node gives it. */
function fromOnnx(n: NodeWriter, first: Ref, rank: number): Ref {
  return isFirst(n) ? first : channelsLast(n, first, rank);
}

/** Returns a shape that the file must have. */
function knownShape(
  n: NodeWriter,
  shape: readonly (number | null)[] | null,
  what: string,
): number[] {
  if (shape === null || shape.includes(null)) return n.lacks(`the shape of ${what} is not known`);
  return shape as number[];
}

/** Returns the spatial extents of images, which the file must have. */
function spatial(n: NodeWriter, shape: readonly (number | null)[] | null): number[] {
  const own = shape && spatialOf(shape as number[], isFirst(n));
  return knownShape(n, own, "its images");
}

/** Returns the attributes of a transposed convolution that gives images of `wanted` extents. */
function transposed(
  n: NodeWriter,
  window: Window,
  from: readonly number[],
  wanted: readonly number[],
): NodeAttributes {
  const { kernel, strides, dilations } = window, { before } = padsAround(n, window, wanted);
  const after = kernel.map((k, i) =>
    strides[i] * (from[i] - 1) + (k - 1) * dilations[i] + 1 - before[i] - wanted[i]
  );
  return {
    ...attributes(window),
    pads: bigs([...before, ...after.map((a) => Math.max(a, 0))]),
    ...(after.some((a) => a < 0) && { output_padding: bigs(after.map((a) => Math.max(-a, 0))) }),
  };
}

/** Makes the gradient of a convolution with respect to its images. */
function ofImages(isDepthwise: boolean): WriteRule {
  return (n) => {
    const [sizes, w, dy] = n.xs, shape = knownShape(n, w.shape, "a filter"), rank = shape.length;
    const window = windowOf(n, shape.slice(0, -2)), known = intsOf(sizes), out = n.outputs[0].shape;
    // The sizes may be those of the spatial axes alone.
    const wanted = known?.length === rank - 2 ? known : spatial(n, known ?? out);
    const filter = isDepthwise ? depthwiseFirst(n, w, shape) : filterFirst(n, w);
    const dx = n.node("ConvTranspose", [toOnnx(n, dy), filter], {
      ...transposed(n, window, spatial(n, dy.shape), wanted),
      ...(isDepthwise && { group: BigInt(shape[2]) }),
    });
    return fromOnnx(n, dx, rank);
  };
}

/**
 * Makes the gradient of a convolution with respect to its filter: the images are convolved with the gradients of the
 * results, batch and channels exchanged, strides and dilations too.
 */
function ofFilter(isDepthwise: boolean): WriteRule {
  return (n) => {
    const [x, sizes, dy] = n.xs;
    const shape = knownShape(n, intsOf(sizes) ?? n.outputs[0].shape, "a filter");
    const kernel = shape.slice(0, -2), window = windowOf(n, kernel);
    const wanted = spatial(n, x.shape),
      from = spatial(n, dy.shape),
      { strides, dilations } = window;
    const { before } = padsAround(n, window, wanted);
    const after = kernel.map((k, i) =>
      (k - 1) * dilations[i] + (from[i] - 1) * strides[i] + 1 - wanted[i] - before[i]
    );
    // Each channel of a depthwise convolution is a group, whose channels are the batch.
    const images = swapped(n, toOnnx(n, x), shape.length);
    const grouped = isDepthwise ? reshape(n, images, [1, -1, ...wanted]) : images;
    const dw = n.node("Conv", [grouped, swapped(n, toOnnx(n, dy), shape.length)], {
      kernel_shape: bigs(from),
      strides: bigs(dilations),
      dilations: bigs(strides),
      pads: bigs([...before, ...after.map((a) => Math.max(a, 0))]),
      ...(isDepthwise && { group: BigInt(shape[2]) }),
    });
    // The images may reach beyond the last window.
    const cut = after.every((a) => a >= 0) ? dw : slice(n, dw, {
      begin: kernel.map(() => 0),
      end: kernel,
      axes: kernel.map((_, i) => i + 2),
    });
    const last = transpose(n, cut, [...kernel.map((_, i) => i + 2), 0, 1]);
    return isDepthwise ? reshape(n, last, shape) : last;
  };
}

function swapped(n: NodeWriter, x: Ref, rank: number): Ref {
  return transpose(n, x, [1, 0, ...upTo(rank - 2).map((i) => i + 2)]);
}

/** Returns the places of the largest elements of a pool's windows among all elements of its images, as ONNX has these. */
function placesOf(n: NodeWriter, x: Ref): [y: Ref, places: Ref] {
  const window = poolWindow(n),
    type = x.dtype === "float32" || x.dtype === "float64" ? x.dtype : "float32";
  const [y, places] = n.raw("MaxPool", [n.cast(toOnnx(n, x), type)], {
    ...attributes(window),
    ...padsOf(n, x, window),
  }, [{ dtype: type }, { dtype: "int64" }]);
  return [n.cast(y, x.dtype), places];
}

/** A value as a vector of all its elements. */
function flat(n: NodeWriter, x: Ref): Ref {
  return reshape(n, x, [-1]);
}

function ofLargest(n: NodeWriter): Ref {
  const [x, , dy] = n.xs, first = toOnnx(n, x), rank = n.rank(x), dims = extents(n, first, 0, rank);
  const size = n.node("ReduceProd", [dims], { keepdims: 1n });
  // Halves are added up as floats.
  const type = x.dtype === "float64" ? x.dtype : "float32";
  const sums = n.node(
    "ScatterElements",
    [
      filled(n, size, 0, type),
      flat(n, placesOf(n, x)[1]),
      n.cast(flat(n, toOnnx(n, dy)), type),
    ],
    { axis: 0n, reduction: "add" },
    { operands: [0, 2] },
  );
  return fromOnnx(n, n.cast(reshape(n, sums, dims), x.dtype), rank);
}

function ofGradientOfLargest(n: NodeWriter): Ref {
  const [x, , d] = n.xs, places = placesOf(n, x)[1];
  return fromOnnx(n, gather(n, flat(n, toOnnx(n, d)), places, 0), n.rank(x));
}

/** ONNX counts `((n * channels + c) * height + y) * width + x`, the op `(y * width + x) * channels + c` in each image, or from the first. */
function largest(n: NodeWriter): readonly Ref[] {
  const [x] = n.xs, [y, places] = placesOf(n, x), first = toOnnx(n, x);
  const at = (axis: number): Ref => scalarOf(n, extents(n, first, axis, axis + 1));
  const depth = at(1), area = n.node("Mul", [at(2), at(3)]);
  const pixel = n.node("Mod", [places, area]), rest = n.node("Div", [places, area]);
  const channel = n.node("Mod", [rest, depth]);
  const pixels = n.attrs.include_batch_in_index === true
    ? n.node("Add", [pixel, n.node("Mul", [n.node("Div", [rest, depth]), area])])
    : pixel;
  const index = n.node("Add", [n.node("Mul", [pixels, depth]), channel]);
  return [fromOnnx(n, y, 4), n.narrow(fromOnnx(n, index, 4), n.outputs[1].dtype)];
}

/** Each window's gradient, divided by the number of its elements, goes to all of these. */
function ofMean(n: NodeWriter): Ref {
  const [sizes, dy] = n.xs, window = poolWindow(n), { kernel, strides } = window;
  const shape = intsOf(sizes) ?? n.outputs[0].shape, rank = kernel.length + 2;
  const wanted = spatial(n, shape), first = toOnnx(n, dy), from = spatial(n, dy.shape);
  const { before } = padsAround(n, window, wanted);
  // Pads count for nothing.
  const counts = kernel.map((k, i) =>
    upTo(from[i]).map((p) => {
      const begin = p * strides[i] - before[i];
      return Math.min(begin + k, wanted[i]) - Math.max(begin, 0);
    })
  );
  const all = counts.reduce((part, own) => part.flatMap((a) => own.map((b) => a * b)), [1]);
  const each = n.node("Div", [first, n.constant(numbers(dy.dtype, all, from))]);
  const one = numbers(dy.dtype, new Array(kernel.reduce((a, b) => a * b, 1)).fill(1), [
    1,
    1,
    ...kernel,
  ]);
  const sums = n.node("ConvTranspose", [
    reshape(n, each, [-1, 1, ...from]),
    n.constant(one),
  ], transposed(n, window, from, wanted));
  const dims = concat(n, [extents(n, first, 0, 2), n.int64s(wanted)], 0);
  return fromOnnx(n, reshape(n, sums, dims), rank);
}

export const WINDOW_GRADIENTS: WriteRules = {
  AvgPool3DGrad: ofMean,
  AvgPoolGrad: ofMean,
  Conv2DBackpropFilter: ofFilter(false),
  Conv2DBackpropInput: ofImages(false),
  Conv3DBackpropFilterV2: ofFilter(false),
  Conv3DBackpropInputV2: ofImages(false),
  DepthwiseConv2dNativeBackpropFilter: ofFilter(true),
  DepthwiseConv2dNativeBackpropInput: ofImages(true),
  MaxPool3DGrad: ofLargest,
  MaxPool3DGradGrad: ofGradientOfLargest,
  MaxPoolGrad: ofLargest,
  MaxPoolGradGrad: ofGradientOfLargest,
  MaxPoolWithArgmax: largest,
};
