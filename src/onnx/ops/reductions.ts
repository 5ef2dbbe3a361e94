/** Reductions, and running sums and products. */
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { axisLast } from "../build/channels_last.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { isFloat, to } from "./raw.ts";
import * as tf from "../build/tf.ts";

type Reduce = (x: Tensor, axes: number[], keepDims: boolean) => Tensor;

/** Makes the rule of a reduction whose axes are an input from a version on. */
function reduction(f: Reduce, axesFrom = 18): Rule {
  return (n) => {
    const given = n.version < axesFrom
      ? n.attributes.ints("axes")
      : n.has(1)
      ? n.wantInts(1)
      : undefined;
    const keep = n.attributes.flag("keepdims", true);
    if ((given === undefined || given.length === 0) && n.attributes.flag("noop_with_empty_axes")) {
      return f(n.x(0), [], keep);
    }
    const rank = n.rank(0);
    const axes = given === undefined || given.length === 0
      ? Array.from({ length: rank }, (_, i) => i)
      : given.map((a) => normalizeAxis(a, rank));
    if (keep && n.value(0).last !== null) {
      return Value.channelsLast(f(n.last(0), axes.map((a) => axisLast(a, rank)), true));
    }
    return f(n.x(0), axes, keep);
  };
}

/** A reduction over no axis keeps the elements, apart from its work on each. */
function over(
  reduce: (x: Tensor, axes: number[], keepDims: boolean) => Tensor,
  before: (x: Tensor) => Tensor = (x) => x,
  after: (x: Tensor) => Tensor = (x) => x,
): Reduce {
  return (x, axes, keep) => {
    const terms = before(x);
    return after(axes.length === 0 ? tf.identity(terms) : reduce(terms, axes, keep));
  };
}

const sum = (x: Tensor, axes: number[], keep: boolean): Tensor =>
  to(tf.sum(x, axes, keep), x.dtype);

/** Extremes of booleans are any and all. */
function extreme(f: Reduce, ofBools: Reduce): Reduce {
  return (x, axes, keep) => (x.dtype === "bool" ? ofBools : f)(x, axes, keep);
}

/** Applies a floating-point function to integers, which are converted and converted back. */
function inFloats(f: Reduce): Reduce {
  return (x, axes, keep) =>
    isFloat(x.dtype) ? f(x, axes, keep) : to(f(to(x, "float64"), axes, keep), x.dtype);
}

const mean = over((x, axes, keep) => tf.mean(x, axes, keep));
const l2 = over(sum, tf.square, tf.sqrt);
const logSum = over(sum, undefined, tf.log);
const logSumExp: Reduce = (x, axes, keep) =>
  axes.length === 0 ? tf.identity(x) : tf.logSumExp(x, axes, keep);

function running(f: typeof tf.cumprod): Rule {
  return (n: NodeCall) => {
    const axis = normalizeAxis(n.wantInts(1)[0], n.rank(0)), { attributes } = n;
    return f(n.x(0), axis, attributes.flag("exclusive"), attributes.flag("reverse"));
  };
}

const options = { known: [1] };

export const REDUCTIONS: readonly OpEntry[] = [
  op("CumProd", 26, running(tf.cumprod), options),
  op("CumSum", 11, running(tf.cumsum), options),
  op("ReduceL1", 1, reduction(over(sum, tf.abs)), { ...options, halves: "computed" }),
  op("ReduceL2", 1, reduction(inFloats(l2)), { ...options, halves: "computed" }),
  op("ReduceLogSum", 1, reduction(inFloats(logSum)), { ...options, halves: "computed" }),
  op("ReduceLogSumExp", 1, reduction(inFloats(logSumExp)), { ...options, halves: "computed" }),
  op("ReduceMax", 1, reduction(extreme(over(tf.max), over(tf.any))), {
    ...options,
    halves: "computed",
  }),
  op("ReduceMean", 1, reduction(inFloats(mean)), { ...options, halves: "computed" }),
  op("ReduceMin", 1, reduction(extreme(over(tf.min), over(tf.all))), {
    ...options,
    halves: "computed",
  }),
  op("ReduceProd", 1, reduction(over(tf.prod)), { ...options, halves: "computed" }),
  op("ReduceSum", 1, reduction(over(sum), 13), { ...options, halves: "computed" }),
  op("ReduceSumSquare", 1, reduction(over(sum, tf.square)), { ...options, halves: "computed" }),
];
