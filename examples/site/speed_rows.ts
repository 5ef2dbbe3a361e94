/**
 * The timed rows: each is written once for Weft and TensorFlow.js, whose functions have the same names, and some for
 * jax-js.
 */

import type * as Tfjs from "@tensorflow/tfjs-core";
import type * as Jax from "@jax-js/jax";

/** The functions of TensorFlow.js, and those of Weft under the same names. */
export type Tf = typeof Tfjs;

/** One thing to do, set up. Each call leaves a result. */
export type Call<T> = () => T;

/** A row of the table. */
export interface SpeedRow {
  /** Description of the work. */
  readonly what: string;
  /** Number of repetitions before the result is awaited. */
  readonly times: number;
  /** True where Weft runs it in a `tf.function`. */
  readonly compiled?: boolean;
  tf(tf: Tf): Call<Tfjs.Tensor>;
  jax?(jax: typeof Jax): Call<Jax.Array>;
}

const SIDE = 512;

/** Numbers that are the same for all. */
function numbers(shape: readonly number[]): Float32Array<ArrayBuffer> {
  const size = shape.reduce((a, b) => a * b, 1);
  return Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898) * 0.5);
}

function tensor(tf: Tf, ...shape: number[]): Tfjs.Tensor {
  return tf.tensor(numbers(shape), shape);
}

function jaxArray({ numpy }: typeof Jax, ...shape: number[]): Jax.Array {
  return numpy.array(numbers(shape)).reshape(shape);
}

/** All of them. */
export const ROWS: readonly SpeedRow[] = [
  {
    what: `Product of two matrices of ${SIDE} × ${SIDE}`,
    times: 4,
    tf(tf) {
      const a = tensor(tf, SIDE, SIDE), b = tensor(tf, SIDE, SIDE);
      return () => tf.matMul(a, b);
    },
    jax(jax) {
      const a = jaxArray(jax, SIDE, SIDE), b = jaxArray(jax, SIDE, SIDE);
      return () => jax.numpy.matmul(a.ref, b.ref);
    },
  },
  {
    what: "Convolution 3 × 3 of 56 × 56 × 64",
    times: 2,
    tf(tf) {
      const x = tensor(tf, 1, 56, 56, 64) as Tfjs.Tensor4D;
      const filter = tensor(tf, 3, 3, 64, 64) as Tfjs.Tensor4D;
      return () => tf.conv2d(x, filter, 1, "same");
    },
  },
  {
    what: "Softmax of 1,000 rows of 1,000",
    times: 4,
    tf(tf) {
      const x = tensor(tf, 1000, 1000);
      return () => tf.softmax(x);
    },
    jax(jax) {
      const x = jaxArray(jax, 1000, 1000);
      return () => jax.nn.softmax(x.ref);
    },
  },
  {
    what: "200 small ops, each on the last one's result",
    times: 2,
    compiled: true,
    tf(tf) {
      const x = tensor(tf, 16, 16);
      return () =>
        tf.tidy(() => {
          let y = x;
          for (let i = 0; i < 100; i++) y = tf.tanh(tf.add(y, x));
          return y;
        });
    },
  },
  {
    what: "Training step of a perceptron, 784–128–10",
    times: 2,
    compiled: true,
    tf(tf) {
      const x = tensor(tf, 64, 784);
      const y = tf.oneHot(tf.tensor1d(Array.from({ length: 64 }, (_, i) => i % 10), "int32"), 10);
      const w1 = tf.variable(tf.mul(tensor(tf, 784, 128), 0.1)), b1 = tf.variable(tf.zeros([128]));
      const w2 = tf.variable(tf.mul(tensor(tf, 128, 10), 0.1)), b2 = tf.variable(tf.zeros([10]));
      const optimizer = tf.train.adam(1e-3);
      const loss = (): Tfjs.Scalar => {
        const hidden = tf.relu(tf.add(tf.matMul(x, w1), b1));
        return tf.losses.softmaxCrossEntropy(y, tf.add(tf.matMul(hidden, w2), b2)) as Tfjs.Scalar;
      };
      return () => optimizer.minimize(loss, true)!;
    },
  },
  {
    what: "1 added to 1,000 numbers, and read",
    times: 1,
    tf(tf) {
      const x = tensor(tf, 1000);
      return () => tf.add(x, 1);
    },
    jax(jax) {
      const x = jaxArray(jax, 1000);
      return () => x.ref.add(1);
    },
  },
];
