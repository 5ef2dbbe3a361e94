/** Pipelines that any service can compute, TensorFlow's too: their elements come in order from one worker. */

import * as tf from "@weft/weft";

// deno-lint-ignore no-explicit-any
type AnyDataset = tf.data.Dataset<any>;

/** Numbers and texts of an element. */
export function plain(e: unknown): unknown {
  if (e instanceof tf.NdArray) return e.dtype === "string" ? e.strings() : e.toArray();
  if (e instanceof tf.RaggedArray) return e.toList();
  if (e instanceof tf.SparseArray) return [e.indices, e.values, e.denseShape].map(plain);
  if (Array.isArray(e)) return e.map(plain);
  return Object.fromEntries(Object.entries(e as object).map(([k, v]) => [k, plain(v)]));
}

const { range, fromTensors, fromTensorSlices, zip } = tf.data;
const ROWS = [[1, 2], [3, 4]];
const weights = (): tf.Tensor => tf.tensor([10, 20, 30]);

/** By name. */
export const PIPELINES: Readonly<Record<string, () => AnyDataset>> = {
  "a range": () => range(1, 9, 3),
  "a traced function": () => range(4).map((x) => tf.square(x)),
  "a function of records with strings, and a tensor from around it": () => {
    const w = weights();
    return fromTensorSlices({ x: [[1, 2, 3], [4, 5, 6]], y: ["a", "bü"] })
      .map(({ x, y }) => ({ scaled: tf.mul(x, w), y, length: tf.size(x) }));
  },
  "calls at once": () => range(6).map((x) => tf.neg(x), { numParallelCalls: 3 }),
  "filter, batch": () => range(8).filter((x) => tf.greater(x, 3)).batch(3),
  "takeWhile, skip, take": () => range(10).takeWhile((x) => tf.less(x, 7)).skip(1).take(4),
  "padded batches": () =>
    range(1, 4).map((n) => tf.fill([2], n))
      .paddedBatch(2, { paddedShapes: [3], paddingValues: -1 }),
  "repeat, prefetch, whole batches": () =>
    range(5).repeat(3).prefetch(2).batch(4, { dropRemainder: true }),
  "zip by names": () => zip({ b: range(3), a: range(10, 13) }),
  "concatenate, cache, options": () =>
    range(2).concatenate(range(5, 7)).cache().withOptions({ deterministic: true }),
  "a shard": () => range(10).shard(3, 1),
  "unbatch, enumerate": () => range(4).batch(2).unbatch().enumerate(5),
  "ignoreErrors": () => range(4).ignoreErrors(),
  "whole tensors": () => fromTensors({ x: ROWS, y: [true, false] }),
  "flatMap": () => fromTensorSlices(ROWS).flatMap((row) => fromTensorSlices(row)),
  "interleave with stages within, which read what is around them": () => {
    const w = weights();
    return fromTensorSlices(ROWS).interleave((row) =>
      fromTensorSlices(row)
        .map((x) => tf.add(tf.mul(x, tf.sum(row)), tf.gather(w, 1)))
        .repeat(2), { cycleLength: 2 });
  },
  "datasets within datasets": () =>
    fromTensorSlices([ROWS]).flatMap((m) =>
      fromTensorSlices(m).flatMap((row) => fromTensorSlices(row).map((x) => tf.add(x, tf.sum(m))))
    ),
  "ragged and sparse elements through functions, filters and repetition": () =>
    range(1, 5).map((n) => {
      const k = tf.cast(n, "int32"), x = tf.range(0, k, 1, "int32");
      return {
        rows: tf.RaggedTensor.fromRowLengths(x, tf.stack([1, tf.sub(k, 1)])),
        one: new tf.SparseTensor(
          tf.expandDims(tf.expandDims(tf.sub(k, 1), 0), 0),
          tf.expandDims(n, 0),
          [4],
        ),
      };
    })
      .filter(({ rows }) => tf.greater(tf.size(rows.flatValues), 1))
      .map(({ rows, one }) => ({ twice: rows.map((x) => tf.mul(x, 2)), one, rows }))
      .take(2).repeat(2).cache(),
  "a whole ragged tensor": () => fromTensors(tf.ragged.constant([[1], [2, 3]])),
  "interleave that reads ahead": () =>
    range(4).interleave((x) => fromTensors(x).repeat(2), { numParallelCalls: 2, cycleLength: 2 }),
};
