/** GroupQueryAttention of onnxruntime: attention with a cache of keys and values, whose rows may differ in length. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import {
  attend,
  type Extent,
  extentOf,
  joinHeads,
  minus,
  placesOf,
  plus,
  rotate,
  splitHeads,
} from "./heads.ts";
import { like } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Returns queries, keys and values with their heads, which may be packed into the first input. */
export function separate(n: NodeCall, heads: number, shared: number): Tensor[] {
  if (n.has(1)) {
    return [n.x(0), n.x(1), n.x(2)].map((x, i) => splitHeads(n, x, i === 0 ? heads : shared));
  }
  const all = splitHeads(n, n.x(0), heads + 2 * shared);
  return tf.split(all, [heads, shared, shared], 1);
}

/** The cache of keys: its size, and the place of each row's new keys. */
export interface Cache {
  /** Keys of each row before the new ones: `[batch, 1]`. */
  readonly past: Tensor;
  /** Rows of the cache. */
  readonly size: Extent;
}

/** Returns a cache with the new keys behind each row's own past. */
export function appended(n: NodeCall, i: number, fresh: Tensor, { past, size }: Cache): Tensor {
  const old = n.has(i) ? n.x(i) : null, length = old === null ? 0 : extentOf(old, 2);
  const all = old === null || length === 0 ? fresh : tf.concat([old, fresh], 2);
  const added = extentOf(fresh, 2), columns = tf.range(0, size, 1, "int32");
  const behind = tf.sub(columns, past), isUsed = tf.less(behind, added);
  const places = tf.where(tf.greaterEqual(behind, 0), tf.add(behind, length), columns);
  const last = minus(plus(added, length), 1);
  const gathered = tf.gather(all, tf.minimum(places, last), 2, 1);
  return tf.where(tf.expandDims(tf.expandDims(isUsed, 1), 3), gathered, like(fresh, 0));
}

function groupQueryAttention(n: NodeCall): (Tensor | null)[] {
  const { attributes } = n;
  for (let i = 12; i < n.count; i++) {
    if (n.has(i)) n.lacks(`input ${i}, of quantised caches or norms of heads,`);
  }
  if (n.wants(3)) n.lacks("an output of scores");
  const heads = attributes.int("num_heads", 0), shared = attributes.int("kv_num_heads", 0);
  let [q, k, v] = separate(n, heads, shared);
  const queries = extentOf(q, 2), lengths = tf.reshape(n.index(5), [-1, 1]);
  const past = tf.maximum(tf.sub(tf.add(lengths, 1), queries), 0);
  const places = tf.add(past, tf.range(0, queries, 1, "int32"));
  if (attributes.flag("do_rotary")) {
    const at = n.has(9) ? n.index(9) : places, isPaired = attributes.flag("rotary_interleaved");
    const cos = tf.gather(n.x(7), at), sin = tf.gather(n.x(8), at);
    q = rotate(q, cos, sin, isPaired);
    k = rotate(k, cos, sin, isPaired);
  }
  // A past of full length is a buffer that the present shares.
  const before = n.has(3) ? extentOf(n.x(3), 2) : 0, [known] = n.ints(6) ?? [null];
  const size = known !== null && typeof before === "number"
    ? Math.max(known, before)
    : tf.maximum(tf.reshape(n.index(6), []), before);
  k = appended(n, 3, k, { past, size });
  v = appended(n, 4, v, { past, size });
  const { columns } = placesOf(queries, size, 0), rows = tf.expandDims(tf.expandDims(places, 1), 3);
  let allowed = tf.lessEqual(columns, rows);
  const window = attributes.int("local_window_size", -1);
  if (window > 0) {
    allowed = tf.logicalAnd(allowed, tf.greater(columns, tf.sub(rows, window)));
  }
  const depth = q.staticShape!.at(-1) ?? n.needs("the depth of a head");
  const sink = n.has(11)
    ? tf.reshape(n.x(11), [1, -1, 1, 1])
    : attributes.int("smooth_softmax", -1) > 0
    ? tf.scalar(0)
    : null;
  const { y } = attend(q, k, v, {
    scale: attributes.float("scale", 0) || 1 / Math.sqrt(depth),
    softcap: attributes.float("softcap", 0),
    bias: n.optional(10) ?? null,
    allowed,
    sink,
  });
  return [joinHeads(n, y), n.wants(1) ? k : null, n.wants(2) ? v : null];
}

/** Attention of groups of heads. */
export const GROUP_ATTENTION: readonly OpEntry[] = [
  op("GroupQueryAttention", 1, groupQueryAttention, { domain: "com.microsoft", known: [6] }),
];
