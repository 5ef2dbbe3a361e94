/** Slices: extracts parts of tensors. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { isConcrete, type PartialShape, shapeText, stridesOf } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { NdArray } from "../../core/nd_array.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { hostInts, knownInts, literalInts, reshape, shape } from "./view.ts";
import { cast } from "./cast.ts";
import { concat, stack } from "./join.ts";
import { copyKernels } from "./define_copy.ts";
import { intScalar, intVector, shapeOfInput, toIndexInput, toInput, wantRank } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";

const Slice = defineOp({
  name: "Slice",
  inputs: ["input: T", "begin: Index", "size: Index"],
  outputs: ["output: T"],
  attrs: ["T: type", "Index: index = int32"],
  hostInputs: ["begin", "size"],
  infer: ([x, begin, size]) => [slicedShape(x.shape, begin, size)],
  grad: {
    saves: ["begin"],
    vjp: ({ begin }, [dy], ctx) => [
      apply1(lookupOp("Pad")!, [dy, sliceMargins(begin, ctx.shapeOf(0), dy)]),
      null,
      null,
    ],
  },
  ...copyKernels(0, ({ inputs, hosts, outputs }) => {
    const strides = stridesOf(inputs[0].shape);
    const begin = hostInts(hosts[1]!);
    return {
      base: begin.reduce((n, b, i) => n + b * strides[i], 0),
      axes: outputs[0].shape.map((dim, i) => plainAxis(dim, strides[i])),
    };
  }),
});

function slicedShape(shape: PartialShape, begin: Spec, size: Spec): PartialShape {
  const from = knownInts(begin), sizes = knownInts(size);
  const rank = shape?.length ?? begin.shape?.[0] ?? size.shape?.[0] ?? null;
  if (rank === null) return null;
  if ((from && from.length !== rank) || (sizes && sizes.length !== rank)) {
    throw new ValueError(
      `Cannot slice shape ${
        shapeText(shape)
      } from [${from}] by [${sizes}]: wanted ${rank} numbers in each`,
    );
  }
  return Array.from({ length: rank }, (_, i) => {
    const d = shape?.[i] ?? null, b = from?.[i], s = sizes?.[i];
    if (b !== undefined && b < 0) {
      throw new ValueError(`Cannot slice from ${b} along axis ${i}: begin must not be negative`);
    }
    if (s === undefined) return null;
    if (s === -1) {
      if (d === null || b === undefined) return null;
      if (b > d) {
        throw new ValueError(`Cannot slice from ${b} along axis ${i}: it has ${d} elements`);
      }
      return d - b;
    }
    if (s < -1 || (d !== null && b !== undefined && b + s > d)) {
      throw new ValueError(
        `Cannot slice ${s} elements from ${b} along axis ${i}: it has ${d ?? "unknown"} elements`,
      );
    }
    return s;
  });
}

/** Paddings that put a slice back in its place. */
function sliceMargins(begin: Tensor, shape: TensorLike, dy: Tensor): OpInput {
  const known = literalInts(begin);
  const size = dy.staticShape;
  if (known && isConcrete(size) && shape instanceof NdArray) {
    return toIndexInput(
      known.map((b, i) => [b, hostInts(shape)[i] - b - size[i]]),
      "paddings",
      "slice",
    );
  }
  const before: TensorLike = known ? intVector(known) : begin;
  const taken: TensorLike = isConcrete(size) ? intVector(size) : apply1(lookupOp("Shape")!, [dy]);
  return stack([before, sub(sub(shape, taken), before)], 1);
}

/**
 * Returns the part of a tensor that starts at `begin` and has `size` elements along each axis; -1, and omitted sizes,
 * mean all the rest. Both may be tensors. Throws `ValueError` where the part lies outside. TensorFlow op `Slice`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, 2]).arraySync()); // [[2, 3], [5, 6]]
 * console.log(tf.slice([1, 2, 3], 1).arraySync()); // [2, 3]
 * ```
 */
