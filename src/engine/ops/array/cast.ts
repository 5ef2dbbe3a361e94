/** Cast: converts between dtypes. */
import { apply1 } from "../../core/apply.ts";
import { asDType, type DType, isBigInt } from "../../core/dtype.ts";
import { castArray } from "../../core/convert.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { argument, castTo } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";
import { pointwiseKernels } from "../pointwise/define_pointwise.ts";
import { toInput } from "../input.ts";

const Cast = defineOp({
  name: "Cast",
  inputs: ["x: SrcT"],
  outputs: ["y: DstT"],
  attrs: ["SrcT: type", "DstT: type", "Truncate: bool = false"],
  infer: ([x]) => [x.shape],
  ...pointwiseKernels(([x], { DstT }) => [castTo(x, DstT)]),
  grad: { saves: [], vjp: (_, [dy], ctx) => [cast(dy, ctx.attrs.SrcT)] },
  cpu: ([x], [y]) => {
    // Strings and handles have no cast: castArray reports that.
    if (x.dtype === "string" || y.dtype === "string") castArray(x, y.dtype);
    if (keepHalves(x, y)) return;
    pointwiseCpu([castTo(argument(0), y.dtype)], [x], [y]);
  },
});

/** Casts integers of 64 bits to those of 32 by their lower halves; false for other dtypes. */
function keepHalves({ dtype, data: from }: NdArray, { dtype: to, data }: NdArray): boolean {
  if (!isBigInt(dtype) || to !== "int32" && to !== "uint32") return false;
  const { buffer, byteOffset, length } = from as BigInt64Array, out = data as Int32Array;
  const halves = new Int32Array(buffer, byteOffset, 2 * length);
  for (let i = 0; i < length; i++) out[i] = halves[2 * i];
  return true;
}

/**
 * Converts to another dtype. Floats become integers by truncation, with the nearest bound for values out of range and 0
 * for NaN; anything becomes bool by `!= 0`. TensorFlow op `Cast`. Throws `TypeError` for a bad dtype.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.cast([1.7, -1.7], "int32").arraySync()); // [1, -1]
 * ```
 */
export function cast<X extends Operand>(x: X, dtype: DType): Like<X> {
  const input = toInput(x, "x", "cast");
  const target = asDType(dtype);
  // The same dtype still gets a handle of its own: each is disposed by itself.
  if (input.dtype === target) return apply1(lookupOp("Identity")!, [input]) as Like<X>;
  return apply1(Cast, [input], { DstT: target }) as Like<X>;
}
