/**
 * Lines of programs that factor matrices and solve systems. Matrices are made of what is drawn, far from ones without an inverse. The
 * table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Identity matrices for the rows of x, whatever is known of its shape. */
const UNIT = "tf.linalg.diag(tf.onesLike(tf.sum($x, -1)))";
/** Symmetric positive matrices. */
const POSITIVE = `tf.add(tf.div(tf.matMul($x, $x, false, true), 8), tf.mul(${UNIT}, 2))`;
/** Matrices with an inverse that are not symmetric. */
const SQUARE =
  `tf.add(${POSITIVE}, tf.linalg.bandPart(tf.div(tf.sin(tf.matMul($x, $x, false, true)), 4), 0, -1))`;
/** Right sides, some with a batch more than the matrices have. */
const RIGHT = "(#bool ? tf.sin($x) : tf.stack([$x, tf.sin($x)], 0))";
/** Three diagonals of which the middle one is the largest. */
const COMPACT =
  "tf.stack([tf.div(tf.sin(tf.sum($x, -1)), 2), tf.add(tf.abs(tf.mean($x, -1)), 2), tf.div(tf.cos(tf.sum($x, -1)), 2)], -2)";

/** Matrices with a right side that a batch of two is put before. */
function stacked(code: string): string {
  return `((m) => tf.stack([m, tf.mul(m, 2)], 0))(${code})`;
}

/** Factors, systems, inverses and determinants. */
export const MATRICES: readonly Template[] = [
  ["x:matrices", `tf.linalg.cholesky(${POSITIVE})`, 2],
  ["x:matrices", `tf.linalg.#pick(det|logdet|trace|cond|svdvals|eigvalsh)(${POSITIVE})`, 2],
  ["x:matrices", `tf.linalg.slogdet(${SQUARE})[#int(0,1)]`],
  ["x:matrices", `tf.linalg.#pick(det|expm|pinv|adjoint|trace)(tf.div(${SQUARE}, 4))`, 2],
  ["x:matrices", `tf.linalg.inv(${SQUARE}, #bool)`, 2],
  ["x:matrices", `tf.linalg.solve(${SQUARE}, $x, #bool)`, 2],
  ["x:matrices", `tf.linalg.solve(${stacked(SQUARE)}, tf.stack([$x, tf.sin($x)], 0), #bool)`],
  ["x:matrices", `tf.linalg.choleskySolve(tf.linalg.cholesky(${POSITIVE}), ${RIGHT})`, 2],
  ["x:matrices", `tf.linalg.triangularSolve(${SQUARE}, ${RIGHT}, #bool, #bool)`, 3],
  ["x:matrices", `tf.linalg.triangularSolve(${stacked(SQUARE)}, $x, #bool, #bool)`],
  [
    "x:matrices",
    `tf.linalg.triangularSolve(tf.linalg.cholesky(${POSITIVE}), tf.where(tf.greater($x, 0), $x, 0))`,
  ],
  ["x:matrices", `((f) => tf.linalg.luSolve(f[0], f[1], ${RIGHT}))(tf.linalg.lu(${SQUARE}))`, 2],
  [
    "x:matrices",
    `((f) => tf.linalg.#pick(luReconstruct|luMatrixInverse)(f[0], f[1]))(tf.linalg.lu(${SQUARE}))`,
    2,
  ],
  ["x:matrices", `tf.linalg.lu(${SQUARE})[#int(0,1)]`],
  ["x:matrices", `((f) => tf.matMul(f[0], f[1]))(tf.linalg.qr(${SQUARE}, #bool))`],
  ["x:matrices", `tf.abs(tf.linalg.qr(${SQUARE})[1])`],
  ["x:matrices", `tf.linalg.lstsq(${SQUARE}, $x, #pick(0|0.5), #bool)`],
  ["x:matrices", `tf.linalg.lstsq($x, ${UNIT}, 0.5)`],
  ["x:matrices", "tf.linalg.svdvals($x)"],
  ["x:matrices", "tf.linalg.matrixRank(tf.stopGradient($x))"],
  [
    "x:matrices",
    `((f) => tf.matMul(tf.mul(f[1], tf.expandDims(tf.exp(tf.div(f[0], 8)), -2)), f[1], false, true))(tf.linalg.eigh(${POSITIVE}))`,
  ],
  ["x:matrices", `tf.linalg.tridiagonalSolve(${COMPACT}, $x)`, 2],
  [
    "x:matrices",
    `tf.linalg.tridiagonalSolve(${COMPACT}, tf.linalg.matrixTranspose($x), { transposeRhs: true, partialPivoting: #bool })`,
  ],
  [
    "x:matrices",
    `tf.linalg.tridiagonalSolve(tf.linalg.diag(tf.add(tf.abs(tf.sum($x, -1)), 1)), tf.reshape(tf.sum($x, -1), $x.shape.slice(0, -1)), { diagonalsFormat: "matrix" })`,
  ],
  [
    "x:matrices",
    `tf.linalg.tridiagonalSolve(((d) => [0, 1, 2].map((i) => tf.gather(d, i, -2)))(${COMPACT}), $x, { diagonalsFormat: "sequence" })`,
  ],
  ["x:matrices", `tf.linalg.tridiagonalMatmul(${COMPACT}, $x)`, 2],
  [
    "x:matrices",
    `tf.linalg.tridiagonalMatmul(${SQUARE}, $x, { diagonalsFormat: "matrix" })`,
  ],
  ["x:matrices y=x", "tf.linalg.matvec($x, tf.mean($y, -2), #pick(false))", 2],
  ["x:matrices", "tf.linalg.matvec($x, tf.mean($x, -1), true)"],
  ["x:matrices", "tf.linalg.setDiag($x, tf.linalg.diagPart(tf.sin($x)))", 2],
  ["x:matrices", "tf.linalg.diagPart($x, { k: #int(-1,1), paddingValue: 1 })"],
  [
    "x:matrices",
    `tf.linalg.diagPart(${SQUARE}, { k: [#int(-1,0), #int(0,1)], align: "#pick(LEFT_RIGHT|RIGHT_LEFT|LEFT_LEFT)" })`,
  ],
  [
    "x:matrices",
    "((w) => tf.linalg.diag(w, { k: #pick([-1, 0]|[0, 1]), numRows: w.shape.at(-1) }))(tf.concat([$x, $x], -1))",
  ],
  ["x:rows", "tf.linalg.diag($x, { k: #int(-1,1) })"],
  // A column more, as the CPU alone refuses to gather from none.
  [
    "x:matrices",
    "((v) => tf.linalg.cross(v, tf.reverse(v, [-1])))(tf.gather(tf.concat([$x, tf.sum($x, -1, true)], -1), [0, 0, 0], -1))",
  ],
  ["x:matrices", `((r) => tf.matMul(r, r))(tf.linalg.sqrtm(${POSITIVE})) ≡ ${POSITIVE}`],
  [
    "x:matrices",
    `tf.linalg.logm(tf.cast(${POSITIVE}, "complex64"))`,
  ],
  [
    "x:matrices",
    `((v) => tf.linalg.bandedTriangularSolve(tf.stack([tf.add(tf.abs(tf.mean(v, -1)), 2), tf.sin(tf.sum(v, -1))], -2), v, { lower: true, adjoint: #bool }))(tf.concat([$x, $x], -2))`,
    2,
  ],
  [
    "x:matrix",
    `((a) => tf.linalg.eighTridiagonal(a, tf.add(tf.abs(tf.slice(tf.reverse(a, [0]), [1])), 0.5)))(tf.sum($x, -1))`,
  ],
  ["x:matrix", "tf.linalg.gramSchmidt(tf.add($x, tf.eye($x.shape[0], $x.shape[1])))"],
];

