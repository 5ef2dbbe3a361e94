/** Decompositions and functions of matrices beside TensorFlow, and cond() beside JAX, in every way and with gradients. See record_linalg.py. */

import * as tf from "@weft/weft";
import { testTable } from "../names/harness.ts";
import type { Row } from "../names/harness.ts";
import TOLD from "./linalg.json" with { type: "json" };

const { linalg: L } = tf;
type Tensor = tf.Tensor;

const even = (x: Tensor): Tensor => tf.mul(0.5, tf.add(x, L.matrixTranspose(x)));
const gram = (x: Tensor): Tensor => tf.matMul(x, x, false, true);
/** The matrix of other singular values: no sign of a vector changes it. */
const joined = (u: Tensor, s: Tensor, v: Tensor): Tensor =>
  tf.matMul(tf.mul(u, tf.expandDims(tf.square(s), -2)), L.adjoint(v));

const OF_ALL: Readonly<Record<string, Row["body"]>> = {
  svd(x) {
    const [s, u, v] = L.svd(x);
    return joined(u, s, v);
  },
  svdvals: (x) => L.svdvals(x),
  pinv: (x) => L.pinv(x),
  matrixRank: (x) => L.matrixRank(tf.concat([x, x], -1)),
  qr: (x) => tf.abs(L.qr(x)[1]),
  "qr complete": (x) => tf.abs(L.qr(x, true)[0]),
  lstsq: (a, b) => L.lstsq(a, b),
  "lstsq regularized": (a, b) => L.lstsq(a, b, 0.25),
  cond: (x) => L.cond(x),
};
const OF_SQUARES: Readonly<Record<string, Row["body"]>> = {
  eigh(x) {
    const [e, v] = L.eigh(even(x));
    return joined(v, e, v);
  },
  eigvalsh: (x) => L.eigvalsh(even(x)),
  eigvals(x) {
    const e = L.eigvals(x);
    return tf.stack(
      [e, tf.square(e), tf.mul(e, tf.square(e))].map((p) => tf.real(tf.sum(p, -1))),
      -1,
    );
  },
  eig(x) {
    const [e, v] = L.eig(x);
    const values = tf.expandDims(tf.real(tf.square(e)), -2);
    return tf.sum(tf.mul(values, tf.square(tf.abs(v))), -1);
  },
  expm: (x) => L.expm(x),
  slogdet(x) {
    const [sign, log] = L.slogdet(x);
    return [log, sign];
  },
  det: (x) => L.det(x),
  inv: (x) => L.inv(x),
  logdet: (x) => L.logdet(gram(x)),
  cholesky: (x) => L.cholesky(gram(x)),
  solve: (a, b) => L.solve(a, b),
  sqrtm: (x) => L.sqrtm(gram(x)),
};

function rows(
  of: Readonly<Record<string, Row["body"]>>,
  shapes: readonly string[],
): [string, Row][] {
  return Object.entries(of).flatMap(([name, body]) =>
    shapes.map((shape): [string, Row] => [`${name} ${shape}`, {
      body,
      epsilon: 2e-4,
      slopes: 2e-3,
      ...(name === "eig" || name === "eigvals") && { dtypes: ["float64"] },
    }])
  );
}

testTable(
  "tf.linalg",
  TOLD,
  Object.fromEntries([
    ...rows(OF_ALL, ["square", "tall", "wide", "batch", "batches"]),
    ...rows(OF_SQUARES, ["square", "batch"]),
  ]),
);
