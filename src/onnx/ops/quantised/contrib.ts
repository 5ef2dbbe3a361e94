/** Quantised numbers in com.microsoft: weights of a few bits in blocks, and ops between levels. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule, type RuleOutput } from "../../build/rule.ts";
import { Value } from "../../build/value.ts";
import { POOLS } from "../pools.ts";
import { matMul } from "../products.ts";
import {
  byRow,
  centred,
  dequantise,
  dequantizeLinear,
  levelsOfInput,
  quantise,
  quantiseByRange,
  quantizeLinear,
  spread,
} from "./linear.ts";
import { channelsLast } from "../domains/nhwc.ts";
import { knownLevels } from "./known_levels.ts";
import { oneOf, parameter } from "./parameters.ts";
import { bitsOf, first, unpack } from "./packed.ts";
import { put1, to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

const domain = "com.microsoft";

/** Multiplies by the transposed weight, whose rows are levels of a few bits in blocks, each with its scale. */
function matMulNBits(n: NodeCall): Tensor {
  const { attributes } = n, bits = bitsOf(n), x = n.x(0);
  const inner = attributes.int("K", 0), rows = attributes.int("N", 0);
  const block = attributes.int("block_size", 32), blocks = Math.ceil(inner / block);
  if (n.has(4)) n.lacks("a group index");
  const bytes = tf.reshape(n.x(1), [rows, blocks, block * bits / 32, 4]);
  const levels = put1("Bitcast", [bytes], { type: "int32" });
  const by = (s: Tensor): Tensor => tf.reshape(to(s, "float32"), [rows, blocks]);
  const zeros = !n.has(3)
    ? tf.scalar(2 ** (bits - 1), "float32")
    : n.dtype(3) === "uint8"
    ? first(unpack(tf.reshape(n.x(3), [rows, -1]), bits), blocks)
    : by(n.x(3));
  const isVector = n.rank(0) === 1, from = isVector ? tf.expandDims(x, 0) : x;
  const weights = [levels, by(n.x(2)), zeros];
  const attrs = { bits, block, inner };
  const y = put1("_QuantizedMatMul", [from, ...weights], attrs);
  const biased = n.has(5) ? to(tf.add(to(y, "float32"), to(n.x(5), "float32")), n.dtype(0)) : y;
  return isVector ? tf.squeeze(biased, 0) : biased;
}

/** Gathers rows of levels in blocks, and dequantises these alone. */
function gatherBlockQuantized(n: NodeCall): Tensor {
  const { attributes } = n, rank = n.rank(0), block = attributes.int("block_size", 128);
  const from = n.axis("gather_axis", 0, rank), by = n.axis("quantize_axis", 1, rank);
  const isPacked = n.dtype(0) === "uint8" && n.value(0).data === null;
  const bits = isPacked ? bitsOf(n) : 8, given = n.index(1);
  const rows = n.dims(0)[from] ?? n.needs(`the extent of axis ${from} of input 0`);
  const places = tf.where(tf.less(given, 0), tf.add(given, rows), given);
  const unpacked = (i: number): Tensor =>
    isPacked && i !== 2 ? unpack(n.x(i), bits) : to(n.x(i), "float32");
  // Rows are unpacked after they are gathered.
  const take = (i: number): Tensor => {
    if (!isPacked || i === 2 || from === rank - 1) return tf.gather(unpacked(i), places, from);
    return unpack(tf.gather(n.x(i), places, from), bits);
  };
  const extent = n.dims(0)[by],
    own = extent === null || !isPacked || by < rank - 1 ? extent : extent * 8 / bits;
  const zeroOf = (read: (i: number) => Tensor): Tensor | number => {
    if (!n.has(3)) return isPacked ? 2 ** (bits - 1) : 0;
    const zero = read(3), blocks = n.dims(2).at(-1);
    return typeof blocks === "number" && (from < rank - 1 || by === from)
      ? first(zero, blocks)
      : zero;
  };
  if (from === by) {
    const wide = (x: Tensor): Tensor => spread(x, by, block, own), zero = zeroOf(unpacked);
    const levels = tf.sub(unpacked(0), typeof zero === "number" ? zero : wide(zero));
    return to(tf.gather(tf.mul(levels, wide(unpacked(2))), places, from), n.dtype(2));
  }
  const axis = by < from ? by : by + n.rank(1) - 1;
  const wide = (x: Tensor): Tensor => spread(x, axis, block, own), zero = zeroOf(take);
  const levels = tf.sub(take(0), typeof zero === "number" ? zero : wide(zero));
  return to(tf.mul(levels, wide(take(2))), n.dtype(2));
}

function dynamicQuantizeMatMul(n: NodeCall): Tensor {
  const { levels, scale, zero } = quantiseByRange(n.x(0));
  const a = centred(levels, zero);
  const product = knownLevels(n, 1, 3)?.times(a) ??
    matMul(a, centred(n.x(1), n.has(3) ? oneOf(n.x(3)) : null), [n.rank(0), n.rank(1)]);
  const y = tf.mul(product, tf.mul(scale, oneOf(n.x(2))));
  return n.has(4) ? tf.add(y, n.x(4)) : y;
}

function matMulIntegerToFloat(n: NodeCall): Tensor {
  const ranks = [n.rank(0), n.rank(1)] as const;
  const a = centred(n.x(0), n.has(4) ? byRow(n.x(4), ranks[0]) : null);
  const product = knownLevels(n, 1, 5)?.times(a) ??
    matMul(a, centred(n.x(1), n.has(5) ? oneOf(n.x(5)) : null), ranks);
  const scale = tf.mul(byRow(n.x(2), ranks[0]), oneOf(n.x(3)));
  const y = tf.mul(product, to(scale, "float32"));
  return to(n.has(6) ? tf.add(y, to(n.x(6), "float32")) : y, n.dtype(2));
}

