/** Attention of onnxruntime: Attention, MultiHeadAttention, RotaryEmbedding. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import { attend, extentOf, joinHeads, minus, placesOf, rotate, splitHeads } from "./heads.ts";
import { centred } from "./quantised/linear.ts";
import { oneOf } from "./quantised/parameters.ts";
import { like, to } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Returns the condition that a mask of the keys states: lengths, begins and ends, or zeros for hidden keys. */
function seenKeys(n: NodeCall, i: number, batch: number | null, columns: Tensor): Tensor {
  const mask = n.index(i), dims = n.dims(i);
  switch (dims.length) {
    case 1: {
      if (dims[0] === null || batch === null || dims[0] === batch) {
        return tf.less(columns, tf.reshape(mask, [-1, 1, 1, 1]));
      }
      if (dims[0] !== 2 * batch) n.lacks(`a mask of ${dims[0]} numbers for ${batch} rows`);
      const [ends, begins] = tf.split(tf.reshape(mask, [-1, 1, 1, 1]), 2);
      return tf.logicalAnd(tf.less(columns, ends), tf.greaterEqual(columns, begins));
    }
    case 2:
      return tf.notEqual(tf.expandDims(tf.expandDims(mask, 1), 1), 0);
    case 3:
      return tf.notEqual(tf.expandDims(mask, 1), 0);
    default:
      return n.lacks(`a mask of rank ${dims.length}`);
  }
}

interface Masks {
  /** Places of the inputs with a mask of the keys, and with what is added to the scores. */
  readonly mask: number;
  readonly bias: number;
}

/** Attends with the masks of a node. Hidden keys get a low score, not none: rows without keys see all of them. */
export function maskedAttention(
  n: NodeCall,
  [q, k, v]: readonly Tensor[],
  { mask, bias }: Masks,
): Tensor {
  const { attributes } = n, low = attributes.float("mask_filter_value", -10000);
  const queries = extentOf(q, 2), keys = extentOf(k, 2);
  const { rows, columns } = placesOf(queries, keys, minus(keys, queries));
  const hidden = (seen: Tensor) => tf.mul(to(tf.logicalNot(seen), "float32"), tf.scalar(low));
  const added: Tensor[] = [];
  if (n.has(mask)) added.push(hidden(seenKeys(n, mask, q.staticShape![0], columns)));
  if (attributes.flag("unidirectional")) added.push(hidden(tf.lessEqual(columns, rows)));
  if (n.has(bias)) added.push(to(n.x(bias), "float32"));
  const depth = q.staticShape!.at(-1) ?? n.needs("the depth of a head");
  const { y } = attend(q, k, v, {
    scale: attributes.float("scale", 0) || 1 / Math.sqrt(depth),
    bias: added.length === 0 ? null : added.reduce((a, b) => tf.add(a, b)),
  });
  return joinHeads(n, y);
}

/** Attends with queries, keys and values that are one product; `past` is the place of keys and values before them. */
function packedAttention(
  n: NodeCall,
  product: Tensor,
  { past, ...masks }: Masks & { readonly past: number },
): (Tensor | null)[] {
  const { attributes } = n, heads = attributes.int("num_heads", 0);
  if (attributes.flag("do_rotary")) n.lacks("do_rotary");
  if (attributes.flag("past_present_share_buffer")) n.lacks("a shared buffer of past keys");
  const all = n.has(2) ? tf.add(product, n.x(2)) : product;
  const width = n.dims(1)[1] ?? n.needs("the columns of input 1");
  const sizes = attributes.ints("qkv_hidden_sizes") ?? [width / 3, width / 3, width / 3];
  const [q, ...own] = tf.split(all, [...sizes], -1).map((x) => splitHeads(n, x, heads));
  const [k, v] = n.has(past)
    ? tf.unstack(n.x(past)).map((before, i) => tf.concat([before, own[i]], 2))
    : own;
  const y = maskedAttention(n, [q, k, v], masks);
  return [y, n.wants(1) ? tf.stack([k, v]) : null];
}

function attention(n: NodeCall): (Tensor | null)[] {
  return packedAttention(n, tf.matMul(n.x(0), n.x(1)), { mask: 3, past: 4, bias: 5 });
}