/** Systems in branches and loops, over rows, and beside masks and products. */
export const SYSTEMS: readonly Template[] = [
  [
    "x:matrices",
    `tf.cond(tf.greater(tf.sum($x), 0), () => tf.linalg.inv(${SQUARE}), () => tf.linalg.cholesky(${POSITIVE}))`,
    2,
  ],
  [
    "x:matrices",
    `tf.whileLoop((i) => tf.less(i, 3), (i, a) => [tf.add(i, 1), tf.linalg.solve(${SQUARE}, a)], [0, $x])[1]`,
    2,
  ],
  [
    "x:matrices",
    `((l) => tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.linalg.triangularSolve(l, tf.sin(a), true, #bool)], [0, $x])[1])(tf.linalg.cholesky(${POSITIVE}))`,
    2,
  ],
  [
    "x:attended",
    `tf.mapFn((row) => tf.linalg.triangularSolve(tf.add(tf.matMul(row, row, false, true), tf.mul(4, tf.linalg.diag(tf.onesLike(tf.sum(row, -1))))), row), $x)`,
  ],
  [
    "x:attended",
    `tf.vectorizedMap((row) => tf.linalg.#pick(inv|cholesky|det|expm)(tf.add(tf.div(tf.matMul(row, row, false, true), 8), tf.linalg.diag(tf.onesLike(tf.sum(row, -1))))), $x)`,
  ],
  [
    "x:matrices m:bool",
    `tf.where(tf.any($m), tf.linalg.solve(${SQUARE}, $x), tf.mul(tf.cast(tf.all($m), $x.dtype), $x))`,
  ],
  ["x:matrices", `tf.relu(tf.matMul(tf.linalg.inv(${SQUARE}), tf.add($x, 1)))`],
  [
    "x:matrices",
    `tf.grad((a) => tf.sum(tf.square(tf.linalg.#pick(cholesky|inv)(tf.add(a, tf.mul(${UNIT}, 3))))))(${POSITIVE})`,
  ],
];
