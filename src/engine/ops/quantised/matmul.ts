/** Products with a matrix of levels: x times the transposed matrix, whose rows lie along the sums. */
import type { OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape as shapeOf } from "../array/view.ts";
import { matMul } from "../linalg/matmul.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { asTensor, castInput } from "../input.ts";
import { centred, dequantised, type LevelsRows } from "./levels.ts";

/** Bits of levels. */
export const LEVEL_BITS: readonly number[] = [2, 4, 8];

/** Returns the shape of the product. Throws `ValueError` for shapes that do not fit. */
function infer(
  [x, levels, scales, zeros]: readonly Spec[],
  { bits, block, inner }: Attrs,
): [PartialShape] {
  const refuse = (why: string): never => {
    throw new ValueError(
      `Cannot multiply ${specText(x)} by levels ${specText(levels)} with scales ${
        specText(scales)
      } and zeros ${specText(zeros)}: ${why}`,
    );
  };
  if (!LEVEL_BITS.includes(bits)) refuse(`bits must be 2, 4 or 8, received ${bits}`);
  const words = block * bits / 32, blocks = Math.ceil(inner / block);
  if (!(Number.isInteger(words) && words > 0)) {
    refuse(`a block must fill words of 32 bits, received a block of ${block}`);
  }
  const rows = levels.shape?.[0] ?? scales.shape?.[0] ?? null;
  const fits = (s: PartialShape, wanted: PartialShape & object): boolean =>
    s === null || s.length === wanted.length && compatible(s, wanted);
  const shape = [rows, blocks];
  if (!fits(levels.shape, [...shape, words])) {
    refuse(`levels must have shape ${shapeText([...shape, words])}`);
  }
  if (!fits(scales.shape, shape)) refuse(`scales must have shape ${shapeText(shape)}`);
  if (zeros.shape?.length !== 0 && !fits(zeros.shape, shape)) {
    refuse(`zeros must be a scalar or have shape ${shapeText(shape)}`);
  }
  if (x.shape === null) return [null];
  const own = x.shape.at(-1);
  if (x.shape.length < 2) refuse("x must be at least rank 2");
  if (own != null && own !== inner) refuse(`x must have rows of ${inner}`);
  return [[...x.shape.slice(0, -1), rows]];
}

export const QuantizedMatMul: OpDef = defineOp({
  name: "_QuantizedMatMul",
  portable: "parts",
  inputs: ["x: T", "levels: int32", "scales: float32", "zeros: float32"],
  outputs: ["product: T"],
  attrs: ["T: floating", "bits: int", "block: int", "inner: int"],
  meaning: { kind: "quantised product", fuses: true },
  infer,
  expand: ([x, ...weights], attrs) => [product(x, weights, attrs)],
  grad: {
    saves: ["x", "levels", "scales", "zeros"],
    vjp: ({ x, levels, scales, zeros }, [dy], { attrs, inputs, needs, sumLike }) => {
      const { block, inner } = attrs as LevelsRows, blocks = Math.ceil(inner / block);
      const wide = castInput(dy, "float32"), weights = [levels, scales, zeros];
      const dx = needs[0]
        ? castInput(matMul(wide, dequantised(weights, attrs as LevelsRows)), x.dtype)
        : null;
      if (!needs[2] && !needs[3]) return [dx as Tensor | null, null, null, null];
      // Of each weight, in blocks.
      const count = inputs[1].shape?.[0];
      const lines = reshape(wide, count != null ? [-1, count] : linesOf(levels));
      const rows = matMul(lines, reshape(castInput(x, "float32"), [-1, inner]), true);
      const dw = reshape(pad(rows, [[0, 0], [0, blocks * block - inner]]), [-1, blocks, block]);
      const dScales = needs[2]
        ? sum(mul(dw, centred(levels, zeros, attrs as LevelsRows)), 2)
        : null;
      const dZeros = needs[3] ? sumLike(mul(mul(sum(dw, 2), scales), -1), 3) : null;
      return [dx as Tensor | null, null, dScales, dZeros];
    },
  },
});

/** Returns the shape of as many columns as there are rows of levels. */
function linesOf(levels: Tensor): TensorLike {
  return concat([new NdArray("int32", [1], Int32Array.of(-1)), slice(shapeOf(levels), [0], [1])]);
}

/** Multiplies by the dequantised matrix, in float32 at least. */
function product(x: OpInput, weights: readonly OpInput[], attrs: Attrs): Tensor {
  const rows = dequantised(weights, attrs as LevelsRows),
    wide = x.dtype === "float64" ? x.dtype : "float32";
  const y = matMul(castInput(x, wide) as Tensor, castInput(rows, wide) as Tensor, false, true);
  return asTensor(castInput(y, x.dtype));
}
