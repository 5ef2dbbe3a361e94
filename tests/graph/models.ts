/** Small models with a script op in the middle of each: what tests of whole models run in every mode. */
import * as tf from "@weft/weft";

/** Parameters of a model, by name. */
export type Parameters = Readonly<Record<string, tf.Variable>>;

/** A model of some inputs and labels. */
export interface Model {
  /** Its name. */
  readonly name: string;
  /** Makes its variables, with the same values each time. */
  readonly variables: () => Parameters;
  /** The inputs of one batch. */
  readonly x: tf.NdArray;
  /** One label per example, as one row of probabilities. */
  readonly labels: tf.NdArray;
  /** One row of logits per example. */
  readonly logits: (p: Parameters, x: tf.Tensor) => tf.Tensor;
  /** A new optimizer. */
  readonly optimizer: () => tf.Optimizer;
}

/** The mean cross entropy of a model's logits. */
export function loss(model: Model, p: Parameters, x: tf.Tensor, labels: tf.Tensor): tf.Tensor {
  return tf.losses.softmaxCrossEntropy(labels, model.logits(p, x));
}

/** Numbers in [-1, 1) that are the same in each run: a linear congruential generator. */
function values(shape: readonly number[], seed: number, scale = 1): tf.NdArray {
  let state = seed * 2654435761 % 2147483648;
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Float32Array.from({ length: size }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return scale * (state / 1073741824 - 1);
  });
  return new tf.NdArray("float32", shape, data);
}

function variables(shapes: Readonly<Record<string, readonly number[]>>): () => Parameters {
  return () =>
    Object.fromEntries(
      Object.entries(shapes).map(([name, shape], k) => {
        const scale = 1.5 /
          Math.sqrt(shape.length > 1 ? shape.slice(0, -1).reduce((a, b) => a * b) : 10);
        return [name, tf.variable(values(shape, k + 1, scale))];
      }),
    );
}

function oneHot(rows: number, classes: number): tf.NdArray {
  const data = new Float32Array(rows * classes);
  for (let r = 0; r < rows; r++) data[r * classes + (r * 7 + 3) % classes] = 1;
  return new tf.NdArray("float32", [rows, classes], data);
}

/** tanh as a numpy-style script whose gradient is given. */
function scriptTanh(x: tf.Tensor): tf.Tensor {
  return tf.numpyFunction(
    (a: tf.NdArray) => a.map((v) => Math.tanh(Number(v))),
    [x],
    tf.TensorSpec(x.staticShape, "float32"),
    { vjp: ({ outputs }, dy) => tf.mul(dy, tf.sub(1, tf.square(outputs[0]))) },
  );
}

/** x · sigmoid(x) as an eager-style script, which is taped. */
function scriptSwish(x: tf.Tensor): tf.Tensor {
  return tf.pyFunction(
    (t: tf.Tensor) => tf.mul(t, tf.sigmoid(t)),
    [x],
    tf.TensorSpec(x.staticShape, "float32"),
  );
}

function dense(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor): tf.Tensor {
  return tf.add(tf.matMul(x, w), b);
}

const mlp: Model = {
  name: "MLP with a numpyFunction",
  variables: variables({ w1: [7, 12], b1: [12], w2: [12, 9], b2: [9], w3: [9, 4], b3: [4] }),
  x: values([6, 7], 100),
  labels: oneHot(6, 4),
  logits: (p, x) => {
    const h = scriptTanh(dense(x, p.w1, p.b1));
    return dense(tf.relu(dense(h, p.w2, p.b2)), p.w3, p.b3);
  },
  optimizer: () => tf.train.adam(0.01),
};

const cnn: Model = {
  name: "CNN with a pyFunction",
  variables: variables({ k1: [3, 3, 2, 4], c1: [4], k2: [3, 3, 4, 5], w: [45, 3], b: [3] }),
  x: values([4, 8, 8, 2], 200),
  labels: oneHot(4, 3),
  logits: (p, x) => {
    const first = tf.relu(tf.add(tf.conv2d(x, p.k1 as tf.Tensor, 1, "same"), p.c1));
    const pooled = scriptSwish(tf.maxPool(first, 2, 2, "same"));
    const second = tf.avgPool(tf.conv2d(pooled, p.k2 as tf.Tensor, 1, "same"), 2, 1, "valid");
    return dense(tf.reshape(second, [-1, 45]), p.w, p.b);
  },
  optimizer: () => tf.train.momentum(0.05, 0.9),
};

