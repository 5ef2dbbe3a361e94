/** Normalization by given statistics or over the last axis: batchNorm, layerNorm, movingAverage. */
import { wantBoolean } from "../../core/arguments.ts";
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import {
  broadcastShapes,
  compatible,
  isConcrete,
  mergeShapes,
  shapeText,
  sizeOf,
} from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { toNdArray } from "../../core/convert.ts";
import { concat } from "../array/join.ts";
import { broadcastTo } from "../array/repeat.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape } from "../array/view.ts";
import { definePointwise } from "../pointwise/define_pointwise.ts";
import { asTensor, castInput, intVector, shapeOfInput, toFloatInput, toInput } from "../input.ts";
import { add, div, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { pow, rsqrt, square } from "../pointwise/power.ts";
import { mean as meanOf, sum } from "../reduce/reduce.ts";
import { defineRows, rowsShape } from "./define_rows.ts";

/** Normalization by given statistics: every operand broadcasts. */
/** Batch normalization by given statistics. */
export const BatchNorm: OpDef = definePointwise(
  "_BatchNorm",
  ([x, mean, variance, offset, scale], { epsilon }) =>
    s.add(s.mul(s.mul(s.sub(x, mean), s.rsqrt(s.add(variance, epsilon as number))), scale), offset),
  {
    inputs: ["x", "mean", "variance", "offset", "scale"],
    attrs: ["epsilon: float"],
    expand: ([x, mean, variance, offset, scale], { epsilon }) => [
      add(mul(mul(sub(x, mean), rsqrt(add(variance, epsilon))), scale), offset),
    ],
    grad: {
      saves: ["x", "mean", "variance", "scale"],
      vjp: ({ x, mean, variance, scale }, [dy], { attrs, needs, sumLike }) => {
        const r = rsqrt(add(variance, attrs.epsilon));
        const dx = mul(dy, mul(scale, r));
        const centred = needs[2] || needs[4] ? sub(x, mean) : dy;
        return [
          needs[0] ? sumLike(dx, 0) : null,
          needs[1] ? sumLike(neg(dx), 1) : null,
          needs[2] ? sumLike(mul(mul(dx, centred), mul(square(r), -0.5)), 2) : null,
          needs[3] ? sumLike(dy, 3) : null,
          needs[4] ? sumLike(mul(mul(dy, centred), r), 4) : null,
        ];
      },
    },
  },
);

function standardized(x: OpInput, epsilon: number): { h: Tensor; r: Tensor } {
  const d = sub(x, meanOf(x, -1, true));
  const r = rsqrt(add(meanOf(square(d), -1, true), epsilon));
  return { h: mul(d, r), r };
}

/** Sums all but the last axis. */
function sumOverRows(x: Tensor, like: OpInput): Tensor {
  const rank = x.staticShape?.length;
  if (rank !== undefined) {
    return rank === 1 ? x : sum(x, Array.from({ length: rank - 1 }, (_, i) => i));
  }
  return sum(reshape(x, concat([intVector([-1]), shape(like)])), 0);
}

/** Normalization over the last axis, then scale and offset of that axis. */
const LayerNorm = defineRows(
  "_LayerNorm",
  ([x, scale, offset], row, { epsilon }) => {
    const d = s.sub(x, row.mean(x));
    // The rounding error of the mean.
    const rest = row.mean(d);
    const variance = s.sub(row.mean(s.mul(d, d)), s.mul(rest, rest));
    const r = s.rsqrt(s.add(s.max(variance, 0), epsilon));
    return s.add(s.mul(s.mul(s.sub(d, rest), r), scale), offset);
  },
  {
    columns: ["scale", "offset"],
    attrs: ["epsilon: float"],
    expand: ([x, scale, offset], { epsilon }) => [
      add(mul(standardized(x, epsilon).h, scale), offset),
    ],
    grad: {
      saves: ["x", "scale"],
      vjp: ({ x, scale }, [dy], { attrs }) =>
        apply(LayerNormGrad, [dy, x, scale], { epsilon: attrs.epsilon }),
    },
  },
);

const LayerNormGrad = defineOp({
  name: "_LayerNormGrad",
  portable: "parts",
  inputs: ["dy: T", "x: T", "scale: T"],
  outputs: ["dx: T", "dscale: T", "doffset: T"],
  attrs: ["epsilon: float", "T: floating"],
  infer: ([dy, x, scale]) => {
    const dx = rowsShape([dy.shape, x.shape, scale.shape], 2, "_LayerNormGrad");
    const vector = dx === null ? scale.shape : dx.slice(-1);
    return [dx, vector, vector];
  },
  expand: ([dy, x, scale], { epsilon }) => {
    const { h, r } = standardized(x, epsilon);
    const g = mul(dy, scale);
    const dx = mul(r, sub(sub(g, meanOf(g, -1, true)), mul(h, meanOf(mul(g, h), -1, true))));
    return [dx, sumOverRows(mul(dy, h), scale), sumOverRows(asTensor(dy), scale)];
  },
  meaning: { kind: "rows", program: "layerNormGrad" },
});

/**
 * Normalizes with given mean and variance: `(x - mean) / sqrt(variance + varianceEpsilon) * scale + offset`. The statistics
 * have one element for each of the last axis, or broadcast against `x`. TensorFlow `tf.nn.batch_normalization`.
 * Integers become float32. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.batchNorm([[3, 8]], [1, 2], [4, 9], [0, 1], [1, 2], 0).arraySync()); // [[1, 5]]
 * ```
 */
export function batchNorm(
  x: TensorLike,
  mean: TensorLike,
  variance: TensorLike,
  offset?: TensorLike | null,
  scale?: TensorLike | null,
  varianceEpsilon = 0.001,
): Tensor {
  return normalizeRank(null, [x, mean, variance, offset, scale, varianceEpsilon]);
}

function batchNormOfRank(rank: number): typeof batchNorm {
  return (...args) => normalizeRank(rank, args);
}

function normalizeRank(
  rank: number | null,
  [x, mean, variance, offset, scale, epsilon = 0.001]: Parameters<typeof batchNorm>,
): Tensor {
  return compose(() => {
    const input = toFloatInput(x, "x", "batchNorm"), full = shapeOfInput(input);
    const rankOf = (t: OpInput): number | undefined => shapeOfInput(t)?.length;
    const operand = (t: TensorLike | null | undefined, arg: string, absent: number): OpInput => {
      if (t === undefined || t === null) return toNdArray(absent, { dtype: input.dtype });
      const given = castInput(toInput(t, arg, "batchNorm"), input.dtype);
      requireRank(rankOf(given), rank === null ? null : [1, rank], arg);
      if (arg !== "mean") {
        requireRank(rankOf(given), rankOf(m) === undefined ? null : [rankOf(m)!], arg);
      }
      return given;
    };
    requireRank(rankOf(input), rank === null ? null : [rank], "x");
    const m = operand(mean, "mean", 0);
    const v = operand(variance, "variance", 1);
    const o = operand(offset, "offset", 0), c = operand(scale, "scale", 1);
    // Operands may be broadcast, x may not.
    for (const t of [m, v, o, c]) {
      if (!compatible(broadcastShapes(full, shapeOfInput(t)), full)) {
        throw new ValueError(
          `Cannot normalize: statistics of shape ${
            shapeText(shapeOfInput(t))
          } do not fit x of shape ${shapeText(full)}`,
        );
      }
    }
    return apply1(BatchNorm, [input, m, v, o, c], { epsilon });
  });
}

function requireRank(
  received: number | undefined,
  wanted: readonly number[] | null,
  arg: string,
): void {
  if (received === undefined || wanted === null || wanted.includes(received)) return;
  throw new ValueError(
    `Cannot normalize: ${arg} has rank ${received}, wanted ${wanted.join(" or ")}`,
  );
}

/** {@linkcode batchNorm} of a rank-2 tensor, with statistics of rank 1 or 2. Throws `ValueError` for other ranks. */
export const batchNorm2d: typeof batchNorm = batchNormOfRank(2);

/** {@linkcode batchNorm} of a rank-3 tensor, with statistics of rank 1 or 3. Throws `ValueError` for other ranks. */
export const batchNorm3d: typeof batchNorm = batchNormOfRank(3);

/** {@linkcode batchNorm} of a rank-4 tensor, with statistics of rank 1 or 4. Throws `ValueError` for other ranks. */
export const batchNorm4d: typeof batchNorm = batchNormOfRank(4);

/**
 * Normalizes to mean 0 and variance 1 over the last axis (over as many axes as `scale` has), then scales and offsets each of
 * its elements. One dispatch on a GPU, two or so for the gradient. Integers become float32.
 * Throws `ValueError` where `scale` and `offset` are not shaped like the end of `x`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.layerNorm([[1, 3]], [2, 2], [0, 1]).arraySync() as number[][];
 * console.log(y[0][0].toFixed(4)); // -2.0000
 * console.log(y[0][1].toFixed(4)); // 3.0000
 * ```
 */
export function layerNorm(
  x: TensorLike,
  scale?: TensorLike | null,
  offset?: TensorLike | null,
  epsilon = 1e-5,
): Tensor {
  return compose(() => {
    const input = toFloatInput(x, "x", "layerNorm");
    const given = (t: TensorLike | null | undefined, arg: string): OpInput | null =>
      t === undefined || t === null ? null : castInput(toInput(t, arg, "layerNorm"), input.dtype);
    const c = given(scale, "scale"), o = given(offset, "offset");
    const full = shapeOfInput(input), part = shapeOfInput(c ?? o ?? intVector([0]));
    const axes = part?.length ?? 1;
    if (axes !== 1) {
      if (full === null || part === null || !isConcrete(part) || axes === 0) {
        throw new ValueError(
          `Cannot normalize: the shape of scale must be known and not [], received ${
            shapeText(part)
          }`,
        );
      }
      mergeShapes(full.slice(-axes), part);
      const flat = (t: OpInput | null): Tensor | null => t && reshape(t, [-1]);
      const y = layerNorm(reshape(input, [-1, sizeOf(part)]), flat(c), flat(o), epsilon);
      return reshape(y, isConcrete(full) ? full : shape(input));
    }
    const columns = full?.at(-1) ?? null;
    const like = c ?? o;
    const constant = (value: number): Tensor => {
      const literal = toNdArray(value, { dtype: input.dtype });
      if (columns !== null) return broadcastTo(literal, [columns]);
      const all = shape(input);
      return broadcastTo(literal, like ? shape(like) : slice(all, sub(shape(all), 1), [1]));
    };
    return apply1(LayerNorm, [input, c ?? constant(1), o ?? constant(0)], { epsilon });
  });
}

/**
 * Moves `v` towards `x`: `v + (x - v) * (1 - decay)`; with `zeroDebias` the step is divided by `1 - decay ** step`, which takes
 * out the bias of a start at 0. Follows TensorFlow.js `movingAverage`; returns the new average.
 * Throws `ValueError` where `step` is missing with `zeroDebias` or the shapes differ, `TypeError` where the dtypes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.movingAverage([0, 4], [2, 2], 0.5, 1, false).arraySync()); // [1, 3]
 * ```
 */
export function movingAverage(
  v: TensorLike,
  x: TensorLike,
  decay: TensorLike,
  step?: TensorLike | null,
  zeroDebias = true,
): Tensor {
  wantBoolean(zeroDebias, "zeroDebias", "movingAverage");
  return compose(() => {
    const average = toInput(v, "v", "movingAverage"), next = toInput(x, "x", "movingAverage");
    if (average.dtype !== next.dtype) {
      throw new TypeError(
        `Cannot average: v is ${average.dtype}, x is ${next.dtype}, wanted one dtype`,
      );
    }
    mergeShapes(shapeOfInput(average), shapeOfInput(next));
    let move = mul(sub(next, average), sub(1, decay));
    if (zeroDebias) {
      if (step === undefined || step === null) {
        throw new ValueError(
          "Cannot average with zeroDebias: received no step, wanted the number of the step",
        );
      }
      move = div(move, sub(1, pow(decay, step)));
    }
    return add(average, move);
  });
}
