/**
 * The namespace `tf.linalg`.
 */
export { bandPart, gramSchmidt, qr, tensordot, triangularSolve } from "./linalg.ts";
export { cholesky, choleskySolve, det, inv, lstsq, slogdet, solve } from "./solve.ts";
