/** Linear algebra, the namespace `tf.linalg`: bandPart, gramSchmidt, qr, triangularSolve. */
import { wantList } from "../../core/arguments.ts";
import { apply, apply1, compose } from "../../core/apply.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { broadcastShapes, type PartialShape, shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { UnimplementedError, ValueError } from "../../core/errors.ts";
import {
  complexQrCpu,
  complexTriangularSolveCpu,
} from "../../kernels/host/linalg/complex_triangles.ts";
import { bandPartCpu, qrCpu, triangularSolveCpu } from "../../kernels/host/linalg/linalg.ts";
import { stack, unstack } from "../array/join.ts";
import { gather } from "../array/gather.ts";
import { rank, shape } from "../array/view.ts";
import { einsum } from "./einsum.ts";
import {
  asTensor,
  intScalar,
  toFloatInput,
  toIndexInput,
  toInput,
  toInputs,
  toMatchingInputs,
} from "../input.ts";
import { adjointOf, columns, conjugate, isComplex, NUMBERS, product } from "./adjoints.ts";
import { diag, diagPart } from "./diagonals.ts";
import { matMul } from "./matmul.ts";
import { cast } from "../array/cast.ts";
import { real } from "../pointwise/complex.ts";
import { add, div, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { norm } from "../reduce/reduce_derived.ts";
import { brief } from "../../core/text.ts";

/** Returns the extents of matrices. Throws `ValueError` for lower ranks. */
function extentsOf(shape: NonNullable<PartialShape>, op: string): readonly (number | null)[] {
  if (shape.length >= 2) return shape.slice(-2);
  throw new ValueError(
    `Shape must be at least rank 2 but is rank ${shape.length} for 'input' of ${op}`,
  );
}

function checkBand(name: string, { value }: Spec, of: string, limit: number | null): void {
  const n = value?.at(0);
  if (n === undefined || limit === null) return;
  if (Number(n) <= limit && Number.isInteger(Number(n))) return;
  throw new ValueError(
    `${name} must be negative or less or equal to number of ${of} (${limit}), received ${n}`,
  );
}

const MatrixBandPart = defineOp({
  name: "MatrixBandPart",
  inputs: ["input: T", "num_lower: Tindex", "num_upper: Tindex"],
  outputs: ["band: T"],
  attrs: ["T: type", "Tindex: index = int64"],
  hostInputs: ["num_lower", "num_upper"],
  infer: ([x, lower, upper]) => {
    if (x.shape === null) return [null];
    const [rows, columns] = extentsOf(x.shape, "MatrixBandPart");
    checkBand("num_lower", lower, "rows", rows);
    checkBand("num_upper", upper, "columns", columns);
    return [x.shape];
  },
  grad: {
    saves: ["num_lower", "num_upper"],
    vjp: (
      { num_lower, num_upper },
      [dy],
    ) => [apply1(MatrixBandPart, [dy, num_lower, num_upper]), null, null],
  },
  meaning: { kind: "special", kernel: "band part" },
  cpu: ([x, lower, upper], [out]) => bandPartCpu(x, out, Number(lower.at(0)), Number(upper.at(0))),
});

const MatrixTriangularSolve = defineOp({
  name: "MatrixTriangularSolve",
  inputs: ["matrix: T", "rhs: T"],
  outputs: ["output: T"],
  attrs: [
    "lower: bool = true",
    "adjoint: bool = false",
    NUMBERS,
  ],
  infer: ([a, b]) => {
    if (a.shape === null || b.shape === null) return [null];
    const [rows, columns] = a.shape.slice(-2), n = b.shape[b.shape.length - 2];
    if (
      a.shape.length < 2 || b.shape.length < 2 ||
      (rows !== null && columns !== null && rows !== columns)
    ) {
      throw new ValueError(
        "Cannot solve a triangular system: wanted square matrices and right-hand sides of rank 2 or more",
      );
    }
    if (rows !== null && n !== null && rows !== n) {
      throw new ValueError(
        `Cannot solve a triangular system: dimensions must be equal, but are ${rows} and ${n}`,
      );
    }
    const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2))!;
    return [[...batch, ...b.shape.slice(-2)]];
  },
  grad: {
    saves: ["matrix", "output"],
    vjp: ({ matrix, output }, [dy], { attrs, needs, sumLike }) => {
      const { lower, adjoint } = attrs;
      const db = apply1(MatrixTriangularSolve, [matrix, dy], { lower, adjoint: !adjoint });
      const da = needs[0]
        ? neg(adjoint ? product(output, db, false, true) : product(db, output, false, true))
        : null;
      return [da && sumLike(bandPart(da, lower ? -1 : 0, lower ? 0 : -1), 0), sumLike(db, 1)];
    },
  },
  meaning: { kind: "elimination", gives: "substitution" },
  cpu: ([a, b], [out], { attrs }) => {
    const run = isComplex(a) ? complexTriangularSolveCpu : triangularSolveCpu;
    run(a, b, out, attrs.lower, attrs.adjoint);
  },
});

