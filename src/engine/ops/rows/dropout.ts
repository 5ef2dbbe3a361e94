/** Dropout: randomly sets elements to zero and scales the others up. */
import { wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { isFloating } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { identity, shape } from "../array/view.ts";
import { dimsInput } from "../array/fill_ops.ts";
import { asTensor, intVector, shapeOfInput, toInput } from "../input.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { greaterEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { draw, REAL } from "../random/ops.ts";
import { type Seed, seedSource, sequenceSource } from "../random/state.ts";

/**
 * Sets a fraction `rate` of the elements to zero by chance and divides the others by `1 - rate`. Elements that `noiseShape`
 * broadcasts to share one chance; null dimensions in it are those of `x`. A seed makes the sequence of calls repeat: each call
 * has chances of its own, and `tf.setRandomSeed()` begins the sequence anew. TensorFlow `tf.nn.dropout`.
 * Throws `TypeError` for tensors that are not floating, `ValueError` where `rate` is not in `[0, 1)`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.dropout(tf.tensor([1, 2, 3, 4]), 0.5, null, 4).arraySync()); // [0, 4, 6, 0]
 * ```
 */
export function dropout(
  x: TensorLike,
  rate: number,
  noiseShape?: readonly (number | null)[] | null,
  seed?: Seed | null,
): Tensor {
  return compose(() => {
    const input = toInput(x, "x", "dropout");
    if (!isFloating(input.dtype)) {
      throw new TypeError(
        `Cannot drop out: x has to be a floating point tensor, but got ${input.dtype}`,
      );
    }
    wantNumber(rate, "rate", "dropout");
    if (!(rate >= 0 && rate < 1)) {
      throw new ValueError(`Cannot drop out: rate must be in [0, 1), received ${rate}`);
    }
    const t = asTensor(input);
    if (rate === 0) return identity(t);
    const source = seed === null || seed === undefined ? seedSource(seed) : sequenceSource(seed);
    const dims = dimsInput(shapeOfNoise(t, noiseShape), "dropout");
    const noise = draw(REAL.uniform, source, [dims], { dtype: "float32" });
    return where(greaterEqual(noise, rate), mul(t, 1 / (1 - rate)), 0);
  });
}

function shapeOfNoise(
  x: Tensor,
  noiseShape: readonly (number | null)[] | null | undefined,
): TensorLike {
  const known = shapeOfInput(x);
  const wanted = noiseShape ?? known;
  if (wanted === null) return shape(x);
  const filled = wanted.map((d, i) => d ?? (known?.length === wanted.length ? known[i] : null));
  if (isConcrete(filled)) return intVector(filled);
  // A dimension unknown while building is taken from x at run time.
  const all = shape(x);
  return concat(filled.map((d, i) => (d === null ? slice(all, [i], [1]) : intVector([d]))));
}
