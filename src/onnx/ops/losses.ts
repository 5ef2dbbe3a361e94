/** Losses of classes: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { to, wide } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Returns the loss of log-probabilities with the classes last, weighted and reduced as the node says. */
function classLoss(n: NodeCall, logs: Tensor): Tensor {
  const { attributes } = n, labels = n.index(1), axis = n.rank(0) - 1;
  const isUsed = attributes.has("ignore_index")
    ? tf.notEqual(labels, tf.scalar(attributes.int("ignore_index", 0), "int32"))
    : null;
  const places = isUsed === null ? labels : tf.where(isUsed, labels, tf.zerosLike(labels));
  let loss = tf.neg(tf.gather(logs, places, axis, axis));
  let weights: Tensor | null = null;
  if (n.has(2)) weights = tf.gather(to(n.x(2), logs.dtype), places);
  if (weights !== null) loss = tf.mul(loss, weights);
  if (isUsed !== null) {
    // A label that is ignored may meet an infinite loss: it is chosen away, not multiplied.
    loss = tf.where(isUsed, loss, tf.zerosLike(loss));
    weights = weights === null
      ? to(isUsed, logs.dtype)
      : tf.where(isUsed, weights, tf.zerosLike(weights));
  }
  switch (attributes.text("reduction", "mean")) {
    case "none":
      return to(loss, n.dtype(0));
    case "sum":
      return to(tf.sum(loss), n.dtype(0));
    case "mean":
      return to(
        weights === null ? tf.mean(loss) : tf.div(tf.sum(loss), tf.sum(weights)),
        n.dtype(0),
      );
    default:
      return n.fail(`reduction is "${attributes.text("reduction", "")}", wanted none, sum or mean`);
  }
}

function crossEntropy(n: NodeCall): RuleOutput[] {
  const logs = tf.logSoftmax(wide(n.last(0)));
  return [classLoss(n, logs), Value.channelsLast(to(logs, n.dtype(0)))];
}

/** Losses of classes. */
export const LOSSES: readonly OpEntry[] = [
  op("NegativeLogLikelihoodLoss", 12, (n) => classLoss(n, wide(n.last(0)))),
  op("SoftmaxCrossEntropyLoss", 12, crossEntropy),
];
