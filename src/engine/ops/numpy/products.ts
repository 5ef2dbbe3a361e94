/** NumPy's products of vectors and arrays, and sums of exponentials. */
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { brief } from "../../core/text.ts";
import { pad } from "../array/pad.ts";
import { reverse } from "../array/move.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { matMul } from "../linalg/matmul.ts";
import { tensordot } from "../linalg/linalg.ts";
import { asTensor, toMatchingInputs } from "../input.ts";
import { add, div, mul, sub, toArithmeticInputs } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { conj } from "../pointwise/complex.ts";
import { exp, log1p } from "../pointwise/exponential.ts";
import { abs } from "../pointwise/rounding.ts";
import { maximum, where } from "../pointwise/select.ts";
import { sum } from "../reduce/reduce.ts";
import { realInput } from "./inputs.ts";

type Pair = readonly [Tensor, Tensor];

function pairOf(a: TensorLike, b: TensorLike, fn: string): Pair {
  const [x, y] = toArithmeticInputs(a, b, fn, ["a", "b"]).map(asTensor);
  for (const [t, arg] of [[x, "a"], [y, "b"]] as const) {
    if (t.staticShape === null) {
      throw new ValueError(`Cannot apply ${fn}: the rank of ${arg} must be known`);
    }
  }
  return [x, y];
}

const flat = (x: Tensor): Tensor => reshape(x, [-1]);

/**
 * All products of an element of `a` and one of `b`, of shape `[size of a, size of b]`. Follows `numpy.outer`, in TensorFlow `tf.experimental.numpy.outer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.outer([1, 2], [3, 4]).arraySync()); // [[3, 4], [6, 8]]
 * ```
 */
export function outer(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pairOf(a, b, "outer");
    return mul(expandDims(flat(x), 1), expandDims(flat(y), 0));
  });
}

/**
 * The sums of products over the last axes of both; of scalars the product. Follows `numpy.inner`, in TensorFlow `tf.experimental.numpy.inner`. Throws `ValueError` where the last extents
 * differ or a rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.inner([[1, 2], [3, 4]], [5, 6]).arraySync()); // [17, 39]
 * ```
 */
export function inner(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pairOf(a, b, "inner"), [p, q] = [x.staticShape!, y.staticShape!];
    if (p.length === 0 || q.length === 0) return mul(x, y);
    const [m, n] = [p.at(-1)!, q.at(-1)!];
    if (m !== null && n !== null && m !== n) {
      throw new ValueError(
        `Cannot apply inner to shapes ${shapeText(p)} and ${
          shapeText(q)
        }: wanted equal last extents`,
      );
    }
    return tensordot(x, y, [[p.length - 1], [q.length - 1]]);
  });
}

/**
 * The sum of the products of all elements, those of `a` conjugated; a scalar. Follows `numpy.vdot`, in TensorFlow `tf.experimental.numpy.vdot`. Throws `ValueError` where the sizes
 * differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.vdot([[1, 2], [3, 4]], [[1, 1], [2, 2]]).item()); // 17
 * ```
 */
export function vdot(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pairOf(a, b, "vdot").map(flat), [[m], [n]] = [x, y].map((t) => t.staticShape!);
    if (m !== null && n !== null && m !== n) {
      throw new ValueError(`Cannot apply vdot to a of ${m} and b of ${n} elements: wanted as many`);
    }
    return sum(mul(x.dtype.startsWith("complex") ? conj(x) : x, y));
  });
}

/**
 * The product of Kronecker: blocks of `b`, each times an element of `a`. Of two matrices `[m, n]` and `[p, q]` it is `[m * p, n * q]`; the smaller rank is filled with ones. Follows `numpy.kron`, in TensorFlow
 * `tf.experimental.numpy.kron`. Throws `ValueError` where a rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.kron([1, 10], [5, 6, 7]).arraySync()); // [5, 6, 7, 50, 60, 70]
 * ```
 */
export function kron(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pairOf(a, b, "kron");
    const rank = Math.max(x.staticShape!.length, y.staticShape!.length);
    const [p, q] = [x, y].map((t) => {
      let wide = t;
      while (wide.staticShape!.length < rank) wide = expandDims(wide, 0);
      return wide;
    });
    const extents = Array.from({ length: rank }, (_, i) => {
      const [m, n] = [p.staticShape![i], q.staticShape![i]];
      return m !== null && n !== null
        ? m * n
        : mul(m ?? gather(shape(p), i), n ?? gather(shape(q), i));
    });
    let [left, right] = [p, q];
    for (let i = 0; i < rank; i++) {
      left = expandDims(left, 2 * i + 1);
      right = expandDims(right, 2 * i);
    }
    return reshape(mul(left, right), extents as number[]);
  });
}