/** Attends to levels times levels; the scales and zero points of weights may be those of columns. */
function quantisedAttention(n: NodeCall): (Tensor | null)[] {
  const of = (i: number): Tensor | null => n.has(i) ? oneOf(n.x(i)) : null;
  const product = tf.matMul(centred(n.x(0), of(6)), centred(n.x(1), of(7)));
  const scaled = tf.mul(product, tf.mul(of(3)!, of(4)!));
  return packedAttention(n, to(scaled, n.dtype(2)), { mask: 5, past: 8, bias: 9 });
}

/** Returns the queries, keys and values of a node, which may be packed into one input. */
function separate(n: NodeCall, heads: number): Tensor[] {
  const packed = (i: number) => tf.unstack(n.x(i), 3).map((x) => tf.transpose(x, [0, 2, 1, 3]));
  if (n.rank(0) === 5) {
    if (n.has(3)) n.lacks("a bias of packed inputs");
    return packed(0);
  }
  const width = n.dims(0)[2] ?? n.needs("the width of input 0");
  const parts = [n.x(0), ...n.has(1) ? [n.x(1)] : [], ...n.has(2) ? [n.x(2)] : []];
  if (n.has(3)) {
    const total = n.dims(3)[0] ?? n.needs("the size of input 3");
    const biases = tf.split(n.x(3), [width, width, total - 2 * width]);
    parts.forEach((x, i) => {
      if (x.rank === 3) parts[i] = tf.add(x, biases[i]);
    });
  }
  const split = parts.map((x) => x.rank === 3 ? splitHeads(n, x, heads) : x);
  if (parts.length === 3) return split;
  if (parts.length < 2 || n.rank(1) !== 5) n.fail("it has no keys or no values");
  return [split[0], ...packed(1)];
}

function multiHeadAttention(n: NodeCall): (Tensor | null)[] {
  if (n.has(8) || n.has(9)) n.lacks("a buffer of beams");
  if (n.wants(3)) n.lacks("an output of scores");
  const parts = separate(n, n.attributes.int("num_heads", 0)), [q] = parts;
  let [, k, v] = parts;
  if (n.has(6)) {
    k = tf.concat([n.x(6), k], 2);
    v = tf.concat([n.x(7), v], 2);
  }
  const y = maskedAttention(n, [q, k, v], { mask: 4, bias: 5 });
  return [y, n.wants(1) ? k : null, n.wants(2) ? v : null];
}

/** Rotates by the angles of positions: one for each place, or that of the first. */
function rotaryEmbedding(n: NodeCall): Tensor {
  const { attributes } = n, isFlat = n.rank(0) === 3;
  if (attributes.flag("is_packed_batching")) n.lacks("packed batching");
  const size = attributes.int("rotary_embedding_dim", 0), given = attributes.int("num_heads", 0);
  const headsOf = (): number => {
    if (given > 0) return given;
    const width = n.dims(0)[2], half = n.dims(2)[1];
    if (size > 0) n.fail("num_heads must be given with rotary_embedding_dim");
    if (width === null || half === null) n.needs("the widths of inputs 0 and 2");
    return width! / (2 * half!);
  };
  const x = isFlat ? splitHeads(n, n.x(0), headsOf()) : n.x(0);
  const places = n.index(1), count = n.dims(1);
  const all = count.length === 1
    ? tf.expandDims(tf.add(places, tf.range(0, extentOf(x, 2), 1, "int32")), 0)
    : places;
  const scale = attributes.float("scale", 1);
  const of = (i: number): Tensor => tf.gather(n.x(i), all);
  const turned = rotate(x, of(2), of(3), attributes.flag("interleaved"));
  const y = scale === 1 ? turned : tf.mul(turned, like(turned, scale));
  return isFlat ? joinHeads(n, y) : y;
}

const MICROSOFT = { domain: "com.microsoft" };

/** Attention of onnxruntime's domain. */
export const ATTENTION_CONTRIB: readonly OpEntry[] = [
  op("Attention", 1, attention, { ...MICROSOFT, halves: "computed" }),
  op("MultiHeadAttention", 1, multiHeadAttention, { ...MICROSOFT, halves: "computed" }),
  op("QAttention", 1, quantisedAttention, MICROSOFT),
  op("RotaryEmbedding", 1, rotaryEmbedding, { ...MICROSOFT, halves: "computed" }),
];
