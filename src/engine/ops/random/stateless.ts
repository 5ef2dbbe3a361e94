/** Stateless draws from given distributions: of gamma distributions TensorFlow's numbers, of classes those of the other functions of their kind. */
import { compose } from "../../core/apply.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { asTensor, shapeOfInput, toFloatInput, toIndexInput, toInput } from "../input.ts";
import { add, div } from "../pointwise/arithmetic.ts";
import { zerosLike } from "../array/creation.ts";
import { GAMMA } from "./gamma_ops.ts";
import { INDICES } from "./integer_ops.ts";
import { draw } from "./ops.ts";
import { keyInput } from "./seed_input.ts";

/**
 * Draws `numSamples` indices for each row of logits, with the probabilities of its softmax: always the same for the same seed, two
 * integers. Throws `ValueError` for logits that are no matrix, `TypeError` for another dtype than int32 and int64. TensorFlow op
 * `StatelessMultinomial`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const drawn = tf.random.statelessCategorical([[0, 0, 100]], 3, [1, 2], "int32");
 * console.log(await drawn.array()); // [[2, 2, 2]]
 * ```
 */
export function statelessCategorical(
  logits: TensorLike,
  numSamples: TensorLike,
  seed: TensorLike,
  dtype: DType = "int64",
): Tensor {
  const fn = "statelessCategorical", rows = toFloatInput(logits, "logits", fn), to = asDType(dtype);
  if (to !== "int32" && to !== "int64") {
    throw new TypeError(`Cannot draw indices of dtype ${to} by ${fn}: wanted int32 or int64`);
  }
  const dims = shapeOfInput(rows);
  if (dims && dims.length !== 2) {
    throw new ValueError(
      `Cannot apply ${fn}: logits must be a matrix, received ${shapeText(dims)}`,
    );
  }
  const count = toIndexInput(numSamples, "numSamples", fn);
  return draw(INDICES, { key: keyInput(seed, fn) }, [rows, count], { output_dtype: to });
}

/**
 * Numbers with the gamma distributions of shapes `alpha` and rates `beta`, whose common shape is the end of `shape`: always the same for the
 * same seed, two integers, and TensorFlow's. Differentiable with respect to both. Throws `TypeError` for other dtypes than float16, float32 and
 * float64, `ValueError` for shapes that do not fit. TensorFlow op `StatelessRandomGammaV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.random.statelessGamma([1000], [1, 2], 4, 2);
 * console.log((await tf.mean(x).item()).toFixed(0)); // 2
 * ```
 */
export function statelessGamma(
  shape: TensorLike,
  seed: TensorLike,
  alpha: TensorLike,
  beta: TensorLike = 1,
  dtype: DType = "float32",
): Tensor {
  const fn = "statelessGamma", to = asDType(dtype);
  if (to !== "float16" && to !== "float32" && to !== "float64") {
    throw new TypeError(`Cannot draw ${to} by ${fn}: wanted float16, float32 or float64`);
  }
  const dims = toIndexInput(shape, "shape", fn), key = keyInput(seed, fn);
  const a = toInput(alpha, "alpha", fn, { dtype: to }),
    rate = toInput(beta, "beta", fn, { dtype: to });
  return compose(() => {
    const each = add(asTensor(a), zerosLike(asTensor(rate)));
    return div(draw(GAMMA, { key }, [dims, each]), asTensor(rate));
  });
}
