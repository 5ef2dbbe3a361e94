/** Norms and the softmax family. */
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type Rule, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { dtypeOfNumber } from "../file/types.ts";
import { like, to, wide } from "./raw.ts";
import { extentOf, reshaped } from "./heads.ts";
import { lastAxis, permuted } from "./indexing.ts";
import * as tf from "../build/tf.ts";

/** Appends axes of extent 1 to a vector of channels, which is then at axis 1. */
function atChannels(v: Tensor, rank: number): Tensor {
  return rank <= 2 ? v : tf.reshape(v, [-1, ...new Array<number>(rank - 2).fill(1)]);
}

function batchNorm(n: NodeCall): RuleOutput | RuleOutput[] {
  const { attributes } = n, rank = n.rank(0), epsilon = attributes.float("epsilon", 1e-5);
  const saysTraining = n.version >= 14
    ? attributes.flag("training_mode")
    : n.wants(1) && n.node.outputs.length >= 3;
  const isLast = rank > 2, given = isLast ? n.last(0) : n.x(0);
  const own = (y: Tensor): RuleOutput => isLast ? Value.channelsLast(y) : y;
  if (!(n.training ?? saysTraining)) {
    const of = (i: number) => to(n.x(i), given.dtype);
    const y = own(tf.batchNorm(given, of(3), of(4), of(2), of(1), epsilon));
    return n.wants(1) ? [y, n.x(3), n.x(4), n.x(3), n.x(4)] : y;
  }
  const x = wide(given),
    axes = Array.from({ length: rank - 1 }, (_, i) => isLast || i === 0 ? i : i + 1);
  const mean = tf.mean(x, axes), variance = tf.mean(tf.square(tf.sub(x, mean)), axes);
  const of = (i: number) => to(n.x(i), x.dtype);
  const y = tf.batchNorm(x, mean, variance, of(2), of(1), epsilon);
  const momentum = attributes.float("momentum", 0.9);
  const running = (i: number, now: Tensor): Tensor => {
    const moved = tf.add(tf.mul(of(i), momentum), tf.mul(now, 1 - momentum));
    const result = to(moved, n.dtype(i));
    if (n.training === true) n.variable(i)?.assign(result);
    return result;
  };
  return [own(to(y, n.dtype(0))), running(3, mean), running(4, variance), mean, variance];
}

function instanceNorm(n: NodeCall): Tensor {
  const rank = n.rank(0),
    x = wide(n.x(0)),
    axes = Array.from({ length: rank - 2 }, (_, i) => i + 2);
  const y = standardised(x, axes, n.attributes.float("epsilon", 1e-5)).y;
  const of = (i: number) => atChannels(to(n.x(i), x.dtype), rank);
  return to(tf.add(tf.mul(y, of(1)), of(2)), n.dtype(0));
}

/** Subtracts the mean of elements and divides by their standard deviation. */
export function standardised(
  x: Tensor,
  axes: number[],
  epsilon: number,
): { y: Tensor; mean: Tensor; inverse: Tensor } {
  const mean = tf.mean(x, axes, true), centred = tf.sub(x, mean);
  const variance = tf.mean(tf.square(centred), axes, true);
  const inverse = tf.rsqrt(tf.add(variance, like(x, epsilon)));
  return { y: tf.mul(centred, inverse), mean, inverse };
}

function layerNorm(n: NodeCall): RuleOutput[] {
  const { attributes } = n, rank = n.rank(0), axis = n.axis("axis", -1, rank);
  const epsilon = attributes.float("epsilon", 1e-5);
  if (axis === rank - 1 && !n.wants(1) && !n.wants(2) && n.rank(1) === 1) {
    const y = tf.layerNorm(n.x(0), n.x(1), n.optional(2) ?? null, epsilon);
    return [y];
  }
  const stash = dtypeOfNumber(attributes.int("stash_type", 1));
  const x = n.dtype(0) === "float64" ? n.x(0) : to(n.x(0), stash);
  const axes = Array.from({ length: rank - axis }, (_, i) => i + axis);
  const { y, mean, inverse } = standardised(x, axes, epsilon);
  const scaled = tf.mul(to(y, n.dtype(0)), n.x(1));
  return [n.has(2) ? tf.add(scaled, n.x(2)) : scaled, mean, inverse];
}

/** Divides by the root of the mean square of axes; `inverse` is the factor. */
export function rootMeanSquare(
  x: Tensor,
  axes: number[],
  epsilon: number,
): { readonly y: Tensor; readonly inverse: Tensor } {
  const square = tf.mean(tf.square(x), axes, true);
  const inverse = tf.rsqrt(tf.add(square, like(x, epsilon)));
  return { y: tf.mul(x, inverse), inverse };
}

function rmsNorm(n: NodeCall): Tensor {
  const { attributes } = n, rank = n.rank(0), axis = n.axis("axis", -1, rank);
  const stash = dtypeOfNumber(attributes.int("stash_type", 1));
  const x = n.dtype(0) === "float64" ? n.x(0) : to(n.x(0), stash);
  const axes = Array.from({ length: rank - axis }, (_, i) => i + axis);
  const { y } = rootMeanSquare(x, axes, attributes.float("epsilon", 1e-5));
  return tf.mul(to(y, n.dtype(0)), n.x(1));
}

