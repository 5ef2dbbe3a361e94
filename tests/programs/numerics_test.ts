/** Gradients where care is needed, dtypes side by side, families of ops in one program each. */

import * as tf from "@weft/weft";
import { NO_FORWARD, ONLY_STEP, testPrograms } from "./harness.ts";

const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));
const gradientOf = (f: () => tf.Tensor, x: tf.Tensor): { y: tf.Tensor; dx: tf.Tensor } => {
  const tape = new tf.GradientTape();
  tape.watch(x);
  const y = f();
  return { y, dx: tape.gradient(y, x) as tf.Tensor };
};

testPrograms([
  {
    name: "custom gradients: rounding passed straight through, and a gradient that is clipped",
    variables: { w: { shape: [3, 2], scale: 2 } },
    inputs: { x: [4, 3], y: [4, 2] },
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.5));
      const rounded = tf.customGrad((x) => ({
        value: tf.div(tf.round(tf.mul(x, 4)), 4),
        gradFunc: (dy) => dy,
      }));
      const clipped = tf.customGrad((x, save) => {
        (save as tf.SaveFunction)([x]);
        return {
          value: tf.square(x),
          gradFunc: (dy, [x]) => tf.clipByValue(tf.mul(dy, tf.mul(2, x)), -0.05, 0.05),
        };
      });
      const predict = forward((x: tf.Tensor) => tf.matMul(x, rounded(w)));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => tf.mean(clipped(tf.sub(predict(x), y))));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "float64, float32, int32 and bool in one loss",
    variables: {
      w: { shape: [3, 2], dtype: "float64" },
      b: { shape: [2] },
      steps: { values: [0], shape: [], dtype: "int32" },
    },
    inputs: {
      x: { shape: [4, 3], dtype: "float64" },
      ids: { shape: [4], below: 2 },
      mask: { values: [1, 0, 1, 1], dtype: "bool" },
    },
    build: ({ v: { w, b, steps }, forward, loss, minimize, effect, own }) => {
      const optimizer = own(tf.train.momentum(0.5, 0.5));
      const logits = forward((x: tf.Tensor) => tf.add(tf.cast(tf.matMul(x, w), "float32"), b));
      const cost = loss((x: tf.Tensor, ids: tf.Tensor, mask: tf.Tensor) => {
        const each = tf.sparseSoftmaxCrossEntropyWithLogits({ labels: ids, logits: logits(x) });
        const kept = tf.cast(mask, "float32");
        return tf.div(tf.sum(tf.mul(each, kept)), tf.sum(kept));
      });
      return ({ x, ids, mask }) => {
        effect(steps.assignAdd(tf.sum(tf.cast(mask, "int32"))));
        return { cost: minimize(optimizer, () => cost(x, ids, mask)).cost };
      };
    },
    tolerance: { value: 2e-5, reason: "the gradient of the float64 weights comes through float32" },
  },
  {
    name: "float16 in the forward pass, float32 for the weights",
    variables: { w: [3, 4], u: [4, 2] },
    inputs: { x: { shape: [5, 3], dtype: "float16" }, y: [5, 2] },
    build: ({ v: { w, u }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.25));
      const half = (t: tf.Tensor): tf.Tensor => tf.cast(t, "float16");
      const predict = forward((x: tf.Tensor) => tf.matMul(tf.relu(tf.matMul(x, half(w))), half(u)));
      // The loss is scaled, as it is where small gradients would be lost.
      const cost = loss((x: tf.Tensor, y: tf.Tensor) =>
        meanSquare(tf.sub(tf.cast(predict(x), "float32"), y))
      );
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
    tolerance: { value: 2e-3, reason: "float16 has 11 bits, and each product rounds to them" },
  },
  {
    name: "ties of max and min, and roots at zero behind a mask",
    variables: { w: { values: [1, 2, 2, -1, -1, 0], shape: [2, 3] } },
    inputs: { x: { values: [0, 4, 0, 1, 9, 0], shape: [2, 3] } },
    steps: 1,
    without: NO_FORWARD,
    build: ({ v: { w }, loss, effect }) => {
      const ties = loss((w: tf.Tensor) =>
        tf.addN([
          tf.sum(tf.max(w, 1)),
          tf.sum(tf.mul(tf.min(w, 1), 0.5)),
          tf.max(tf.maximum(w, 2)),
          tf.sum(tf.minimum(w, [[1, 2, 3], [-1, -2, 5]])),
          tf.sum(tf.relu(w)),
          tf.sum(tf.abs(w)),
        ])
      );
      const roots = loss((x: tf.Tensor) => {
        const isPositive = tf.greater(x, 0);
        const root = tf.where(isPositive, tf.sqrt(x), tf.zerosLike(x));
        const turned = tf.where(isPositive, tf.rsqrt(x), tf.zerosLike(x));
        return tf.add(tf.sum(root), tf.sum(turned));
      });
      return ({ x }) => {
        const { y, dx: dw } = gradientOf(() => ties(w), w);
        const masked = gradientOf(() => roots(x), x);
        effect(w.assignSub(dw));
        return { y, dw, roots: masked.y, dRoots: masked.dx };
      };
    },
  },
  {
    name: "NaN and infinity, which no literal zero hides",
    variables: { w: { values: [1, 1, 1, 1] } },
    inputs: { x: { values: [NaN, Infinity, -Infinity, 2] } },
    without: ONLY_STEP,
    build: ({ v: { w }, effect }) => ({ x }) => {
      const isUnknown = {
        product: tf.isNaN(tf.mul(x, 0)),
        sum: tf.isNaN(tf.mul(tf.add(x, 1), 0)),
        quotient: tf.isNaN(tf.div(0, x)),
        scaled: tf.isNaN(tf.sum(tf.mul(tf.mul(x, 0), w))),
      };
      effect(w.assign(tf.where(isUnknown.product, w, tf.mul(x, w))));
      return { ...isUnknown, least: tf.isNaN(tf.min(x)), clipped: tf.isNaN(tf.relu(x)) };
    },
  },
  {
    name: "a loss over spectra",
    variables: { filter: [8] },
    inputs: { x: [2, 8], y: [2, 8] },
    build: ({ v: { filter }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const filtered = forward((x: tf.Tensor) => tf.rfft(tf.mul(x, filter)));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => {
        const d = tf.sub(filtered(x), tf.rfft(y));
        return tf.mean(tf.add(tf.square(tf.real(d)), tf.square(tf.imag(d))));
      });
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "sorted, gathered, summed by segments and along rows",
    variables: { w: { shape: [4, 5], scale: 1 } },
    inputs: { weights: [5], ids: { shape: [4], below: 3 }, order: { shape: [2, 3], below: 4 } },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const cost = loss((weights: tf.Tensor, ids: tf.Tensor, order: tf.Tensor) => {
        const { values } = tf.topk(w, 3);
        const running = tf.cumsum(tf.mul(w, weights), 1, true);
        const products = tf.cumprod(tf.sigmoid(w), 0);
        const groups = tf.unsortedSegmentSum(w, ids, 3);
        const picked = tf.gather(w, order, 0);
        return tf.addN([
          tf.sum(tf.mul(values, [3, 2, 1])),
          tf.sum(tf.square(running)),
          tf.sum(products),
          tf.sum(tf.exp(groups)),
          meanSquare(picked),
        ]);
      });
      return ({ weights, ids, order }) => ({
        cost: minimize(optimizer, () => cost(weights, ids, order)).cost,
      });
    },
  },
  {
    name: "elements moved about in every way",
    variables: { w: { shape: [2, 3, 4], scale: 1 } },
    inputs: { x: [2, 3, 4] },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.05));
      const cost = loss((x: tf.Tensor) => {
        const turned = tf.transpose(tf.reverse(w, [1]), [2, 0, 1]);
        const padded = tf.mirrorPad(tf.pad(turned, [[1, 0], [0, 0], [2, 1]]), [[0, 1], [1, 1], [
          0,
          0,
        ]], "reflect");
        const strided = tf.stridedSlice(padded, [0, 0, 0], [6, 4, 6], [2, 1, 2]);
        const [left, right] = tf.split(w, [1, 2], 1);
        const joined = tf.concat([right, tf.tile(left, [1, 2, 1]), tf.roll(x, 1, 2)], 1);
        const [a, b] = tf.unstack(tf.reshape(joined, [2, -1]));
        const space = tf.depthToSpace(tf.reshape(w, [1, 2, 3, 4]), 2);
        return tf.addN([
          meanSquare(strided),
          tf.sum(tf.mul(a, tf.sin(b))),
          tf.sum(tf.exp(tf.slice(w, [0, 1, 1], [2, 1, 2]))),
          tf.sum(tf.mul(space, space)),
          tf.sum(tf.square(tf.broadcastTo(tf.slice(w, [0, 0, 0], [1, 3, 1]), [2, 3, 4]))),
        ]);
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "every elementary function in one sum",
    variables: { w: { shape: [7], scale: 0.7 } },
    inputs: { x: { shape: [7], scale: 0.3, offset: 0.5 } },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.001));
      // deno-fmt-ignore
      const near: ((x: tf.Tensor) => tf.Tensor)[] = [
        tf.sin, tf.cos, tf.tan, tf.asin, tf.acos, tf.atan, tf.sinh, tf.cosh, tf.tanh, tf.asinh,
        tf.atanh, tf.exp, tf.expm1, tf.sigmoid, tf.softplus, tf.softsign, tf.elu, tf.selu, tf.gelu,
        tf.erf, tf.leakyRelu, tf.relu6, tf.logSigmoid, tf.square, tf.neg, tf.abs,
      ];
      // deno-fmt-ignore
      const positive: ((x: tf.Tensor) => tf.Tensor)[] = [
        tf.log, tf.log1p, tf.sqrt, tf.rsqrt, tf.reciprocal, tf.acosh,
      ];
      const cost = loss((x: tf.Tensor) => {
        const high = tf.add(1.5, tf.mul(w, x));
        return tf.addN([
          ...near.map((f) => tf.sum(f(w))),
          ...positive.map((f) => tf.sum(f(high))),
          tf.sum(tf.pow(high, x)),
          tf.sum(tf.atan2(w, x)),
          tf.sum(tf.div(w, x)),
          tf.sum(tf.squaredDifference(w, x)),
          tf.sum(tf.mod(high, x)),
        ]);
      });
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "triangular systems and orthogonal columns",
    variables: { a: { shape: [3, 3], scale: 1 }, b: [3, 2] },
    inputs: { y: [3, 2] },
    build: ({ v: { a, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.05));
      const solved = forward((b: tf.Tensor) => {
        const lower = tf.add(tf.linalg.bandPart(a, -1, 0), tf.mul(tf.eye(3), 3));
        return tf.linalg.triangularSolve(lower, b, true);
      });
      const cost = loss((y: tf.Tensor) =>
        tf.add(meanSquare(tf.sub(solved(b), y)), tf.mul(0.1, tf.sum(tf.einsum("ij,kj->ik", a, a))))
      );
      return ({ y }) => ({ cost: minimize(optimizer, () => cost(y)).cost });
    },
  },
  {
    name: "whole numbers: shifts, bits, divisions and counts",
    variables: { counts: { values: [0, 0, 0, 0, 0], dtype: "int32" } },
    inputs: { x: { shape: [6], below: 11 }, y: { shape: [6], below: 5 } },
    without: ONLY_STEP,
    build: ({ v: { counts }, effect }) => ({ x, y }) => {
      const below = tf.sub(x, 5), divisor = tf.add(y, 1);
      effect(counts.assignAdd(tf.cast(tf.bincount(y, [], 5), "int32")));
      return {
        floor: tf.floorDiv(below, divisor),
        mod: tf.mod(below, divisor),
        bits: tf.bitwiseXor(tf.leftShift(x, y), tf.bitwiseAnd(x, 6)),
        power: tf.pow(below, y),
        least: tf.argMin(below),
        order: tf.gather(x, tf.argsort(y)),
        any: tf.any(tf.equal(x, y)),
        truth: tf.logicalAnd(tf.greater(x, 3), tf.logicalNot(tf.cast(y, "bool"))),
      };
    },
  },
]);
