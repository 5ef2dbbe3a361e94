// One training step of a tiny GPT: 4 layers of width 128 with 4 heads, 64 tokens, batch 16, Adam.
//
// Token embedding is a product with a one-hot matrix, which every system can differentiate on every device.

import type { Scalar, Tensor, Tensor2D, Variable } from "@tensorflow/tfjs-core";
import type { JaxArray, JaxPeer } from "../peers/jax.ts";
import { type Tf, tfOutput } from "../peers/tfjs.ts";
import { type Weft, weftOutput } from "../peers/weft.ts";
import { integers, normals, sizeOf } from "../random.ts";
import { crossEntropy64, layerNorm64, matmul64 } from "../reference.ts";
import type { Case, Output, Row } from "../row.ts";
import { ADAM, firstLosses, jaxUpdate, oneHotOf } from "../training.ts";

const LAYERS = 4;

const WIDTH = 128;

const HEADS = 4;

const HEAD = WIDTH / HEADS;

const LENGTH = 64;

const BATCH = 16;

const VOCABULARY = 65;

const TOKENS = BATCH * LENGTH;

const EPSILON = 1e-5;

const MASKED = -1e9;

/** Matrices of one layer: queries, keys and values; output; feed-forward up and down. */
const LAYER_SHAPES = [
  [WIDTH, 3 * WIDTH],
  [WIDTH, WIDTH],
  [WIDTH, 4 * WIDTH],
  [4 * WIDTH, WIDTH],
] as const;

/** All parameters: token and position embedding, the layers, the head. */
const SHAPES: readonly (readonly [number, number])[] = [
  [VOCABULARY, WIDTH],
  [LENGTH, WIDTH],
  ...Array.from({ length: LAYERS }, () => LAYER_SHAPES).flat(),
  [WIDTH, VOCABULARY],
];

interface Problem {
  readonly tokens: Int32Array<ArrayBuffer>;
  readonly labels: Int32Array<ArrayBuffer>;
  readonly mask: Float32Array<ArrayBuffer>;
  readonly parameters: readonly Float32Array<ArrayBuffer>[];
}

function problem(): Problem {
  return {
    tokens: integers(TOKENS, 1, VOCABULARY),
    labels: integers(TOKENS, 2, VOCABULARY),
    mask: Float32Array.from(
      { length: LENGTH ** 2 },
      (_, i) => i % LENGTH <= Math.floor(i / LENGTH) ? 0 : MASKED,
    ),
    parameters: SHAPES.map((shape, i) => normals(sizeOf(shape), 10 + i, 0.05)),
  };
}

function gelu64(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

function attention64(qkv: Float64Array): Float64Array {
  const result = new Float64Array(TOKENS * WIDTH);
  for (let token = 0; token < TOKENS; token++) {
    const start = token - token % LENGTH;
    for (let head = 0; head < HEADS; head++) {
      const weights: number[] = [];
      for (let key = start; key <= token; key++) {
        let score = 0;
        for (let i = 0; i < HEAD; i++) {
          const q = qkv[token * 3 * WIDTH + head * HEAD + i]!;
          score += q * qkv[key * 3 * WIDTH + WIDTH + head * HEAD + i]!;
        }
        weights.push(Math.exp(score / Math.sqrt(HEAD)));
      }
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [k, weight] of weights.entries()) {
        const value = (start + k) * 3 * WIDTH + 2 * WIDTH + head * HEAD;
        for (let i = 0; i < HEAD; i++) {
          const at = token * WIDTH + head * HEAD + i;
          result[at] = result[at]! + weight / total * qkv[value + i]!;
        }
      }
    }
  }
  return result;
}

function add64(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]!);
}

