/** Matrix product with bias and activation in one op. */
import { isFloating } from "../../core/dtype.ts";
import { argumentsCheck } from "../../core/arguments.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { reshape } from "../array/view.ts";
import {
  applyFused,
  applySteps,
  defineFused,
  type FusedSteps,
  isFusable,
  STEP_KEYS,
  stepInputs,
} from "./activation.ts";
import { asTensor, shapeOfInput } from "../input.ts";
import { MatMul, matMul, matrices } from "../linalg/matmul.ts";

const FusedMatMul = defineFused({
  name: "_FusedMatMul",
  base: MatMul,
  attrs: [
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "T: {bfloat16, float16, float32, float64}",
  ],
  baseAttrs: ({ transpose_a, transpose_b }) => ({ transpose_a, transpose_b }),
});

/** Arguments of {@linkcode fusedMatMul}. */
export interface FusedMatMulOptions extends FusedSteps {
  /** Left operand. */
  readonly a: TensorLike;
  /** Right operand. */
  readonly b: TensorLike;
  /** Set if `a` is stored transposed. */
  readonly transposeA?: boolean;
  /** Set if `b` is stored transposed. */
  readonly transposeB?: boolean;
}

const checkOptions = argumentsCheck<FusedMatMulOptions>("fused.matMul", {
  a: true,
  b: true,
  transposeA: true,
  transposeB: true,
  ...STEP_KEYS,
});

/**
 * Computes `activation(a · b + bias)`, in one kernel if the device has one. TensorFlow op `_FusedMatMul`. Throws
 * `ValueError` for an unknown activation and shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.fused.matMul({ a: [[1, 2]], b: [[1, -1], [1, -1]], bias: [1, 1], activation: "relu" });
 * console.log(y.arraySync()); // [[4, 0]]
 * ```
 */
export function fusedMatMul(options: FusedMatMulOptions): Tensor {
  checkOptions(options);
  const { transposeA = false, transposeB = false } = options;
  const [a, b] = matrices(options.a, options.b, "fused matMul");
  const steps = stepInputs(options, a.dtype, "fused matMul");
  const p = shapeOfInput(a), q = shapeOfInput(b);
  const columns = q?.length === 2 ? q[transposeB ? 0 : 1] : null;
  const flat = isConcrete(p) && p.length > 2 && !transposeA && !p.includes(0);
  const isFused = isFloating(a.dtype) && q?.length === 2 && (p?.length === 2 || flat) &&
    isFusable(steps, columns);
  if (!isFused) {
    return applySteps(matMul(asTensor(a), asTensor(b), transposeA, transposeB), steps);
  }
  const rows = flat ? reshape(asTensor(a), [-1, p![p!.length - 1]!]) : a;
  const attrs = { transpose_a: transposeA, transpose_b: transposeB };
  const y = applyFused(FusedMatMul, [rows, b], attrs, steps);
  return flat ? reshape(y, [...(p as number[]).slice(0, -1), columns!]) : y;
}
