/** Attention of ONNX's own domain: Attention, RotaryEmbedding, and the preview of FlexAttention. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { dtypeOfNumber } from "../file/types.ts";
import {
  attend,
  both,
  type Extent,
  extentOf,
  joinHeads,
  placesOf,
  rotate,
  splitHeads,
  zerosOf,
} from "./heads.ts";
import { like, to, wide } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Returns the dtype of a softmax: the node's, where that is wider than what is computed in. */
function precisionOf(n: NodeCall, x: Tensor): Tensor["dtype"] {
  const number = n.attributes.int("softmax_precision", 1);
  return dtypeOfNumber(number) === "float64" ? "float64" : wide(x).dtype;
}

/** Pads a mask to all keys; those behind it are not seen. */
function paddedMask(mask: Tensor, keys: Extent): Tensor {
  const length = mask.staticShape?.at(-1);
  if (typeof keys !== "number" || length == null || length >= keys) return mask;
  const before = mask.staticShape!.slice(0, -1).map((_, i) => extentOf(mask, i));
  const zeros = zerosOf([...before, keys - length], mask.dtype);
  const rest = mask.dtype === "bool" ? zeros : tf.add(zeros, like(mask, -Infinity));
  return tf.concat([mask, rest], -1);
}

function attention(n: NodeCall): (RuleOutput | null)[] {
  const { attributes } = n, isFlat = n.rank(0) === 3;
  const heads = (i: number, name: string): Tensor =>
    isFlat ? splitHeads(n, n.x(i), attributes.int(name, 0)) : n.x(i);
  const q = heads(0, "q_num_heads");
  let k = heads(1, "kv_num_heads"), v = heads(2, "kv_num_heads");
  const queries = extentOf(q, 2), lengths = n.has(6) ? tf.reshape(n.index(6), [-1, 1, 1, 1]) : null;
  let offset: Extent = lengths === null ? 0 : tf.sub(lengths, queries);
  if (n.has(4)) {
    offset = extentOf(n.x(4), 2);
    k = tf.concat([n.x(4), k], 2);
    v = tf.concat([n.x(5), v], 2);
  }
  const keys = extentOf(k, 2), { rows, columns } = placesOf(queries, keys, offset);
  const left = attributes.int("left_window_size", -1);
  const right = attributes.int("right_window_size", -1);
  let allowed = attributes.flag("is_causal") ? tf.lessEqual(columns, rows) : null;
  if (left >= 0) allowed = both(allowed, tf.greaterEqual(columns, tf.sub(rows, left)));
  if (right >= 0) allowed = both(allowed, tf.lessEqual(columns, tf.add(rows, right)));
  if (lengths !== null) allowed = both(allowed, tf.less(columns, lengths));
  const mask = n.has(3) ? paddedMask(n.x(3), keys) : null;
  if (mask?.dtype === "bool") allowed = both(allowed, mask);
  const depth = q.staticShape!.at(-1) ?? n.needs("the depth of a head");
  const given = attend(q, k, v, {
    scale: attributes.float("scale", 1 / Math.sqrt(depth)),
    softcap: attributes.float("softcap", 0),
    bias: mask?.dtype === "bool" ? null : mask,
    allowed,
    mayBeEmpty: mask !== null || lengths !== null || left >= 0 || right >= 0,
    precision: precisionOf(n, q),
  });
  const steps = [given.scores, given.capped, given.biased, given.weights];
  const step = steps[attributes.int("qk_matmul_output_mode", 0)] ??
    n.fail("qk_matmul_output_mode must be 0 to 3");
  return [
    isFlat ? joinHeads(n, given.y) : given.y,
    n.wants(1) ? k : null,
    n.wants(2) ? v : null,
    n.wants(3) ? to(step, n.dtype(0)) : null,
  ];
}

/** Rotates heads by angles of a table at the positions given, or by angles of each place. */
function rotaryEmbedding(n: NodeCall): Tensor {
  const { attributes } = n, isFlat = n.rank(0) === 3;
  const x = isFlat ? splitHeads(n, n.x(0), attributes.int("num_heads", 0)) : n.x(0);
  const of = (i: number): Tensor => n.has(3) ? tf.gather(n.x(i), n.index(3)) : n.x(i);
  const turned = rotate(x, of(1), of(2), attributes.flag("interleaved"));
  return isFlat ? joinHeads(n, turned) : turned;
}

/** Attends with inner graphs that change the scores and the weights. */
function flexAttention(n: NodeCall): Tensor {
  const q = n.x(0), depth = n.dims(0)[3] ?? n.needs("the depth of a head");
  const changed = (name: string) => (x: Tensor): Tensor =>
    Object.hasOwn(n.node.graphs, name) ? n.tensorOf(n.run(name, [Value.of(x)])[0]) : x;
  return attend(q, n.x(1), n.x(2), {
    scale: n.attributes.float("scale", 1 / Math.sqrt(depth)),
    precision: precisionOf(n, q),
    changeScores: changed("score_mod"),
    changeWeights: changed("prob_mod"),
  }).y;
}

/** Attention of ONNX's own domain. */
export const ATTENTION: readonly OpEntry[] = [
  op("Attention", 23, attention),
  op("FlexAttention", 1, flexAttention, { domain: "ai.onnx.preview" }),
  op("RotaryEmbedding", 23, rotaryEmbedding),
];
