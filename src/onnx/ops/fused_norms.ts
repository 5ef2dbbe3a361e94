/** Norms that onnxruntime fuses with sums: SkipLayerNormalization, EmbedLayerNormalization and their kin. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import { dtypeOfNumber } from "../file/types.ts";
import { rootMeanSquare } from "./norms.ts";
import { to, wide } from "./raw.ts";
import * as tf from "../build/tf.ts";

function simplifiedLayerNorm(n: NodeCall): Tensor[] {
  const { attributes } = n, rank = n.rank(0), axis = n.axis("axis", -1, rank);
  const stash = dtypeOfNumber(attributes.int("stash_type", 1));
  const x = n.dtype(0) === "float64" ? n.x(0) : to(n.x(0), stash);
  const axes = Array.from({ length: rank - axis }, (_, i) => i + axis);
  const { y, inverse } = rootMeanSquare(x, axes, attributes.float("epsilon", 1e-5));
  return [tf.mul(to(y, n.dtype(1)), n.x(1)), inverse];
}

/** Returns the sum of two inputs and a bias at a place. */
function skipped(n: NodeCall, bias: number): Tensor {
  const sum = tf.add(n.x(0), n.x(1));
  return n.has(bias) ? tf.add(sum, n.x(bias)) : sum;
}

function skipLayerNorm(n: NodeCall): (Tensor | null)[] {
  if (n.wants(1) || n.wants(2)) n.lacks("an output of the mean or the deviation");
  const sum = skipped(n, 4), epsilon = n.attributes.float("epsilon", 1e-12);
  return [tf.layerNorm(sum, n.x(2), n.optional(3) ?? null, epsilon), null, null, sum];
}

function skipRmsNorm(n: NodeCall): (Tensor | null)[] {
  if (n.wants(1) || n.wants(2)) n.lacks("an output of the mean or the deviation");
  const sum = skipped(n, 3), axis = n.rank(0) - 1;
  const { y } = rootMeanSquare(wide(sum), [axis], n.attributes.float("epsilon", 1e-12));
  return [tf.mul(to(y, n.dtype(0)), n.x(2)), null, null, sum];
}

/** Normalizes the sum of the embeddings of words, places and segments; counts what a mask shows. */
function embedLayerNorm(n: NodeCall): Tensor[] {
  const words = n.index(0), length = n.dims(0)[1];
  const places = n.has(8)
    ? n.index(8)
    : tf.range(0, length ?? tf.reshape(tf.slice(tf.shape(words), [1], [1]), []), 1, "int32");
  let sum = tf.add(tf.gather(n.x(2), words), tf.gather(n.x(3), places));
  if (n.has(1) && n.has(4)) sum = tf.add(sum, tf.gather(n.x(4), n.index(1)));
  const y = tf.layerNorm(sum, n.x(5), n.x(6), n.attributes.float("epsilon", 1e-12));
  const shown = tf.sum(n.has(7) ? n.index(7) : tf.zerosLike(words), 1);
  return [y, to(shown, "int32"), sum];
}

const MICROSOFT = { domain: "com.microsoft" };

/** Fused norms. */
export const FUSED_NORMS: readonly OpEntry[] = [
  op("EmbedLayerNormalization", 1, embedLayerNorm, MICROSOFT),
  op("SimplifiedLayerNormalization", 1, simplifiedLayerNorm, { halves: "alone" }),
  op("SkipLayerNormalization", 1, skipLayerNorm, { ...MICROSOFT, halves: "computed" }),
  op("SkipSimplifiedLayerNormalization", 1, skipRmsNorm, { ...MICROSOFT, halves: "computed" }),
];
