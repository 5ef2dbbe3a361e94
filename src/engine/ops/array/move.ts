/** Moves elements: transpose, reverse, roll. */
import { wantBoolean } from "../../core/arguments.ts";
import type { AxisMap } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import {
  normalizeAxes,
  normalizeAxis,
  type PartialShape,
  shapeText,
  stridesOf,
} from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { hostInts, knownInts, literalInts, setInts } from "./view.ts";
import { copyKernels } from "./define_copy.ts";
import { intScalar, intVector, shapeOfInput, toIndexInput, toInput, wantRank } from "../input.ts";

/** Inverts a permutation: `inverse[order[i]] = i`. Throws `ValueError` where `order` is none. */
function inverted(order: readonly number[]): number[] {
  const out = new Array<number>(order.length).fill(-1);
  order.forEach((p, i) => out[p < 0 ? p + order.length : p] = i);
  if (out.length !== order.length || out.includes(-1)) {
    throw new ValueError(`Cannot permute axes by [${order}]: it is not a permutation`);
  }
  return out;
}

const InvertPermutation = defineOp({
  name: "InvertPermutation",
  inputs: ["x: T"],
  outputs: ["y: T"],
  attrs: ["T: index = int32"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [y]) => setInts(y, inverted(hostInts(x))),
});

const Transpose = defineOp({
  name: "Transpose",
  inputs: ["x: T", "perm: Tperm"],
  outputs: ["y: T"],
  attrs: ["T: type", "Tperm: index = int32"],
  hostInputs: ["perm"],
  infer: ([x, perm]) => [transposedShape(x.shape, knownInts(perm), perm.shape)],
  grad: {
    saves: ["perm"],
    vjp: ({ perm }, [dy]) => {
      const order = literalInts(perm);
      const back = order ? intVector(inverted(order)) : apply1(InvertPermutation, [perm]);
      return [apply1(Transpose, [dy, back]), null];
    },
  },
  ...copyKernels(0, ({ inputs: [{ shape }], hosts }) => {
    const axes = stridesOf(shape).map((stride, i) => plainAxis(shape[i], stride));
    return { base: 0, axes: hostInts(hosts[1]!).map((p) => axes.at(p)!) };
  }, { transposes: true }),
});

function transposedShape(
  shape: PartialShape,
  perm: number[] | undefined,
  permShape: PartialShape,
): PartialShape {
  const rank = shape?.length ?? perm?.length ?? permShape?.[0] ?? null;
  if (rank === null) return null;
  if (!perm) return new Array<null>(rank).fill(null);
  if (perm.length !== rank) {
    throw new ValueError(
      `Cannot transpose shape ${
        shapeText(shape)
      } by perm [${perm}]: dim ${perm.length} differs from the rank ${rank}`,
    );
  }
  const axes = perm.map((p) => normalizeAxis(p, rank));
  inverted(axes);
  return axes.map((p) => shape?.[p] ?? null);
}

const ReverseV2 = defineOp({
  name: "ReverseV2",
  inputs: ["tensor: T", "axis: Tidx"],
  outputs: ["output: T"],
  attrs: ["Tidx: index = int32", "T: type"],
  hostInputs: ["axis"],
  infer: ([x, axis]) => {
    const axes = knownInts(axis);
    if (axes && x.shape) normalizeAxes(axes, x.shape.length);
    return [x.shape];
  },
  grad: { saves: ["axis"], vjp: ({ axis }, [dy]) => [apply1(ReverseV2, [dy, axis]), null] },
  ...copyKernels(0, ({ inputs, hosts }) => {
    const { shape } = inputs[0];
    const turned = new Set(normalizeAxes(hostInts(hosts[1]!), shape.length));
    const strides = stridesOf(shape);
    let base = 0;
    const axes = shape.map((dim, i) => {
      if (!turned.has(i)) return plainAxis(dim, strides[i]);
      base += Math.max(0, dim - 1) * strides[i];
      return plainAxis(dim, -strides[i]);
    });
    return { base, axes };
  }),
});