/** The loss before the first update, in float64. */
function referenceLoss(): number {
  const { tokens, labels, parameters } = problem();
  const [embedding, positions] = parameters;
  let x: Float64Array = new Float64Array(TOKENS * WIDTH).map((_, i) => {
    const token = Math.floor(i / WIDTH);
    const position = (token % LENGTH) * WIDTH + i % WIDTH;
    return embedding![tokens[token]! * WIDTH + i % WIDTH]! + positions![position]!;
  });
  for (let layer = 0; layer < LAYERS; layer++) {
    const [wQkv, wOut, wUp, wDown] = parameters.slice(2 + 4 * layer, 6 + 4 * layer);
    const qkv = matmul64(layerNorm64(x, WIDTH, EPSILON), wQkv!, [TOKENS, WIDTH, 3 * WIDTH]);
    x = add64(x, matmul64(attention64(qkv), wOut!, [TOKENS, WIDTH, WIDTH]));
    const up = matmul64(layerNorm64(x, WIDTH, EPSILON), wUp!, [TOKENS, WIDTH, 4 * WIDTH]);
    x = add64(x, matmul64(up.map(gelu64), wDown!, [TOKENS, 4 * WIDTH, WIDTH]));
  }
  const logits = matmul64(layerNorm64(x, WIDTH, EPSILON), parameters.at(-1)!, [
    TOKENS,
    WIDTH,
    VOCABULARY,
  ]);
  return crossEntropy64(logits, labels, VOCABULARY);
}

interface TfTraining {
  readonly step: () => Scalar;
  dispose(): void;
}

function tfTraining(tf: Tf): TfTraining {
  const data = problem();
  const tokens: Tensor2D = tf.tensor2d(oneHotOf(data.tokens, VOCABULARY), [TOKENS, VOCABULARY]);
  const labels: Tensor2D = tf.tensor2d(oneHotOf(data.labels, VOCABULARY), [TOKENS, VOCABULARY]);
  const mask: Tensor2D = tf.tensor2d(data.mask, [LENGTH, LENGTH]);
  const variables: Variable[] = tf.tidy(() =>
    data.parameters.map((values, i) => tf.variable(tf.tensor2d(values, [...SHAPES[i]!])))
  );
  const weights = variables as Tensor[] as Tensor2D[];
  const optimizer = tf.train.adam(ADAM.rate, ADAM.beta1, ADAM.beta2, ADAM.epsilon);

  function layerNorm(x: Tensor): Tensor2D {
    const centred = tf.sub(x, tf.mean(x, -1, true));
    const variance = tf.mean(tf.square(centred), -1, true);
    return tf.mul(centred, tf.rsqrt(tf.add(variance, EPSILON)));
  }
  function gelu(x: Tensor): Tensor2D {
    const cubic = tf.add(x, tf.mul(tf.mul(tf.square(x), x), 0.044715));
    return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(tf.mul(cubic, Math.sqrt(2 / Math.PI))), 1));
  }
  function attention(x: Tensor2D, wQkv: Tensor2D, wOut: Tensor2D): Tensor2D {
    const [q, k, v] = tf.split(tf.matMul(x, wQkv), 3, 1)
      .map((part) => tf.transpose(tf.reshape(part, [BATCH, LENGTH, HEADS, HEAD]), [0, 2, 1, 3]));
    const scores = tf.mul(tf.matMul(q!, k!, false, true), 1 / Math.sqrt(HEAD));
    const mixed = tf.matMul(tf.softmax(tf.add(scores, mask)), v!);
    return tf.matMul(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [TOKENS, WIDTH]), wOut);
  }
  function loss(): Scalar {
    const embedded = tf.reshape(tf.matMul(tokens, weights[0]!), [BATCH, LENGTH, WIDTH]);
    let x: Tensor2D = tf.reshape(tf.add(embedded, weights[1]!), [TOKENS, WIDTH]);
    for (let layer = 0; layer < LAYERS; layer++) {
      const [wQkv, wOut, wUp, wDown] = weights.slice(2 + 4 * layer, 6 + 4 * layer);
      x = tf.add(x, attention(layerNorm(x), wQkv!, wOut!));
      x = tf.add(x, tf.matMul(gelu(tf.matMul(layerNorm(x), wUp!)), wDown!));
    }
    const logits = tf.matMul(layerNorm(x), weights.at(-1)!);
    return tf.losses.softmaxCrossEntropy(labels, logits) as Scalar;
  }
  return {
    step: () => optimizer.minimize(loss, true) as Scalar,
    dispose: () => tf.dispose([tokens, labels, mask, ...variables]),
  };
}

