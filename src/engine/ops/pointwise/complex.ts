/** Pointwise ops between real and complex tensors. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { zerosOfTensor } from "../array/fill_ops.ts";
import { broadcastGrad, definePointwise, unaryGrad } from "./define_pointwise.ts";
import { asTensor, shapeOfInput, toFloatInput, toInput, toMatchingInputs } from "../input.ts";
import { conjugate, mul } from "./arithmetic.ts";

const PART = {
  inputs: ["input"],
  output: "output: Tout",
  types: "complex",
  attrs: ["Tout: {float32, float64} = float32"],
};
const Complex: OpDef = definePointwise("Complex", ([re, im]) => s.complex(re, im), {
  inputs: ["real", "imag"],
  output: "out: Tout",
  types: "{float32, float64}",
  attrs: ["Tout: {complex64, complex128} = complex64"],
  grad: broadcastGrad([], (_, g) => real(g), (_, g) => imag(g)),
});
const Real = definePointwise("Real", ([x]) => s.real(x), {
  ...PART,
  grad: unaryGrad([], (_, g) => complex(g, mul(g, 0))),
});
const Imag = definePointwise("Imag", ([x]) => s.imag(x), {
  ...PART,
  grad: unaryGrad([], (_, g) => complex(mul(g, 0), g)),
});

/**
 * A complex tensor of its real and imaginary parts: complex64 of float32, complex128 of float64. TensorFlow op `Complex`.
 * Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.complex([1, 2], [3, 4]).arraySync()); // [[1, 3], [2, 4]]
 * ```
 */
export function complex(real: TensorLike, imag: TensorLike): Tensor {
  // Integers become float32, as in TensorFlow.js.
  const parts = [toFloatInput(real, "real", "complex"), toFloatInput(imag, "imag", "complex")];
  const [re, im] = toMatchingInputs(parts[0], parts[1], "complex", ["real", "imag"]);
  try {
    mergeShapes(shapeOfInput(re), shapeOfInput(im));
  } catch (e) {
    throw new ValueError(
      `real and imag shapes must match in call to tf.complex(): ${(e as Error).message}`,
    );
  }
  return apply1(Complex, [re, im], { Tout: re.dtype === "float64" ? "complex128" : "complex64" });
}

function part(def: OpDef, x: OpInput): Tensor {
  return apply1(def, [x], { Tout: x.dtype === "complex128" ? "float64" : "float32" });
}

const isComplex = (x: OpInput): boolean => DTYPES[x.dtype].kind === "complex";

/**
 * Real part; a real tensor stays as it is. TensorFlow op `Real`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.real(tf.complex([1, 2], [3, 4])).arraySync()); // [1, 2]
 * ```
 */
export function real(input: TensorLike): Tensor {
  const x = toInput(input, "input", "real");
  return isComplex(x) ? part(Real, x) : apply1(lookupOp("Identity")!, [x]);
}

/**
 * Imaginary part; of a real tensor 0. TensorFlow op `Imag`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.imag(tf.complex([1, 2], [3, 4])).arraySync()); // [3, 4]
 * ```
 */
export function imag(input: TensorLike): Tensor {
  const x = toInput(input, "input", "imag");
  return isComplex(x) ? part(Imag, x) : zerosOfTensor(asTensor(x));
}

/**
 * Complex conjugate; a real tensor stays as it is. TensorFlow op `Conj`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.conj(tf.complex([1], [3])).arraySync()); // [[1, -3]]
 * ```
 */
export function conj(input: TensorLike): Tensor {
  const x = toInput(input, "input", "conj");
  return isComplex(x) ? conjugate(asTensor(x)) : apply1(lookupOp("Identity")!, [x]);
}
