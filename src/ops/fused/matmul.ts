/**
 * Matrix product with bias and activation in one op.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { isFloating } from "../../core/dtype.ts";
import { optionCheck } from "../../core/options.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { reshape } from "../array/view.ts";
import { type Activation, activationOp, applySteps, defineFused, isFusable } from "./activation.ts";
import { asTensor, castInput, shapeOfInput, toInput } from "../input.ts";
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

/** What {@linkcode fusedMatMul} takes. */
export interface FusedMatMulOptions {
  /** Left operand. */
  readonly a: TensorLike;
  /** Right operand. */
  readonly b: TensorLike;
  /** `a` is stored transposed. */
  readonly transposeA?: boolean;
  /** `b` is stored transposed. */
  readonly transposeB?: boolean;
  /** Added to the product; broadcasts to it. */
  readonly bias?: TensorLike | null;
  /** Applied last. */
  readonly activation?: Activation;
  /** Slopes of `prelu`. */
  readonly preluActivationWeights?: TensorLike | null;
  /** Slope of `leakyrelu`. Default 0.2. */
  readonly leakyreluAlpha?: number;
}

const checkOptions = optionCheck<FusedMatMulOptions>("fused.matMul", {
  a: true,
  b: true,
  transposeA: true,
  transposeB: true,
  bias: true,
  activation: true,
  preluActivationWeights: true,
  leakyreluAlpha: true,
});

/**
 * `activation(a · b + bias)` in one kernel where the device has one. TensorFlow op `_FusedMatMul`.
 * Throws `ValueError` for an unknown activation and shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const y = tf.fused.matMul({ a: [[1, 2]], b: [[1, -1], [1, -1]], bias: [1, 1], activation: "relu" });
 * assertEquals(y.arraySync(), [[4, 0]]);
 * ```
 */
export function fusedMatMul(options: FusedMatMulOptions): Tensor {
  checkOptions(options);
  const { transposeA = false, transposeB = false, activation = "linear", leakyreluAlpha = 0.2 } =
    options;
  const op = activationOp(activation);
  const [a, b] = matrices(options.a, options.b, "fused matMul");
  const bias = options.bias == null
    ? null
    : castInput(toInput(options.bias, "bias", "fused matMul"), a.dtype);
  const alpha = op === "Prelu" ? slopes(options.preluActivationWeights, a) : null;
  const p = shapeOfInput(a), q = shapeOfInput(b);
  const columns = q?.length === 2 ? q[transposeB ? 0 : 1] : null;
  const flat = isConcrete(p) && p.length > 2 && !transposeA && !p.includes(0);
  const spec = (x: OpInput | null) => x && { dtype: x.dtype, shape: shapeOfInput(x) };
  if (
    isFloating(a.dtype) && (bias !== null || op !== null) && q?.length === 2 &&
    (p?.length === 2 || flat) &&
    isFusable([spec(bias), spec(alpha)], columns)
  ) {
    const rows = flat ? reshape(asTensor(a), [-1, p![p!.length - 1]!]) : a;
    const extra = [bias, alpha].filter((x): x is OpInput => x !== null);
    const y = apply1(FusedMatMul, [rows, b, ...extra], {
      transpose_a: transposeA,
      transpose_b: transposeB,
      fused_ops: [...(bias === null ? [] : ["BiasAdd"]), ...(op === null ? [] : [op])],
      leakyrelu_alpha: leakyreluAlpha,
      num_args: extra.length,
    });
    return flat ? reshape(y, [...(p as number[]).slice(0, -1), columns!]) : y;
  }
  const product = matMul(asTensor(a), asTensor(b), transposeA, transposeB);
  return applySteps(product, bias && asTensor(bias), op, alpha && asTensor(alpha), leakyreluAlpha);
}

/** Slopes of `prelu`. Throws `ValueError` where there are none. */
export function slopes(weights: TensorLike | null | undefined, like: OpInput): OpInput {
  if (weights == null) {
    throw new ValueError("Cannot apply prelu: preluActivationWeights are missing");
  }
  return castInput(toInput(weights, "preluActivationWeights", "fused prelu"), like.dtype);
}