/**
 * `log(e ** a + e ** b)` without overflow, of the broadcast shape. Whole numbers become float32. Follows `numpy.logaddexp`, in TensorFlow `tf.experimental.numpy.logaddexp`. Throws `ValueError` for shapes that
 * do not broadcast, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.logaddexp([1000, -Infinity], [0, 3]).arraySync()); // [1000, 3]
 * ```
 */
export function logaddexp(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [p, q] = toMatchingInputs(a, b, "logaddexp");
    const x = realInput(p as TensorLike, "a", "logaddexp");
    return logOfSum(x, realInput(q as TensorLike, "b", "logaddexp"), 1);
  });
}

/** The logarithm of the sum of two powers, whose base has the natural logarithm `ln`. */
export function logOfSum(x: Tensor, y: Tensor, ln: number): Tensor {
  // Equal infinities differ by no number.
  const isSame = equal(x, y), off = abs(sub(x, where(isSame, x, y)));
  const more = div(log1p(exp(mul(off, -ln))), ln);
  return where(isSame, add(x, Math.LN2 / ln), add(maximum(x, y), more));
}

/** Places of `convolve` and `correlate` that are kept. */
export type ConvolveMode = "full" | "same" | "valid";

/**
 * The convolution of two vectors: at place `k` stands the sum of `a[i] * v[k - i]`. `"full"` keeps all places, `"same"` as many as the longer has, in the middle, `"valid"`
 * those where both overlap wholly. Follows `numpy.convolve`. Throws `ValueError` for other ranks, unknown lengths and empty vectors.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.convolve([1, 2, 3], [0, 1, 0.5]).arraySync()); // [0, 1, 2.5, 4, 1.5]
 * ```
 */
export function convolve(a: TensorLike, v: TensorLike, mode: ConvolveMode = "full"): Tensor {
  return compose(() => {
    const [x, y] = vectors(a, v, "convolve", mode);
    return lengthOf(x) < lengthOf(y) ? slid(y, reverse(x), mode) : slid(x, reverse(y), mode);
  });
}

/**
 * The correlation of two vectors: at place `k` stands the sum of `a[i + k]` times the conjugate of `v[i]`. Modes are those of {@linkcode convolve}, `"valid"` by default. Follows
 * `numpy.correlate`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.correlate([1, 2, 3], [0, 1, 0.5], "same").arraySync()); // [2, 3.5, 3]
 * ```
 */
export function correlate(a: TensorLike, v: TensorLike, mode: ConvolveMode = "valid"): Tensor {
  return compose(() => {
    const [x, w] = vectors(a, v, "correlate", mode);
    const y = w.dtype.startsWith("complex") ? conj(w) : w;
    return lengthOf(x) < lengthOf(y) ? reverse(slid(y, x, mode)) : slid(x, y, mode);
  });
}

function vectors(a: TensorLike, v: TensorLike, fn: string, mode: string): Pair {
  const [x, y] = toArithmeticInputs(a, v, fn, ["a", "v"]).map(asTensor);
  for (const [t, arg] of [[x, "a"], [y, "v"]] as const) {
    const dims = t.staticShape;
    if (dims?.length === 1 && typeof dims[0] === "number" && dims[0] > 0) continue;
    throw new ValueError(
      `Cannot apply ${fn}: ${arg} must be a vector of known length that is not empty, is ${
        shapeText(dims)
      }`,
    );
  }
  if (["full", "same", "valid"].includes(mode)) return [x, y];
  throw new ValueError(`Cannot apply ${fn} by mode ${brief(mode)}: wanted full, same, valid`);
}

/** Slides the shorter vector along the longer one. */
function slid(long: Tensor, short: Tensor, mode: ConvolveMode): Tensor {
  const n = long.staticShape![0]!, m = short.staticShape![0]!;
  const wide = mode === "valid" ? long : pad(long, [[m - 1, m - 1]]);
  const count = mode === "valid" ? n - m + 1 : n + m - 1;
  const places = add(expandDims(range(0, count, 1, "int32"), 1), range(0, m, 1, "int32"));
  const windows = gather(wide, places);
  const all = reshape(matMul(windows, expandDims(short, 1)), [count]);
  return mode === "same" ? slice(all, [(m - 1) >> 1], [n]) : all;
}

const lengthOf = (x: Tensor): number => x.staticShape![0]!;
