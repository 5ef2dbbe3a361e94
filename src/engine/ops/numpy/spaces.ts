/** NumPy's spaced numbers and made matrices that stand nowhere else. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { ones, tensor } from "../array/creation.ts";
import { pad } from "../array/pad.ts";
import { diag } from "../array/ranges.ts";
import { reshape } from "../array/view.ts";
import { asTensor, toInput } from "../input.ts";
import { tril } from "./moves.ts";

/** Options of `geomspace`. */
export interface GeomspaceOptions {
  /** Number of numbers. Default 50. */
  readonly num?: number;
  /** False: `stop` is left out. Default true. */
  readonly endpoint?: boolean;
  /** Default float32. */
  readonly dtype?: DType;
}

/** Options of `logspace`. */
export interface LogspaceOptions extends GeomspaceOptions {
  /** The base of the powers. Default 10. */
  readonly base?: number;
}

const GEOMSPACE = { num: true, endpoint: true, dtype: true } as const;
const checkGeomspace = optionCheck<GeomspaceOptions>("geomspace", GEOMSPACE);
const checkLogspace = optionCheck<LogspaceOptions>("logspace", { ...GEOMSPACE, base: true });

/** Returns evenly spaced exponents, and then what `value` makes of each. */
function spaced(
  [start, stop]: readonly [number, number],
  value: (exponent: number) => number,
  { num = 50, endpoint = true, dtype = "float32", fn }: GeomspaceOptions & { readonly fn: string },
): Tensor {
  wantNumber(start, "start", fn);
  wantNumber(stop, "stop", fn);
  if (!Number.isInteger(num) || num < 0) {
    throw new ValueError(
      `Cannot apply ${fn} with num ${describe(num)}: wanted a whole number from 0 on`,
    );
  }
  const steps = endpoint ? Math.max(1, num - 1) : num;
  const at = (i: number): number =>
    endpoint && i === steps && num > 1 ? stop : start + (stop - start) * i / steps;
  return tensor(Array.from({ length: num }, (_, i) => value(at(i))), [num], dtype) as Tensor;
}

/**
 * Powers of `base` with evenly spaced exponents from `start` to `stop`; of shape `[num]`. Follows `numpy.logspace`, in TensorFlow `tf.experimental.numpy.logspace`. Throws `ValueError` for a
 * `num` that is no whole number from 0 on, `TypeError` for bounds that are no numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.logspace(0, 2, { num: 3 }).arraySync()); // [1, 10, 100]
 * ```
 */
export function logspace(start: number, stop: number, options: LogspaceOptions = {}): Tensor {
  checkLogspace(options);
  const { base = 10 } = options;
  wantNumber(base, "base", "logspace");
  return spaced([start, stop], (exponent) => base ** exponent, { ...options, fn: "logspace" });
}

/**
 * Numbers from `start` to `stop` of which each is the one before it times one factor; of shape `[num]`. Follows `numpy.geomspace`, in TensorFlow `tf.experimental.numpy.geomspace`. Throws
 * `ValueError` for bounds that are 0 or of two signs, and as {@linkcode logspace}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.geomspace(1, 8, { num: 4 }).arraySync()); // [1, 2, 4, 8]
 * ```
 */
export function geomspace(start: number, stop: number, options: GeomspaceOptions = {}): Tensor {
  checkGeomspace(options);
  wantNumber(start, "start", "geomspace");
  wantNumber(stop, "stop", "geomspace");
  if (!(start * stop > 0)) {
    throw new ValueError(
      `Cannot apply geomspace from ${start} to ${stop}: wanted bounds of one sign, and not 0`,
    );
  }
  // Exponents from 0 to 1, so that both bounds are met.
  const value = (part: number): number => part === 1 ? stop : start * (stop / start) ** part;
  return spaced([0, 1], value, { ...options, fn: "geomspace" });
}

/**
 * A matrix of ones up to the diagonal `k`, and zeros above it; of shape `[n, m]`, where `m` is `n` unless given. Follows `numpy.tri`, in TensorFlow `tf.experimental.numpy.tri`. Throws
 * `ValueError` for extents and a `k` that are no whole numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.tri(2, 3).arraySync()); // [[1, 0, 0], [1, 1, 0]]
 * ```
 */
export function tri(n: number, m: number = n, k = 0, dtype: DType = "float32"): Tensor {
  return compose(() => tril(ones([n, m], dtype), k));
}

/**
 * A matrix with the elements of `x` on the diagonal `k`, of as many rows and columns as that takes. Follows `numpy.diagflat`, in TensorFlow `tf.experimental.numpy.diagflat`. Throws
 * `ValueError` for a `k` that is no whole number.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.diagflat([5, 6], 1).arraySync()); // [[0, 5, 0], [0, 0, 6], [0, 0, 0]]
 * ```
 */
export function diagflat(x: TensorLike, k = 0): Tensor {
  if (!Number.isInteger(k)) {
    throw new ValueError(`Cannot apply diagflat at k ${describe(k)}: wanted a whole number`);
  }
  return compose(() => {
    const matrix = diag(reshape(asTensor(toInput(x, "x", "diagflat")), [-1])), n = Math.abs(k);
    return n === 0 ? matrix : pad(matrix, k > 0 ? [[0, n], [n, 0]] : [[n, 0], [0, n]]);
  });
}

/**
 * Vectors that broadcast against each other: the one at place `i` of `n` has its elements along axis `i`, and extents of 1 else. Follows `numpy.ix_`, in TensorFlow
 * `tf.experimental.numpy.ix_`. Throws `ValueError` for other ranks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.ix([1, 2], [5, 6, 7]).map((t) => t.shape)); // [[2, 1], [1, 3]]
 * ```
 */
export function ix(...vectors: readonly TensorLike[]): Tensor[] {
  return compose(() =>
    vectors.map((v, i) => {
      const input = asTensor(toInput(v, `vectors[${i}]`, "ix"));
      if (input.staticShape?.length !== 1) {
        throw new ValueError(
          `Cannot apply ix to vectors[${i}] of shape ${
            shapeText(input.staticShape)
          }: wanted a vector`,
        );
      }
      return reshape(input, vectors.map((_, axis) => axis === i ? -1 : 1));
    })
  );
}
