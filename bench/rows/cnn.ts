// One training step of a small convolutional network on images the size of MNIST.

import type { Scalar, Tensor, Tensor2D, Tensor4D, Variable } from "@tensorflow/tfjs-core";
import { permute } from "../layout.ts";
import type { JaxArray, JaxPeer } from "../peers/jax.ts";
import { type Tf, tfOutput } from "../peers/tfjs.ts";
import { type Weft, weftOutput } from "../peers/weft.ts";
import { integers, normals } from "../random.ts";
import { convReluPool64, crossEntropy64, matmul64 } from "../reference.ts";
import type { Case, Output, Row } from "../row.ts";
import { firstLosses, jaxUpdate, oneHotOf } from "../training.ts";

const BATCH = 64;

const SIZE = 28;

const CHANNELS = [1, 16, 32] as const;

const CLASSES = 10;

const RATE = 0.05;

const FEATURES = (SIZE / 4) ** 2 * CHANNELS[2];

const FILTERS = [
  [3, 3, CHANNELS[0], CHANNELS[1]],
  [3, 3, CHANNELS[1], CHANNELS[2]],
] as const;

interface Problem {
  readonly images: Float32Array<ArrayBuffer>;
  readonly labels: Int32Array<ArrayBuffer>;
  readonly filters: readonly [Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>];
  readonly dense: Float32Array<ArrayBuffer>;
}

function problem(): Problem {
  return {
    images: normals(BATCH * SIZE * SIZE, 1),
    labels: integers(BATCH, 2, CLASSES),
    filters: [normals(9 * 16, 3, 0.3), normals(9 * 16 * 32, 4, 0.1)],
    dense: normals(FEATURES * CLASSES, 5, 0.03),
  };
}

function referenceLoss(): number {
  const { images, labels, filters, dense } = problem();
  const first = convReluPool64(images, filters[0], { batch: BATCH, size: SIZE, from: 1, to: 16 });
  const shape = { batch: BATCH, size: SIZE / 2, from: 16, to: 32 };
  const second = convReluPool64(first, filters[1], shape);
  return crossEntropy64(matmul64(second, dense, [BATCH, FEATURES, CLASSES]), labels, CLASSES);
}

interface TfTraining {
  readonly step: () => Scalar;
  dispose(): void;
}

function tfTraining(tf: Tf): TfTraining {
  const data = problem();
  const images: Tensor4D = tf.tensor4d(data.images, [BATCH, SIZE, SIZE, 1]);
  const labels: Tensor2D = tf.tensor2d(oneHotOf(data.labels, CLASSES), [BATCH, CLASSES]);
  const variables: Variable[] = tf.tidy(() => [
    ...data.filters.map((values, i) => tf.variable(tf.tensor4d(values, [...FILTERS[i]!]))),
    tf.variable(tf.tensor2d(data.dense, [FEATURES, CLASSES])),
  ]);
  const [filter1, filter2, dense] = variables as Tensor[];
  const optimizer = tf.train.sgd(RATE);
  function block(x: Tensor4D, filter: Tensor): Tensor4D {
    return tf.maxPool(tf.relu(tf.conv2d(x, filter as Tensor4D, 1, "same")), 2, 2, "valid");
  }
  function loss(): Scalar {
    const features = block(block(images, filter1!), filter2!);
    const logits = tf.matMul(tf.reshape(features, [BATCH, FEATURES]), dense as Tensor2D);
    return tf.losses.softmaxCrossEntropy(labels, logits) as Scalar;
  }
  return {
    step: () => optimizer.minimize(loss, true) as Scalar,
    dispose: () => tf.dispose([images, labels, ...variables]),
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
  const { jax: { lax, nn, numpy }, array } = peer;
  const data = problem();
  const images = array(data.images, [BATCH, 1, SIZE, SIZE]);
  const labels = array(oneHotOf(data.labels, CLASSES), [BATCH, CLASSES]);
  const filters = data.filters.map((values, i) => {
    const [height, width, from, to] = FILTERS[i]!;
    return array(permute(values, FILTERS[i]!, [3, 2, 0, 1]), [to, from, height, width]);
  });
  // Flattening channels first visits the features in another order.
  const denseValues = permute(data.dense, [7, 7, CHANNELS[2], CLASSES], [2, 0, 1, 3]);
  const dense = array(denseValues, [FEATURES, CLASSES]);

  function block(x: JaxArray, filter: JaxArray, size: number, to: number): JaxArray {
    const y = nn.relu(lax.convGeneralDilated(x, filter, [1, 1], [[1, 1], [1, 1]]));
    return numpy.max(y.reshape([BATCH, to, size / 2, 2, size / 2, 2]), [3, 5]);
  }
  function loss(
    [filter1, filter2, dense]: JaxArray[],
    images: JaxArray,
    labels: JaxArray,
  ): JaxArray {
    const first = block(images, filter1!, SIZE, 16);
    const features = block(first, filter2!, SIZE / 2, 32).reshape([BATCH, FEATURES]);
    return nn.logSoftmax(numpy.matmul(features, dense!)).mul(labels).sum().mul(-1 / BATCH);
  }
  const training = jaxUpdate(peer, loss, [...filters, dense], [images, labels], { rate: RATE });
  return {
    call: training.call,
    result: () => firstLosses(training.call),
    dispose: training.dispose,
  };
}

/** Rows of this file. */
export const CNN_ROWS: readonly Row[] = [{
  id: "cnn_step",
  what: "CNN step, 2 × (conv 3×3, relu, pool) and dense, batch 64, SGD (jax-js: jit)",
  flop: 2 * BATCH * (SIZE ** 2 * 9 * 16 * 2 + (SIZE / 2) ** 2 * 9 * 16 * 32 * 3) +
    6 * BATCH * FEATURES * CLASSES,
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
