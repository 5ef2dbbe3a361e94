// One training step of a small network, 784-128-10 at batch 128: forward, backward and update.
//
// The reference does three steps in float64 with gradients written out by hand; the losses of all three are compared,
// so a wrong gradient or update does not pass.

import type { Scalar, Tensor, Tensor2D, Variable } from "@tensorflow/tfjs-core";
import type { JaxArray, JaxPeer } from "../peers/jax.ts";
import { type Tf, tfOutput } from "../peers/tfjs.ts";
import { type Weft, weftOutput } from "../peers/weft.ts";
import { integers, normals } from "../random.ts";
import type { Case, Check, Output, Row } from "../row.ts";
import {
  ADAM,
  type Adam,
  firstLosses,
  jaxUpdate,
  oneHotOf,
  type OptimizerName,
} from "../training.ts";

const BATCH = 128;

const IN = 784;

const HIDDEN = 128;

const OUT = 10;

const LEARNING_RATE = 0.1;

interface Problem {
  readonly x: Float32Array<ArrayBuffer>;
  readonly labels: Int32Array<ArrayBuffer>;
  /** w1, b1, w2, b2. */
  readonly parameters: readonly Float32Array<ArrayBuffer>[];
}

const SHAPES = [[IN, HIDDEN], [HIDDEN], [HIDDEN, OUT], [OUT]] as const;

function problem(): Problem {
  const labels = integers(BATCH, 5, OUT);
  const parameters = [
    normals(IN * HIDDEN, 2, 0.05),
    new Float32Array(HIDDEN),
    normals(HIDDEN * OUT, 3, 0.1),
    new Float32Array(OUT),
  ];
  return { x: normals(BATCH * IN, 1), labels, parameters };
}

/** Mean cross entropy and its gradients in float64. */
function lossAndGradients(
  { x, labels }: Problem,
  [w1, b1, w2, b2]: readonly Float64Array[],
): { loss: number; gradients: Float64Array[] } {
  const gradients = SHAPES.map((shape) => new Float64Array(shape[0] * (shape[1] ?? 1)));
  const [dw1, db1, dw2, db2] = gradients as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  let loss = 0;
  for (let row = 0; row < BATCH; row++) {
    const hidden = Float64Array.from(b1!);
    for (let i = 0; i < IN; i++) {
      const value = x[row * IN + i]!;
      for (let j = 0; j < HIDDEN; j++) hidden[j] = hidden[j]! + value * w1![i * HIDDEN + j]!;
    }
    const active = hidden.map((value) => Math.max(0, value));
    const logits = b2!.map((bias, k) =>
      active.reduce((sum, value, j) => sum + value * w2![j * OUT + k]!, bias)
    );
    const total = logits.reduce((sum, value) => sum + Math.exp(value), 0);
    loss -= (logits[labels[row]!]! - Math.log(total)) / BATCH;
    const dLogits = logits.map((value, k) =>
      (Math.exp(value) / total - (k === labels[row] ? 1 : 0)) / BATCH
    );
    const dHidden = new Float64Array(HIDDEN);
    for (let k = 0; k < OUT; k++) {
      db2[k] = db2[k]! + dLogits[k]!;
      for (let j = 0; j < HIDDEN; j++) {
        const at = j * OUT + k;
        dw2[at] = dw2[at]! + active[j]! * dLogits[k]!;
        if (hidden[j]! > 0) dHidden[j] = dHidden[j]! + w2![at]! * dLogits[k]!;
      }
    }
    for (let j = 0; j < HIDDEN; j++) db1[j] = db1[j]! + dHidden[j]!;
    for (let i = 0; i < IN; i++) {
      const value = x[row * IN + i]!;
      for (let j = 0; j < HIDDEN; j++) {
        const at = i * HIDDEN + j;
        dw1[at] = dw1[at]! + value * dHidden[j]!;
      }
    }
  }
  return { loss, gradients };
}

/** The losses of the first steps of training, in float64. */
function referenceLosses(optimizer: OptimizerName, steps: number): number[] {
  const data = problem();
  const parameters = data.parameters.map((values) => Float64Array.from(values));
  const first = parameters.map((values) => values.map(() => 0));
  const second = parameters.map((values) => values.map(() => 0));
  return Array.from({ length: steps }, (_, step) => {
    const { loss, gradients } = lossAndGradients(data, parameters);
    for (const [p, values] of parameters.entries()) {
      for (const [i, gradient] of gradients[p]!.entries()) {
        values[i] = values[i]! -
          (optimizer === "sgd"
            ? LEARNING_RATE * gradient
            : adamStep(ADAM, first[p]!, second[p]!, i, gradient, step + 1));
      }
    }
    return loss;
  });
}

