/** The namespace `tf.linalg`. */
export { bandPart, gramSchmidt, qr, tensordot, triangularSolve } from "./linalg.ts";
export { eig, eigh, eigvals, eigvalsh, lu, svd, svdvals } from "./decompositions.ts";
export {
  adjoint,
  cond,
  expm,
  logdet,
  matrixRank,
  matrixTranspose,
  matvec,
  pinv,
} from "./matrix_functions.ts";
export { cholesky, choleskySolve, det, inv, lstsq, slogdet, solve } from "./solve.ts";
export { luMatrixInverse, luReconstruct, luSolve } from "./factored.ts";
export {
  type DiagonalsFormat,
  tridiagonalMatmul,
  type TridiagonalOptions,
  tridiagonalSolve,
  type TridiagonalSolveOptions,
} from "./tridiagonal.ts";
export {
  cross,
  diag,
  type DiagonalOptions,
  type DiagOptions,
  diagPart,
  type DiagPartOptions,
  setDiag,
  trace,
} from "./diagonals.ts";
export { bandedTriangularSolve } from "./banded.ts";
export { eighTridiagonal, type EighTridiagonalOptions } from "./eigh_tridiagonal.ts";
export { matrixPower, multiDot, toeplitz } from "./powers.ts";
export { logm, sqrtm } from "./roots.ts";
