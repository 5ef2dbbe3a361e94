/** Softmax, its logarithm, and cross entropies of logits. */
import { argumentsCheck } from "../../core/arguments.ts";
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import { ValueError } from "../../core/errors.ts";
import { CompositeTensor, type Like, type Operand } from "../../core/composite.ts";
import { defineOp, type GradContext, type OpDef } from "../../core/op.ts";
import {
  isConcrete,
  mergeShapes,
  normalizeAxis,
  type PartialShape,
  shapeText,
} from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import {
  crossEntropyCpu,
  logSoftmaxCpu,
  softmaxCpu,
  sparseCrossEntropyCpu,
} from "../../kernels/host/softmax.ts";
import { concat } from "../array/join.ts";
import { expandDims, reshape, shape, stopGradient } from "../array/view.ts";
import { slice } from "../array/slice.ts";
import { transpose } from "../array/move.ts";
import { castInput, intVector, shapeOfInput, toInput } from "../input.ts";
import { add, div, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { exp, log } from "../pointwise/exponential.ts";
import { max, sum } from "../reduce/reduce.ts";
import { atLeastVector, defineRows } from "./define_rows.ts";

/** `y * (dy - sum(y * dy))`: the gradient of softmax from its result. */
const SoftmaxGrad = defineRows(
  "_SoftmaxGrad",
  ([y, dy], row) => s.mul(y, s.sub(dy, row.sum(s.mul(y, dy)))),
  {
    inputs: ["softmax", "gradients"],
    output: "backprops",
    expand: ([y, dy]) => [mul(y, sub(dy, sum(mul(y, dy), -1, true)))],
  },
);

/** `dy - exp(y) * sum(dy)`: the gradient of log-softmax from its result. */
const LogSoftmaxGrad = defineRows(
  "_LogSoftmaxGrad",
  ([y, dy], row) => s.sub(dy, s.mul(s.exp(y), row.sum(dy))),
  {
    inputs: ["logsoftmax", "gradients"],
    output: "backprops",
    expand: ([y, dy]) => [sub(dy, mul(exp(y), sum(dy, -1, true)))],
  },
);

const Softmax = defineOp({
  name: "Softmax",
  inputs: ["logits: T"],
  outputs: ["softmax: T"],
  attrs: ["T: floating"],
  infer: ([x]) => [atLeastVector(x.shape, "Softmax")],
  expand: ([x]) => [composed(x, -1)],
  grad: { saves: ["softmax"], vjp: ({ softmax: y }, [dy]) => [apply1(SoftmaxGrad, [y, dy])] },
  meaning: { kind: "rows", program: "softmax" },
  cpu: ([x], [out]) => softmaxCpu(x, out),
});

const LogSoftmax = defineOp({
  name: "LogSoftmax",
  inputs: ["logits: T"],
  outputs: ["logsoftmax: T"],
  attrs: ["T: floating"],
  infer: ([x]) => [atLeastVector(x.shape, "LogSoftmax")],
  expand: ([x]) => [composedLog(x, -1)],
  grad: {
    saves: ["logsoftmax"],
    vjp: ({ logsoftmax: y }, [dy]) => [apply1(LogSoftmaxGrad, [y, dy])],
  },
  meaning: { kind: "rows", program: "logSoftmax" },
  cpu: ([x], [out]) => logSoftmaxCpu(x, out),
});

function composed(x: OpInput, axis: number): Tensor {
  const e = exp(sub(x, stopGradient(max(x, axis, true))));
  return div(e, sum(e, axis, true));
}
function composedLog(x: OpInput, axis: number): Tensor {
  const shifted = sub(x, stopGradient(max(x, axis, true)));
  return sub(shifted, log(sum(exp(shifted), axis, true)));
}

/** `[batch, classes]` of logits. */
function logitsShape(x: PartialShape, op: string): readonly [number | null, number | null] {
  if (x === null) return [null, null];
  if (x.length !== 2) {
    throw new ValueError(`logits must be 2-dimensional for '${op}', received ${shapeText(x)}`);
  }
  if (x[1] === 0) {
    throw new ValueError(
      `Must have at least one class for '${op}', received logits of shape ${shapeText(x)}`,
    );
  }
  return [x[0], x[1]];
}

/** Returns the gradient of the logits: from the loss and, in higher orders, from the loss's own gradient. */
function logitsGradient(
  logits: Tensor,
  backprop: Tensor,
  dys: readonly Tensor[],
  ctx: GradContext,
): Tensor | null {
  const first = ctx.given[0] ? mul(expandDims(dys[0], 1), backprop) : null;
  if (!ctx.given[1]) return first;
  const second = apply1(SoftmaxGrad, [apply1(Softmax, [logits]), dys[1]]);
  return first === null ? second : add(first, second);
}

const CrossEntropy = defineOp({
  name: "SoftmaxCrossEntropyWithLogits",
  inputs: ["features: T", "labels: T"],
  outputs: ["loss: T", "backprop: T"],
  attrs: ["T: floating"],
  infer: ([x, labels]) => {
    const both = logitsShape(mergeShapes(x.shape, labels.shape), "SoftmaxCrossEntropyWithLogits");
    return [[both[0]], both];
  },
  grad: {
    saves: ["features", "backprop"],
    vjp: ({ features, backprop }, dys, ctx) => {
      if (!ctx.needs[1]) return [logitsGradient(features, backprop, dys, ctx), null];
      const first = ctx.given[0]
        ? mul(expandDims(dys[0], 1), neg(apply1(LogSoftmax, [features])))
        : null;
      const second = ctx.given[1] ? neg(dys[1]) : null;
      const dlabels = first !== null && second !== null ? add(first, second) : first ?? second;
      return [ctx.needs[0] ? logitsGradient(features, backprop, dys, ctx) : null, dlabels];
    },
  },
  expand: ([x, labels]) => {
    const logs = composedLog(x, -1);
    return [neg(sum(mul(labels, logs), -1)), sub(exp(logs), labels)];
  },
  meaning: { kind: "rows", program: "crossEntropy" },
  cpu: crossEntropyCpu,
});

const SparseCrossEntropy = defineOp({
  name: "SparseSoftmaxCrossEntropyWithLogits",
  inputs: ["features: T", "labels: Tlabels"],
  outputs: ["loss: T", "backprop: T"],
  attrs: ["T: floating", "Tlabels: index = int64"],
  infer: ([x, labels]) => {
    const [batch, classes] = logitsShape(x.shape, "SparseSoftmaxCrossEntropyWithLogits");
    const rows = mergeShapes([batch], labels.shape);
    return [rows, [rows![0], classes]];
  },
  grad: {
    saves: ["features", "backprop"],
    vjp: ({ features, backprop }, dys, ctx) => [logitsGradient(features, backprop, dys, ctx), null],
  },
  meaning: { kind: "rows", program: "sparseCrossEntropy" },
  cpu: sparseCrossEntropyCpu,
});

/**
 * Softmax along an axis, by default the last: `exp(x) / sum(exp(x))`. TensorFlow op `Softmax`.
 * Throws `TypeError` for tensors that are not floating, `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.softmax([[5, 5], [7, 7]]).arraySync()); // [[0.5, 0.5], [0.5, 0.5]]
 * ```
 */
export function softmax<X extends Operand>(logits: X, dim = -1): Like<X> {
  const x = toInput(logits, "logits", "softmax");
  return along(Softmax, x, dim, composed) as Like<X>;
}

/**
 * Logarithm of softmax along an axis, by default the last. TensorFlow op `LogSoftmax`.
 * Throws `TypeError` for tensors that are not floating, `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.logSoftmax([5, 5]).dataSync()[0] as number).toFixed(4)); // -0.6931
 * ```
 */
export function logSoftmax<X extends Operand>(logits: X, axis = -1): Like<X> {
  const x = toInput(logits, "logits", "logSoftmax");
  return along(LogSoftmax, x, axis, composedLog) as Like<X>;
}

/** Applies an op of the last axis, or what it is made of along another one. A composite tensor's rule is told the axis. */
function along(
  def: OpDef,
  x: OpInput,
  axis: number,
  composed: (x: OpInput, axis: number) => Tensor,
): Tensor {
  if ((x as unknown) instanceof CompositeTensor) return apply1(def, [x], { axis });
  return isLast(x, axis) ? apply1(def, [x]) : compose(() => composed(x, axis));
}

function isLast(x: OpInput, axis: number): boolean {
  const rank = shapeOfInput(x)?.length;
  if (rank === undefined || axis === -1) return axis === -1;
  return normalizeAxis(axis, rank) === rank - 1;
}

/** Arguments of {@linkcode softmaxCrossEntropyWithLogits}. */
export interface CrossEntropyArgs {
  /** Probabilities, shaped like the logits. */
  readonly labels: TensorLike;
  /** Unscaled logarithms of probabilities. */
  readonly logits: TensorLike;
  /** Axis of the classes; by default the last. */
  readonly axis?: number;
}

/**
 * Cross entropy of softmax: `-sum(labels * log(softmax(logits)))` along the classes; the shape is that of the logits without
 * that axis. Gradients flow to logits and labels. TensorFlow `tf.nn.softmax_cross_entropy_with_logits`.
 * Throws `ValueError` where the shapes differ, `TypeError` for tensors that are not floating.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const loss = tf.softmaxCrossEntropyWithLogits({ labels: [[1, 0]], logits: [[3, 3]] });
 * console.log((loss.dataSync()[0] as number).toFixed(4)); // 0.6931
 * ```
 */
export function softmaxCrossEntropyWithLogits(args: CrossEntropyArgs): Tensor {
  checkArguments(args);
  const { labels, logits, axis = -1 } = args;
  return compose(() => {
    const x = classesLast(toInput(logits, "logits", "softmaxCrossEntropyWithLogits"), axis);
    const given = toInput(labels, "labels", "softmaxCrossEntropyWithLogits");
    const l = classesLast(castInput(given, x.dtype), axis);
    mergeShapes(shapeOfInput(x), shapeOfInput(l));
    const [loss] = apply(CrossEntropy, [asMatrix(x), asMatrix(l)]);
    return withoutClasses(loss, x);
  });
}

const SPARSE_ARGUMENTS = { labels: true, logits: true } as const;
const checkSparseArguments = argumentsCheck<SparseCrossEntropyArgs>(
  "sparseSoftmaxCrossEntropyWithLogits",
  SPARSE_ARGUMENTS,
);
const checkArguments = argumentsCheck<CrossEntropyArgs>("softmaxCrossEntropyWithLogits", {
  ...SPARSE_ARGUMENTS,
  axis: true,
});

/** Arguments of {@linkcode sparseSoftmaxCrossEntropyWithLogits}. */
export interface SparseCrossEntropyArgs {
  /** Class numbers, int32 or int64, shaped like the logits without their last axis. */
  readonly labels: TensorLike;
  /** Unscaled logarithms of probabilities; classes along the last axis. */
  readonly logits: TensorLike;
}

/**
 * Cross entropy of softmax with one right class each: `-log(softmax(logits)[label])`.
 * A label out of range throws `InvalidArgumentError` on the CPU and gives NaN on a GPU.
 * TensorFlow `tf.nn.sparse_softmax_cross_entropy_with_logits`. Throws `ValueError` where the shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const loss = tf.sparseSoftmaxCrossEntropyWithLogits({ labels: [1], logits: [[3, 3]] });
 * console.log((loss.dataSync()[0] as number).toFixed(4)); // 0.6931
 * ```
 */
export function sparseSoftmaxCrossEntropyWithLogits(args: SparseCrossEntropyArgs): Tensor {
  checkSparseArguments(args);
  const { labels, logits } = args;
  return compose(() => {
    const x = toInput(logits, "logits", "sparseSoftmaxCrossEntropyWithLogits");
    const l = castInput(toInput(labels, "labels", "sparseSoftmaxCrossEntropyWithLogits"), "int32");
    const known = shapeOfInput(x), given = shapeOfInput(l);
    if (known !== null && given !== null) mergeShapes(known.slice(0, -1), given);
    const rows = given?.length === 1 ? l : reshape(l, [-1]);
    const [loss] = apply(SparseCrossEntropy, [asMatrix(x), rows]);
    return withoutClasses(loss, x);
  });
}

function classesLast(x: OpInput, axis: number): OpInput {
  if (isLast(x, axis)) return x;
  const rank = shapeOfInput(x)?.length;
  if (rank === undefined) {
    throw new ValueError(`Cannot find axis ${axis} of logits whose rank is unknown: wanted -1`);
  }
  const at = normalizeAxis(axis, rank);
  const perm = Array.from({ length: rank }, (_, i) => i).filter((i) => i !== at);
  return transpose(x, [...perm, at]);
}

/** `[batch, classes]` of any logits. */
function asMatrix(x: OpInput): OpInput {
  const s = shapeOfInput(x);
  if (s?.length === 2) return x;
  const classes = s?.at(-1) ?? null;
  if (s?.length === 0) {
    throw new ValueError("Cannot take cross entropy of a scalar: logits need an axis of classes");
  }
  if (classes !== null) return reshape(x, [-1, classes]);
  const all = shape(x);
  const last = sub(shape(all), 1);
  return reshape(x, concat([intVector([-1]), slice(all, last, [1])]));
}

/** Reshapes per-row values to the logits' shape without their last axis. */
function withoutClasses(loss: Tensor, x: OpInput): Tensor {
  const s = shapeOfInput(x);
  if (s?.length === 2) return loss;
  const outer = s?.slice(0, -1);
  if (outer && isConcrete(outer)) return reshape(loss, outer);
  const all = shape(x);
  return reshape(loss, slice(all, [0], sub(shape(all), 1)));
}
