/** Heads of attention: they are split, joined, rotated, and attend. */
import type { DType } from "../../engine/core/dtype.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { like, to, wide } from "./raw.ts";
import { elementOf, vectorOf, withShape } from "./shapes.ts";
import * as tf from "../build/tf.ts";

/** The extent of an axis: a number, or an int32 scalar where it is known only at run time. */
export type Extent = number | Tensor;

export function extentOf(x: Tensor, axis: number): Extent {
  return x.staticShape?.[axis] ?? tf.reshape(elementOf(tf.shape(x), axis), []);
}

/** Adds extents. */
export function plus(a: Extent, b: Extent): Extent {
  return typeof a === "number" && typeof b === "number"
    ? a + b
    : typeof a === "number"
    ? tf.add(b, a)
    : tf.add(a, b);
}

/** Subtracts an extent from another. */
export function minus(a: Extent, b: Extent): Extent {
  return plus(a, typeof b === "number" ? -b : tf.neg(b));
}

/** Reshapes to extents that may be tensors. */
export function reshaped(x: Tensor, extents: readonly Extent[]): Tensor {
  const known = extents.map((e) => typeof e === "number" ? e : null);
  const open = known.filter((e) => e === null).length;
  if (open === 0 || open === 1 && !known.includes(0)) {
    return tf.reshape(x, known.map((e) => e ?? -1));
  }
  return withShape(tf.reshape(x, vectorOf(known, (i) => extents[i] as Tensor)), known);
}

/** Returns the zeros of a shape with extents that may be tensors. */
export function zerosOf(extents: readonly Extent[], dtype: DType): Tensor {
  const known = extents.map((e) => typeof e === "number" ? e : null);
  if (!known.includes(null)) return tf.zeros(known as number[], dtype);
  return withShape(tf.zeros(vectorOf(known, (i) => extents[i] as Tensor), dtype), known);
}

/** Splits `[batch, time, heads · depth]` to `[batch, heads, time, depth]`. */
export function splitHeads(n: NodeCall, x: Tensor, heads: number): Tensor {
  const width = x.staticShape?.at(-1) ?? n.needs("the last extent of an input");
  if (!(heads > 0) || width % heads !== 0) {
    n.fail(`${width} numbers cannot be split into ${heads} heads`);
  }
  const split = reshaped(x, [extentOf(x, 0), extentOf(x, 1), heads, width / heads]);
  return tf.transpose(split, [0, 2, 1, 3]);
}

/** Joins `[batch, heads, time, depth]` to `[batch, time, heads · depth]`. */
export function joinHeads(n: NodeCall, x: Tensor): Tensor {
  const [, heads, , depth] = x.staticShape!;
  if (heads === null || depth === null) n.needs("the heads of an input");
  const rows = tf.transpose(x, [0, 2, 1, 3]);
  return reshaped(rows, [extentOf(x, 0), extentOf(x, 2), heads! * depth!]);
}

/** Multiplies each head of `a` by the head of `b` that its group shares. */
function groupProduct(a: Tensor, b: Tensor, transposed: boolean): Tensor {
  const heads = a.staticShape![1], shared = b.staticShape![1];
  if (heads === null || shared === null || heads === shared) {
    return tf.matMul(a, b, false, transposed);
  }
  // The queries of a group are rows of one matrix: the keys are not copied for each head.
  const batch = extentOf(a, 0), rows = extentOf(a, 2), each = heads / shared;
  const all = typeof rows === "number" ? rows * each : tf.mul(rows, each);
  const product = tf.matMul(
    reshaped(a, [batch, shared, all, extentOf(a, 3)]),
    b,
    false,
    transposed,
  );
  return reshaped(product, [batch, heads, rows, extentOf(product, 3)]);
}

export interface AttendOptions {
  /** Factor of the dot products. */
  readonly scale: number;
  /** Bound of the scores: `softcap · tanh(score / softcap)`; 0 for none. */
  readonly softcap?: number;
  /** Added to the scores. */
  readonly bias?: Tensor | null;
  /** True where a query may see a key. */
  readonly allowed?: Tensor | null;
  /** A score that takes its share and gives no value. */
  readonly sink?: Tensor | null;
  /** True where queries may see no key at all: their rows are 0. */
  readonly mayBeEmpty?: boolean;
  /** Dtype of the softmax; default float32 for narrower ones. */
  readonly precision?: DType;
  /** Changes scores before the softmax. */
  readonly changeScores?: (scores: Tensor) => Tensor;
  /** Changes weights after it. */
  readonly changeWeights?: (weights: Tensor) => Tensor;
}

/** An attention with its steps. */
export interface Attended {
  readonly y: Tensor;
  readonly scores: Tensor;
  readonly capped: Tensor;
  readonly biased: Tensor;
  readonly weights: Tensor;
}