function adamStep(
  { rate, beta1, beta2, epsilon }: Adam,
  first: Float64Array,
  second: Float64Array,
  i: number,
  gradient: number,
  step: number,
): number {
  first[i] = beta1 * first[i]! + (1 - beta1) * gradient;
  second[i] = beta2 * second[i]! + (1 - beta2) * gradient ** 2;
  const m = first[i]! / (1 - beta1 ** step);
  const v = second[i]! / (1 - beta2 ** step);
  return rate * m / (Math.sqrt(v) + epsilon);
}

interface TfTraining {
  readonly step: () => Scalar;
  dispose(): void;
}

/** The network and a training step for the TensorFlow-like systems. */
function tfTraining(tf: Tf, optimizerName: OptimizerName): TfTraining {
  const { x, labels: classes, parameters } = problem();
  const input: Tensor2D = tf.tensor2d(x, [BATCH, IN]);
  const labels: Tensor2D = tf.tensor2d(oneHotOf(classes, OUT), [BATCH, OUT]);
  const variables: Variable[] = parameters.map((values, i) =>
    tf.tidy(() => tf.variable(tf.tensor(values, [...SHAPES[i]!])))
  );
  const [w1, b1, w2, b2] = variables as [Variable, Variable, Variable, Variable];
  const optimizer = optimizerName === "sgd"
    ? tf.train.sgd(LEARNING_RATE)
    : tf.train.adam(ADAM.rate, ADAM.beta1, ADAM.beta2, ADAM.epsilon);
  function loss(): Scalar {
    const hidden = tf.relu(tf.add(tf.matMul(input, w1 as Tensor as Tensor2D), b1));
    const logits = tf.add(tf.matMul(hidden as Tensor2D, w2 as Tensor as Tensor2D), b2);
    return tf.losses.softmaxCrossEntropy(labels, logits) as Scalar;
  }
  return {
    step: () => optimizer.minimize(loss, true) as Scalar,
    dispose: () => tf.dispose([input, labels, ...variables]),
  };
}

function tfCase(tf: Tf, optimizer: OptimizerName, wrap: (loss: Tensor) => Output): Case {
  const training = tfTraining(tf, optimizer);
  const call = () => wrap(training.step());
  return { call, result: () => firstLosses(call), dispose: training.dispose };
}

function weftFunctionCase(tf: Weft, optimizer: OptimizerName): Case {
  const training = tfTraining(tf, optimizer);
  const step = tf.function(training.step);
  const call = () => weftOutput(tf, step());
  return { call, result: () => firstLosses(call), dispose: training.dispose };
}

function jaxCase(peer: JaxPeer, optimizer: OptimizerName): Case {
  const { jax, array } = peer;
  const { x, labels: classes, parameters } = problem();
  const input = array(x, [BATCH, IN]);
  const labels = array(oneHotOf(classes, OUT), [BATCH, OUT]);
  function loss(parameters: JaxArray[], input: JaxArray, labels: JaxArray): JaxArray {
    const [w1, b1, w2, b2] = parameters;
    const hidden = jax.nn.relu(jax.numpy.matmul(input, w1!).add(b1!));
    const logits = jax.numpy.matmul(hidden, w2!).add(b2!);
    return jax.nn.logSoftmax(logits).mul(labels).sum().mul(-1 / BATCH);
  }
  const training = jaxUpdate(
    peer,
    loss,
    parameters.map((values, i) => array(values, SHAPES[i]!)),
    [input, labels],
    optimizer === "sgd" ? { rate: LEARNING_RATE } : ADAM,
  );
  return {
    call: training.call,
    result: () => firstLosses(training.call),
    dispose: training.dispose,
  };
}

function mlpRow(id: string, what: string, optimizer: OptimizerName): Row {
  const check: Check = {
    expected: () => referenceLosses(optimizer, 3).map((value, index) => ({ index, value })),
    tolerance: 1e-3,
  };
  return {
    id,
    what,
    // Forward, gradient of weights, and gradient of inputs except the first.
    flop: 2 * BATCH * (2 * IN * HIDDEN + 3 * HIDDEN * OUT),
    weft: ({ tf }) => tfCase(tf, optimizer, (loss) => weftOutput(tf, loss)),
    weftFunction: ({ tf }) => weftFunctionCase(tf, optimizer),
    tfjs: ({ tf }) => tfCase(tf, optimizer, tfOutput),
    jax: (peer) => jaxCase(peer, optimizer),
    check,
  };
}

/** Rows of this file. */
export const MLP_ROWS: readonly Row[] = [
  mlpRow("mlp_sgd", "MLP step 784-128-10, batch 128, SGD (jax-js: jit)", "sgd"),
  mlpRow("mlp_adam", "MLP step 784-128-10, batch 128, Adam (jax-js: jit)", "adam"),
];
