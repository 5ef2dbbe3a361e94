/** Points that fill a cube evenly. */
import { apply1 } from "../../core/apply.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { defineOp } from "../../core/op.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { sobolPoints } from "../../kernels/host/drawing/sobol.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { castInput, toIndexInput } from "../input.ts";

/** Returns the number of a scalar, where it is known. */
function known(spec: Spec, arg: string): number | undefined {
  if (spec.shape !== null && spec.shape.length > 0) {
    refuse(`${arg} must be a scalar, but got shape ${shapeText(spec.shape)}`);
  }
  return knownInts(spec)?.[0];
}

const SobolSample = defineOp({
  name: "SobolSample",
  inputs: ["dim: int32", "num_results: int32", "skip: int32"],
  outputs: ["samples: dtype"],
  attrs: ["dtype: {float32, float64} = float32"],
  hostInputs: ["dim", "num_results", "skip"],
  infer: ([dim, count, skip]) => {
    const d = known(dim, "dim"), n = known(count, "num_results"), from = known(skip, "skip");
    if (d !== undefined && d < 1) refuse(`dim must be at least one, is ${d}`);
    if (n !== undefined && n < 1) refuse(`num_results must be at least one, is ${n}`);
    if (from !== undefined && from < 0) refuse(`skip must be non-negative, is ${from}`);
    if (n !== undefined && from !== undefined && n + from >= 2 ** 31 - 1) {
      refuse(`num_results+skip must be less than 2147483647, is ${n + from}`);
    }
    return [[n ?? null, d ?? null]];
  },
  grad: null,
  cpu: ([, , skip], [out]) => sobolPoints(out, hostInts(skip)[0]),
});

/**
 * The points of Sobol's sequence, which fill a cube evenly: `[numResults, dim]`, from 0 to before 1. `skip` leaves out the first ones; the point of zeros is never there. TensorFlow's are negative from the 2 ** 30th on, these are not. Of dtype
 * float32 or float64. Throws `InvalidArgumentError` for numbers below 1, a negative `skip` and points beyond 2147483646, `UnimplementedError`
 * for more than 256 dimensions. TensorFlow op `SobolSample`, by the direction numbers of Joe and Kuo (2008).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.sobolSample(2, 3).arraySync()); // [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
 * ```
 */
export function sobolSample(
  dim: TensorLike,
  numResults: TensorLike,
  skip: TensorLike = 0,
  dtype: DType = "float32",
): Tensor {
  const inputs = [[dim, "dim"], [numResults, "numResults"], [skip, "skip"]] as const;
  return apply1(
    SobolSample,
    inputs.map(([v, arg]) => castInput(toIndexInput(v, arg, "sobolSample"), "int32")),
    { dtype: asDType(dtype) },
  );
}