const LSTM_SHAPES = { w: [4, 24], u: [6, 24], b: [24], wo: [6, 3], bo: [3] };
const STEPS = 5;

/** One LSTM cell, whose candidate goes through `script`. */
function cell(
  p: Parameters,
  [x, h, c]: readonly tf.Tensor[],
  script: (t: tf.Tensor) => tf.Tensor,
): [h: tf.Tensor, c: tf.Tensor] {
  const gates = tf.add(dense(x, p.w, p.b), tf.matMul(h, p.u));
  const [i, f, o, g] = tf.split(gates, 4, 1);
  const next = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), script(g)));
  return [tf.mul(tf.sigmoid(o), tf.tanh(next)), next];
}

const unrolledLstm: Model = {
  name: "LSTM cell, unrolled, with a numpyFunction",
  variables: variables(LSTM_SHAPES),
  x: values([3, STEPS, 4], 300),
  labels: oneHot(3, 3),
  logits: (p, x) => {
    let h: tf.Tensor = tf.zeros([3, 6]), c = h;
    for (const step of tf.unstack(x, 1)) [h, c] = cell(p, [step, h, c], scriptTanh);
    return dense(h, p.wo, p.bo);
  },
  optimizer: () => tf.train.rmsprop(0.01),
};

const loopLstm: Model = {
  name: "LSTM cell in a whileLoop with a pyFunction",
  variables: variables(LSTM_SHAPES),
  x: values([3, STEPS, 4], 300),
  labels: oneHot(3, 3),
  logits: (p, x) => {
    const [, h] = tf.whileLoop(
      (i) => tf.less(i, STEPS),
      (i, h, c) => [tf.add(i, 1), ...cell(p, [tf.gather(x, i, 1), h, c], scriptSwish)],
      [tf.scalar(0, "int32"), tf.zeros([3, 6]), tf.zeros([3, 6])],
    );
    return dense(h, p.wo, p.bo);
  },
  optimizer: () => tf.train.sgd(0.1),
};

const TOKENS = 6, WIDTH = 8, HEADS = 2;

function attend(p: Parameters, layer: number, x: tf.Tensor): tf.Tensor {
  const heads = (name: string): tf.Tensor => {
    const flat = tf.matMul(tf.reshape(x, [-1, WIDTH]), p[`${name}${layer}`]);
    return tf.transpose(tf.reshape(flat, [2, TOKENS, HEADS, WIDTH / HEADS]), [0, 2, 1, 3]);
  };
  const mixed = tf.scaledDotProductAttention(heads("q"), heads("k"), heads("v"), { causal: true });
  const joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, WIDTH]);
  return tf.reshape(tf.matMul(joined, p[`o${layer}`]), [2, TOKENS, WIDTH]);
}

function block(
  p: Parameters,
  layer: number,
  x: tf.Tensor,
): tf.Tensor {
  const script = layer === 1 ? scriptTanh : scriptSwish;
  const attended = tf.add(x, attend(p, layer, tf.layerNorm(x, p[`g${layer}`], p[`s${layer}`])));
  const inner = tf.gelu(dense(tf.reshape(attended, [-1, WIDTH]), p[`m${layer}`], p[`d${layer}`]));
  const out = tf.matMul(script(inner), p[`n${layer}`]);
  return tf.add(attended, tf.reshape(out, [2, TOKENS, WIDTH]));
}

function blockShapes(layer: number): Record<string, number[]> {
  const square = [WIDTH, WIDTH];
  const shapes = {
    ...{ q: square, k: square, v: square, o: square, g: [WIDTH], s: [WIDTH] },
    ...{ m: [WIDTH, 16], d: [16], n: [16, WIDTH] },
  };
  return Object.fromEntries(Object.entries(shapes).map(([k, s]) => [`${k}${layer}`, s]));
}

const transformer: Model = {
  name: "2-layer transformer with both",
  variables: variables({ ...blockShapes(1), ...blockShapes(2), w: [WIDTH, 3], b: [3] }),
  x: values([2, TOKENS, WIDTH], 400),
  labels: oneHot(2, 3),
  logits: (p, x) => dense(tf.mean(block(p, 2, block(p, 1, x)), 1), p.w, p.b),
  optimizer: () => tf.train.adamw(0.005),
};

/** The models. */
export const MODELS: readonly Model[] = [mlp, cnn, unrolledLstm, loopLstm, transformer];
