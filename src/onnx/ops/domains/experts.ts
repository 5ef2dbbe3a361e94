/** Mixtures of experts of onnxruntime: each row runs through the few networks that its router prefers. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry } from "../../build/rule.ts";
import { extentOf, reshaped } from "../heads.ts";
import { like, to, wide } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** The experts of each row, and their shares: `[rows, k]`. */
interface Routes {
  readonly experts: Tensor;
  readonly shares: Tensor;
}

/** Chooses experts. Of equal ones the last comes first, as in onnxruntime. */
function routed(n: NodeCall, count: number, k: number): Routes {
  const turned = tf.reverse(wide(n.x(1)), 1);
  const { values, indices } = tf.topk(turned, k);
  return {
    experts: tf.sub(tf.scalar(count - 1, "int32"), indices),
    shares: n.attributes.flag("normalize_routing_weights")
      ? tf.softmax(values)
      : tf.gather(tf.softmax(turned), indices, 1, 1),
  };
}

/** Multiplies rows by the weights of their experts: `[experts, rows, numbers]`. `of` gives an input of the node. */
function layer(
  n: NodeCall,
  x: Tensor,
  { at, of }: { readonly at: number; readonly of: (i: number) => Tensor },
): Tensor {
  const y = tf.matMul(x, of(at), false, true);
  return n.has(at + 1) ? tf.add(y, tf.expandDims(of(at + 1), 1)) : y;
}

/** Returns the product of a bounded gate and a bounded linear part. */
function swiglu(n: NodeCall, gate: Tensor, linear: Tensor): Tensor {
  const { attributes } = n,
    number = (name: string, otherwise: number): Tensor =>
      like(gate, attributes.float(name, otherwise));
  let g = gate, l = linear;
  if (attributes.has("swiglu_limit")) {
    const limit = number("swiglu_limit", Infinity);
    g = tf.minimum(g, limit);
    l = tf.maximum(tf.minimum(l, limit), tf.neg(limit));
  }
  const open = tf.sigmoid(tf.mul(g, number("activation_alpha", 1)));
  return tf.mul(tf.mul(g, open), tf.add(l, number("activation_beta", 0)));
}

/** Splits rows into gates and linear parts, which are neighbours or halves. */
function gated(n: NodeCall, x: Tensor): Tensor {
  const width = x.staticShape!.at(-1) ?? n.needs("the width of input 2");
  if (width % 2 !== 0) n.fail(`${width} numbers are no pairs`);
  if (n.attributes.int("swiglu_fusion", 0) === 2) {
    const [gate, linear] = tf.split(x, 2, -1);
    return swiglu(n, gate, linear);
  }
  const pairs = reshaped(x, [extentOf(x, 0), extentOf(x, 1), width / 2, 2]);
  const [gate, linear] = tf.unstack(pairs, -1);
  return swiglu(n, gate, linear);
}

function activated(n: NodeCall, x: Tensor, further: (() => Tensor) | null): Tensor {
  const type = n.attributes.text("activation_type", "relu");
  if (type === "swiglu") {
    if (n.attributes.int("swiglu_fusion", 0) !== 0) return gated(n, x);
    return swiglu(n, x, further === null ? n.fail("input 6 is missing") : further());
  }
  const known: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    relu: (x) => tf.relu(x),
    gelu: (x) => tf.gelu(x, true),
    silu: (x) => tf.mul(x, tf.sigmoid(x)),
    identity: (x) => x,
  };
  const made = Object.hasOwn(known, type) ? known[type](x) : n.lacks(`the activation "${type}"`);
  return further === null ? made : tf.mul(made, further());
}

/** Runs rows through experts: `[experts, rows, hidden]`. */
function network(n: NodeCall, x: Tensor, of: (i: number) => Tensor): Tensor {
  const further = n.has(6) ? (): Tensor => layer(n, x, { at: 6, of }) : null;
  return layer(n, activated(n, layer(n, x, { at: 2, of }), further), { at: 4, of });
}

function mixture(n: NodeCall): Tensor {
  const { attributes } = n, k = attributes.int("k", 1);
  if (attributes.flag("use_sparse_mixer")) n.lacks("use_sparse_mixer");
  const count = n.dims(2)[0] ?? n.needs("the number of experts");
  if (!(k >= 1 && k <= count)) n.fail(`k is ${k}, wanted 1 to ${count} experts`);
  const x = n.x(0), hidden = x.staticShape?.at(-1) ?? n.needs("the width of input 0");
  const rows = tf.reshape(x, [-1, hidden]), routes = routed(n, count, k);
  const [known] = rows.staticShape!, isFew = known !== null && known * k <= count;
  const y = isFew ? ofChosen(n, rows, routes) : ofAll(n, rows, { ...routes, count });
  const shape = x.staticShape!;
  return shape.length === 2 ? y : reshaped(y, shape.map((d, i) => d ?? extentOf(x, i)));
}

/** Takes the weights of the chosen experts, for rows that need fewer than there are. */
function ofChosen(n: NodeCall, rows: Tensor, { experts, shares }: Routes): Tensor {
  const [count, k] = experts.staticShape as [number, number];
  const hidden = rows.staticShape![1]!, flat = tf.reshape(experts, [-1]);
  const each = k === 1
    ? rows
    : tf.gather(rows, Array.from({ length: count * k }, (_, i) => Math.floor(i / k)));
  const y = network(n, tf.expandDims(each, 1), (i) => tf.gather(n.x(i), flat));
  const parts = tf.mul(wide(tf.reshape(y, [count, k, hidden])), tf.expandDims(shares, -1));
  return to(tf.sum(parts, 1), rows.dtype);
}

/** Runs all rows through all experts, and keeps what was chosen. */
function ofAll(
  n: NodeCall,
  rows: Tensor,
  { experts, shares, count }: Routes & { readonly count: number },
): Tensor {
  const y = wide(network(n, tf.expandDims(rows, 0), (i) => n.x(i)));
  const chosen = tf.oneHot(experts, count, 1, 0), weighted = tf.expandDims(shares, -1);
  const each = tf.sum(tf.mul(to(chosen, weighted.dtype), weighted), 1);
  const share = tf.expandDims(tf.transpose(each, [1, 0]), -1);
  // Results of other experts may be infinite.
  const parts = tf.where(tf.greater(share, like(share, 0)), tf.mul(y, share), like(y, 0));
  return to(tf.sum(parts, 0), rows.dtype);
}

/** Mixtures of experts. */
export const EXPERTS: readonly OpEntry[] = [op("MoE", 1, mixture, { domain: "com.microsoft" })];
