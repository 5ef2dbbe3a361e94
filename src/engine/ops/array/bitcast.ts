/** Bitcast: the bytes of numbers as numbers of another dtype. On the host. */
import { apply1 } from "../../core/apply.ts";
import { asDType, type DType, DTYPES } from "../../core/dtype.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type PartialShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { refuse } from "../host/arrays.ts";
import { toDenseInput } from "../input.ts";

/**
 * Returns the shape of the same bytes in elements of another width: the last axis has the parts of one. Throws
 * `InvalidArgumentError`.
 */
function recast(shape: PartialShape, from: DType, to: DType): PartialShape {
  const own = DTYPES[from].bytes, other = DTYPES[to].bytes;
  if (shape === null || own === other) return shape;
  if (own > other) return [...shape, own / other];
  const last = shape.at(-1);
  if (last === null || last === other / own) return shape.slice(0, -1);
  refuse(
    `Cannot bitcast from ${from} to ${to} due to shape ${shapeText(shape)}: wanted a last axis of ${
      other / own
    }`,
  );
}

/** Returns the memory of an array. */
export function bytesOf({ data }: NdArray): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export const Bitcast: OpDef = defineOp({
  name: "Bitcast",
  inputs: ["input: T"],
  outputs: ["output: type"],
  attrs: ["T: numeric", "type: numeric"],
  infer: ([x], { type }) => [recast(x.shape, x.dtype, type)],
  grad: null,
  cpu: ([x], _, { attrs: { type } }) => {
    const shape = recast(x.shape, x.dtype, type) as number[],
      { array, slots } = DTYPES[type as DType];
    const { buffer } = bytesOf(x).slice();
    return [new NdArray(type, shape, new array!(buffer, 0, sizeOf(shape) * slots))];
  },
});

/**
 * Reads the bytes of `x` as numbers of another dtype. To a narrower one the shape has a last axis more, for the parts of each
 * element, the lowest first; to a wider one the last axis, which must have as many parts, is left out. Throws `TypeError` for
 * dtypes that are no numbers, `InvalidArgumentError` for another last axis. No gradient. TensorFlow op `Bitcast`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.bitcast([1, -1], "int32").array()); // [1065353216, -1082130432]
 * ```
 */
export function bitcast(x: TensorLike, dtype: DType): Tensor {
  return apply1(Bitcast, [toDenseInput(x, "x", "bitcast")], { type: asDType(dtype) });
}
