/** sameFloats: converts two operands of one shape to floats of one dtype. */
import { ValueError } from "../../core/errors.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { asTensor, castInput, shapeOfInput, toFloatInput } from "../input.ts";

/** Converts labels, or targets, to the dtype of the second operand. Throws `ValueError` where the shapes differ. */
export function sameFloats(
  fn: string,
  operands: Readonly<Record<string, TensorLike>>,
): [Tensor, Tensor] {
  const [[first, a], [second, b]] = Object.entries(operands);
  const x = toFloatInput(a, first, fn), y = toFloatInput(b, second, fn);
  const s = shapeOfInput(x), t = shapeOfInput(y);
  if (!compatible(s, t)) {
    throw new ValueError(
      `Error in ${fn}: ${first} and ${second} must have one shape, received ${shapeText(s)} and ${
        shapeText(t)
      }`,
    );
  }
  return [asTensor(castInput(x, y.dtype)), asTensor(y)];
}
