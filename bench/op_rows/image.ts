// Products, convolutions, pooling and images of ordinary sizes.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { Tf } from "../peers/tfjs.ts";
import { normals, sizeOf } from "../random.ts";
import type { Row } from "../row.ts";
import { binaryCase, type Given, opCase, shapesText, unaryCase } from "./op_case.ts";

const FEATURES = [4, 56, 56, 16] as const, POOLED = [16, 56, 56, 32] as const;

/** A row of an op on tensors of these shapes; `never`, since TensorFlow.js's types name ranks. */
function cases(
  id: string,
  shapes: readonly (readonly number[])[],
  apply: (tf: Tf, ...inputs: never[]) => Given,
): Row {
  return opCase(id, (tf) => {
    const inputs: Tensor[] = shapes.map((shape, i) =>
      tf.tensor(normals(sizeOf(shape), i + 1, 0.5), [...shape])
    );
    return () => apply(tf, ...inputs as never[]);
  }, { what: shapesText(shapes) });
}

/** Rows of this file. */
export const IMAGE_ROWS: readonly Row[] = [
  binaryCase("matMul_row", [[1, 512], [512, 512]], (tf, a, b) => tf.matMul(a, b)),
  binaryCase("matMul_batch", [[32, 64, 64], [32, 64, 64]], (tf, a, b) => tf.matMul(a, b)),
  binaryCase("matMul_TN", [[256, 256], [256, 256]], (tf, a, b) => tf.matMul(a, b, true)),
  binaryCase("matMul_NT", [[256, 256], [256, 256]], (tf, a, b) => tf.matMul(a, b, false, true)),
  binaryCase("dot", [[100_000], [100_000]], (tf, a, b) => tf.dot(a, b)),
  binaryCase(
    "outerProduct",
    [[1000], [1000]],
    (tf, a, b) => tf.outerProduct(a as never, b as never),
  ),
  cases("conv2d", [FEATURES, [3, 3, 16, 32]], (tf, x, w) => tf.conv2d(x, w, 1, "same")),
  cases("conv2d_gray", [[32, 28, 28, 1], [3, 3, 1, 8]], (tf, x, w) => tf.conv2d(x, w, 1, "same")),
  cases("conv2d_strided", [FEATURES, [5, 5, 16, 16]], (tf, x, w) => tf.conv2d(x, w, 2, "same")),
  cases(
    "conv2dTranspose",
    [[4, 28, 28, 16], [3, 3, 16, 16]],
    (tf, x, w) => tf.conv2dTranspose(x, w, [4, 56, 56, 16], 2, "same"),
  ),
  cases("conv1d", [[16, 256, 16], [3, 16, 32]], (tf, x, w) => tf.conv1d(x, w, 1, "same")),
  cases(
    "separableConv2d",
    [FEATURES, [3, 3, 16, 1], [1, 1, 16, 32]],
    (tf, x, w, p) => tf.tidy(() => tf.separableConv2d(x, w, p, 1, "same")),
  ),
  unaryCase("maxPool_2", POOLED, (tf, x) => tf.maxPool(x as never, 2, 2, "valid")),
  unaryCase("maxPool_3", POOLED, (tf, x) => tf.maxPool(x as never, 3, 1, "same")),
  unaryCase("avgPool_3", POOLED, (tf, x) => tf.avgPool(x as never, 3, 2, "same")),
  unaryCase(
    "localResponseNorm",
    [4, 28, 28, 32],
    (tf, x) => tf.localResponseNormalization(x as never),
  ),
  unaryCase(
    "resizeBilinear",
    [8, 64, 64, 3],
    (tf, x) => tf.image.resizeBilinear(x as never, [128, 128]),
  ),
  unaryCase(
    "resizeNearest",
    [8, 64, 64, 3],
    (tf, x) => tf.image.resizeNearestNeighbor(x as never, [128, 128]),
  ),
  unaryCase("flipLeftRight", [8, 64, 64, 3], (tf, x) => tf.image.flipLeftRight(x as never)),
  opCase("cropAndResize", (tf) => {
    const x = tf.tensor4d(normals(64 * 64 * 3, 1), [1, 64, 64, 3]);
    const boxes = tf.tensor2d([[0, 0, 0.5, 0.5]]), of = tf.tensor1d([0], "int32");
    return () => tf.image.cropAndResize(x, boxes, of, [96, 96]);
  }),
  unaryCase("rfft", [64, 1024], (tf, x) => tf.tidy(() => tf.real(tf.spectral.rfft(x)))),
  cases("complex", [[512, 512], [512, 512]], (tf, re, im) =>
    tf.tidy(() => {
      const z = tf.complex(re, im);
      return tf.abs(tf.add(tf.mul(z, z), z));
    })),
  unaryCase(
    "spectrogram",
    [16_000],
    (tf, x) => tf.tidy(() => tf.abs(tf.signal.stft(x as never, 400, 160, 512))),
  ),
  cases(
    "mel",
    [[16_000], [257, 40]],
    (tf, x, weights) =>
      tf.tidy(() => tf.matMul(tf.abs(tf.signal.stft(x, 400, 160, 512)), tf.abs(weights))),
  ),
];