/** Attends: `softmax(scale · q · kᵀ + bias) · v`, of `[batch, heads, time, depth]`. Keys and values may have fewer heads. */
export function attend(q: Tensor, k: Tensor, v: Tensor, options: AttendOptions): Attended {
  const { softcap = 0, bias = null, allowed = null, sink = null, mayBeEmpty = false } = options;
  const x = wide(q), lowest = like(x, -Infinity);
  // Graphs recognise these products with their scale between them, and compile one op of them.
  const scores = tf.mul(groupProduct(x, wide(k), true), like(x, options.scale));
  const capped = softcap === 0
    ? scores
    : tf.mul(tf.tanh(tf.div(scores, like(x, softcap))), like(x, softcap));
  const wideBias = bias && to(bias, x.dtype);
  const added = wideBias === null ? capped : tf.add(capped, wideBias);
  const biased = allowed === null ? added : tf.where(allowed, added, lowest);
  let open = allowed;
  if (wideBias !== null) {
    const isFinite = tf.greater(wideBias, lowest);
    open = open === null ? isFinite : tf.logicalAnd(open, isFinite);
  }
  const empty = mayBeEmpty && open !== null ? tf.logicalNot(tf.any(open, -1, true)) : null;
  const { precision = x.dtype, changeScores = same, changeWeights = same } = options;
  const shares = softmaxWith(changeScores(to(clear(biased, empty), precision)), sink);
  const weights = to(changeWeights(clear(shares, empty)), x.dtype);
  const y = to(groupProduct(weights, wide(v), false), v.dtype);
  return { y, scores, capped, biased, weights };
}

function same(x: Tensor): Tensor {
  return x;
}

/** Returns 0 in rows that are empty. */
function clear(x: Tensor, empty: Tensor | null): Tensor {
  return empty === null ? x : tf.where(empty, like(x, 0), x);
}

function softmaxWith(scores: Tensor, sink: Tensor | null): Tensor {
  if (sink === null) return tf.softmax(scores);
  const column = tf.zerosLike(tf.slice(scores, [0, 0, 0, 0], [-1, -1, -1, 1]));
  const all = tf.softmax(tf.concat([scores, tf.add(column, to(sink, scores.dtype))], -1));
  return tf.stridedSlice(all, [0, 0, 0, 0], [0, 0, 0, -1], [1, 1, 1, 1], 0, 0b0111);
}

/** Places of queries and keys in a sequence. */
export interface Places {
  /** Places of queries: `[queries, 1]`, or `[batch, 1, queries, 1]`. */
  readonly rows: Tensor;
  /** Places of keys: `[keys]`. */
  readonly columns: Tensor;
}

/** Counts queries and keys; `offset` are the keys before the first query. */
export function placesOf(queries: Extent, keys: Extent, offset: Extent): Places {
  const rows = tf.expandDims(tf.range(0, queries, 1, "int32"), 1);
  return {
    rows: offset === 0 ? rows : tf.add(rows, offset),
    columns: tf.range(0, keys, 1, "int32"),
  };
}

/** Joins conditions; null for none. */
export function both(a: Tensor | null, b: Tensor | null): Tensor | null {
  return a === null ? b : b === null ? a : tf.logicalAnd(a, b);
}

/**
 * Rotates the first numbers of each head by angles, whose `cos` and `sin` are `[batch, time, half]`. `interleaved`
 * pairs neighbours, else a number with one of the other half.
 */
export function rotate(x: Tensor, cos: Tensor, sin: Tensor, interleaved: boolean): Tensor {
  const w = wide(x), c = tf.expandDims(to(cos, w.dtype), 1), s = tf.expandDims(to(sin, w.dtype), 1);
  const half = cos.staticShape!.at(-1)!, depth = x.staticShape!.at(-1)!;
  const part = (from: number, size: number) => tf.slice(w, [0, 0, 0, from], [-1, -1, -1, size]);
  const every = (from: number) =>
    tf.stridedSlice(w, [0, 0, 0, from], [0, 0, 0, 2 * half], [1, 1, 1, 2], 0b0111, 0b0111);
  const [a, b] = interleaved ? [every(0), every(1)] : [part(0, half), part(half, half)];
  const u = tf.sub(tf.mul(a, c), tf.mul(b, s)), v = tf.add(tf.mul(a, s), tf.mul(b, c));
  let turned = interleaved
    ? reshaped(tf.stack([u, v], -1), [...[0, 1, 2].map((i) => extentOf(x, i)), 2 * half])
    : tf.concat([u, v], -1);
  if (depth > 2 * half) turned = tf.concat([turned, part(2 * half, depth - 2 * half)], -1);
  return to(turned, x.dtype);
}
