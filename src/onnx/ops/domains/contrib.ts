/** Ops of onnxruntime that have no kin among ONNX's own: distances, inverses, blocked words. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, refusals } from "../../build/rule.ts";
import { extentOf } from "../heads.ts";
import { unique } from "../ordering.ts";
import { like, to, unary } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Returns the distance of each row of a matrix to each row of another. */
function distances(n: NodeCall): Tensor {
  const metric = n.attributes.text("metric", "sqeuclidean");
  if (metric !== "euclidean" && metric !== "sqeuclidean") n.lacks(`the metric "${metric}"`);
  // Differences, not products: rows that are near each other keep their digits.
  const apart = tf.sub(tf.expandDims(n.x(0), 1), tf.expandDims(n.x(1), 0));
  const sum = tf.sum(tf.square(apart), -1);
  return metric === "euclidean" ? tf.sqrt(sum) : sum;
}

/** Gives no chance to words that would repeat a sequence of `ngram_size` words. */
function blockRepeats(n: NodeCall): Tensor {
  const size = n.attributes.int("ngram_size", 1), scores = n.x(1), words = n.index(0);
  if (size < 1) n.fail(`ngram_size is ${size}, wanted at least 1`);
  const length = n.dims(0)[1];
  if (length !== null && length < size) return tf.identity(scores);
  // Words from place k on that have as many behind them as the last of a sequence would.
  const word = (k: number): Tensor =>
    tf.stridedSlice(words, [0, k], [0, k - size + 1], [1, 1], 1, k === size - 1 ? 3 : 1);
  const last = word(size - 1);
  let repeats = tf.equal(last, last);
  for (let k = 0; k < size - 1; k++) {
    const now = tf.slice(tf.reverse(words, 1), [0, size - 2 - k], [-1, 1]);
    repeats = tf.logicalAnd(repeats, tf.equal(word(k), now));
  }
  const rows = tf.expandDims(tf.range(0, extentOf(words, 0), 1, "int32"), 1);
  const row = tf.add(rows, tf.zerosLike(last));
  const at = tf.reshape(tf.stack([row, last], -1), [-1, 2]);
  const taken = tf.scatterND(at, tf.reshape(to(repeats, "int32"), [-1]), tf.shape(scores) as never);
  return tf.where(tf.greater(taken, 0), like(scores, -Infinity), scores);
}

const MICROSOFT = { domain: "com.microsoft" };

/** Refusals by their reasons. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "weights of 4-bit and 8-bit floats are not supported": [
    "GemmFloat8",
    "MatMulBlockQuantizedFp4Weight",
    "MatMulBlockQuantizedFp8Weight",
    "MatMulBnb4",
    "MatMulFpQ4",
  ],
  "generate() runs the decoder within": [
    "BeamSearch",
    "GreedySearch",
    "Sampling",
    "WhisperBeamSearch",
  ],
  "it is a layout of onnxruntime's GPU kernels, export without it": [
    "DecoderMaskedMultiHeadAttention",
    "DecoderMaskedSelfAttention",
    "LongformerAttention",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "PagedAttention",
    "QOrderedAttention",
    "QOrderedGelu",
    "QOrderedLayerNormalization",
    "QOrderedMatMul",
    "RemovePadding",
    "RestorePadding",
  ],
  "texts are split before the model": ["Tokenizer"],
  "it holds a program of another device": ["EPContext", "Snpe"],
};

/** Ops of onnxruntime alone. */
export const CONTRIB: readonly OpEntry[] = [
  op("CDist", 1, distances, MICROSOFT),
  op("Inverse", 1, unary(tf.inv), MICROSOFT),
  op("NGramRepeatBlock", 1, blockRepeats, MICROSOFT),
  op("Unique", 1, (n) => {
    const [values, , inverse, counts] = unique(n, false);
    return [values, inverse, counts];
  }, MICROSOFT),
  ...refusals(REFUSED, MICROSOFT.domain),
];
