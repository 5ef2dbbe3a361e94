/**
 * Levels of a few bits in blocks: rows of a matrix, in words of 32 bits whose lowest bits are the first level. An element is
 * `(level - zero) * scale`, with a scale and a zero for each block, or one zero for all. ONNX's `MatMulNBits` and the blocks of GGUF
 * have the same levels.
 */
import type { OpInput } from "../../core/apply.ts";
import type { LevelsLayout } from "../../kernels/matmul/levels_layout.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape } from "../array/view.ts";
import { shapeOfInput } from "../input.ts";
import { mul, sub } from "../pointwise/arithmetic.ts";
import { bitwiseAnd, rightShift } from "../pointwise/logical.ts";
import { NdArray } from "../../core/nd_array.ts";

/** Layout of rows of `inner` levels. */
export interface LevelsRows extends LevelsLayout {
  readonly inner: number;
}

/** Returns levels as float32, `[rows, blocks, block]`. */
function unpacked(levels: OpInput, { bits, block, inner }: LevelsRows): Tensor {
  const per = 32 / bits, blocks = Math.ceil(inner / block);
  const shifts = new NdArray("int32", [per], Int32Array.from({ length: per }, (_, i) => i * bits));
  const most = new NdArray("int32", [], Int32Array.of(2 ** bits - 1));
  const parts = bitwiseAnd(rightShift(expandDims(levels, -1), shifts), most);
  return cast(reshape(parts, [rowsOf(levels, inner), blocks, block]), "float32");
}

/** Returns the number of rows; -1, which stands for it in a shape, where it is unknown and rows are not empty. */
function rowsOf(levels: OpInput, inner: number): number {
  return shapeOfInput(levels)?.[0] ?? (inner > 0 ? -1 : 0);
}

/** Returns levels minus zeros, of shape `[rows, blocks, block]`. */
export function centred(levels: OpInput, zeros: OpInput, rows: LevelsRows): Tensor {
  return sub(unpacked(levels, rows), expandDims(zeros, -1));
}

/** Returns rows in float32, dequantised. */
export function dequantised(
  [levels, scales, zeros]: readonly OpInput[],
  rows: LevelsRows,
): Tensor {
  const { block, inner } = rows, width = Math.ceil(inner / block) * block;
  const whole = mul(centred(levels, zeros, rows), expandDims(scales, -1));
  const flat = reshape(whole, [rowsOf(levels, inner), width]);
  return inner === width ? flat : slice(flat, [0, 0], [-1, inner]);
}
