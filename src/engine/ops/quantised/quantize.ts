/** Quantisation of matrices to levels of a few bits in blocks. */
import { compose } from "../../core/apply.ts";
import { optionCheck, wrongArgument } from "../../core/arguments.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { cast } from "../array/cast.ts";
import { transpose } from "../array/move.ts";
import { pad } from "../array/pad.ts";
import { expandDims, identity, reshape } from "../array/view.ts";
import { asTensor, castInput, shapeOfInput, toDenseInput } from "../input.ts";
import { add, div, sub } from "../pointwise/arithmetic.ts";
import { greater } from "../pointwise/compare.ts";
import { leftShift } from "../pointwise/logical.ts";
import { abs, round } from "../pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../pointwise/select.ts";
import { max, min, sum } from "../reduce/reduce.ts";
import { type QuantizedForm, QuantizedTensor } from "./quantized_tensor.ts";

/** Options of {@linkcode quantize}. */
export interface QuantizeOptions {
  /** Bits of a level. */
  readonly bits: 4 | 8;
  /** Elements that share a scale: a power of two, 8 or more. Default 32. */
  readonly block?: number;
  /** False: each block has a zero of its own, for values that are not around 0. Default true. */
  readonly symmetric?: boolean;
  /** Axis along which blocks lie: -2 for the second operand of `matMul` (default), -1 for tables of `gather` and transposed operands. */
  readonly axis?: -1 | -2;
}

const checkOptions = optionCheck<QuantizeOptions>("quantize", {
  bits: true,
  block: true,
  symmetric: true,
  axis: true,
});

function checked(x: TensorLike, options: QuantizeOptions): QuantizedForm {
  checkOptions(options);
  const { bits, block = 32, symmetric = true, axis = -2 } = options ?? {};
  const refuse = (why: string): never => {
    throw new ValueError(`Cannot quantize: ${why}`);
  };
  if (bits !== 4 && bits !== 8) refuse(`bits must be 4 or 8, received ${bits}`);
  if (!(Number.isInteger(Math.log2(block)) && block >= 8)) {
    refuse(`block must be a power of two, 8 or more, received ${block}`);
  }
  if (axis !== -1 && axis !== -2) refuse(`axis must be -1 or -2, received ${axis}`);
  const input = toDenseInput(x, "x", "quantize"), shape = shapeOfInput(input);
  if (shape?.length !== 2 || !isConcrete(shape)) {
    refuse(`x must be a matrix of known shape, received shape ${shapeText(shape)}`);
  }
  const { kind } = DTYPES[input.dtype];
  if (kind === "string" || kind === "complex" || kind === "handle") {
    throw new TypeError(`Cannot quantize: x must be of real numbers, received ${input.dtype}`);
  }
  const dtype = kind === "float" ? input.dtype : "float32";
  return { bits, block, axis, isSymmetric: symmetric, dtype, shape: shape as [number, number] };
}

/**
 * Quantises a matrix to whole numbers of 4 or 8 bits: each block of elements along an axis has a scale, the greatest magnitude divided by
 * the greatest level. An element is off by at most half of its scale; by at most one scale with `symmetric: false`, which keeps zeros
 * exact. A block with NaN or infinity becomes NaN. Throws `ValueError` for other ranks than 2 and unknown shapes, bits, blocks and axes
 * that are not supported, and `TypeError` for strings and complex numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const w = tf.quantize([[1, -7], [7, 3.5]], { bits: 4, block: 8 });
 * console.log(tf.dequantize(w).arraySync()); // [[1, -7], [7, 4]]
 * console.log(tf.matMul([[1, 1]], w).arraySync()); // [[8, -3]]
 * ```
 */
export function quantize(x: TensorLike, options: QuantizeOptions): QuantizedTensor {
  const form = checked(x, options), { bits, block, axis, isSymmetric } = form;
  const parts = compose(() => {
    const wide = asTensor(castInput(toDenseInput(x, "x", "quantize"), "float32"));
    const rows = axis === -1 ? wide : transpose(wide);
    const [count, inner] = rows.staticShape as number[], blocks = Math.ceil(inner / block);
    const whole = pad(rows, [[0, 0], [0, blocks * block - inner]]);
    const values = reshape(whole, [count, blocks, block]);
    const { scales, zeros, levels } = isSymmetric ? evenly(values, bits) : between(values, bits);
    return [identity(packed(levels, bits)), scales, zeros];
  });
  return new QuantizedTensor(parts, form);
}

interface Levels {
  readonly levels: Tensor;
  readonly scales: Tensor;
  readonly zeros: Tensor;
}

/** Divides values by the scales of their blocks; blocks of zeros have the scale 0. */
function inScale(values: Tensor, scales: Tensor): Tensor {
  return round(div(values, expandDims(where(greater(scales, 0), scales, 1), -1)));
}

/** Levels on both sides of zero, which is in the middle. */
function evenly(values: Tensor, bits: number): Levels {
  const middle = 2 ** (bits - 1), scales = div(max(abs(values), 2), middle - 1);
  const levels = add(clipByValue(inScale(values, scales), 1 - middle, middle - 1), middle);
  const zeros = identity(new NdArray("float32", [], Float32Array.of(middle)));
  return { levels, scales, zeros };
}

/** Levels from the least value to the greatest, or to 0. */
function between(values: Tensor, bits: number): Levels {
  const most = 2 ** bits - 1, low = minimum(min(values, 2), 0), high = maximum(max(values, 2), 0);
  const scales = div(sub(high, low), most);
  const zeros = round(div(sub(0, low), where(greater(scales, 0), scales, 1)));
  const levels = clipByValue(add(inScale(values, scales), expandDims(zeros, -1)), 0, most);
  return { levels, scales, zeros };
}

/** Packs levels into words of 32 bits, the first in the lowest bits. */
function packed(levels: Tensor, bits: number): Tensor {
  const per = 32 / bits, [rows, blocks, block] = levels.staticShape as number[];
  const shifts = new NdArray("int32", [per], Int32Array.from({ length: per }, (_, i) => i * bits));
  const words = reshape(cast(levels, "int32"), [rows, blocks, block / per, per]);
  return sum(leftShift(words, shifts), 3);
}

/**
 * Returns the matrix of a quantised tensor, in the dtype that it had. Throws `TypeError` for anything else.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = tf.quantize([[0, 127, -127]], { bits: 8, axis: -1 });
 * console.log(tf.dequantize(table).arraySync()); // [[0, 127, -127]]
 * ```
 */
export function dequantize(q: QuantizedTensor): Tensor {
  if (q instanceof QuantizedTensor) return q.dequantize();
  throw wrongArgument(q, "q", "dequantize", "a quantised tensor of tf.quantize()");
}
