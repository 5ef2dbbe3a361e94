/** isotonicRegression, in the namespace `tf.nn`. On the host. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { apply, apply1, compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { setElement } from "../../core/nd_array.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { onesLike } from "../array/creation.ts";
import { transpose } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { gather } from "../array/gather.ts";
import { expandDims, reshape, shape, size } from "../array/view.ts";
import { asTensor, intScalar, intVector, shapeOfInput, toFloatInput } from "../input.ts";
import { add, div, mul, neg } from "../pointwise/arithmetic.ts";
import { cast } from "../array/cast.ts";
import { prod } from "../reduce/prod.ts";

/** A vector's runs of equal numbers, the last one being grown. */
interface Runs {
  readonly sums: number[];
  readonly counts: number[];
}

/** Pools adjacent violators: merges a run into the one before it while its mean is greater. Equal ones stay apart, as in TensorFlow. */
function pool(x: (i: number) => number, n: number): Runs {
  const sums: number[] = [], counts: number[] = [];
  for (let i = 0; i < n; i++) {
    let sum = x(i), count = 1;
    while (sums.length > 0 && sums[sums.length - 1] * count < sum * counts[counts.length - 1]) {
      sum += sums.pop()!;
      count += counts.pop()!;
    }
    sums.push(sum);
    counts.push(count);
  }
  return { sums, counts };
}

export const IsotonicRegression: OpDef = defineOp({
  name: "IsotonicRegression",
  inputs: ["input: T"],
  outputs: ["output: output_dtype", "segments: int32"],
  attrs: ["T: real", "output_dtype: floating = float32"],
  infer: ([x]) => {
    if (x.shape !== null && x.shape.length !== 2) {
      throw new ValueError(
        `Cannot apply IsotonicRegression: input should be of rank 2 but received rank ${x.shape.length}`,
      );
    }
    return [x.shape, x.shape];
  },
  grad: {
    saves: ["input", "segments"],
    // The result is constant along a segment: its gradients there are their mean.
    vjp: ({ input, segments }, [dy]) => {
      const dims = shape(segments), rows = reshape(range(0, gather(dims, 0), 1, "int32"), [-1, 1]);
      const ids = reshape(add(mul(rows, gather(dims, 1)), segments), [-1]), count = size(segments);
      const flat = reshape(dy, [-1]), total = lookupOp("UnsortedSegmentSum")!;
      const sums = apply1(total, [flat, ids, count]);
      const counts = apply1(total, [onesLike(flat), ids, count]);
      return [cast(reshape(div(gather(sums, ids), gather(counts, ids)), dims), input.dtype)];
    },
  },
  cpu: ([x], [out, segments]) => {
    const [rows, n] = x.shape, ids = segments.data as Int32Array;
    for (let row = 0; row < rows; row++) {
      const { sums, counts } = pool((i) => Number(x.at(row * n + i)), n);
      for (let run = 0, at = row * n; run < sums.length; run++) {
        for (const end = at + counts[run]; at < end; at++) {
          setElement(out, at, sums[run] / counts[run]);
          ids[at] = run;
        }
      }
    }
  },
});

/** Options of {@linkcode isotonicRegression}. */
export interface IsotonicOptions {
  /** False: numbers must not decrease, rather than not increase. Default true. */
  readonly decreasing?: boolean;
  /** Axis of the vectors. Default the last one. */
  readonly axis?: number;
}

const checkOptions = optionCheck<IsotonicOptions>("isotonicRegression", {
  decreasing: true,
  axis: true,
});

/**
 * The nearest vectors, by the sum of squared differences, whose numbers do not increase along an axis, and the number of the segment of equal
 * numbers that were pooled in which each one is, int32; on the host. Integers become float32. Differentiable. Throws `ValueError` for an axis out of range
 * and for scalars. Follows TensorFlow `tf.nn.isotonic_regression`, op `IsotonicRegression`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { output, segments } = tf.nn.isotonicRegression([[3, 1, 2]]);
 * console.log(output.arraySync(), segments.arraySync()); // [[3, 1.5, 1.5]] [[0, 1, 1]]
 * ```
 */
export function isotonicRegression(
  inputs: TensorLike,
  options: IsotonicOptions = {},
): { output: Tensor; segments: Tensor } {
  checkOptions(options);
  const { decreasing = true, axis = -1 } = options, fn = "isotonicRegression";
  wantNumber(axis, "axis", fn);
  return compose(() => {
    const input = asTensor(toFloatInput(inputs, "inputs", fn)), known = shapeOfInput(input);
    if (known === null) throw new ValueError(`Cannot apply ${fn}: the rank of inputs is unknown`);
    const rank = known.length, at = axis < 0 ? axis + rank : axis;
    if (!Number.isInteger(at) || at < 0 || at >= rank) {
      throw new ValueError(`Cannot apply ${fn}: axis ${axis} is out of range for rank ${rank}`);
    }
    const order = [...known.keys()].map((i) => i === at ? rank - 1 : i === rank - 1 ? at : i);
    const isLast = at === rank - 1, last = isLast ? input : transpose(input, order);
    const dims = shape(last), matrix = lines(last, dims);
    const [y, ids] = apply(IsotonicRegression, [decreasing ? matrix : neg(matrix)], {
      output_dtype: input.dtype,
    });
    const back = (x: Tensor): Tensor => {
      const own = reshape(x, dims);
      return isLast ? own : transpose(own, order);
    };
    return { output: back(decreasing ? y : neg(y)), segments: back(ids) };
  });
}

/** Lays the vectors along the last axis under each other. An empty tensor does not say how many there are. */
function lines(x: Tensor, dims: Tensor): Tensor {
  const n = asTensor(gather(dims, intVector([-1 + (shapeOfInput(x)!.length)])));
  const rows = prod(gather(dims, range(0, shapeOfInput(x)!.length - 1, 1, "int32")));
  return reshape(
    x,
    asTensor(apply1(lookupOp("ConcatV2")!, [expandDims(rows, 0), n, intScalar(0)])),
  );
}
