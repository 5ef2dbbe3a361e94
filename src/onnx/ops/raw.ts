/**
 * Ops of ours that have no public function, and small things that many rules need.
 */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { type Attrs, lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import type { Rule } from "../build/rule.ts";
import * as tf from "../../../mod.ts";

/** Applies an op of ours by its name. */
export function put(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor[] {
  return apply(lookupOp(op)!, inputs, attrs);
}

/** Applies an op of ours that has one output by its name. */
export function put1(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor {
  return apply1(lookupOp(op)!, inputs, attrs);
}

/** True for floating-point dtypes. */
export function isFloat(dtype: DType): boolean {
  return DTYPES[dtype].kind === "float";
}

/** True for whole numbers, with a sign or without. */
export function isWhole(dtype: DType): boolean {
  const { kind } = DTYPES[dtype];
  return kind === "int" || kind === "uint";
}

/** A cast where the dtype differs. */
export function to(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : tf.cast(x, dtype);
}

/** A number in the dtype of a tensor. */
export function like(x: Tensor, value: number): Tensor {
  return to(tf.scalar(value, isFloat(x.dtype) ? "float32" : "int32"), x.dtype);
}

/** The rule that hands one input to a function. */
export function unary(f: (x: Tensor) => Tensor): Rule {
  return (n) => f(n.x(0));
}

/** The rule that hands two inputs to a function. Where `axis` says so, as before version 7, the second stands at an axis of the first. */
export function binary(f: (a: Tensor, b: Tensor) => Tensor): Rule {
  return (n) => f(n.x(0), n.version < 7 ? aligned(n) : n.x(1));
}

/** The second input with axes of extent 1 behind it, so that it stands where `axis` says. */
function aligned(n: NodeCall): Tensor {
  const b = n.x(1), { attributes } = n;
  if (!attributes.flag("broadcast") || !attributes.has("axis")) return b;
  const rank = n.rank(0), axis = n.axis("axis", 0, rank), behind = rank - axis - n.rank(1);
  return behind <= 0 ? b : tf.reshape(b, [...n.concrete(1), ...new Array<number>(behind).fill(1)]);
}

/** The shape that two shapes broadcast to, as a tensor where it is not known. */
export function broadcastShape(a: Tensor, b: Tensor): Tensor {
  return tf.broadcastArgs(tf.shape(a), tf.shape(b));
}