const Roll = defineOp({
  name: "Roll",
  inputs: ["input: T", "shift: Tshift", "axis: Taxis"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tshift: index = int32", "Taxis: index = int32"],
  hostInputs: ["shift", "axis"],
  infer: ([x]) => [x.shape],
  grad: {
    saves: ["shift", "axis"],
    vjp: ({ shift, axis }, [dy]) => {
      const known = literalInts(shift);
      const back: OpInput = known
        ? intVector(known.map((s) => -s))
        : apply1(lookupOp("Neg")!, [shift]);
      return [apply1(Roll, [dy, back, axis]), null, null];
    },
  },
  ...copyKernels(0, ({ inputs, hosts }) => {
    const { shape } = inputs[0];
    const [, shifts, rolled] = hosts.map((host) => host === undefined ? [] : hostInts(host));
    if (shifts.length !== rolled.length) {
      throw new InvalidArgumentError(
        `shift and axis must have the same size: received ${shifts.length} and ${rolled.length}`,
      );
    }
    const total = new Array<number>(shape.length).fill(0);
    rolled.forEach((axis, i) => total[normalizeAxis(axis, shape.length)] += shifts[i]);
    const strides = stridesOf(shape);
    const axes = shape.map((dim, i): AxisMap => {
      const begin = dim === 0 ? 0 : ((-total[i] % dim) + dim) % dim;
      return begin === 0
        ? plainAxis(dim, strides[i])
        : { dim, stride: strides[i], rule: "roll", begin, extent: dim };
    });
    return { base: 0, axes };
  }),
});

/**
 * Permutes the axes: axis i of the result is axis `perm[i]` of `x`; by default their order is reversed. `conjugate`
 * takes complex conjugates. Throws `ValueError` where `perm` is no permutation of the axes. TensorFlow op `Transpose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.transpose([[1, 2, 3], [4, 5, 6]]).arraySync()); // [[1, 4], [2, 5], [3, 6]]
 * ```
 */
export function transpose(x: TensorLike, perm?: TensorLike | null, conjugate = false): Tensor {
  wantBoolean(conjugate, "conjugate", "transpose");
  const input = toInput(x, "x", "transpose");
  const moved = apply1(Transpose, [input, orderOf(input, perm)]);
  return conjugate && DTYPES[moved.dtype].kind === "complex"
    ? apply1(lookupOp("Conj")!, [moved])
    : moved;
}

/** Returns the order of axes; reversed by default. */
function orderOf(input: OpInput, perm: TensorLike | null | undefined): OpInput {
  if (perm !== undefined && perm !== null) return toIndexInput(perm, "perm", "transpose");
  const rank = shapeOfInput(input)?.length;
  if (rank !== undefined) return intVector(Array.from({ length: rank }, (_, i) => rank - 1 - i));
  const last = apply1(lookupOp("Sub")!, [apply1(lookupOp("Rank")!, [input]), intScalar(1)]);
  return apply1(lookupOp("Range")!, [last, intScalar(-1), intScalar(-1)]);
}

/**
 * Reverses the order of elements along some axes, by default all. Throws `ValueError` for an axis out of range.
 * TensorFlow op `ReverseV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reverse([[1, 2], [3, 4]], 1).arraySync()); // [[2, 1], [4, 3]]
 * ```
 */
export function reverse<X extends Operand>(
  x: X,
  axis?: number | readonly number[] | null,
): Like<X> {
  const input = toInput(x, "x", "reverse");
  if (axis === undefined || axis === null) {
    return apply1(ReverseV2, [input, orderOf(input, null)]) as Like<X>;
  }
  const rank = shapeOfInput(input)?.length;
  const axes = rank === undefined ? [axis].flat() as number[] : normalizeAxes(axis, rank);
  return apply1(ReverseV2, [input, intVector(axes)]) as Like<X>;
}

function reverseOfRank(
  rank: number,
  x: TensorLike,
  axis?: number | readonly number[] | null,
): Tensor {
  const fn = `reverse${rank}d`;
  wantRank(
    toInput(x, "x", fn),
    rank,
    (shape) => `Cannot apply ${fn} to shape ${shape}: wanted rank ${rank}`,
  );
  return reverse(x, axis);
}

/**
 * Reverses a vector. Throws `ValueError` for other ranks. See {@linkcode reverse}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reverse1d([1, 2, 3]).arraySync()); // [3, 2, 1]
 * ```
 */
export function reverse1d(x: TensorLike): Tensor {
  return reverseOfRank(1, x, 0);
}
/**
 * Reverses a matrix along some axes. Throws `ValueError` for other ranks. See {@linkcode reverse}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reverse2d([[1, 2], [3, 4]], 1).arraySync()); // [[2, 1], [4, 3]]
 * ```
 */
export function reverse2d(x: TensorLike, axis?: number | readonly number[]): Tensor {
  return reverseOfRank(2, x, axis);
}
/**
 * Reverses a tensor of rank 3 along some axes. Throws `ValueError` for other ranks. See {@linkcode reverse}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reverse3d([[[1, 2]]], 2).arraySync()); // [[[2, 1]]]
 * ```
 */
export function reverse3d(x: TensorLike, axis?: number | readonly number[]): Tensor {
  return reverseOfRank(3, x, axis);
}
/**
 * Reverses a tensor of rank 4 along some axes. Throws `ValueError` for other ranks. See {@linkcode reverse}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reverse4d([[[[1, 2]]]], 3).arraySync()); // [[[[2, 1]]]]
 * ```
 */
export function reverse4d(x: TensorLike, axis?: number | readonly number[]): Tensor {
  return reverseOfRank(4, x, axis);
}

/**
 * Shifts elements along axes; those that leave at one end enter at the other. Shifts may be an int32 vector that is known when it runs.
 * Follows TensorFlow `tf.roll`, op `Roll`. Throws `ValueError`, or `InvalidArgumentError` when it runs, where there are not as many shifts as
 * axes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.roll([1, 2, 3, 4], 1, 0).arraySync()); // [4, 1, 2, 3]
 * ```
 */
export function roll(
  x: TensorLike,
  shift: number | readonly number[] | Tensor,
  axis: number | readonly number[],
): Tensor {
  const axes = [axis].flat() as number[];
  const shifts = shift instanceof Tensor ? shift : [shift].flat() as number[];
  if (!(shifts instanceof Tensor) && shifts.length !== axes.length) {
    throw new ValueError(
      `Cannot roll by ${shifts.length} shifts along ${axes.length} axes: wanted as many of each`,
    );
  }
  return apply1(Roll, [
    toInput(x, "x", "roll"),
    toIndexInput(shifts, "shift", "roll"),
    toIndexInput(axes, "axis", "roll"),
  ]);
}
