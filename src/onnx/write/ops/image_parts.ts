/** Images resized and cropped, by products with the weights of the pixels that are read. */
import { apply1 } from "../../../engine/core/apply.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { type Attrs, lookupOp } from "../../../engine/core/op.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { hostInts } from "../../../engine/ops/array/view.ts";
import { isolated } from "../../../engine/runtime/eager/isolated.ts";
import * as tf from "../../../../mod.ts";
import { type Expansion, extent, iota, tensor } from "./part_helpers.ts";

/** A constant matrix `[to, from]` of the weights by which a resize makes a line of pixels, which Weft's own op makes of single rows. */
function weightsOf(op: string, attrs: Attrs, from: number, to: number): Tensor {
  const rows = new NdArray("float32", [1, from, 1, from], new Float32Array(from * from));
  for (let i = 0; i < from; i++) (rows.data as Float32Array)[i * from + i] = 1;
  const { align_corners, half_pixel_centers } = attrs;
  const of = { align_corners, ...(op !== "ResizeArea" && { half_pixel_centers }) };
  const made = isolated({ device: "/CPU:0" }, () => {
    const weights = apply1(lookupOp(op)!, [rows, hostVector([to, 1])], of);
    const array = weights.ndarraySync();
    weights.dispose();
    return array;
  });
  return tf.constant(new NdArray("float32", [to, from], made.data));
}

/** Returns the height and width of images, which must be known. */
function sizeOf(x: Tensor): readonly [number, number] {
  const [height, width] = x.staticShape?.slice(1, 3) ?? [null, null];
  if (height != null && width != null) return [height, width];
  throw new UnimplementedError("the extents of its images are not known");
}

/** Makes a resize whose weights ONNX has not: a product with a matrix along each axis. */
function resizeByMatrix(op: string): Expansion {
  return ([given, size], attrs) => {
    const x = tensor(given), [height, width] = sizeOf(x);
    if (!(size instanceof NdArray)) throw new UnimplementedError("the size is not a constant");
    const [tall, broad] = hostInts(size), floats = tf.cast(x, "float32");
    return [
      tf.einsum(
        "ph,qw,bhwc->bpqc",
        weightsOf(op, attrs, height, tall),
        weightsOf(op, attrs, width, broad),
        floats,
      ),
    ];
  };
}

/** Makes the gradient of a resize: products with the same matrices, transposed. The second input has the images' size, or is these. */
function resizeGradient(op: string): Expansion {
  return ([given, like], attrs) => {
    const dy = tensor(given), [tall, broad] = sizeOf(dy);
    const isSize = like instanceof NdArray ? like.shape.length === 1 : (like as Tensor).rank === 1;
    if (isSize && !(like instanceof NdArray)) {
      throw new UnimplementedError("the size of its images is not a constant");
    }
    const [height, width] = isSize ? hostInts(like as NdArray) : sizeOf(tensor(like));
    const sums = tf.einsum(
      "ph,qw,bpqc->bhwc",
      weightsOf(op, attrs, height, tall),
      weightsOf(op, attrs, width, broad),
      tf.cast(dy, "float32"),
    );
    return [tf.cast(sums, (attrs.T ?? dy.dtype) as tf.DType)];
  };
}

function hostVector(values: readonly number[]): NdArray {
  return new NdArray("int32", [values.length], Int32Array.from(values));
}

/** Samples each box by a product with the weights of the rows and the columns that it reads. */
const cropAndResize: Expansion = ([given, boxes, which, size], { method, extrapolation_value }) => {
  if (!(size instanceof NdArray)) {
    throw new UnimplementedError("the size of crops is not a constant");
  }
  const image = tf.cast(tensor(given), "float32"), corners = tensor(boxes), crop = hostInts(size);
  const axis = (k: 0 | 1): { readonly weights: Tensor; readonly inside: Tensor } => {
    const extents = tf.cast(extent(image, k + 1), "float32"), last = tf.sub(extents, 1);
    const [from, to] = [k, k + 2].map((i) => tf.slice(corners, [0, i], [-1, 1]));
    const steps = tf.tensor([
      Array.from({ length: crop[k] }, (_, i) => crop[k] > 1 ? i / (crop[k] - 1) : 0.5),
    ]);
    const at = tf.mul(tf.add(from, tf.mul(tf.sub(to, from), steps)), last);
    const inside = tf.logicalAnd(tf.greaterEqual(at, 0), tf.lessEqual(at, last));
    const place = tf.cast(iota(extent(image, k + 1)), "float32");
    const read = tf.expandDims(method === "nearest" ? tf.round(at) : at, -1);
    const weights = tf.maximum(tf.sub(1, tf.abs(tf.sub(read, place))), 0);
    return { weights, inside };
  };
  const rows = axis(0), columns = axis(1);
  const picked = tf.gather(image, tensor(which)) as Tensor;
  const made = tf.einsum("nph,nqw,nhwc->npqc", rows.weights, columns.weights, picked);
  const inside = tf.logicalAnd(tf.expandDims(rows.inside, 2), tf.expandDims(columns.inside, 1));
  return [tf.where(tf.expandDims(inside, -1), made, tf.scalar(extrapolation_value as number))];
};

/** Expansions by op. */
export const IMAGE_PARTS: Readonly<Record<string, Expansion>> = {
  CropAndResize: cropAndResize,
  ResizeArea: resizeByMatrix("ResizeArea"),
  ResizeBicubic: resizeByMatrix("ResizeBicubic"),
  ResizeBicubicGrad: resizeGradient("ResizeBicubic"),
  ResizeBilinearBack: resizeGradient("ResizeBilinear"),
  ResizeBilinearGrad: resizeGradient("ResizeBilinear"),
  ResizeNearestNeighborGrad: resizeGradient("ResizeNearestNeighbor"),
};
