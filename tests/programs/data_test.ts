/** Training on what datasets give. */

import * as tf from "@weft/weft";
import { NO_FORWARD, testPrograms } from "./harness.ts";
import { valuesOf } from "./values.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const rows = (n: number, width: number, phase: number): number[][] =>
  valuesOf([n, width], phase).toArray() as number[][];

testPrograms([
  {
    name: "records that are mapped, filtered and batched",
    variables: { w: [3, 1] },
    dataset: () =>
      tf.data.fromTensorSlices({ x: rows(12, 3, 1), y: rows(12, 1, 2) })
        .filter(({ x }) => tf.greater(tf.sum(x), -0.4))
        .map(({ x, y }) => ({
          x: tf.numpyFunction(
            (x: tf.NdArray) => x.map((v) => 2 * Number(v)),
            [x],
            tf.TensorSpec([3], "float32"),
          ),
          y: tf.square(y),
        }))
        .repeat(2)
        .batch(4, { dropRemainder: true })
        .take(4)
        .prefetch(1),
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.1));
      const predict = forward((x: tf.Tensor) => tf.matMul(x, w));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "lists of several lengths, padded and masked",
    variables: { table: [6, 2] },
    dataset: () =>
      tf.data.fromGenerator(
        function* () {
          for (let i = 0; i < 9; i++) {
            yield {
              ids: Int32Array.from({ length: 1 + i % 4 }, (_, k) => (2 * i + k) % 6),
              y: Math.fround(Math.sin(i)),
            };
          }
        },
        {
          outputSignature: {
            ids: tf.TensorSpec([null], "int32"),
            y: tf.TensorSpec([], "float32"),
          },
        },
      ).paddedBatch(3, { paddedShapes: { ids: [5], y: [] }, paddingValues: { ids: -1, y: 0 } }),
    build: ({ v: { table }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.5));
      const summed = forward((ids: tf.Tensor) => {
        const isIn = tf.expandDims(tf.cast(tf.greaterEqual(ids, 0), "float32"), -1);
        return tf.sum(tf.mul(tf.gather(table, tf.maximum(ids, 0)), isIn), [1, 2]);
      });
      const cost = loss((ids: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(summed(ids), y)));
      return ({ ids, y }) => ({ cost: minimize(optimizer, () => cost(ids, y)).cost });
    },
  },
  {
    name: "a shuffled pass, whose order does not matter",
    variables: { w: [2, 2] },
    dataset: () =>
      tf.data.zip({
        x: tf.data.fromTensorSlices(rows(10, 2, 3)),
        n: tf.data.range(10),
      }).shuffle(10, 7).batch(10).repeat(2),
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.5));
      const cost = loss((x: tf.Tensor) => meanSquare(tf.sub(tf.matMul(x, w), x)));
      return ({ x, n }) => ({
        cost: minimize(optimizer, () => cost(x)).cost,
        sorted: tf.sort(tf.cast(n, "float32")),
      });
    },
  },
  {
    name: "a dataset whose bad elements are left out",
    variables: { w: [2, 1] },
    dataset: () =>
      tf.data.range(8).map((n) =>
        tf.numpyFunction(
          (n: tf.NdArray) => {
            const value = Number(n.item());
            if (value % 3 === 1) throw new tf.ValueError(`element ${value} is broken`);
            return [value * 0.5, 1 - value * 0.25];
          },
          [n],
          tf.TensorSpec([2], "float32"),
        )
      ).ignoreErrors().batch(2, { dropRemainder: true }).map((x) => ({ x })),
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.05));
      const predict = forward((x: tf.Tensor) => tf.matMul(x, w));
      const cost = loss((x: tf.Tensor) => meanSquare(tf.sub(predict(x), 1)));
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
]);
