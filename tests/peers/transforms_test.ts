/**
 * vmap, jvp, linearize, gradients and recomputeGrad in each other, of functions with branches, loops and systems, beside JAX: eagerly,
 * compiled, with unknown extents, in sessions, by another vmap and with gradients. See record_transforms.py.
 */

import * as tf from "@weft/weft";
import { ofTheDay } from "../effort.ts";
import { type Recorded, type Row, testTable } from "../names/harness.ts";
import TOLD from "./transforms.json" with { type: "json" };

type Tensor = tf.Tensor;
type Fn = (x: Tensor) => Tensor;

const W = [[0.5, -1, 0.25], [2, 0.25, -0.5], [-0.75, 1, 1.5]];
const weights = (x: Tensor): Tensor => tf.cast(tf.tensor(W), x.dtype);
const row = (x: Tensor, w: Tensor, turned = false): Tensor =>
  tf.squeeze(tf.matMul(tf.expandDims(x, 0), w, false, turned), [0]);
const network: Fn = (x) => tf.tanh(row(tf.tanh(row(x, weights(x))), weights(x), true));

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  "a network": network,
  "a softmax": (x) => tf.softmax(row(x, weights(x))),
  "a norm": (x) => {
    const { mean, variance } = tf.moments(x);
    return tf.div(tf.sub(x, mean), tf.sqrt(tf.add(variance, 0.1)));
  },
  "a sorted list": (x) => tf.mul(tf.sort(tf.square(x)), [1, 2, 3]),
  "a running sum": (x) => tf.cumsum(tf.square(x)),
  "a solved system": (x) =>
    tf.squeeze(tf.linalg.solve(weights(x), tf.expandDims(tf.square(x), 1)), [1]),
  "an inverse": (x) => tf.linalg.matvec(tf.linalg.inv(tf.add(weights(x), tf.linalg.diag(x))), x),
  "a branch": (x) =>
    tf.cond(tf.greater(tf.sum(x), 0), () => tf.mul(tf.sin(x), x), () => tf.exp(tf.neg(x))),
  "a loop": (x) => tf.foriLoop(0, 3, (_i, x: Tensor) => tf.add(tf.sin(x), tf.mul(0.5, x)), x),
  "a scan": (x) =>
    tf.scan((a: Tensor, v: Tensor) => tf.add(tf.mul(a, 0.5), tf.square(v)), x, {
      initializer: tf.zeros([], x.dtype),
    }),
  attention: (x) => {
    const q = tf.mul(tf.expandDims(x, 1), [1, -0.5]);
    return tf.reshape(tf.matMul(tf.softmax(tf.matMul(q, q, false, true)), q), [-1]);
  },
  "a checkpoint": tf.recomputeGrad(network) as Fn,
  "two numbers of a table": (x) => tf.mul(tf.gather(x, [2, 0, 2]), x),
};

const push = (f: Fn, x: Tensor, t: Tensor): Tensor => tf.jvp(f, [x], [t])[1];

/** By the beginning of a name in the recording, what is done with a function. */
const OF: Readonly<Record<string, (f: Fn, loss: Fn) => Row["body"]>> = {
  vmap: (f) => (x) => tf.vmap(f)(x),
  "vmap over columns": (f) => (x) => tf.vmap(f, { inAxes: 1, outAxes: 1 })(x),
  "vmap of vmap": (f) => (x) => tf.vmap(tf.vmap(f))(x),
  jvp: (f) => (x, t) => push(f, x, t),
  linearize: (f) => (x, t) => tf.linearize(f, [x])[1]([t]),
  "forward over reverse": (_f, loss) => (x, t) => push(tf.grad(loss) as Fn, x, t),
  "reverse over forward": (_f, loss) => (x, t) => tf.grad((x: Tensor) => push(loss, x, t))(x),
  "jvp of jvp": (f) => (x, t) => push((x) => push(f, x, t), x, t),
  "vmap of grad": (_f, loss) => (x) => tf.vmap(tf.grad(loss) as Fn)(x),
  "grad of vmap": (f) => (x) => tf.grad((x: Tensor) => tf.sum(tf.cos(tf.vmap(f)(x))))(x),
  "jvp of vmap": (f) => (x, t) => push(tf.vmap(f) as Fn, x, t),
  "vmap of jvp": (f) => (x, t) => tf.vmap((x: Tensor, t: Tensor) => push(f, x, t))(x, t),
  "vmap of jvp by tangents": (f) => (x, t) => tf.vmap((t: Tensor) => push(f, x, t))(t),
  hessian: (_f, loss) => (x) => tf.vmap((t: Tensor) => push(tf.grad(loss) as Fn, x, t))(tf.eye(3)),
};

const day = ofTheDay(Object.entries(FUNCTIONS), 5);
const recorded: Readonly<Record<string, Recorded>> = TOLD;

testTable(
  "transformations",
  Object.fromEntries(
    Object.entries(recorded).filter(([name]) => day.some(([f]) => name.endsWith(` of ${f}`))),
  ),
  Object.fromEntries(
    day.flatMap(([name, f]) => {
      const loss: Fn = (x) => tf.sum(tf.sin(f(x)));
      return Object.entries(OF).map(([what, make]): [string, Row] => [
        `${what} of ${name}`,
        { body: make(f, loss), epsilon: 1e-4, slopes: 1e-3, dtypes: [] },
      ]);
    }),
  ),
  "JAX",
);
