/** Ops of onnxruntime on images with their channels last, as it writes them for GPUs and for whole numbers. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import { Value } from "../../build/value.ts";
import { fusedConv } from "../fused_products.ts";
import { extentOf, reshaped } from "../heads.ts";
import { standardised } from "../norms.ts";
import { maxPool } from "../pools.ts";
import { to, wide } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Applies a rule for images with channels first to a node whose inputs at `images` have them last, as have its results. */
export function channelsLast(n: NodeCall, rule: Rule, images: readonly number[] = [0]): Tensor[] {
  const inputs = n.inputs.map((value, i) =>
    value !== null && images.includes(i) ? Value.channelsLast(n.x(i)) : value
  );
  const made = rule(n.with(inputs));
  return (Array.isArray(made) ? made : [made]).map((y) => n.with([valueOf(y)]).last(0));
}

function valueOf(y: unknown): Value {
  return y instanceof Value ? y : Value.of(y as Tensor);
}

function activated(n: NodeCall, x: Tensor): Tensor {
  return n.attributes.flag("activation") ? tf.mul(x, tf.sigmoid(x)) : x;
}

/** Normalizes groups of the channels of an image, scales them by inputs 1 and 2, and activates them. */
function groupNorm(n: NodeCall, x: Tensor): Tensor {
  const { attributes } = n, isLast = attributes.flag("channels_last", true);
  if (n.rank(0) !== 4) n.fail(`its input has rank ${n.rank(0)}, wanted 4`);
  if (!isLast) n.lacks("channels_last of 0");
  const groups = attributes.int("groups", 1), epsilon = attributes.float("epsilon", 1e-5);
  const [channels] = n.concrete(1), image = [0, 1, 2].map((axis) => extentOf(x, axis));
  if (channels % groups !== 0) n.fail(`${channels} channels are not ${groups} groups`);
  const parts = reshaped(wide(x), [...image, groups, channels / groups]);
  const y = reshaped(standardised(parts, [1, 2, 4], epsilon).y, [...image, channels]);
  const of = (i: number): Tensor => to(n.x(i), y.dtype);
  return to(activated(n, tf.add(tf.mul(y, of(1)), of(2))), n.dtype(0));
}

/** Normalizes groups of a sum of images and a bias. */
function skipGroupNorm(n: NodeCall): Tensor[] {
  const rank = n.rank(3), skip = n.x(3);
  // A row for each image is added to all of its points.
  const wideSkip = rank === 2 ? tf.expandDims(tf.expandDims(skip, 1), 1) : skip;
  const sum = tf.add(n.x(0), wideSkip), all = n.has(4) ? tf.add(sum, n.x(4)) : sum;
  return [groupNorm(n, all), all];
}

/** Splits numbers with a bias into halves; the second opens the first. */
function biasSplitGelu(n: NodeCall): Tensor {
  const [left, right] = tf.split(tf.add(n.x(0), n.x(1)), 2, -1);
  return tf.mul(left, tf.gelu(right));
}

const MICROSOFT = { domain: "com.microsoft" };

/** Ops of images with channels last, and those of diffusion models around them. */
export const NHWC: readonly OpEntry[] = [
  op("BiasAdd", 1, (n) => tf.add(tf.add(n.x(0), n.x(1)), n.x(2)), MICROSOFT),
  op("BiasSplitGelu", 1, biasSplitGelu, MICROSOFT),
  op("GroupNorm", 1, (n) => groupNorm(n, n.x(0)), MICROSOFT),
  op("NhwcConv", 1, (n) => channelsLast(n, fusedConv, [0]), MICROSOFT),
  op("NhwcFusedConv", 1, (n) => channelsLast(n, fusedConv, [0, 3]), MICROSOFT),
  op("NhwcMaxPool", 1, (n) => channelsLast(n, maxPool), MICROSOFT),
  op("SkipGroupNorm", 1, skipGroupNorm, MICROSOFT),
];
