/** Mixtures of experts of onnxruntime: each row runs through the few networks that its router prefers. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry } from "../../build/rule.ts";
import { extentOf, reshaped } from "../heads.ts";
import { bitsOf, first, unpack } from "../quantised/packed.ts";
import { spread } from "../quantised/linear.ts";
import { like, to, wide } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** The experts of each row, and their shares: `[rows, k]`. */
interface Routes {
  readonly experts: Tensor;
  readonly shares: Tensor;
}

/** One of the two or three layers of a node's experts. */
interface Layer {
  /** True where the node has it. */
  readonly isGiven: boolean;
  /** Number of its bias. */
  readonly bias: number;
  /** Returns the weights of all experts, or of those that `take` picks of an input. */
  weights(take: Take): Tensor;
}

/** Returns an input of the node, whose first axis is that of experts, or the rows of it that are wanted. */
type Take = (i: number) => Tensor;

/** The layers of a node: before the activation, after it, and a second one before it. */
type Layers = readonly [first: Layer, last: Layer, second: Layer];

/** The shares of experts: those of the scores, as an attribute says, or by an input. */
interface Sharing {
  /** The input that may have shares for all experts. */
  readonly own: number;
  /** True where the shares of a row add up to 1, whatever the node says. */
  readonly isNormal: boolean;
}

/** Chooses experts. Of equal ones the last comes first, as in onnxruntime. */
function routed(n: NodeCall, count: number, k: number, { own, isNormal }: Sharing): Routes {
  const turned = tf.reverse(wide(n.x(1)), 1);
  const { values, indices } = tf.topk(turned, k);
  const experts = tf.sub(tf.scalar(count - 1, "int32"), indices);
  const normalizes = n.attributes.flag("normalize_routing_weights");
  if (n.has(own)) {
    const shares = tf.gather(wide(n.x(own)), experts, 1, 1);
    return { experts, shares: normalizes ? tf.div(shares, tf.sum(shares, 1, true)) : shares };
  }
  return {
    experts,
    shares: isNormal || normalizes
      ? tf.softmax(values)
      : tf.gather(tf.softmax(turned), indices, 1, 1),
  };
}