function qGemm(n: NodeCall): Tensor {
  const { attributes } = n;
  // Scales and zero points of B may be those of its columns, which are rows of a transposed one.
  const isTurned = attributes.flag("transB"), zeroB = oneOf(n.x(5));
  const own = isTurned && zeroB.staticShape?.length === 1 ? tf.expandDims(zeroB, 1) : zeroB;
  const a = centred(n.x(0), oneOf(n.x(2))), b = centred(n.x(3), own);
  let y = tf.matMul(a, b, attributes.flag("transA"), isTurned);
  if (n.has(6)) y = tf.add(y, to(n.x(6), "float32"));
  const scale = tf.mul(oneOf(n.x(1)), oneOf(n.x(4))), alpha = attributes.float("alpha", 1);
  y = tf.mul(y, alpha === 1 ? scale : tf.mul(scale, alpha));
  return n.has(7) ? requantised(n, y, 7, 0) : y;
}

/** Dequantises the input at `i`, whose scale and zero point are the next two. */
function levelsAt(n: NodeCall, i: number): Tensor {
  return dequantise(n.x(i), parameter(n, i + 1), n.has(i + 2) ? parameter(n, i + 2) : null);
}

/** Quantises a result by the scale at `i` and the zero point behind it, to the levels of input `like`. */
function requantised(n: NodeCall, y: Tensor, i: number, like: number): Tensor {
  const levels = levelsOfInput(n, n.has(i + 1) ? i + 1 : like);
  return quantise(y, parameter(n, i), n.has(i + 1) ? parameter(n, i + 1) : null, levels);
}

/** Makes the rule of a function of one quantised input. */
function one(f: (x: Tensor, n: NodeCall) => Tensor): Rule {
  return (n) => requantised(n, f(levelsAt(n, 0), n), 3, 0);
}

/** Makes the rule of a function of two quantised inputs. */
function two(f: (a: Tensor, b: Tensor) => Tensor): Rule {
  return (n) => requantised(n, f(levelsAt(n, 0), levelsAt(n, 3)), 6, 0);
}

function concat(n: NodeCall): Tensor {
  const parts: Tensor[] = [];
  for (let i = 2; i < n.count; i += 3) parts.push(levelsAt(n, i));
  return requantised(n, tf.concat(parts, n.axis("axis", 0, n.rank(2))), 0, 2);
}

function where(n: NodeCall): Tensor {
  return requantised(n, tf.where(n.x(0), levelsAt(n, 1), levelsAt(n, 4)), 7, 1);
}

function globalAveragePool(x: Tensor, n: NodeCall): Tensor {
  const from = n.attributes.flag("channels_last") ? 1 : 2;
  return tf.mean(x, Array.from({ length: n.rank(0) - 2 }, (_, i) => i + from), true);
}

function averagePool(x: Tensor, n: NodeCall): Tensor {
  const { rule } = AVERAGE;
  if (n.attributes.flag("channels_last")) return channelsLast(n.with([Value.of(x)]), rule!)[0];
  const y = rule!(n.with([Value.of(x)])) as RuleOutput;
  return n.with([y instanceof Value ? y : Value.of(y as Tensor)]).x(0);
}

const AVERAGE = POOLS.find(({ name }) => name === "AveragePool")!;

/** Returns the softmax of an axis; before version 13 of ONNX of all axes from it on. */
function softmax(x: Tensor, n: NodeCall): Tensor {
  const isOne = n.attributes.int("opset", 13) >= 13, rank = n.rank(0);
  const axis = n.axis("axis", isOne ? -1 : 1, rank);
  if (isOne || axis === rank - 1) return tf.softmax(x, axis);
  const outer = n.concrete(0).slice(0, axis).reduce((a, b) => a * b, 1);
  return tf.reshape(tf.softmax(tf.reshape(x, [outer, -1]), 1), [...n.concrete(0)]);
}

export const QUANTISED_CONTRIB: readonly OpEntry[] = [
  op("DequantizeLinear", 1, dequantizeLinear, { domain }),
  op("DynamicQuantizeMatMul", 1, dynamicQuantizeMatMul, { domain }),
  op("GatherBlockQuantized", 1, gatherBlockQuantized, { domain }),
  op("MatMulIntegerToFloat", 1, matMulIntegerToFloat, { domain }),
  op("MatMulNBits", 1, matMulNBits, { domain }),
  op("QGemm", 1, qGemm, { domain }),
  op("QLinearAdd", 1, two(tf.add), { domain, pointwise: true }),
  op("QLinearAveragePool", 1, one(averagePool), { domain }),
  op("QLinearConcat", 1, concat, { domain }),
  op("QLinearGlobalAveragePool", 1, one(globalAveragePool), { domain }),
  op(
    "QLinearLeakyRelu",
    1,
    one((x, n) => tf.leakyRelu(x, n.attributes.float("alpha", 0.01))),
    { domain },
  ),
  op("QLinearMul", 1, two(tf.mul), { domain, pointwise: true }),
  op("QLinearSigmoid", 1, one((x) => tf.sigmoid(x)), { domain, pointwise: true }),
  op("QLinearSoftmax", 1, one(softmax), { domain }),
  op("QLinearWhere", 1, where, { domain }),
  op("QuantizeLinear", 1, quantizeLinear, { domain }),
];
