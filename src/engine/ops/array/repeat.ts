/** Repeats elements: tile, broadcastTo; and the arithmetic of broadcast shapes. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import {
  broadcastShapes,
  broadcastStrides,
  compatible,
  isConcrete,
  type PartialShape,
  shapeText,
  stridesOf,
} from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { stack } from "./join.ts";
import { hostInts, knownInts, literalInts, reshape, setInts } from "./view.ts";
import { copyKernels } from "./define_copy.ts";
import { wantedShape } from "./fill_ops.ts";
import { intVector, shapeOfInput, toIndexInput, toInput, wantRank } from "../input.ts";

const Tile = defineOp({
  name: "Tile",
  inputs: ["input: T", "multiples: Tmultiples"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tmultiples: index = int32"],
  hostInputs: ["multiples"],
  infer: ([x, multiples]) => {
    const times = knownInts(multiples);
    const rank = x.shape?.length ?? multiples.shape?.[0] ?? null;
    if (rank === null) return [null];
    if (!times) return [new Array<null>(rank).fill(null)];
    if (times.length !== rank || times.some((t) => t < 0)) {
      throw new ValueError(
        `Cannot tile shape ${
          shapeText(x.shape)
        } by [${times}]: wanted ${rank} non-negative multiples`,
      );
    }
    return [times.map((t, i) => (x.shape?.[i] == null ? null : x.shape[i]! * t))];
  },
  grad: {
    saves: ["multiples"],
    vjp: ({ multiples }, [dy], ctx) => {
      const shape = ctx.shapeOf(0), times = literalInts(multiples);
      const rank = ctx.inputs[0].shape?.length ?? times?.length;
      if (rank === undefined) {
        throw new ValueError("Cannot differentiate Tile: the rank must be known");
      }
      const pairs: TensorLike = times && shape instanceof NdArray
        ? times.flatMap((t, i) => [t, hostInts(shape)[i]])
        : reshape(stack([multiples, shape], 1), [-1]);
      const axes = Array.from({ length: rank }, (_, i) => 2 * i);
      return [apply1(lookupOp("Sum")!, [reshape(dy, pairs), intVector(axes)]), null];
    },
  },
  ...copyKernels(0, ({ inputs: [{ shape }], hosts }) => {
    const strides = stridesOf(shape), times = hostInts(hosts[1]!);
    const axes = shape.flatMap((dim, i) => [plainAxis(times[i], 0), plainAxis(dim, strides[i])]);
    return { base: 0, axes };
  }),
});

const BroadcastTo = defineOp({
  name: "BroadcastTo",
  inputs: ["input: T", "shape: Tidx"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tidx: index = int32"],
  hostInputs: ["shape"],
  infer: ([x, shape]) => {
    const to = wantedShape(shape);
    if (to === null || x.shape === null) return [to];
    const joint: PartialShape = to.length >= x.shape.length ? broadcastShapes(x.shape, to) : null;
    if (joint === null || (isConcrete(to) && !compatible(joint, to))) {
      throw new ValueError(`Cannot broadcast shape ${shapeText(x.shape)} to ${shapeText(to)}`);
    }
    return [to];
  },
  grad: { saves: [], vjp: (_, [dy], ctx) => [ctx.sumLike(dy, 0), null] },
  ...copyKernels(0, ({ inputs, outputs }) => {
    const strides = broadcastStrides(inputs[0].shape, outputs[0].shape);
    return { base: 0, axes: outputs[0].shape.map((dim, i) => plainAxis(dim, strides[i])) };
  }),
});

const BroadcastArgs = defineOp({
  name: "BroadcastArgs",
  inputs: ["s0: T", "s1: T"],
  outputs: ["r0: T"],
  attrs: ["T: index = int32"],
  infer: ([a, b]) => {
    const m = a.shape?.[0], n = b.shape?.[0];
    return [[m == null || n == null ? null : Math.max(m, n)]];
  },
  grad: null,
  cpu: ([a, b], [out]) => {
    setInts(out, broadcastShapes(hostInts(a), hostInts(b)) as number[]);
  },
});

/**
 * Repeats a tensor `reps[i]` times along axis i. Throws `ValueError` where there is not one multiple for each axis.
 * TensorFlow op `Tile`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tile([[1, 2]], [2, 2]).arraySync()); // [[1, 2, 1, 2], [1, 2, 1, 2]]
 * ```
 */
export function tile<X extends Operand>(x: X, reps: TensorLike): Like<X> {
  return apply1(Tile, [toInput(x, "x", "tile"), toIndexInput(reps, "reps", "tile")]) as Like<X>;
}

/**
 * Repeats a tensor along axes of extent 1 and new leading axes until it has this shape.
 * Throws `ValueError` where it does not broadcast. TensorFlow op `BroadcastTo`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.broadcastTo([1, 2], [2, 2]).arraySync()); // [[1, 2], [1, 2]]
 * ```
 */
export function broadcastTo(x: TensorLike, shape: TensorLike): Tensor {
  const input = toInput(x, "x", "broadcastTo");
  return apply1(BroadcastTo, [input, shapeInput(shape, input)]);
}

function shapeInput(shape: TensorLike, input: OpInput): OpInput {
  if (!Array.isArray(shape) || shape.some((d) => typeof d === "object")) {
    return toIndexInput(shape, "shape", "broadcastTo");
  }
  const dims = shape as readonly number[], from = shapeOfInput(input);
  if (
    dims.some((d) => !(d > 0) || d % 1 !== 0) && !(from && from.includes(0)) && !dims.includes(0)
  ) {
    throw new ValueError(`broadcastTo(): Invalid broadcast shape [${dims}]`);
  }
  return intVector(dims);
}

/**
 * Returns the shape that two shapes, given as integer vectors, broadcast to. Throws `InvalidArgumentError` where they
 * do not. TensorFlow op `BroadcastArgs`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.broadcastArgs(tf.tensor1d([2, 1], "int32"), tf.tensor1d([3], "int32")).arraySync()); // [2, 3]
 * ```
 */
export function broadcastArgs(s0: TensorLike, s1: TensorLike): Tensor {
  const a = toIndexInput(s0, "s0", "broadcastArgs"), b = toIndexInput(s1, "s1", "broadcastArgs");
  for (const s of [a, b]) {
    wantRank(
      s,
      1,
      (shape) => `Cannot apply broadcastArgs to shape ${shape}: shapes must be vectors (rank=1)`,
    );
  }
  return apply1(BroadcastArgs, [a, b]);
}
