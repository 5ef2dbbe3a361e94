/** Products of matrices: MatMul, Gemm, Einsum, Det. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import { isFloat, like, to, unary } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Multiplies by numpy's rules: vectors are rows on the left and columns on the right. */
export function matMul(a: Tensor, b: Tensor, ranks: readonly [number, number]): Tensor {
  const [left, right] = ranks;
  const x = left === 1 ? tf.expandDims(a, 0) : a, y = right === 1 ? tf.expandDims(b, 1) : b;
  const product = tf.matMul(x, y);
  if (left === 1 && right === 1) return tf.reshape(product, []);
  return left === 1 ? tf.squeeze(product, -2) : right === 1 ? tf.squeeze(product, -1) : product;
}

/** Multiplies by a node's second input: few rows by its levels, where a file has these. */
function multiplied(n: NodeCall): Tensor {
  const made = n.rank(1) === 2 ? n.value(1).later?.times(n.x(0)) : null;
  return made ?? matMul(n.x(0), n.x(1), [n.rank(0), n.rank(1)]);
}

function gemm(n: NodeCall): Tensor {
  const { attributes } = n;
  const alpha = attributes.float("alpha", 1), beta = attributes.float("beta", 1);
  const [transA, transB] = ["transA", "transB"].map((name) => attributes.flag(name));
  let y = transA || transB ? tf.matMul(n.x(0), n.x(1), transA, transB) : multiplied(n);
  if (alpha !== 1) y = scaled(y, alpha);
  if (!n.has(2) || beta === 0) return y;
  const c = n.x(2);
  return tf.add(y, beta === 1 ? c : scaled(c, beta));
}

/** Multiplies by a number; integers are rounded. */
function scaled(x: Tensor, by: number): Tensor {
  if (isFloat(x.dtype)) return tf.mul(x, like(x, by));
  return to(tf.mul(to(x, "float64"), by), x.dtype);
}

function einsum(n: NodeCall): Tensor {
  return tf.einsum(n.attributes.text("equation", "").replaceAll(/\s+/g, ""), ...n.xs);
}

export const PRODUCTS: readonly OpEntry[] = [
  op("Det", 11, unary(tf.det)),
  op("Einsum", 12, einsum, { halves: "computed" }),
  op("Gemm", 1, gemm, { halves: "multiplied" }),
  op("MatMul", 1, multiplied, { halves: "multiplied" }),
];
