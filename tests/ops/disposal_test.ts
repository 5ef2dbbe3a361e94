/** A call leaves its results, and no intermediate tensors. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

const numbers = (shape: number[]): tf.Tensor =>
  tf.tensor(
    Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.sin(3 * i)),
    shape,
  );

/** Inputs of all calls: of each dtype, of each rank that is taken for another. */
interface Inputs {
  readonly x: tf.Tensor;
  readonly y: tf.Tensor;
  readonly ints: tf.Tensor;
  readonly truths: tf.Tensor;
  readonly bools: tf.Tensor;
  readonly vector: tf.Tensor;
  readonly square: tf.Tensor;
  readonly image: tf.Tensor;
  readonly gray: tf.Tensor;
  readonly filter: tf.Tensor;
}

function inputs(): Inputs {
  return {
    x: numbers([3, 4]),
    y: numbers([3, 4]),
    truths: tf.ones([3, 4], "bool"),
    ints: tf.tensor([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1]], [3, 4], "int32"),
    bools: tf.tensor([[true, false, true, false]]),
    vector: numbers([6]),
    square: numbers([4, 4]),
    image: numbers([8, 8, 3]),
    gray: tf.tensor(Int32Array.from({ length: 64 }, (_, i) => 4 * i), [8, 8, 1], "int32"),
    filter: numbers([3, 3, 3, 4]),
  };
}

type Call = (given: Inputs) => unknown;
type Unary = (x: tf.TensorLike) => tf.Tensor;
type Binary = (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor;

const UNARY: readonly Unary[] = [
  tf.abs,
  tf.square,
  tf.exp,
  tf.erf,
  tf.asin,
  tf.relu,
  tf.selu,
  tf.softplus,
  tf.isNaN,
  tf.step,
  tf.reciprocal,
  (x) => tf.sum(x),
  (x) => tf.mean(x),
  (x) => tf.max(x, 1),
  (x) => tf.logSumExp(x),
  (x) => tf.norm(x),
  (x) => tf.argMax(x, 1),
];
const BINARY: readonly Binary[] = [
  tf.add,
  tf.div,
  tf.divNoNan,
  tf.floorDiv,
  tf.pow,
  tf.maximum,
  tf.squaredDifference,
  tf.atan2,
  tf.less,
  tf.equal,
];

const { losses, image, linalg, signal, fused } = tf;
const OTHERS: Readonly<Record<string, Call>> = {
  "where() of two dtypes": ({ x, ints, bools }) => tf.where(bools, x, ints),
  "clipByValue() of integers": ({ ints }) => tf.clipByValue(ints, 0.5, 2),
  "concat() of two dtypes": ({ x, ints }) => tf.concat([x, ints]),
  "matMul() of two dtypes": ({ x, ints }) => tf.matMul(x, ints, false, true),
  "eye() of a batch": () => tf.eye(3, 3, [2]),
  "a large eye()": () => tf.eye(100),
  "meshgrid()": ({ vector }) => tf.meshgrid(vector, vector),
  "multinomial() of a vector": ({ vector }) => tf.multinomial(vector, 3),
  "dot()": ({ vector }) => tf.dot(vector, vector),
  "dot() of two dtypes": ({ ints, square }) => tf.dot(ints, square),
  "outerProduct()": ({ vector }) => tf.outerProduct(vector, vector),
  "gramSchmidt()": ({ square }) => linalg.gramSchmidt(square),
  "gramSchmidt() of a list": () => linalg.gramSchmidt([[1, 2], [3, 5]] as never),
  "moments()": ({ x }) => tf.moments(x, 1),
  "conv2d() of one image": ({ image, filter }) =>
    tf.conv2d(image as never, filter as never, 1, "same"),
  "maxPool() of one image": ({ image }) => tf.maxPool(image as never, 2, 2, "same"),
  "fused.conv2d() of one image": ({ image: x, filter }) =>
    fused.conv2d({ x, filter, strides: 1, pad: "same", activation: "relu" }),
  "resizeBilinear() of one image": ({ image: x }) => image.resizeBilinear(x as never, [4, 4]),
  "rgbToGrayscale()": ({ image: x }) => image.rgbToGrayscale(x as never),
  "threshold() by a value": ({ gray }) => image.threshold(gray as never, "binary"),
  "threshold() by Otsu": ({ gray }) => image.threshold(gray as never, "otsu"),
  "stft()": ({ vector }) => signal.stft(vector as never, 4, 2),
  "absoluteDifference()": ({ x, y }) => losses.absoluteDifference(x, y),
  "cosineDistance()": ({ x, y }) => losses.cosineDistance(x, y, 1),
  "hingeLoss()": ({ x, y }) => losses.hingeLoss(x, y),
  "huberLoss()": ({ x, y }) => losses.huberLoss(x, y),
  "logLoss()": ({ x, y }) => losses.logLoss(x, y),
  "meanSquaredError()": ({ x, y }) => losses.meanSquaredError(x, y),
  "meanSquaredError() with weights": ({ ints, y }) => losses.meanSquaredError(ints, y, 0.5),
  "meanSquaredError() without a reduction": ({ x, y }) =>
    losses.meanSquaredError(x, y, null, tf.Reduction.NONE),
  "sigmoidCrossEntropy()": ({ x, y }) => losses.sigmoidCrossEntropy(x, y, null, 0.1),
  "softmaxCrossEntropy()": ({ x, y }) => losses.softmaxCrossEntropy(x, y, null, 0.1),
};

function calls(): [string, Call][] {
  return [
    ...UNARY.flatMap((fn): [string, Call][] => [
      [`${fn} of floats`, ({ x }) => fn(x)],
      [`${fn} of integers`, ({ ints }) => fn(ints)],
      [`${fn} of booleans`, ({ bools }) => fn(bools)],
    ]),
    ...BINARY.flatMap((fn): [string, Call][] => [
      [`${fn.name}() of floats`, ({ x, y }) => fn(x, y)],
      [`${fn.name}() of integers and floats`, ({ x, ints }) => fn(ints, x)],
      [`${fn.name}() of integers and a fraction`, ({ ints }) => fn(ints, 1.5)],
      // True, since false is a zero that nothing can be divided by.
      [`${fn.name}() of booleans`, ({ bools, truths }) => fn(bools, truths)],
    ]),
    ...Object.entries(OTHERS),
  ];
}

function tensorsIn(result: unknown): number {
  if (result instanceof tf.Tensor) return 1;
  if (typeof result !== "object" || result === null) return 0;
  return Object.values(result).reduce<number>((n, x) => n + tensorsIn(x), 0);
}

testOnDevices("calls leave their results behind, and no other tensor", () => {
  tf.tidy(() => {
    const given = inputs();
    for (const [name, call] of calls()) {
      const before = tf.memory().numTensors;
      const made = tensorsIn(call(given));
      assertEquals([name, tf.memory().numTensors - before], [name, made]);
    }
  });
});

testOnDevices("a call that fails leaves nothing behind", () => {
  tf.tidy(() => {
    const { ints } = inputs(), before = tf.memory().numTensors;
    for (const call of [() => tf.matMul(ints, [[1.5]]), () => tf.div(ints, [1.5, 2])]) {
      try {
        call();
      } catch {
        // What it throws is told elsewhere.
      }
    }
    assertEquals(tf.memory().numTensors, before);
  });
});