/** Multiplies rows by the weights of their experts: `[experts, rows, numbers]`. */
function multiplied(n: NodeCall, x: Tensor, { bias, weights }: Layer, take: Take): Tensor {
  const y = tf.matMul(x, weights(take), false, true);
  return n.has(bias) ? tf.add(y, tf.expandDims(take(bias), 1)) : y;
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
    return swiglu(n, x, further === null ? n.fail("its second layer is missing") : further());
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
function network(n: NodeCall, x: Tensor, [first, last, second]: Layers, take: Take): Tensor {
  const further = second.isGiven ? (): Tensor => multiplied(n, x, second, take) : null;
  return multiplied(n, activated(n, multiplied(n, x, first, take), further), last, take);
}

/** Makes the rule of mixtures whose layers are such. */
function mixture(layersOf: (n: NodeCall) => Layers, sharing: Sharing): (n: NodeCall) => Tensor {
  return (n) => {
    const { attributes } = n, k = attributes.int("k", 1), layers = layersOf(n);
    if (attributes.flag("use_sparse_mixer")) n.lacks("use_sparse_mixer");
    const count = n.dims(2)[0] ?? n.needs("the number of experts");
    if (!(k >= 1 && k <= count)) n.fail(`k is ${k}, wanted 1 to ${count} experts`);
    const x = n.x(0), hidden = x.staticShape?.at(-1) ?? n.needs("the width of input 0");
    const rows = tf.reshape(x, [-1, hidden]);
    const routes = routed(n, count, k, sharing);
    const [known] = rows.staticShape!, isFew = known !== null && known * k <= count;
    const y = isFew
      ? ofChosen(n, rows, layers, routes)
      : ofAll(n, rows, layers, { ...routes, count });
    const shape = x.staticShape!;
    return shape.length === 2 ? y : reshaped(y, shape.map((d, i) => d ?? extentOf(x, i)));
  };
}

/** Takes the weights of the chosen experts, for rows that need fewer than there are. */
function ofChosen(
  n: NodeCall,
  rows: Tensor,
  layers: Layers,
  { experts, shares }: Routes,
): Tensor {
  const [count, k] = experts.staticShape as [number, number];
  const hidden = rows.staticShape![1]!, flat = tf.reshape(experts, [-1]);
  const each = k === 1
    ? rows
    : tf.gather(rows, Array.from({ length: count * k }, (_, i) => Math.floor(i / k)));
  const y = network(n, tf.expandDims(each, 1), layers, (i) => tf.gather(n.x(i), flat));
  const parts = tf.mul(wide(tf.reshape(y, [count, k, hidden])), tf.expandDims(shares, -1));
  return to(tf.sum(parts, 1), rows.dtype);
}

/** Runs all rows through all experts, and keeps what was chosen. */
function ofAll(
  n: NodeCall,
  rows: Tensor,
  layers: Layers,
  { experts, shares, count }: Routes & { readonly count: number },
): Tensor {
  const y = wide(network(n, tf.expandDims(rows, 0), layers, (i) => n.x(i)));
  const chosen = tf.oneHot(experts, count, 1, 0), weighted = tf.expandDims(shares, -1);
  const each = tf.sum(tf.mul(to(chosen, weighted.dtype), weighted), 1);
  const share = tf.expandDims(tf.transpose(each, [1, 0]), -1);
  // Results of other experts may be infinite.
  const parts = tf.where(tf.notEqual(share, like(share, 0)), tf.mul(y, share), like(y, 0));
  return to(tf.sum(parts, 0), rows.dtype);
}

/** Returns the layers of experts in floats: each has a weight and a bias. */
function floatLayers(n: NodeCall): Layers {
  const layer = (at: number): Layer => ({
    isGiven: n.has(at),
    bias: at + 1,
    weights: (take) => take(at),
  });
  return [layer(2), layer(4), layer(6)];
}

/** Returns the layers of experts in levels of a few bits: each has a weight, scales, a bias, and zero points further on. */
function levelLayers(n: NodeCall): Layers {
  const { attributes } = n, bits = bitsOf(n, "expert_weight_bits");
  const block = attributes.int("block_size", 0), type = attributes.text("quant_type", "int");
  if (type !== "int") n.lacks(`weights of the type "${type}"`);
  if (attributes.int("weights_prepacked", -1) === 1) n.lacks("prepacked weights");
  if (n.has(15) || n.has(16)) n.lacks("global scales");
  if (block !== 0 && (block < 16 || !Number.isInteger(Math.log2(block)))) {
    n.fail(`block_size is ${block}, wanted a power of two from 16 on`);
  }
  const layer = (at: number, zero: number): Layer => ({
    isGiven: n.has(at),
    bias: at + 2,
    weights(take) {
      if (!n.has(at + 1)) n.fail(`input ${at + 1} is missing`);
      const levels = unpack(take(at), bits), scales = to(take(at + 1), "float32");
      const inner = levels.staticShape?.at(-1) ?? n.needs(`the shape of input ${at}`);
      if (block > 0 && inner % block !== 0) n.fail(`blocks of ${block} do not divide ${inner}`);
      // Packed zero points have a row for each expert, or for each of its columns.
      const own = scales.staticShape?.at(-1) ?? n.needs(`the shape of input ${at + 1}`);
      const zeros = n.has(zero)
        ? first(unpack(take(zero), bits), own)
        : tf.scalar(2 ** (bits - 1), "float32");
      const along = (s: Tensor): Tensor => {
        const { length } = s.staticShape!;
        if (length === 0) return s;
        return block > 0 ? spread(s, length - 1, block, inner) : tf.expandDims(s, -1);
      };
      const rank = scales.staticShape!.length, wanted = block > 0 ? 3 : 2;
      if (rank !== wanted) n.fail(`input ${at + 1} has rank ${rank}, wanted ${wanted}`);
      return to(tf.mul(tf.sub(levels, along(zeros)), along(scales)), n.dtype(0));
    },
  });
  return [layer(2, 11), layer(5, 12), layer(8, 13)];
}

const MICROSOFT = { domain: "com.microsoft" };

/** Mixtures of experts. */
export const EXPERTS: readonly OpEntry[] = [
  op("MoE", 1, mixture(floatLayers, { own: Infinity, isNormal: false }), MICROSOFT),
  op("QMoE", 1, mixture(levelLayers, { own: 14, isNormal: true }), MICROSOFT),
];
