/**
 * Pointwise ops between real and complex tensors. Complex tensors live on the CPU.
 */
import { apply1 } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { zerosOfTensor } from "../array/creation.ts";
import { definePointwise, unaryGrad } from "./define_pointwise.ts";
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
  grad: {
    saves: [],
    vjp: (_, [g], ctx) => [
      ctx.needs[0] ? ctx.sumLike(real(g), 0) : null,
      ctx.needs[1] ? ctx.sumLike(imag(g), 1) : null,
    ],
  },
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
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.complex([1, 2], [3, 4]).arraySync(), [[1, 3], [2, 4]]);
 * ```
 */
export function complex(real: TensorLike, imag: TensorLike): Tensor {
  const [re, im] = toMatchingInputs(
    asLiteral(real, "real"),
    asLiteral(imag, "imag"),
    "complex",
    ["real", "imag"],
  );
  try {
    mergeShapes(shapeOfInput(re), shapeOfInput(im));
  } catch (cause) {
    throw new ValueError(
      `real and imag shapes must match in call to tf.complex(): ${(cause as Error).message}`,
      { cause },
    );
  }
  return apply1(Complex, [re, im], { Tout: re.dtype === "float64" ? "complex128" : "complex64" });
}

/** Integers become float32, as in TensorFlow.js. */
function asLiteral(x: TensorLike, arg: string): TensorLike {
  return toFloatInput(x, arg, "complex");
}

function part(def: OpDef, x: TensorLike, fn: string): Tensor {
  const input = toInput(x, "input", fn);
  return apply1(def, [input], { Tout: input.dtype === "complex128" ? "float64" : "float32" });
}

/**
 * Real part; a real tensor stays as it is. TensorFlow op `Real`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.real(tf.complex([1, 2], [3, 4])).arraySync(), [1, 2]);
 * ```
 */
export function real(input: TensorLike): Tensor {
  const x = toInput(input, "input", "real");
  return DTYPES[x.dtype].kind === "complex"
    ? part(Real, x, "real")
    : apply1(lookupOp("Identity")!, [x]);
}

/**
 * Imaginary part; of a real tensor 0. TensorFlow op `Imag`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.imag(tf.complex([1, 2], [3, 4])).arraySync(), [3, 4]);
 * ```
 */
export function imag(input: TensorLike): Tensor {
  const x = toInput(input, "input", "imag");
  return DTYPES[x.dtype].kind === "complex" ? part(Imag, x, "imag") : zerosOfTensor(asTensor(x));
}

/**
 * Complex conjugate; a real tensor stays as it is. TensorFlow op `Conj`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.conj(tf.complex([1], [3])).arraySync(), [[1, -3]]);
 * ```
 */
export function conj(input: TensorLike): Tensor {
  const x = toInput(input, "input", "conj");
  return DTYPES[x.dtype].kind === "complex"
    ? conjugate(asTensor(x))
    : apply1(lookupOp("Identity")!, [x]);
}
