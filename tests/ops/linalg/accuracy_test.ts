/** Decompositions of matrices on which they go wrong: residuals, orthogonality, and the digits of small values. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../../devices.ts";
import { filled, noise } from "../values.ts";

const { linalg } = tf;

type Element = (i: number, j: number) => number;

function matrix(rows: number, columns: number, element: Element): tf.Tensor {
  const at = (k: number): number => element(Math.floor(k / columns), k % columns);
  return tf.tensor(filled("float64", [rows, columns], at));
}

const even: Element = (i, j) => Math.cos(1 + i * j + 3 * (i + j));
const any: Element = (i, j) => Math.sin(1 + 7 * i + 5 * j * j + i * j);
/** A place that goes through all below `n`, out of order. */
const mixed = (k: number, n: number): number => (5 * k + 3) % n;

/** Square matrices, each hard in its own way. */
const HARD: Readonly<Record<string, tf.Tensor>> = {
  any: matrix(23, 23, any),
  "of rank 3": matrix(12, 12, (i, j) => any(i, 1) * any(2, j) + any(3, i) + i * j),
  zeros: matrix(5, 5, () => 0),
  ones: matrix(6, 6, () => 1),
  identity: matrix(7, 7, (i, j) => Number(i === j)),
  "exchanged places": matrix(9, 9, (i, j) => Number(j === (i + 4) % 9)),
  tiny: matrix(6, 6, (i, j) => 1e-300 * any(i, j)),
  huge: matrix(6, 6, (i, j) => 1e300 * any(i, j)),
  "graded columns": matrix(12, 12, (i, j) => any(i, j) * 10 ** -mixed(j, 12)),
  "graded rows": matrix(12, 12, (i, j) => any(i, j) * 10 ** -mixed(i, 12)),
  "one block": matrix(10, 10, (i, j) => j === i + 1 ? 1 : i === j ? 2 : 0),
  "no value": matrix(8, 8, (i, j) => Number(j === i + 1)),
  single: matrix(1, 1, () => -3),
  negative: matrix(4, 4, (i, j) => i === j ? -1 - i : 0),
};

const size = (x: tf.Tensor): number => x.size === 0 ? 0 : tf.max(tf.abs(x)).item() as number;

/** Throws where two tensors are further apart than some roundings of `scale`. */
function near(name: string, x: tf.Tensor, y: tf.Tensor, scale: number): void {
  const epsilon = x.dtype === "float32" || x.dtype === "complex64" ? 2 ** -23 : 2 ** -52;
  const away = size(tf.sub(x, y)), most = 60 * epsilon * scale;
  assert(away <= most, `${name}: ${away} away, at most ${most} wanted`);
}

function eyeLike(x: tf.Tensor): tf.Tensor {
  return tf.cast(tf.eye(x.shape.at(-1)!), x.dtype);
}

function checkSvd(name: string, a: tf.Tensor): void {
  for (const full of [false, true]) {
    const [s, u, v] = linalg.svd(a, full), n = s.shape.at(-1)!, scale = size(a);
    const cut = (x: tf.Tensor): tf.Tensor =>
      tf.slice(x, x.shape.map(() => 0), [...x.shape.slice(0, -1), n]);
    const back = tf.matMul(tf.mul(cut(u), tf.expandDims(s, -2)), cut(v), false, true);
    near(name, back, a, scale * Math.max(...a.shape));
    for (const x of [u, v]) near(`${name}, vectors`, tf.matMul(x, x, true), eyeLike(x), 1);
    near(`${name}, values alone`, linalg.svdvals(a), s, scale);
    const values = tf.reshape(s, [-1]).arraySync() as number[];
    for (let k = 0; k < values.length; k++) {
      assert(values[k] >= 0, `${name}: ${values}`);
      assert(k % n === 0 || values[k] <= values[k - 1], `${name}: ${values}`);
    }
  }
}

function checkEigh(name: string, a: tf.Tensor): void {
  const [e, v] = linalg.eigh(a), scale = size(a) * Math.max(1, a.shape.at(-1)!);
  near(name, tf.matMul(a, v), tf.mul(v, tf.expandDims(e, -2)), scale);
  near(`${name}, vectors`, tf.matMul(v, v, true), eyeLike(v), 1);
  near(`${name}, values alone`, linalg.eigvalsh(a), e, scale);
}

function checkEig(name: string, a: tf.Tensor): void {
  const [e, v] = linalg.eig(a), scale = size(a) * Math.max(1, a.shape.at(-1)!);
  const wide = tf.cast(a, v.dtype);
  near(name, tf.matMul(wide, v), tf.mul(v, tf.expandDims(e, -2)), scale);
  near(`${name}, lengths`, tf.sum(tf.square(tf.abs(v)), -2), tf.onesLike(tf.real(e)), 1);
  const none = tf.sum(tf.imag(e), -1);
  near(`${name}, pairs`, none, tf.zerosLike(none), scale);
}

testOnDevices("decompositions have the residuals of their dtype, of hard matrices too", () => {
  for (const [name, a] of Object.entries(HARD)) {
    for (const dtype of ["float64", "float32"] as const) {
      // Numbers that float32 does not hold are cast to 0 and infinities.
      if (dtype === "float32" && ["tiny", "huge"].includes(name)) continue;
      const x = tf.cast(a, dtype), half = tf.mul(x, 0.5);
      checkSvd(`svd of ${name}`, x);
      checkEigh(`eigh of ${name}`, tf.add(half, linalg.matrixTranspose(half)));
      checkEig(`eig of ${name}`, x);
    }
  }
});

