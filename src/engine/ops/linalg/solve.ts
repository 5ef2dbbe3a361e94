/**
 * Inverses, determinants and linear systems, part of the namespace `tf.linalg`: cholesky, choleskySolve, det, inv, lstsq, slogdet, solve.
 * Eliminations run on the host, with sums in float64.
 */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { mergeShapes, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { complexDeterminantCpu, complexSolveCpu } from "../../kernels/host/linalg/complex_solve.ts";
import { complexCholeskyCpu } from "../../kernels/host/linalg/complex_triangles.ts";
import { choleskyCpu, determinantCpu, solveCpu } from "../../kernels/host/linalg/solve.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { eye } from "../array/ranges.ts";
import { expandDims, rank, shape } from "../array/view.ts";
import { asTensor, shapeOfInput, toFloatInput, toInput, toMatchingInputs } from "../input.ts";
import { add, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { less } from "../pointwise/compare.ts";
import { complex, conj, imag, real } from "../pointwise/complex.ts";
import { logicalNot } from "../pointwise/logical.ts";
import { where } from "../pointwise/select.ts";
import { diagPart, setDiag } from "./diagonals.ts";
import { adjointOf, conjugate, isComplex, NUMBERS, product } from "./adjoints.ts";
import { bandPart, qr, triangularSolve } from "./linalg.ts";

/** Returns the shape of a batch of square matrices. */
function square(shape: PartialShape, op: string): PartialShape {
  if (shape === null) return null;
  const [rows, columns] = shape.slice(-2);
  if (shape.length < 2 || (rows !== null && columns !== null && rows !== columns)) {
    throw new ValueError(
      `Input matrix must be square: ${op} received an input of shape ${shapeText(shape)}`,
    );
  }
  return [...shape.slice(0, -2), rows ?? columns, columns ?? rows];
}

const MatrixInverse = defineOp({
  name: "MatrixInverse",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: ["adjoint: bool = false", NUMBERS],
  infer: ([x]) => [square(x.shape, "MatrixInverse")],
  grad: {
    saves: ["output"],
    vjp: ({ output }, [dy], { attrs: { adjoint } }) => [
      neg(product(output, product(dy, output, adjoint, !adjoint), !adjoint, false)),
    ],
  },
  meaning: { kind: "elimination", gives: "inverse" },
  cpu: ([x], [out], { attrs }) =>
    (isComplex(x) ? complexSolveCpu : solveCpu)(x, null, out, attrs.adjoint),
});

/** Multiplies each matrix by a number. */
function scaled(matrix: Tensor, by: Tensor): Tensor {
  return mul(matrix, expandDims(expandDims(by, -1), -1));
}

const MatrixDeterminant = defineOp({
  name: "MatrixDeterminant",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: [NUMBERS],
  infer: ([x]) => [square(x.shape, "MatrixDeterminant")?.slice(0, -2) ?? null],
  grad: {
    saves: ["input", "output"],
    vjp: ({ input, output }, [dy]) => [scaled(inv(input, true), mul(dy, conjugate(output)))],
  },
  meaning: { kind: "elimination", gives: "determinant" },
  cpu: ([x], [out]) => (isComplex(x) ? complexDeterminantCpu : determinantCpu)(x, out, null),
});

const LogMatrixDeterminant = defineOp({
  name: "LogMatrixDeterminant",
  inputs: ["input: T"],
  outputs: ["sign: T", "log_abs_determinant: T"],
  attrs: [NUMBERS],
  infer: ([x]) => {
    const batch = square(x.shape, "LogMatrixDeterminant")?.slice(0, -2) ?? null;
    return [batch, batch];
  },
  grad: {
    saves: ["input", "sign"],
    vjp: ({ input, sign }, [dsign, dlog]) => {
      // Signs of complex determinants turn, of which TensorFlow's gradient knows nothing; the logarithms are real.
      const by = isComplex(dlog) ? complex(real(dlog), neg(imag(mul(conj(dsign), sign)))) : dlog;
      return [scaled(inv(input, true), by)];
    },
  },
  meaning: { kind: "elimination", gives: "log determinant" },
  cpu: ([x], [sign, log]) => (isComplex(x) ? complexDeterminantCpu : determinantCpu)(x, sign, log),
});

/** The gradient of matrices from that of their factors: I. Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10. */
export function choleskyGradient(l: Tensor, dy: Tensor): Tensor {
  const all = product(l, dy, true);
  const lower = sub(bandPart(all, -1, 0), mul(bandPart(all, 0, 0), 0.5));
  const left = triangularSolve(l, lower, true, true);
  const both = triangularSolve(l, adjointOf(left), true, true);
  return mul(add(both, adjointOf(both)), 0.5);
}

const Cholesky = defineOp({
  name: "Cholesky",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: [NUMBERS],
  infer: ([x]) => [square(x.shape, "Cholesky")],
  grad: {
    saves: ["output"],
    vjp: ({ output: l }, [dy]) => [choleskyGradient(l, dy)],
  },
  meaning: { kind: "elimination", gives: "cholesky" },
  cpu: ([x], [out]) => (isComplex(x) ? complexCholeskyCpu : choleskyCpu)(x, out),
});

/** Returns the extents of matrices and right-hand sides. Throws `ValueError` where they do not fit. */
function systems(what: string, a: NonNullable<PartialShape>, b: NonNullable<PartialShape>) {
  const n = a.length;
  if (n < 2 || b.length !== n) {
    throw new ValueError(
      `Cannot solve ${what} of matrices of rank ${n} and right-hand sides of rank ${b.length}: wanted equal ranks of 2 or more`,
    );
  }
  return {
    batch: mergeShapes(a.slice(0, -2), b.slice(0, -2))!,
    rows: mergeShapes([a[n - 2]], [b[n - 2]])!,
    columns: [a[n - 1]],
    results: b[n - 1],
  };
}

const MatrixSolve = defineOp({
  name: "MatrixSolve",
  inputs: ["matrix: T", "rhs: T"],
  outputs: ["output: T"],
  attrs: ["adjoint: bool = false", NUMBERS],
  infer: ([a, b]) => {
    if (a.shape === null || b.shape === null) return [b.shape];
    const { batch, rows, columns, results } = systems("a system", a.shape, b.shape);
    return [[...batch, ...mergeShapes(rows, columns)!, results]];
  },
  grad: {
    saves: ["matrix", "output"],
    vjp: ({ matrix, output }, [dy], { attrs, needs }) => {
      const { adjoint } = attrs;
      const db = apply1(MatrixSolve, [matrix, dy], { adjoint: !adjoint });
      const outer = () =>
        adjoint ? product(output, db, false, true) : product(db, output, false, true);
      return [needs[0] ? neg(outer()) : null, db];
    },
  },
  meaning: { kind: "elimination", gives: "solution" },
  cpu: ([a, b], [out], { attrs }) =>
    (isComplex(a) ? complexSolveCpu : solveCpu)(a, b, out, attrs.adjoint),
});

/** Solves least squares by the normal equations, as TensorFlow's fast path does. */
function byNormalEquations(a: Tensor, b: Tensor, l2: OpInput, wide: boolean): Tensor {
  const gram = wide ? product(a, a, false, true) : product(a, a, true);
  const n = gram.staticShape![gram.rank - 1]!;
  const regular = add(gram, mul(eye(n, n, null, a.dtype), cast(asTensor(l2), a.dtype)));
  const factor = cholesky(regular);
  return wide
    ? product(a, choleskySolve(factor, b), true)
    : choleskySolve(factor, product(a, b, true));
}

/**
 * Solves least squares of matrices of which only a run knows if they are wide: both normal equations, of which the one that does not hold is
 * made solvable and dropped. Gradients are made of it.
 */
function byBothEquations(a: Tensor, b: Tensor, l2: OpInput | null): Tensor {
  const [rows, columns] = [2, 1].map((back) => gather(shape(a), sub(rank(a), back)));
  const isWide = less(rows!, columns!);
  const [tall, wide] = [isWide, logicalNot(isWide)].map((isOther, i) => {
    const gram = i === 1 ? product(a, a, false, true) : product(a, a, true);
    const other = cast(isOther, a.dtype);
    const more = l2 === null ? other : add(cast(asTensor(l2), a.dtype), other);
    const factor = cholesky(setDiag(gram, add(diagPart(gram), more)));
    return i === 1
      ? product(a, choleskySolve(factor, b), true)
      : choleskySolve(factor, product(a, b, true));
  });
  return where(isWide, wide!, tall!);
}

/** Solves least squares by an orthogonal basis, which loses fewer digits. */
function byQr(a: Tensor, b: Tensor, wide: boolean): Tensor {
  const [q, r] = qr(wide ? adjointOf(a) : a);
  return wide
    ? product(q, triangularSolve(r, b, false, true))
    : triangularSolve(r, product(q, b, true), false);
}

const MatrixSolveLs = defineOp({
  name: "MatrixSolveLs",
  inputs: ["matrix: T", "rhs: T", "l2_regularizer: double"],
  outputs: ["output: T"],
  attrs: [NUMBERS, "fast: bool = true"],
  infer: ([a, b]) => {
    if (a.shape === null || b.shape === null) return [null];
    const { batch, columns, results } = systems("least squares", a.shape, b.shape);
    return [[...batch, ...columns, results]];
  },
  expand: ([matrix, rhs, l2], { fast }) => {
    const [rows, columns] = shapeOfInput(matrix)?.slice(-2) ?? [null, null];
    const a = asTensor(matrix), b = asTensor(rhs);
    if (rows === null || columns === null) return [byBothEquations(a, b, fast ? l2 : null)];
    const wide = rows < columns;
    return [fast ? byNormalEquations(a, b, l2, wide) : byQr(a, b, wide)];
  },
});

/**
 * The inverse of each matrix, or of its transpose. TensorFlow op `MatrixInverse`. Throws `ValueError` for matrices that are not square,
 * `InvalidArgumentError` for one that has no inverse.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.inv([[2, 1], [0, 4]]).arraySync()); // [[0.5, -0.125], [0, 0.25]]
 * ```
 */
export function inv(input: TensorLike, adjoint = false): Tensor {
  return apply1(MatrixInverse, [toFloatInput(input, "input", "inv")], { adjoint });
}

/**
 * The determinant of each matrix. TensorFlow op `MatrixDeterminant`. Throws `ValueError` for matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.det([[[1, 2], [3, 4]], [[2, 0], [0, 5]]]).arraySync()); // [-2, 10]
 * ```
 */
export function det(input: TensorLike): Tensor {
  return apply1(MatrixDeterminant, [toFloatInput(input, "input", "det")]);
}

/**
 * The sign of each matrix's determinant and the logarithm of its absolute value: 0 and `-Infinity` where there is no inverse.
 * TensorFlow op `LogMatrixDeterminant`. Throws `ValueError` for matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [sign, logAbsDeterminant] = tf.linalg.slogdet([[0, 1], [1, 0]]);
 * console.log([sign.item(), logAbsDeterminant.item()]); // [-1, 0]
 * ```
 */
export function slogdet(input: TensorLike): [sign: Tensor, logAbsDeterminant: Tensor] {
  const [sign, log] = apply(LogMatrixDeterminant, [toFloatInput(input, "input", "slogdet")]);
  return [sign, log];
}

/**
 * The lower triangle L of `L · Lᵀ` for each symmetric matrix, of `L · Lᴴ` for complex ones; only the lower triangle is read. NaN where a matrix is not positive
 * definite. TensorFlow op `Cholesky`. Throws `ValueError` for matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.cholesky([[4, 2], [2, 5]]).arraySync()); // [[2, 0], [1, 2]]
 * ```
 */
export function cholesky(input: TensorLike): Tensor {
  return apply1(Cholesky, [toFloatInput(input, "input", "cholesky")]);
}

/**
 * Solves `A · X = rhs` given the triangle of {@linkcode cholesky} of A. Follows TensorFlow `tf.linalg.cholesky_solve`. Throws
 * `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const chol = tf.linalg.cholesky([[4, 2], [2, 5]]);
 * console.log(tf.linalg.choleskySolve(chol, [[8], [12]]).arraySync()); // [[1], [2]]
 * ```
 */
export function choleskySolve(chol: TensorLike, rhs: TensorLike): Tensor {
  return triangularSolve(chol, triangularSolve(chol, rhs), true, true);
}

/**
 * Solves `matrix · X = rhs`, or of the transposed matrices. TensorFlow op `MatrixSolve`. Throws `ValueError` for shapes that do not
 * fit, `InvalidArgumentError` for a matrix that has no inverse.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.solve([[0, 2], [1, 1]], [[4], [3]]).arraySync()); // [[1], [2]]
 * ```
 */
export function solve(matrix: TensorLike, rhs: TensorLike, adjoint = false): Tensor {
  const inputs = toMatchingInputs(matrix, rhs, "solve", ["matrix", "rhs"]);
  return apply1(MatrixSolve, inputs, { adjoint });
}

/**
 * Least squares: the X for which `matrix · X - rhs` is smallest, with `l2Regularizer` times the square of X added; of several, the
 * smallest X. `fast` solves the normal equations; else, without a regularizer, by QR, which loses fewer digits. Matrices must have full
 * rank. TensorFlow op `MatrixSolveLs`. Throws `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.linalg.lstsq([[1, 0], [1, 1], [1, 2]], [[1], [3], [5]]);
 * console.log(x.dataSync()[1].toFixed(4)); // 2.0000
 * ```
 */
export function lstsq(
  matrix: TensorLike,
  rhs: TensorLike,
  l2Regularizer: number | Tensor = 0,
  fast = true,
): Tensor {
  const l2 = toInput(l2Regularizer, "l2Regularizer", "lstsq", { dtype: "float64" });
  const inputs = toMatchingInputs(matrix, rhs, "lstsq", ["matrix", "rhs"]);
  return apply1(MatrixSolveLs, [...inputs, l2], { fast });
}
