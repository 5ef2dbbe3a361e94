// Scaled dot-product attention, causal. Weft and onnxruntime-web have an op for it. TensorFlow.js has none, and jax-js's is
// made of ordinary ops, so for both it is written out in the layout that suits them.

import type { Tensor } from "@tensorflow/tfjs-core";
import { opRow } from "../op_row.ts";
import { normals, spread } from "../random.ts";
import type { Row, Sample } from "../row.ts";

const HEADS = 12;

const WIDTH = 64;

const SCALE = 1 / Math.sqrt(WIDTH);

const MASKED = -1e9;

/** The causal mask of a length: 0 where a query may look, a large negative number elsewhere. */
function causalMask(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from(
    { length: length * length },
    (_, i) => i % length <= Math.floor(i / length) ? 0 : MASKED,
  );
}

function attentionSamples([q, k, v]: readonly Float32Array[], length: number): Sample[] {
  return spread(HEADS * length * WIDTH, 24).map((index) => {
    const row = Math.floor(index / WIDTH);
    const [head, query] = [Math.floor(row / length), row % length];
    const start = head * length * WIDTH;
    let total = 0;
    let weighted = 0;
    for (let key = 0; key <= query; key++) {
      let score = 0;
      for (let i = 0; i < WIDTH; i++) {
        score += q![start + query * WIDTH + i]! * k![start + key * WIDTH + i]!;
      }
      const weight = Math.exp(score * SCALE);
      total += weight;
      weighted += weight * v![start + key * WIDTH + index % WIDTH]!;
    }
    return { index, value: weighted / total };
  });
}

function attention(length: number, options: { heavy?: boolean } = {}): Row {
  const shape = [HEADS, length, WIDTH];
  return opRow({
    id: `attention_${length}`,
    what: `causal attention, ${HEADS} heads of ${WIDTH}, length ${length}`,
    flop: 4 * HEADS * length * length * WIDTH,
    inputs: [shape, shape, shape, [length, length]],
    makeInputs() {
      const size = HEADS * length * WIDTH;
      return [normals(size, 1), normals(size, 2), normals(size, 3), causalMask(length)];
    },
    tf(tf, q, k, v, mask) {
      const scores = tf.mul(tf.matMul(q!, k!, false, true), SCALE);
      return tf.matMul(tf.softmax(tf.add(scores, mask!)), v!);
    },
    weft(tf, q, k, v) {
      // Heads that come first are the same as a batch of them.
      const [query, key, value] = [q!, k!, v!].map((x) => tf.reshape(x, [HEADS, length, 1, WIDTH]));
      const result = tf.scaledDotProductAttention(query!, key!, value!, { causal: true });
      return tf.reshape(result, shape);
    },
    jax({ numpy, nn }, q, k, v, mask) {
      const scores = numpy.matmul(q!, numpy.swapaxes(k!, 1, 2)).mul(SCALE);
      return numpy.matmul(nn.softmax(scores.add(mask!)), v!);
    },
    onnx(graph, q, k, v) {
      const heads = graph.integers(1, HEADS, length, WIDTH);
      const inputs = [q!, k!, v!].map((x) => graph.op("Reshape", [x, heads]));
      return graph.op("Attention", inputs, { is_causal: 1 });
    },
    expected: (values) => attentionSamples(values, length),
    ...options,
  });
}

/** Gradients of values in float64: the product of weights and the result's gradient, of some elements. */
function valueGradients([q, k, , , c]: readonly Float32Array[], length: number): Sample[] {
  const size = HEADS * length * WIDTH;
  return spread(size, 6).map((index) => {
    const row = Math.floor(index / WIDTH);
    const [head, key] = [Math.floor(row / length), row % length];
    const start = head * length * WIDTH;
    let sum = 0;
    for (let query = key; query < length; query++) {
      let total = 0;
      let own = 0;
      for (let other = 0; other <= query; other++) {
        let score = 0;
        for (let i = 0; i < WIDTH; i++) {
          score += q![start + query * WIDTH + i]! * k![start + other * WIDTH + i]!;
        }
        const weight = Math.exp(score * SCALE);
        total += weight;
        if (other === key) own = weight;
      }
      sum += own / total * c![start + query * WIDTH + index % WIDTH]!;
    }
    return { index: 2 * size + index, value: sum };
  });
}

/** The gradients of queries, keys and values of attention that is written out. */
function attentionGradient(length: number, options: { heavy?: boolean } = {}): Row {
  const shape = [HEADS, length, WIDTH];
  return opRow({
    id: `attention_gradient_${length}`,
    what: `gradients of written-out causal attention, ${HEADS} heads of ${WIDTH}, length ${length}`,
    flop: 14 * HEADS * length * length * WIDTH,
    inputs: [shape, shape, shape, [length, length], shape],
    makeInputs() {
      const size = HEADS * length * WIDTH;
      const [q, k, v, c] = [1, 2, 3, 4].map((seed) => normals(size, seed));
      return [q!, k!, v!, causalMask(length), c!];
    },
    tf(tf, q, k, v, mask, c) {
      const loss = (...[q, k, v]: Tensor[]) => {
        const scores = tf.mul(tf.matMul(q!, k!, false, true), SCALE);
        const y = tf.matMul(tf.softmax(tf.add(scores, mask!)), v!);
        return tf.sum(tf.mul(y, c!));
      };
      return tf.concat(tf.grads(loss)([q!, k!, v!]), 0);
    },
    expected: (values) => valueGradients(values, length),
    tolerance: 1e-3,
    ...options,
  });
}

/** Rows of this file. */
export const ATTENTION_ROWS: readonly Row[] = [
  attention(128),
  attention(512),
  attention(1024, { heavy: true }),
  attentionGradient(512),
  attentionGradient(1024, { heavy: true }),
];
