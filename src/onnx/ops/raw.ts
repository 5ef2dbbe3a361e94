/** Weft's ops without a public function, and small helpers of rules. */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { type DType, DTYPES, isShort } from "../../engine/core/dtype.ts";
import { type Attrs, lookupOp, type OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import type { Rule } from "../build/rule.ts";
import * as tf from "../build/tf.ts";

/** Ops that rules name, or passes make where their modules are loaded: as values, a bundler keeps them for models, and pages without any leave them out. */
const MADE = [
  tf.Bitcast,
  tf.FusedAttention,
  tf.FusedAttentionGradient,
  tf.NonMaxSuppressionV3,
  tf.QuantizedMatMul,
  tf.TensorScatterMax,
  tf.TensorScatterMin,
  tf.TensorScatterMul,
];

function opNamed(op: string): OpDef {
  return lookupOp(op) ?? MADE.find(({ name }) => name === op)!;
}

/** Applies an op of Weft's by name. */
export function put(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor[] {
  return apply(opNamed(op), inputs, attrs);
}

/** Applies an op of Weft's with one output by name. */
export function put1(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor {
  return apply1(opNamed(op), inputs, attrs);
}

/** True for floating-point dtypes. */
export function isFloat(dtype: DType): boolean {
  return DTYPES[dtype].kind === "float";
}

/** True for integers, signed or unsigned. */
export function isWhole(dtype: DType): boolean {
  const { kind } = DTYPES[dtype];
  return kind === "int" || kind === "uint";
}

/** Casts to another dtype. */
export function to(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : tf.cast(x, dtype);
}

/** Widens a narrow float, so that a rule computes in float32 and rounds once. */
export function wide(x: Tensor): Tensor {
  return isShort(x.dtype) ? to(x, "float32") : x;
}

export function like(x: Tensor, value: number): Tensor {
  return to(tf.scalar(value, isFloat(x.dtype) ? "float32" : "int32"), x.dtype);
}

/** Makes the rule that passes one input to a function. */
export function unary(f: (x: Tensor) => Tensor): Rule {
  return (n) => f(n.x(0));
}

/**
 * Makes the rule that passes two inputs to a function. With `axis`, as before version 7, the second is aligned at an
 * axis of the first.
 */
export function binary(f: (a: Tensor, b: Tensor) => Tensor): Rule {
  return (n) => f(n.x(0), n.version < 7 ? aligned(n) : n.x(1));
}

/** Appends axes of extent 1 to the second input, which aligns it at `axis`. */
function aligned(n: NodeCall): Tensor {
  const b = n.x(1), { attributes } = n;
  if (!attributes.flag("broadcast") || !attributes.has("axis")) return b;
  const rank = n.rank(0), axis = n.axis("axis", 0, rank), behind = rank - axis - n.rank(1);
  return behind <= 0 ? b : tf.reshape(b, [...n.concrete(1), ...new Array<number>(behind).fill(1)]);
}

/** Returns the broadcast shape of two shapes, as a tensor if unknown. */
export function broadcastShape(a: Tensor, b: Tensor): Tensor {
  return tf.broadcastArgs(tf.shape(a), tf.shape(b));
}