/**
 * The gradient of matrices of no more columns than rows from that of their factors: D. Roberts and L. Roberts, "QR and LQ Decomposition Matrix
 * Backpropagation Algorithms" (2020).
 */
function qrGradient(q: Tensor, r: Tensor, dq: Tensor, dr: Tensor): Tensor {
  // Products with the inverse of R are triangular systems.
  const byInverse = (x: Tensor): Tensor =>
    adjointOf(
      apply1(MatrixTriangularSolve, [r, adjointOf(x)], { lower: false, adjoint: false }),
    );
  const qdq = product(q, dq, true), rdr = product(r, dr, false, true);
  const skew = add(sub(qdq, adjointOf(qdq)), sub(rdr, adjointOf(rdr)));
  let inner = bandPart(skew, -1, 0);
  if (isComplex(q)) {
    // The diagonal of R stays real.
    const turns = diagPart(sub(rdr, adjointOf(qdq)));
    inner = add(inner, diag(conjugate(sub(turns, cast(real(turns), turns.dtype)))));
  }
  const first = matMul(q, add(dr, byInverse(inner)));
  return add(first, byInverse(sub(dq, matMul(q, qdq))));
}

const Qr = defineOp({
  name: "Qr",
  inputs: ["input: T"],
  outputs: ["q: T", "r: T"],
  attrs: ["full_matrices: bool = false", NUMBERS],
  infer: ([x], { full_matrices }) => {
    if (x.shape === null) return [null, null];
    const [m, n] = extentsOf(x.shape, "Qr"), batch = x.shape.slice(0, -2);
    const k = full_matrices ? m : m === null || n === null ? null : Math.min(m, n);
    return [[...batch, m, k], [...batch, k, n]];
  },
  grad: {
    saves: ["q", "r"],
    vjp: ({ q, r }, [dq, dr], { attrs }) => {
      const m = q.staticShape?.[q.rank - 2] ?? null, n = r.staticShape?.[r.rank - 1] ?? null;
      if (m !== null && n !== null && attrs.full_matrices && m > n) {
        throw new UnimplementedError(
          "Cannot differentiate qr: full_matrices is implemented for matrices with no more rows than columns",
        );
      }
      if (m !== null && n !== null && m >= n) return [qrGradient(q, r, dq!, dr!)];
      // The columns beyond the square are products with Q; there are none where only a run finds matrices that are not wide.
      const k = q.staticShape?.at(-1) ?? gather(shape(q), sub(rank(q), 1));
      const [left, right] = [r, dr!].map((x) => [columns(x, 0, k), columns(x, k)]);
      const more = matMul(q, product(left[1], right[1], false, true));
      const first = qrGradient(q, left[0], add(dq!, more), right[0]);
      return [apply1(lookupOp("ConcatV2")!, [first, matMul(q, right[1]), intScalar(-1)])];
    },
  },
  cpu: ([x], [q, r]) => (isComplex(x) ? complexQrCpu : qrCpu)(x, q, r),
});

/**
 * Keeps a band of each matrix: `numLower` diagonals below the main one and `numUpper` above it; negative numbers keep all.
 * TensorFlow op `MatrixBandPart`. Throws `ValueError` for ranks below 2 and numbers larger than the matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.bandPart([[1, 2], [3, 4]], 0, -1).arraySync()); // [[1, 2], [0, 4]]
 * ```
 */
export function bandPart(
  a: TensorLike,
  numLower: number | Tensor,
  numUpper: number | Tensor,
): Tensor {
  const count = (n: number | Tensor, what: string) => {
    if (n instanceof Tensor) return toIndexInput(n, what, "bandPart");
    if (!Number.isInteger(n)) {
      throw new ValueError(`bandPart(): ${what} must be an integer, received ${brief(n)}`);
    }
    return intScalar(n);
  };
  return apply1(MatrixBandPart, [
    toInput(a, "a", "bandPart"),
    count(numLower, "numLower"),
    count(numUpper, "numUpper"),
  ]);
}

/**
 * Makes vectors orthonormal, one after the other: the rows of a matrix, or a list of vectors. Follows TensorFlow.js
 * `gramSchmidt`. Throws `ValueError` for vectors of other ranks or lengths, and where there are more vectors than dimensions.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.linalg.gramSchmidt(tf.tensor([[2, 0], [3, 4]])) as tf.Tensor).arraySync()); // [[1, 0], [0, 1]]
 * ```
 */
