/** First steps from guides to tensors, slices, ragged and sparse tensors, variables and random numbers. */

import * as tf from "@weft/weft";
import { after, ONLY_STEP, testPrograms } from "./harness.ts";
import { gradient } from "./network.ts";

type T = tf.Tensor;
const ints = (...values: number[]): T => tf.tensor(values, [values.length], "int32");
const pairs = (...values: number[]): T => tf.reshape(ints(...values), [-1, 2]);
const all = (x: T): T => tf.cast(tf.all(x), "int32");

testPrograms([
  {
    name: "guide: shapes, axes and casts",
    inputs: { x: [3, 2, 4] },
    without: ONLY_STEP,
    build: () => ({ x }) => ({
      shape: tf.shape(x),
      flat: tf.reshape(x, [-1]),
      moved: tf.transpose(x, [2, 0, 1]),
      largest: tf.cast(tf.argMax(x, -1), "int32"),
      soft: tf.softmax(x, -1),
      whole: tf.cast(tf.mul(x, 10), "int32"),
      short: tf.cast(tf.cast(tf.add(tf.abs(tf.mul(x, 100)), 0.25), "uint8"), "int32"),
    }),
  },
  {
    name: "guide: rows against columns",
    inputs: { x: [3], y: [4] },
    without: ONLY_STEP,
    build: () => ({ x, y }) => {
      const column = tf.reshape(x, [3, 1]);
      return {
        table: tf.mul(column, y),
        same: tf.mul(tf.broadcastTo(column, [3, 4]), tf.broadcastTo(y, [3, 4])),
        pow: tf.pow(tf.add(column, 2), tf.range(0, 4)),
        less: tf.cast(tf.less(column, y), "int32"),
      };
    },
  },
  {
    name: "guide: slices by steps, from the end, with new axes and what is left out",
    inputs: { x: [4, 5, 3] },
    without: ONLY_STEP,
    build: () => ({ x }) => ({
      // x[1:3, ::-2, ..., tf.newaxis]
      a: tf.stridedSlice(x, [1, 0, 0, 0], [3, 0, 0, 0], [1, -2, 1, 1], 2, 2, 4, 8),
      // x[-1]
      b: tf.stridedSlice(x, [-1], [0], [1], 0, 1, 0, 0, 1),
      // x[..., 1]
      c: tf.stridedSlice(x, [0, 1], [0, 2], [1, 1], 0, 0, 1, 0, 2),
      // x[:, 1:-1:2]
      d: tf.stridedSlice(x, [0, 1], [0, -1], [1, 2], 1, 1),
      e: tf.slice(x, [0, 2, 1], [-1, 2, 2]),
    }),
  },
  {
    name: "guide: picked by indices",
    inputs: { x: [4, 5], i: { below: 4, shape: [3] } },
    without: ONLY_STEP,
    build: () => ({ x, i }) => ({
      rows: tf.gather(x, i),
      columns: tf.gather(x, i, 1),
      each: tf.gather(x, tf.reshape(tf.tile(i, [4]), [4, 3]), 1, 1),
      points: tf.gatherND(x, pairs(0, 4, 3, 1, 2, 2)),
      diagonal: tf.gatherND(
        x,
        tf.stack([tf.range(0, 4, 1, "int32"), tf.range(0, 4, 1, "int32")], 1),
      ),
    }),
  },
  {
    name: "guide: put in by indices",
    inputs: { x: [6, 2], u: [3, 2] },
    without: ONLY_STEP,
    build: () => ({ x, u }) => {
      const at = tf.reshape(ints(4, 1, 4), [3, 1]);
      const tape = new tf.GradientTape({ persistent: true });
      tape.watch([x, u]);
      const added = tf.tensorScatterAdd(x, at, u);
      const put = tf.tensorScatterUpdate(x, tf.reshape(ints(0, 5, 2), [3, 1]), u);
      const y = tf.add(tf.sum(tf.square(added)), tf.sum(tf.pow(put, 3)));
      const [dx, du] = tape.gradient(y, [x, u]) as T[];
      tape.dispose();
      return { fresh: tf.scatterND(at, u, [6, 2]), added, put, dx, du };
    },
  },
  {
    name: "guide: a ragged tensor of sums, means and lengths",
    inputs: { x: [7] },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const rows = tf.RaggedTensor.fromRowLengths(x, ints(3, 0, 2, 2));
      const tape = new tf.GradientTape();
      tape.watch(x);
      const squares = tf.RaggedTensor.fromRowLengths(tf.square(x), ints(3, 0, 2, 2));
      const sums = tf.ragged.sum(squares, 1) as T;
      const padded = rows.toTensor({ defaultValue: -1 }), means = tf.ragged.mean(rows, 1) as T;
      return {
        sums,
        means: tf.where(tf.isNaN(means), 0, means),
        lengths: tf.cast(rows.rowLengths(), "int32"),
        padded,
        ids: tf.cast(rows.valueRowIds(), "int32"),
        dx: gradient(tape, tf.sum(tf.mul(sums, [1, 2, 3, 4])), x),
      };
    },
  },
  {
    name: "guide: ragged rows mapped, joined and picked",
    without: ONLY_STEP,
    build: () => () => {
      const digits = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6], []]);
      const doubled = digits.map((v) => tf.add(tf.mul(v, 2), 1));
      const joined = tf.ragged.stack([digits, doubled]);
      const both = tf.ragged.concatRows([digits, tf.ragged.constant([[5, 3], [7]])]);
      return {
        doubled: doubled.toTensor(),
        both: both.toTensor({ defaultValue: -1 }),
        most: tf.ragged.max(both, 0) as T,
        columns: tf.ragged.mean(both, 0) as T,
        picked: digits.gather([3, 0]).toTensor(),
        joined: joined.toTensor({ defaultValue: 9 }),
        ranges: tf.ragged.range([3, 0, 2]).toTensor({ defaultValue: -1 }),
      };
    },
  },
  {
    name: "guide: a sparse tensor made dense, and the gradient of its values",
    inputs: { values: [3] },
    without: ONLY_STEP,
    build: () => ({ values }) => {
      const tape = new tf.GradientTape();
      tape.watch(values);
      const dense = new tf.SparseTensor(pairs(0, 3, 2, 4, 2, 5), values, [3, 6]).toDense();
      return {
        dense,
        g: gradient(tape, tf.sum(tf.square(tf.matMul(dense, tf.ones([6, 2])))), values),
      };
    },
  },
  {
    name: "guide: means of sparse lists of embeddings",
    variables: { table: [8, 3] },
    inputs: { ids: { below: 8, shape: [5] } },
    without: ONLY_STEP,
    build: ({ v: { table } }) => ({ ids }) => {
      const rows = ints(0, 0, 1, 1, 1);
      const tape = new tf.GradientTape();
      const sums = tf.unsortedSegmentSum(tf.gather(table, ids), rows, 2);
      const means = tf.div(sums, [[2], [3]]);
      return { means, g: tf.add(gradient(tape, tf.square(means), table), 0) };
    },
  },
  {
    name: "guide: variables that are shaped, assigned and copied",
    variables: {
      a: { values: [2, 3, 4, 5], shape: [2, 2] },
      b: { values: [1, 1], dtype: "int32" },
    },
    inputs: { x: [2, 2] },
    without: ONLY_STEP,
    build: ({ v: { a, b }, effect }) => ({ x }) => {
      const flat = tf.reshape(a, [1, 4]), copy = tf.add(a, 0);
      const place = tf.cast(tf.argMax(a, 0), "int32");
      const one = effect(after([flat, copy, place], () => a.assign(x)));
      const two = effect(after([one], () => a.assignAdd([[1, 2], [3, 4]])));
      const done = effect(after([two], () => b.assignSub(ints(3, 5))));
      return after([done], () => ({ flat, copy, place, now: tf.add(a, 0), b: tf.add(b, 0) }));
    },
  },
  {
    name: "guide: rows of a variable, added to, taken from and replaced",
    variables: { v: [5, 2] },
    inputs: { u: [2, 2] },
    without: ONLY_STEP,
    build: ({ v: { v }, effect }) => ({ u }) => {
      const rows = (...at: number[]) => new tf.IndexedSlices(u, ints(...at));
      const a = effect(v.scatterAdd(rows(1, 1)));
      const b = effect(after([a], () => v.scatterSub(rows(0, 4))));
      const c = effect(after([b], () => v.scatterUpdate(rows(2, 3))));
      return after([c], () => ({ v: tf.add(v, 0) }));
    },
  },
  {
    name: "guide: draws without state are the same for the same seed",
    without: ONLY_STEP,
    build: () => () => {
      const draw = (seed: number[]) => tf.random.statelessUniform([100], seed);
      const normal = tf.random.statelessNormal([4000], [7, 8]);
      const { mean, variance } = tf.moments(normal);
      return {
        same: all(tf.equal(draw([1, 2]), draw([1, 2]))),
        other: all(tf.equal(draw([1, 2]), draw([2, 1]))),
        within: all(tf.logicalAnd(tf.greaterEqual(draw([3, 4]), 0), tf.less(draw([3, 4]), 1))),
        mean: tf.cast(tf.round(tf.mul(mean, 5)), "int32"),
        variance: tf.cast(tf.round(tf.mul(variance, 5)), "int32"),
      };
    },
  },
  {
    name: "guide: products of every kind",
    inputs: { a: [2, 3, 4], b: [2, 4, 5], c: [4] },
    without: ONLY_STEP,
    build: () => ({ a, b, c }) => ({
      batches: tf.matMul(a, b),
      across: tf.einsum("bij,bjk->ik", a, b),
      vector: tf.tensordot(a, c, 1),
      outer: tf.tensordot(c, c, 0),
      norms: tf.norm(a, "euclidean", [1, 2]),
      traces: tf.einsum("bij,bij->b", a, a),
    }),
  },
]);