/** Normalizes groups of channels; scale and bias are per group before version 21. */
function groupNorm(n: NodeCall): Tensor {
  const { attributes } = n,
    groups = attributes.int("num_groups", 1),
    dims = n.dims(0),
    rank = dims.length;
  const channels = dims[1] ?? n.needs("the channels of input 0"), each = channels / groups;
  const x = wide(n.x(0)), [batch, , ...spatial] = dims.map((_, axis) => extentOf(x, axis));
  const parts = reshaped(x, [batch, groups, each, ...spatial]);
  const axes = dims.slice(1).map((_, i) => i + 2);
  const { y } = standardised(parts, axes, attributes.float("epsilon", 1e-5));
  const of = (i: number): Tensor => {
    const v = to(n.x(i), x.dtype);
    const all = n.version >= 21 ? v : tf.reshape(tf.tile(tf.expandDims(v, 1), [1, each]), [-1]);
    return atChannels(all, rank);
  };
  return to(tf.add(tf.mul(reshaped(y, [batch, channels, ...spatial]), of(1)), of(2)), n.dtype(0));
}

function lrn(n: NodeCall): RuleOutput {
  const { attributes } = n, size = attributes.int("size", 1), x = n.last(0);
  const alpha = attributes.float("alpha", 1e-4), beta = attributes.float("beta", 0.75);
  const bias = attributes.float("bias", 1);
  // An even window is one longer after than before.
  const before = Math.floor((size - 1) / 2), channels = n.dims(0)[1] ?? n.needs("its channels");
  const rank = n.rank(0), pairs = new Array<[number, number]>(rank - 1).fill([0, 0]);
  const squares = tf.pad(tf.square(x), [...pairs, [before, size - 1 - before]]);
  const begin = new Array<number>(rank - 1).fill(0), all = new Array<number>(rank - 1).fill(-1);
  let sum = tf.slice(squares, [...begin, 0], [...all, channels]);
  for (let i = 1; i < size; i++) {
    sum = tf.add(sum, tf.slice(squares, [...begin, i], [...all, channels]));
  }
  const scale = tf.add(tf.mul(sum, like(x, alpha / size)), like(x, bias));
  return Value.channelsLast(tf.div(x, tf.pow(scale, like(x, beta))));
}

function lpNormalization(n: NodeCall): Tensor {
  const { attributes } = n, axis = n.axis("axis", -1, n.rank(0)), x = n.x(0);
  const norm = attributes.int("p", 2) === 1
    ? tf.sum(tf.abs(x), axis, true)
    : tf.sqrt(tf.sum(tf.square(x), axis, true));
  return tf.where(tf.equal(norm, like(x, 0)), tf.zerosLike(x), tf.div(x, norm));
}

function meanVariance(n: NodeCall): Tensor {
  const x = n.x(0),
    axes = [...n.attributes.ints("axes") ?? [0, 2, 3]].map((a) => normalizeAxis(a, n.rank(0)));
  const mean = tf.mean(x, axes, true), centred = tf.sub(x, mean);
  const deviation = tf.sqrt(tf.mean(tf.square(centred), axes, true));
  return tf.div(centred, tf.add(deviation, like(x, 1e-9)));
}

/** Makes the rule of an op along one axis; before version 13 along all from an axis on. */
function alongAxis(f: (x: Tensor) => Tensor): Rule {
  return (n) => {
    const rank = n.rank(0), axis = n.axis("axis", n.version < 13 ? 1 : -1, rank), x = n.x(0);
    if (n.version < 13 && axis < rank - 1) {
      const dims = n.dims(0), before = dims.slice(0, axis);
      const rows = before.includes(null) ? -1 : before.reduce<number>((a, b) => a * b!, 1);
      const columns = dims.slice(axis);
      if (columns.includes(null) && rows < 0) n.needs("the shape of input 0");
      const flat = tf.reshape(x, [
        rows,
        rows < 0 ? columns.reduce<number>((a, b) => a * b!, 1) : -1,
      ]);
      return tf.reshape(f(flat), dims.includes(null) ? tf.shape(x) : dims as number[]);
    }
    const perm = lastAxis(rank, axis);
    return permuted(f(permuted(x, perm)), perm);
  };
}

/** Returns one at the first maximum, zero elsewhere. */
function hardmax(x: Tensor): Tensor {
  const depth = x.staticShape?.at(-1) ?? null;
  const columns = depth === null
    ? tf.range(0, tf.reshape(tf.slice(tf.shape(x), [x.rank - 1], [1]), []), 1, "int32")
    : tf.range(0, depth, 1, "int32");
  return to(tf.equal(tf.expandDims(to(tf.argMax(x, -1), "int32"), -1), columns), x.dtype);
}

/** Norms, softmax and its kin. */
export const NORMS: readonly OpEntry[] = [
  op("BatchNormalization", 1, batchNorm, { frozen: [3, 4], halves: "alone" }),
  op("GroupNormalization", 18, groupNorm, { halves: "computed" }),
  op("Hardmax", 1, alongAxis(hardmax), { halves: "computed" }),
  op("InstanceNormalization", 1, instanceNorm, { halves: "computed" }),
  op("LRN", 1, lrn, { halves: "computed" }),
  op("LayerNormalization", 17, layerNorm, { halves: "alone" }),
  op("LogSoftmax", 1, alongAxis((x) => tf.logSoftmax(x)), { halves: "computed" }),
  op("LpNormalization", 1, lpNormalization, { halves: "computed" }),
  op("MeanVarianceNormalization", 9, meanVariance, { halves: "computed" }),
  op("RMSNormalization", 23, rmsNorm, { halves: "computed" }),
  op("Softmax", 1, alongAxis((x) => tf.softmax(x)), { halves: "computed" }),
];
