/** Models of the usual kinds, trained for a few steps beside TensorFlow. */

import * as tf from "@weft/weft";
import { NO_FORWARD, testPrograms } from "./harness.ts";

const dense = (x: tf.Tensor, w: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.add(tf.matMul(x, w), b);
const crossEntropy = (labels: tf.Tensor, logits: tf.Tensor): tf.Tensor =>
  tf.mean(tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }));
const meanSquare = (x: tf.Tensor): tf.Tensor => tf.mean(tf.square(x));

testPrograms([
  {
    name: "a classifier of two layers, with its accuracy",
    variables: { w1: [4, 6], b1: [6], w2: [6, 3], b2: [3] },
    inputs: { x: [7, 4], y: { shape: [7], below: 3 } },
    build: ({ v: { w1, b1, w2, b2 }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const logits = forward((x: tf.Tensor) => dense(tf.relu(dense(x, w1, b1)), w2, b2));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => crossEntropy(y, logits(x)));
      return ({ x, y }) => ({
        accuracy: tf.mean(tf.cast(tf.equal(tf.argMax(logits(x), 1), y), "float32")),
        cost: minimize(optimizer, () => cost(x, y)).cost,
      });
    },
  },
  {
    name: "a small convolutional network",
    variables: { k1: [3, 3, 1, 3], b1: [3], k2: [2, 2, 3, 4], w: [16, 2], b: [2] },
    inputs: { x: [2, 8, 8, 1], y: { shape: [2], below: 2 } },
    build: ({ v: { k1, b1, k2, w, b }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.momentum(0.1, 0.9));
      const logits = forward((x: tf.Tensor) => {
        const h = tf.relu(tf.add(tf.conv2d(x as tf.Tensor, k1, 1, "same"), b1));
        const g = tf.relu(tf.conv2d(tf.maxPool(h, 2, 2, "valid"), k2, 2, "valid"));
        return dense(tf.reshape(g, [-1, 16]), w, b);
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => crossEntropy(y, logits(x)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a dense layer with batch norm and moving averages",
    variables: {
      w: [3, 4],
      gamma: { shape: [4], offset: 1, scale: 0.2 },
      beta: [4],
      mean: { values: [0, 0, 0, 0] },
      variance: { values: [1, 1, 1, 1] },
    },
    inputs: { x: { shape: [6, 3], scale: 2 }, y: [6, 4] },
    build: ({ v: { w, gamma, beta, mean, variance }, forward, loss, minimize, effect, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      mean.trainable = variance.trainable = false;
      const decay = (average: tf.Variable, now: tf.Tensor) =>
        effect(average.assign(tf.add(tf.mul(average, 0.9), tf.mul(now, 0.1))));
      const train = forward((x: tf.Tensor) => {
        const h = tf.matMul(x, w), now = tf.moments(h, 0);
        decay(mean, now.mean);
        decay(variance, now.variance);
        return tf.batchNorm(h, now.mean, now.variance, beta, gamma, 1e-3);
      });
      const infer = (x: tf.Tensor): tf.Tensor =>
        tf.batchNorm(tf.matMul(x, w), mean, variance, beta, gamma, 1e-3);
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(train(x), y)));
      return ({ x, y }) => {
        const before = infer(x);
        // A graph does not say whether a variable is read before it is assigned: this does.
        const after = () => ({ before, cost: minimize(optimizer, () => cost(x, y)).cost });
        return tf.controlDependencies([before], after);
      };
    },
  },
  {
    name: "a convolution with batch norm over images",
    variables: { k: [3, 3, 2, 3], gamma: { shape: [3], offset: 1, scale: 0.2 }, beta: [3] },
    inputs: { x: { shape: [2, 5, 5, 2], scale: 2 }, y: [2, 5, 5, 3] },
    build: ({ v: { k, gamma, beta }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const predict = forward((x: tf.Tensor) => {
        const h = tf.conv2d(x, k, 1, "same");
        const { mean, variance } = tf.moments(h, [0, 1, 2]);
        return tf.relu(tf.batchNorm(h, mean, variance, beta, gamma, 1e-3));
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "an attention block",
    variables: {
      qkv: [6, 18],
      out: [6, 6],
      gamma: { shape: [6], offset: 1, scale: 0.2 },
      beta: [6],
      up: [6, 8],
      down: [8, 6],
    },
    inputs: { x: [2, 4, 6], y: [2, 4, 6] },
    build: ({ v: { qkv, out, gamma, beta, up, down }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adamw(0.01, 0.1));
      const heads = (x: tf.Tensor): tf.Tensor =>
        tf.transpose(tf.reshape(x, [2, 4, 2, 3]), [0, 2, 1, 3]);
      const times = (x: tf.Tensor, w: tf.Tensor): tf.Tensor => tf.einsum("bti,io->bto", x, w);
      const block = forward((x: tf.Tensor) => {
        const [q, k, v] = tf.split(times(tf.layerNorm(x, gamma, beta, 1e-3), qkv), 3, -1);
        const scores = tf.div(tf.matMul(heads(q), heads(k), false, true), Math.sqrt(3));
        const mixed = tf.matMul(tf.softmax(scores), heads(v));
        const joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [2, 4, 6]);
        const h = tf.add(x, times(joined, out));
        return tf.add(h, times(tf.gelu(times(h, up)), down));
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(block(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a causal language model over embeddings",
    variables: { table: [5, 4], place: [6, 4], q: [4, 4], k: [4, 4], w: [4, 4] },
    inputs: { tokens: { shape: [2, 6], below: 5 } },
    build: ({ v: { table, place, q, k, w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.02));
      const logits = forward((tokens: tf.Tensor) => {
        const x = tf.add(tf.gather(table, tokens), place);
        const flat = tf.reshape(x, [12, 4]);
        const rows = (w: tf.Tensor): tf.Tensor => tf.reshape(tf.matMul(flat, w), [2, 6, 1, 4]);
        const mixed = tf.scaledDotProductAttention(rows(q), rows(k), rows(w), { causal: true });
        return tf.einsum("btd,vd->btv", tf.add(tf.squeeze(mixed, [2]), x), table);
      });
      const cost = loss((tokens: tf.Tensor) => {
        const seen = tf.slice(logits(tokens), [0, 0, 0], [2, 5, 5]);
        const next = tf.slice(tokens, [0, 1], [2, 5]);
        return crossEntropy(tf.reshape(next, [10]), tf.reshape(seen, [10, 5]));
      });
      return ({ tokens }) => ({ cost: minimize(optimizer, () => cost(tokens)).cost });
    },
  },
  {
    name: "embeddings with repeated rows",
    variables: { table: [6, 3], w: [3, 2] },
    inputs: { ids: { values: [1, 4, 1, 1, 0, 4], dtype: "int32" }, y: [6, 2] },
    build: ({ v: { table, w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adagrad(0.1));
      const predict = forward((ids: tf.Tensor) => tf.matMul(tf.gather(table, ids), w));
      const cost = loss((ids: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(ids), y)));
      return ({ ids, y }) => ({ cost: minimize(optimizer, () => cost(ids, y)).cost });
    },
  },
  {
    name: "a variational autoencoder with noise that is fed",
    variables: { enc: [5, 4], toMean: [4, 2], toScale: [4, 2], dec: [2, 5] },
    inputs: { x: { shape: [3, 5], offset: 0.5 }, noise: { shape: [3, 2], scale: 1 } },
    build: ({ v: { enc, toMean, toScale, dec }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.02));
      const encode = forward((x: tf.Tensor) => {
        const h = tf.tanh(tf.matMul(x, enc));
        return { mean: tf.matMul(h, toMean), logScale: tf.matMul(h, toScale) };
      });
      const bound = loss((x: tf.Tensor, noise: tf.Tensor) => {
        const { mean, logScale } = encode(x);
        const logits = tf.matMul(tf.add(mean, tf.mul(tf.exp(logScale), noise)), dec);
        const likely = tf.sub(tf.softplus(logits), tf.mul(logits, x));
        const divergence = tf.sub(
          tf.add(tf.square(mean), tf.exp(tf.mul(2, logScale))),
          tf.add(1, tf.mul(2, logScale)),
        );
        return tf.mean(tf.add(tf.sum(likely, 1), tf.mul(0.5, tf.sum(divergence, 1))));
      });
      return ({ x, noise }) => ({ cost: minimize(optimizer, () => bound(x, noise)).cost });
    },
  },
  {
    name: "a generator against a discriminator",
    variables: { g1: [2, 4], g2: [4, 3], d1: [3, 4], d2: [4, 1] },
    inputs: { real: { shape: [4, 3], offset: 1 }, noise: [4, 2] },
    build: ({ v: { g1, g2, d1, d2 }, forward, loss, minimize, own }) => {
      const forG = own(tf.train.adam(0.02, 0.5)), forD = own(tf.train.adam(0.02, 0.5));
      const generate = forward((z: tf.Tensor) => tf.matMul(tf.relu(tf.matMul(z, g1)), g2));
      const judge = forward((x: tf.Tensor) => tf.matMul(tf.leakyRelu(tf.matMul(x, d1), 0.2), d2));
      const dLoss = loss((real: tf.Tensor, z: tf.Tensor) =>
        tf.add(
          tf.mean(tf.softplus(tf.neg(judge(real)))),
          tf.mean(tf.softplus(judge(generate(z)))),
        )
      );
      const gLoss = loss((z: tf.Tensor) => tf.mean(tf.softplus(tf.neg(judge(generate(z))))));
      return ({ real, noise }) => {
        const d = minimize(forD, () => dLoss(real, noise), [d1, d2]);
        const g = tf.controlDependencies(
          d.train ? [d.train] : [],
          () => minimize(forG, () => gLoss(noise), [g1, g2]),
        );
        return { d: d.cost, g: g.cost };
      };
    },
  },
  {
    name: "frozen layers, by trainable = false",
    variables: { w1: [3, 4], b1: [4], w2: [4, 2], b2: [2] },
    inputs: { x: [5, 3], y: [5, 2] },
    build: ({ v: { w1, b1, w2, b2 }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.1));
      w1.trainable = b2.trainable = false;
      const predict = forward((x: tf.Tensor) => dense(tf.tanh(dense(x, w1, b1)), w2, b2));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "frozen layers, by a list",
    variables: { w1: [3, 4], b1: [4], w2: [4, 2], b2: [2] },
    inputs: { x: [5, 3], y: [5, 2] },
    build: ({ v: { w1, b1, w2, b2 }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.1));
      const features = forward((x: tf.Tensor) => tf.tanh(dense(x, w1, b1)));
      const cost = loss((x: tf.Tensor, y: tf.Tensor) =>
        meanSquare(tf.sub(dense(features(x), w2, b2), y))
      );
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y), [w2, b1]).cost });
    },
  },
  {
    name: "an autoencoder with tied weights",
    variables: { w: [5, 3], b: [3], c: [5] },
    inputs: { x: [4, 5] },
    build: ({ v: { w, b, c }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.rmsprop(0.01, 0.9, 0, 1e-3));
      const decode = forward((x: tf.Tensor) =>
        tf.add(tf.matMul(tf.sigmoid(dense(x, w, b)), w, false, true), c)
      );
      const cost = loss((x: tf.Tensor) => meanSquare(tf.sub(decode(x), x)));
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "separable convolutions and a global average",
    variables: { d1: [3, 3, 2, 2], p1: [1, 1, 4, 3], d2: [3, 3, 3, 1], w: [3, 2] },
    inputs: { x: [2, 6, 6, 2], y: [2, 2] },
    build: ({ v: { d1, p1, d2, w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.5));
      const predict = forward((x: tf.Tensor) => {
        const h = tf.relu6(tf.separableConv2d(x, d1, p1, 2, "same"));
        return tf.matMul(tf.mean(tf.depthwiseConv2d(h, d2, 1, "same"), [1, 2]), w);
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "a transposed convolution that undoes a convolution",
    variables: { down: [3, 3, 1, 3], up: [3, 3, 1, 3] },
    inputs: { x: [2, 6, 6, 1] },
    build: ({ v: { down, up }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.adam(0.05));
      const rebuild = forward((x: tf.Tensor) =>
        tf.conv2dTranspose(tf.elu(tf.conv2d(x, down, 2, "same")), up, [2, 6, 6, 1], 2, "same")
      );
      const cost = loss((x: tf.Tensor) => meanSquare(tf.sub(rebuild(x), x)));
      return ({ x }) => ({ cost: minimize(optimizer, () => cost(x)).cost });
    },
  },
  {
    name: "a contrastive loss over normalized rows",
    variables: { w: [4, 3] },
    inputs: { a: [5, 4], b: [5, 4] },
    build: ({ v: { w }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const embed = forward((x: tf.Tensor) => {
        const y = tf.matMul(x, w);
        return tf.div(y, tf.norm(y, 2, 1, true));
      });
      const cost = loss((a: tf.Tensor, b: tf.Tensor) => {
        const alike = tf.div(tf.matMul(embed(a), embed(b), false, true), 0.5);
        return tf.mean(tf.sub(tf.logSumExp(alike, 1), tf.linalg.bandPart(alike, 0, 0).sum(1)));
      });
      return ({ a, b }) => ({ cost: minimize(optimizer, () => cost(a, b)).cost });
    },
  },
  {
    name: "two experts and a gate that takes the better one",
    variables: { gate: [3, 2], one: [3, 2], two: [3, 2] },
    inputs: { x: { shape: [6, 3], scale: 1 }, y: [6, 2] },
    build: ({ v: { gate, one, two }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.2));
      const predict = forward((x: tf.Tensor) => {
        const odds = tf.softmax(tf.matMul(x, gate));
        const { values, indices } = tf.topk(odds, 1);
        const first = tf.equal(indices, 0);
        return tf.mul(values, tf.where(first, tf.matMul(x, one), tf.matMul(x, two)));
      });
      const cost = loss((x: tf.Tensor, y: tf.Tensor) => meanSquare(tf.sub(predict(x), y)));
      return ({ x, y }) => ({ cost: minimize(optimizer, () => cost(x, y)).cost });
    },
  },
  {
    name: "every loss of tf.losses at once",
    variables: { w: [4, 3] },
    inputs: {
      x: { shape: [5, 4], scale: 1 },
      y: { shape: [5, 3], scale: 0.45, offset: 0.5 },
      weights: { shape: [5, 1], offset: 1 },
    },
    without: NO_FORWARD,
    build: ({ v: { w }, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(0.1));
      const cost = loss((x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor) => {
        const p = tf.matMul(x, w), rows = tf.reshape(weights, [5]);
        return tf.addN([
          tf.losses.absoluteDifference(y, p, weights),
          tf.losses.cosineDistance(y, p, 1, weights),
          tf.losses.hingeLoss(y, p, weights),
          tf.losses.huberLoss(y, p, weights, 0.5),
          tf.losses.logLoss(y, tf.sigmoid(p), weights),
          tf.losses.meanSquaredError(y, p, weights),
          tf.losses.sigmoidCrossEntropy(y, p, weights, 0.1),
          tf.losses.softmaxCrossEntropy(tf.softmax(y), p, rows, 0.1),
        ]);
      });
      return ({ x, y, weights }) => ({ cost: minimize(optimizer, () => cost(x, y, weights)).cost });
    },
  },
  {
    name: "crops of resized images",
    variables: { image: [1, 4, 4, 2] },
    inputs: { y: [1, 3, 3, 2] },
    build: ({ v: { image }, forward, loss, minimize, own }) => {
      const optimizer = own(tf.train.sgd(2));
      const view = forward((x: tf.Tensor) => {
        const large = tf.image.resizeBilinear(x, [7, 7], false, true);
        return tf.avgPool(tf.slice(large, [0, 1, 0, 0], [1, 6, 6, 2]), 2, 2, "valid");
      });
      const cost = loss((y: tf.Tensor) => meanSquare(tf.sub(view(image), y)));
      return ({ y }) => ({ cost: minimize(optimizer, () => cost(y)).cost });
    },
  },
]);
