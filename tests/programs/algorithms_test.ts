/** Algorithms that are no networks, written with loops. */

import * as tf from "@weft/weft";
import { after, NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const column = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [-1, 1]);

testPrograms([
  {
    name: "k-means",
    variables: { centers: { shape: [3, 2], scale: 2 }, seen: { values: [0, 0, 0] } },
    inputs: { points: { shape: [12, 2], scale: 3 } },
    without: ONLY_STEP,
    build: ({ v: { centers, seen }, effect }) => ({ points }) => {
      const apart = tf.sub(tf.expandDims(points, 1), centers);
      const nearest = tf.argMin(tf.sum(tf.square(apart), 2), 1);
      const count = tf.unsortedSegmentSum(tf.ones([12]), nearest, 3);
      const sums = tf.unsortedSegmentSum(points, nearest, 3);
      const hasAny = tf.greater(column(count), 0);
      const next = tf.where(hasAny, tf.divNoNan(sums, column(count)), centers);
      const moved = effect(centers.assign(next));
      after([moved], () => effect(seen.assignAdd(count)));
      return { nearest, count };
    },
  },
  {
    name: "the largest eigenvalue by powers",
    variables: { v: { values: [1, 1, 1], shape: [3, 1] } },
    inputs: { a: { shape: [3, 3], offset: 0.6 } },
    without: ONLY_STEP,
    build: ({ v: { v }, effect }) => ({ a }) => {
      const m = tf.matMul(a, a, true);
      const [x] = tf.whileLoop(
        (_, change) => tf.greater(change, 1e-4),
        (x) => {
          const y = tf.matMul(m, x);
          const next = tf.div(y, tf.norm(y));
          return [next, tf.norm(tf.sub(next, x))];
        },
        [tf.div(v, tf.norm(v)), tf.scalar(1)],
        { maximumIterations: 60 },
      );
      effect(v.assign(x));
      return { value: tf.sum(tf.mul(x, tf.matMul(m, x))), vector: x };
    },
  },
  {
    name: "conjugate gradients",
    variables: { x: { values: [0, 0, 0, 0], shape: [4, 1] } },
    inputs: { a: [4, 4], b: [4, 1] },
    without: ONLY_STEP,
    build: ({ v: { x: start }, effect }) => ({ a, b }) => {
      const m = tf.add(tf.matMul(a, a, true), tf.eye(4));
      const dot = (p: tf.Tensor, q: tf.Tensor): tf.Tensor => tf.sum(tf.mul(p, q));
      const r = tf.sub(b, tf.matMul(m, start));
      const [, x, left] = tf.whileLoop(
        (i, _x, r) => tf.logicalAnd(tf.less(i, 10), tf.greater(dot(r, r), 1e-6)),
        (i, x, r, p) => {
          const mp = tf.matMul(m, p), rr = dot(r, r);
          const alpha = tf.div(rr, dot(p, mp));
          const rest = tf.sub(r, tf.mul(alpha, mp));
          const beta = tf.div(dot(rest, rest), rr);
          return [
            tf.add(i, 1),
            tf.add(x, tf.mul(alpha, p)),
            rest,
            tf.add(rest, tf.mul(beta, p)),
          ];
        },
        [tf.scalar(0, "int32"), start.readValue(), r, r],
      );
      effect(start.assign(tf.mul(x, 0.5)));
      return { x, isSolved: tf.less(dot(left, left), 1e-5) };
    },
  },
  {
    name: "an ordinary differential equation, its field trained through the solver",
    variables: { w: { shape: [2, 2], scale: 0.8 }, b: [1, 2] },
    inputs: { start: { shape: [3, 2], scale: 1 }, end: { shape: [3, 2], scale: 1 } },
    build: ({ v: { w, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const field = (y: tf.Tensor): tf.Tensor => tf.tanh(tf.add(tf.matMul(y, w), b));
      const along = (y: tf.Tensor, k: tf.Tensor, h: number): tf.Tensor => tf.add(y, tf.mul(k, h));
      const flow = forward((y: tf.Tensor) =>
        tf.whileLoop(
          (t) => tf.less(t, 0.99),
          (t, y) => {
            const h = 0.25, k1 = field(y), k2 = field(along(y, k1, h / 2));
            const k3 = field(along(y, k2, h / 2)), k4 = field(along(y, k3, h));
            const slope = tf.addN([k1, tf.mul(k2, 2), tf.mul(k3, 2), k4]);
            return [tf.add(t, h), along(y, slope, h / 6)];
          },
          [tf.scalar(0), y],
        )[1]
      );
      const cost = loss((start: tf.Tensor, end: tf.Tensor) => meanSquare(tf.sub(flow(start), end)));
      return ({ start, end }) => ({ cost: minimize(optimizer, () => cost(start, end)).cost });
    },
  },
  {
    name: "the likeliest path through hidden states",
    variables: { switches: { shape: [3, 3], scale: 1 } },
    inputs: { emissions: { shape: [5, 3], scale: 1 } },
    without: NO_FORWARD,
    build: ({ v: { switches }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      // The sum over all paths is trained; the best of them is only read.
      const unlikely = loss((emissions: tf.Tensor) => {
        const total = tf.foldl(
          (a: tf.Tensor, e: tf.Tensor) =>
            tf.add(tf.logSumExp(tf.add(column(a), tf.logSoftmax(switches)), 0), e),
          tf.slice(emissions, [1, 0], [4, 3]),
          { initializer: tf.gather(emissions, 0) },
        );
        return tf.neg(tf.logSumExp(total));
      });
      return ({ emissions }) => {
        const best = tf.scan(
          ([a]: [tf.Tensor, tf.Tensor], e: tf.Tensor): [tf.Tensor, tf.Tensor] => {
            const ways = tf.add(column(a), switches);
            return [tf.add(tf.max(ways, 0), e), tf.argMax(ways, 0)];
          },
          tf.slice(emissions, [1, 0], [4, 3]),
          {
            initializer: [tf.gather(emissions, 0), tf.zeros([3], "int32")] as [
              tf.Tensor,
              tf.Tensor,
            ],
          },
        );
        const last = tf.argMax(tf.gather(best[0], 3), 0);
        const path = tf.scan(
          (at: tf.Tensor, from: tf.Tensor) => tf.gather(from, at),
          best[1],
          { initializer: last, reverse: true },
        );
        return { path, last, cost: minimize(optimizer, () => unlikely(emissions)).cost };
      };
    },
  },
  {
    name: "a Kalman filter over measurements",
    variables: { level: { values: [0], shape: [] }, spread: { values: [1], shape: [] } },
    inputs: { measured: { shape: [8], offset: 1 } },
    without: ONLY_STEP,
    build: ({ v: { level, spread }, effect }) => ({ measured }) => {
      const [levels, spreads] = tf.scan(
        ([x, p]: [tf.Tensor, tf.Tensor], z: tf.Tensor): [tf.Tensor, tf.Tensor] => {
          const before = tf.add(p, 0.1);
          const gain = tf.div(before, tf.add(before, 0.5));
          return [tf.add(x, tf.mul(gain, tf.sub(z, x))), tf.mul(tf.sub(1, gain), before)];
        },
        measured,
        { initializer: [level.readValue(), spread.readValue()] as [tf.Tensor, tf.Tensor] },
      );
      effect(level.assign(tf.gather(levels, 7)));
      effect(spread.assign(tf.gather(spreads, 7)));
      return { levels, spreads };
    },
  },
]);
