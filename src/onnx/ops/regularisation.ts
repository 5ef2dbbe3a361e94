/** Dropout, which drops elements in training only. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { like, to } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Inference keeps the elements. Training drops a fraction of them and scales the others. */
function dropout(n: NodeCall): RuleOutput[] {
  const { attributes } = n, x = n.x(0);
  const saysTraining = n.version >= 12 && n.has(2) && n.wantKnown(2).at(0) === true;
  const given = n.version >= 12 && n.has(1) ? n.wantNumbers(1)[0] : attributes.float("ratio", 0.5);
  const ratio = n.training ?? saysTraining ? given : 0;
  if (ratio === 0) return [tf.identity(x), mask(n, tf.onesLike(x))];
  const seed = attributes.has("seed") ? attributes.int("seed", 0) : undefined;
  const kept = tf.greaterEqual(tf.randomUniform(tf.shape(x), 0, 1, "float32", seed), ratio);
  const y = tf.where(kept, tf.mul(x, like(x, 1 / (1 - ratio))), tf.zerosLike(x));
  return [y, mask(n, kept)];
}

/** The mask of kept elements: booleans since version 10, numbers before. */
function mask(n: NodeCall, kept: Tensor): Tensor {
  return to(kept, n.version >= 10 ? "bool" : n.dtype(0));
}

/** Ops that regularise. */
export const REGULARISATION: readonly OpEntry[] = [
  op("Dropout", 1, dropout, { known: [1, 2], folds: false }),
];