testOnDevices("decompositions take matrices of any extents, and batches of them", () => {
  const shapes = [[3, 0], [0, 4], [2, 3, 0], [0, 2, 2], [9, 2], [2, 9], [3, 17, 5], [2, 2, 5, 17]];
  for (const shape of shapes) {
    checkSvd(`svd of [${shape}]`, tf.cast(tf.tensor(noise("float32", shape)), "float64"));
  }
  for (const shape of [[0, 0], [0, 3, 3], [2, 0, 0], [2, 2, 5, 5]]) {
    const a = tf.cast(tf.tensor(noise("float32", shape)), "float64");
    checkEigh(`eigh of [${shape}]`, tf.add(a, linalg.matrixTranspose(a)));
    checkEig(`eig of [${shape}]`, a);
  }
});

Deno.test("small singular values keep their digits, in whatever order rows and columns have them", () => {
  // Elements of an orthogonal matrix, exact as halves are.
  const signs = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]];
  const turned = (i: number, j: number): number =>
    Math.floor(i / 4) === Math.floor(j / 4) ? signs[i % 4][j % 4] / 2 : 0;
  const wanted = Array.from({ length: 12 }, (_, k) => 2 ** (-4 * k));
  const by = (k: number): number => wanted[mixed(k, 12)];
  for (
    const element of [(i, j) => turned(i, j) * by(j), (i, j) => turned(i, j) * by(i)] as Element[]
  ) {
    const s = linalg.svdvals(matrix(12, 12, element)).arraySync() as number[];
    s.forEach((v, k) => assert(Math.abs(v / wanted[k] - 1) < 1e-11, `${s}`));
  }
});

Deno.test("small eigenvalues keep their digits, in whatever order the diagonal has them", () => {
  const element = (place: (k: number) => number): Element => (i, j) =>
    (Number(i === j) + 0.1 * any(Math.min(place(i), place(j)), Math.max(place(i), place(j)))) *
    10 ** -(place(i) + place(j));
  const [down, up, out] = [(k: number) => k, (k: number) => 11 - k, (k: number) => mixed(k, 12)]
    .map((place) => linalg.eigvalsh(matrix(12, 12, element(place))).arraySync() as number[]);
  down.forEach((v, k) => {
    for (const other of [up[k], out[k]]) assert(Math.abs(other / v - 1) < 1e-11, `${v}: ${other}`);
  });
});

testOnDevices("matrices that hold NaN have NaN, and their neighbours do not", () => {
  const a = tf.tensor([[[2, 0], [0, 1]], [[NaN, 0], [0, 1]], [[1, 0], [Infinity, 1]]]);
  for (const x of [...linalg.svd(a), ...linalg.eigh(a)]) {
    const bad = tf.sum(tf.cast(tf.isNaN(tf.reshape(x, [3, -1])), "int32"), 1).arraySync();
    assertEquals(bad, [0, x.size / 3, x.size / 3]);
  }
  assertThrows(() => linalg.eig(a), tf.errors.InvalidArgumentError, "NaN or Inf");
});

testOnDevices("eigenvalues of real matrices are pairs, and reals of even ones", () => {
  const [values] = linalg.eig(matrix(11, 11, any)), re = tf.real(values).arraySync() as number[];
  const im = tf.imag(values).arraySync() as number[];
  for (let k = 0; k < im.length; k++) {
    if (im[k] > 0) assertEquals([re[k], im[k]], [re[k + 1], -im[k + 1]]);
  }
  const [real, vectors] = linalg.eig(matrix(9, 9, even));
  assertEquals([size(tf.imag(real)), size(tf.imag(vectors))], [0, 0]);
});

testOnDevices(
  "decompositions of shapes that only a run knows are those of known ones",
  async () => {
    const a = tf.cast(tf.tensor(noise("float32", [2, 5, 3])), "float64");
    const square = tf.matMul(a, a, true), spec = [new tf.TensorSpec([null, null, null], "float64")];
    const sizes = (x: tf.Tensor): tf.Tensor => tf.sum(tf.abs(linalg.eigvals(x)));
    const functions: [(x: tf.Tensor) => tf.Tensor, tf.Tensor][] = [
      [(x) => linalg.svdvals(x), a],
      [(x) => linalg.pinv(x), a],
      [(x) => linalg.eigvalsh(x), square],
      [sizes, square],
      [(x) => tf.grad((x: tf.Tensor) => tf.sum(tf.square(linalg.pinv(x))))(x), a],
      [(x) => tf.grad(sizes)(x), square],
    ];
    for (const [f, x] of functions) {
      near("compiled", tf.function(f, { inputSignature: spec })(x) as tf.Tensor, f(x), 1e3);
      const graph = new tf.Graph();
      const y = graph.asDefault(() => f(tf.placeholder("float64", [null, null, null], "x")));
      await using session = new tf.Session({ graph });
      const given = await session.run(y, { feeds: { "x:0": x } }) as tf.NdArray;
      near("in a session", tf.tensor(given), f(x), 1e3);
    }
  },
);