export function gramSchmidt(xs: readonly Tensor[] | Tensor): Tensor[] | Tensor {
  return compose(() => {
    const isList = Array.isArray(xs);
    const rows = isList
      ? xs.map((x, i) => asTensor(toInput(x, `xs[${i}]`, "gramSchmidt")))
      : unstack(xs as Tensor, 0);
    if (rows.length === 0) {
      throw new ValueError("Gram-Schmidt process: wanted at least one vector, received none");
    }
    const dim = rows[0].staticShape?.[0] ?? null;
    if (dim === null || rows.some((row) => String(row.staticShape) !== `${dim}`)) {
      throw new ValueError(
        `Gram-Schmidt process: wanted vectors of one length that is known, received shapes ${
          rows.map((row) => shapeText(row.staticShape))
        }`,
      );
    }
    if (rows.length > dim) {
      throw new ValueError(
        `Gram-Schmidt process: number of vectors (${rows.length}) exceeds number of dimensions (${dim})`,
      );
    }
    const ys: Tensor[] = [];
    for (const row of rows) {
      let y = row;
      for (const before of ys) y = sub(y, mul(sum(mul(before, y)), before));
      ys.push(div(y, norm(y, "euclidean")));
    }
    return isList ? ys : stack(ys, 0);
  });
}

/**
 * QR decomposition of each matrix: `q` has orthonormal columns, `r` is upper triangular. TensorFlow op `Qr`.
 * Throws `ValueError` for ranks below 2.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[3, 1], [4, 2]]);
 * const [q, r] = tf.linalg.qr(x);
 * console.log(tf.max(tf.abs(tf.sub(tf.matMul(q, r), x))).item().toFixed(4)); // 0.0000
 * ```
 */
export function qr(x: TensorLike, fullMatrices = false): [Tensor, Tensor] {
  const [q, r] = apply(Qr, [toFloatInput(x, "x", "qr")], { full_matrices: fullMatrices });
  return [q, r];
}

/**
 * Solves `matrix · X = rhs` for triangular matrices; the other triangle is not read. TensorFlow op `MatrixTriangularSolve`.
 * Throws `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.triangularSolve([[2, 0], [1, 1]], [[2], [3]]).arraySync()); // [[1], [2]]
 * ```
 */
export function triangularSolve(
  matrix: TensorLike,
  rhs: TensorLike,
  lower = true,
  adjoint = false,
): Tensor {
  const [a, b] = toMatchingInputs(matrix, rhs, "triangularSolve", ["matrix", "rhs"]);
  return apply1(MatrixTriangularSolve, [a, b], { lower, adjoint });
}

/**
 * The product of two tensors summed over pairs of axes: the last `axes` of `a` with the first of `b`, or the listed axes of each.
 * Follows TensorFlow `tf.tensordot`. Throws `ValueError` for axes that are not there or lists of different lengths.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensordot([[1, 2], [3, 4]], [5, 6], 1).arraySync()); // [17, 39]
 * console.log(tf.tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], [[0, 1], [0, 1]]).item()); // 30
 * ```
 */
export function tensordot(
  a: TensorLike,
  b: TensorLike,
  axes: number | readonly [number | readonly number[], number | readonly number[]],
): Tensor {
  if (typeof axes !== "number") wantList(axes, "axes", "tensordot");
  const [x, y] = toInputs([a, b], "tensors", "tensordot").map(asTensor);
  if (x.staticShape === null || y.staticShape === null) {
    throw new ValueError(
      `Cannot apply tensordot: wanted tensors of known ranks, received shapes ${
        shapeText(x.staticShape)
      } and ${shapeText(y.staticShape)}`,
    );
  }
  const count = (n: number, from: number): number[] =>
    Array.from({ length: n }, (_, i) => from + i);
  const [left, right] = typeof axes === "number"
    ? [count(axes, x.rank - axes), count(axes, 0)]
    : axes.map((list, k) => [list].flat().map((i) => i < 0 ? i + [x, y][k].rank : i));
  const fits = (list: readonly number[], t: Tensor): boolean =>
    new Set(list).size === list.length &&
    list.every((i) => Number.isInteger(i) && i >= 0 && i < t.rank);
  if (!left || left.length !== right?.length || !fits(left, x) || !fits(right, y)) {
    throw new ValueError(
      `Different number of contraction axes 'a' and 'b', or axes that are not there: received ${
        JSON.stringify(axes)
      } for tensors of ranks ${x.rank} and ${y.rank}`,
    );
  }
  const letter = (i: number): string => String.fromCharCode(i < 26 ? 97 + i : 39 + i);
  const first = count(x.rank, 0).map(letter);
  const second = count(y.rank, x.rank).map(letter).map((own, i) =>
    right.includes(i) ? first[left[right.indexOf(i)]] : own
  );
  const result = [
    ...first.filter((_, i) => !left.includes(i)),
    ...second.filter((_, i) => !right.includes(i)),
  ];
  return einsum(`${first.join("")},${second.join("")}->${result.join("")}`, x, y);
}