function tfCase(tf: Tf, wrap: (loss: Tensor) => Output): Case {
  const training = tfTraining(tf);
  const call = () => wrap(training.step());
  return { call, result: () => firstLosses(call), dispose: training.dispose };
}

function weftFunctionCase(tf: Weft): Case {
  const training = tfTraining(tf);
  const step = tf.function(training.step);
  const call = () => weftOutput(tf, step());
  return { call, result: () => firstLosses(call), dispose: training.dispose };
}

function jaxCase(peer: JaxPeer): Case {
  const { jax: { nn, numpy }, array } = peer;
  const data = problem();
  const inputs = [
    array(oneHotOf(data.tokens, VOCABULARY), [TOKENS, VOCABULARY]),
    array(oneHotOf(data.labels, VOCABULARY), [TOKENS, VOCABULARY]),
    array(data.mask, [LENGTH, LENGTH]),
  ];

  function layerNorm(x: JaxArray): JaxArray {
    const centred = x.ref.sub(numpy.mean(x, 1, { keepdims: true }));
    const variance = numpy.mean(numpy.square(centred.ref), 1, { keepdims: true });
    return centred.div(numpy.sqrt(variance.add(EPSILON)));
  }
  function attention(x: JaxArray, wQkv: JaxArray, wOut: JaxArray, mask: JaxArray): JaxArray {
    const [q, k, v] = numpy.split(numpy.matmul(x, wQkv), 3, 1)
      .map((part) => numpy.transpose(part.reshape([BATCH, LENGTH, HEADS, HEAD]), [0, 2, 1, 3]));
    const scores = numpy.matmul(q!, numpy.swapaxes(k!, 2, 3)).mul(1 / Math.sqrt(HEAD));
    const mixed = numpy.matmul(nn.softmax(scores.add(mask)), v!);
    return numpy.matmul(numpy.transpose(mixed, [0, 2, 1, 3]).reshape([TOKENS, WIDTH]), wOut);
  }
  function loss(
    weights: JaxArray[],
    tokens: JaxArray,
    labels: JaxArray,
    mask: JaxArray,
  ): JaxArray {
    const embedded = numpy.matmul(tokens, weights[0]!).reshape([BATCH, LENGTH, WIDTH]);
    let x = embedded.add(weights[1]!).reshape([TOKENS, WIDTH]);
    for (let layer = 0; layer < LAYERS; layer++) {
      const [wQkv, wOut, wUp, wDown] = weights.slice(2 + 4 * layer, 6 + 4 * layer);
      x = x.ref.add(attention(layerNorm(x), wQkv!, wOut!, mask.ref));
      x = x.ref.add(numpy.matmul(nn.gelu(numpy.matmul(layerNorm(x), wUp!)), wDown!));
    }
    mask.dispose();
    const logits = numpy.matmul(layerNorm(x), weights.at(-1)!);
    return nn.logSoftmax(logits).mul(labels).sum().mul(-1 / TOKENS);
  }
  const parameters = data.parameters.map((values, i) => array(values, SHAPES[i]!));
  const training = jaxUpdate(peer, loss, parameters, inputs, ADAM);
  return {
    call: training.call,
    result: () => firstLosses(training.call),
    dispose: training.dispose,
  };
}

/** Multiplications of one forward pass per token, for the FLOP count. */
const WEIGHTS_PER_TOKEN = LAYERS * (12 * WIDTH ** 2 + 2 * LENGTH * WIDTH) +
  2 * WIDTH * VOCABULARY;

/** Rows of this file. */
export const GPT_ROWS: readonly Row[] = [{
  id: "gpt_step",
  what: "tiny GPT step, 4 layers of 128, 64 tokens, batch 16, Adam (jax-js: jit)",
  flop: 6 * TOKENS * WEIGHTS_PER_TOKEN,
  weft: ({ tf }) => tfCase(tf, (loss) => weftOutput(tf, loss)),
  weftFunction: ({ tf }) => weftFunctionCase(tf),
  tfjs: ({ tf }) => tfCase(tf, tfOutput),
  jax: jaxCase,
  check: {
    expected: () => [{ index: 0, value: referenceLoss() }],
    tolerance: 1e-3,
    agrees: true,
  },
}];