export function slice(x: TensorLike, begin: TensorLike, size?: TensorLike | null): Tensor {
  const input = toInput(x, "x", "slice");
  const rank = shapeOfInput(input)?.length;
  if (rank === 0) throw new ValueError("Slicing scalar is not possible");
  if (rank === undefined && (size === undefined || size === null)) {
    const from = corner(begin, rank, 0, "begin"), dims = shape(input as Tensor);
    return apply1(Slice, [input, ...cornersOf(from, begin instanceof Tensor ? begin : dims)]);
  }
  return apply1(Slice, [input, corner(begin, rank, 0, "begin"), corner(size, rank, -1, "size")]);
}

/** Returns a begin, and sizes of all the rest, for the axes that `like` has a number for. */
function cornersOf(begin: OpInput, like: Tensor): [OpInput, OpInput] {
  const wide = cast(like, begin.dtype), zeros = sub(wide, wide);
  if (begin instanceof Tensor) return [begin, sub(zeros, 1)];
  return [concat([begin, slice(zeros, [begin.size], [-1])], 0), sub(zeros, 1)];
}

/** Returns a begin or size with one number for each axis. */
function corner(
  value: TensorLike | null | undefined,
  rank: number | undefined,
  rest: number,
  arg: string,
): OpInput {
  if (value instanceof Tensor || value instanceof NdArray) return toIndexInput(value, arg, "slice");
  const list = value === null || value === undefined ? [] : [value].flat() as number[];
  const missing = Math.max(0, (rank ?? 0) - list.length);
  return toIndexInput(list.concat(new Array<number>(missing).fill(rest)), arg, "slice");
}

/** Reads the last dimension of a shape, as a host input. */
export function lastExtent(of: TensorLike): OpInput {
  const dims = toInput(of, "shape", "lastExtent");
  if (!(dims instanceof Tensor)) return intScalar(hostInts(dims).at(-1)!);
  return reshape(slice(dims, sub(shape(dims), 1), [1]), []);
}

/** Reads height and width from the shape of an image batch, as a host input. */
export function imageSize(of: TensorLike): OpInput {
  const dims = toInput(of, "shape", "imageSize");
  return dims instanceof Tensor ? slice(dims, [1], [2]) : intVector(hostInts(dims).slice(1, 3));
}

function sliceOfRank(rank: number, x: TensorLike, begin: TensorLike, size: TensorLike): Tensor {
  const input = toInput(x, "x", `slice${rank}d`), got = shapeOfInput(input)?.length;
  const wanted = `slice${rank}d expects a rank-${rank} tensor`;
  wantRank(input, rank, () => `${wanted}, but got a rank-${got} tensor`);
  return slice(x, begin, size);
}

/**
 * A part of a vector. Throws `ValueError` for other ranks. See {@linkcode slice}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.slice1d([1, 2, 3], 1, 2).arraySync()); // [2, 3]
 * ```
 */
export function slice1d(x: TensorLike, begin: number, size: number): Tensor {
  return sliceOfRank(1, x, [begin], [size]);
}
/**
 * A part of a matrix. Throws `ValueError` for other ranks. See {@linkcode slice}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.slice2d([[1, 2], [3, 4]], [0, 1], [2, 1]).arraySync()); // [[2], [4]]
 * ```
 */
export function slice2d(x: TensorLike, begin: readonly number[], size: readonly number[]): Tensor {
  return sliceOfRank(2, x, begin, size);
}
/**
 * A part of a tensor of rank 3. Throws `ValueError` for other ranks. See {@linkcode slice}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.slice3d([[[1, 2]]], [0, 0, 1], [1, 1, 1]).arraySync()); // [[[2]]]
 * ```
 */
export function slice3d(x: TensorLike, begin: readonly number[], size: readonly number[]): Tensor {
  return sliceOfRank(3, x, begin, size);
}
/**
 * A part of a tensor of rank 4. Throws `ValueError` for other ranks. See {@linkcode slice}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.slice4d([[[[1, 2]]]], [0, 0, 0, 1], [1, 1, 1, 1]).arraySync()); // [[[[2]]]]
 * ```
 */
export function slice4d(x: TensorLike, begin: readonly number[], size: readonly number[]): Tensor {
  return sliceOfRank(4, x, begin, size);
}
