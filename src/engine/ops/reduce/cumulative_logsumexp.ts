/** Running logarithms of sums of exponentials, in the namespace `tf.math`. On the host. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { optionCheck } from "../../core/arguments.ts";
import { setElement } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { normalizeAxis, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { hostInts } from "../array/view.ts";
import { intScalar, shapeOfInput, toFloatInput } from "../input.ts";
import { add, neg, sub } from "../pointwise/arithmetic.ts";
import { greater, less } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { exp, log } from "../pointwise/exponential.ts";
import { where } from "../pointwise/select.ts";

/** Returns `log(exp(a) + exp(b))`. */
function joined(a: number, b: number): number {
  const most = Math.max(a, b);
  return most === -Infinity ? most : most + Math.log1p(Math.exp(Math.min(a, b) - most));
}

const CumulativeLogsumexp: OpDef = defineOp({
  name: "CumulativeLogsumexp",
  inputs: ["x: T", "axis: Tidx"],
  outputs: ["out: T"],
  attrs: [
    "exclusive: bool = false",
    "reverse: bool = false",
    "T: {float16, float32, float64}",
    "Tidx: index = int32",
  ],
  hostInputs: ["axis"],
  infer: ([x, axis]) => {
    if (x.shape !== null && axis.value !== undefined) {
      normalizeAxis(hostInts(axis.value)[0], x.shape.length);
    }
    return [x.shape];
  },
  grad: {
    saves: ["x", "axis", "out"],
    vjp: ({ x, axis, out }, [dy], { attrs: { exclusive, reverse } }) => {
      // Sums of either sign by themselves, in logarithms, as TensorFlow has it.
      const isSum = greater(out, -Infinity);
      const part = (isSigned: Tensor, size: Tensor): Tensor => {
        const there = logicalAnd(isSigned, isSum);
        const logs = where(there, sub(log(where(there, size, 1)), out), -Infinity);
        const flags = { exclusive, reverse: !reverse };
        return exp(add(apply1(CumulativeLogsumexp, [logs, axis], flags), x));
      };
      return [sub(part(greater(dy, 0), dy), part(less(dy, 0), neg(dy))), null];
    },
  },
  cpu: ([x, axis], [out], { attrs: { exclusive, reverse } }) => {
    const at = normalizeAxis(hostInts(axis)[0], x.rank), extent = x.shape[at];
    const inner = sizeOf(x.shape.slice(at + 1)), outer = sizeOf(x.shape.slice(0, at));
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        let total = -Infinity;
        for (let k = 0; k < extent; k++) {
          const to = (o * extent + (reverse ? extent - 1 - k : k)) * inner + i;
          const before = total;
          total = joined(total, Number(x.at(to)));
          setElement(out, to, exclusive ? before : total);
        }
      }
    }
  },
});

/** Options of {@linkcode cumulativeLogsumexp}. */
export interface CumulativeOptions {
  /** Leaves each element out of its own sum. */
  readonly exclusive?: boolean | undefined;
  /** Sums from the end. */
  readonly reverse?: boolean | undefined;
}

const checkOptions = optionCheck<CumulativeOptions>("cumulativeLogsumexp", {
  exclusive: true,
  reverse: true,
});

/**
 * The logarithm of the running sum of exponentials along an axis; on the host, integers become float32. Differentiable. Throws
 * `ValueError` for an axis out of range, `TypeError` for options that are none. TensorFlow op `CumulativeLogsumexp`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.exp(tf.math.cumulativeLogsumexp(tf.log([1, 2, 3]))).round().arraySync()); // [1, 3, 6]
 * ```
 */
export function cumulativeLogsumexp(
  x: TensorLike,
  axis: number = 0,
  options: CumulativeOptions = {},
): Tensor {
  checkOptions(options);
  const { exclusive = false, reverse = false } = options;
  const input: OpInput = toFloatInput(x, "x", "cumulativeLogsumexp");
  const rank = shapeOfInput(input)?.length;
  const at = rank === undefined ? axis : normalizeAxis(axis, rank);
  return apply1(CumulativeLogsumexp, [input, intScalar(at)], { exclusive, reverse });
}
