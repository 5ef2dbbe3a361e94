/** Singular values, eigenvalues and triangular factors. On the host. */
import { apply, apply1 } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { UnimplementedError, ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { eighCpu, luCpu, svdCpu } from "../../kernels/host/linalg/decompose.ts";
import { complexLuCpu } from "../../kernels/host/linalg/complex_solve.ts";
import { complexEighCpu, complexSvdCpu } from "../../kernels/host/linalg/complex_decompose.ts";
import { eigCpu, eigLeftCpu } from "../../kernels/host/linalg/eig.ts";
import { cast } from "../array/cast.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { expandDims, rank, shape } from "../array/view.ts";
import { diag, diagPart, setDiag } from "./diagonals.ts";
import { adjointOf, columns, isComplex, NUMBERS, product } from "./adjoints.ts";
import { bandPart, triangularSolve } from "./linalg.ts";
import { matMul } from "./matmul.ts";
import { sum } from "../reduce/reduce.ts";
import { square } from "../pointwise/power.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { complex, conj, real } from "../pointwise/complex.ts";
import { toFloatInput } from "../input.ts";

/** Returns batch, rows and columns of matrices; null if the rank is unknown. */
function matrixShape(op: string, { shape }: Spec, isSquare = false) {
  if (shape === null) return null;
  const [rows, columns] = shape.slice(-2);
  if (shape.length < 2) {
    throw new ValueError(`Shape must be at least rank 2 but is rank ${shape.length} for '${op}'`);
  }
  if (isSquare && rows !== null && columns !== null && rows !== columns) {
    throw new ValueError(`Dimensions must be equal, but are ${rows} and ${columns} for '${op}'`);
  }
  return { batch: shape.slice(0, -2), rows, columns };
}

/** Multiplies each column of a matrix by a number. */
const scaled = (x: Tensor, by: Tensor): Tensor => mul(x, expandDims(by, -2));

/** Returns one over `a_j - a_i` at row i and column j, and 0 where they are equal. */
function gaps(a: Tensor): Tensor {
  const gap = sub(expandDims(a, -2), expandDims(a, -1)), isNone = equal(gap, 0);
  return where(isNone, mul(gap, 0), div(1, where(isNone, onesLike(gap), gap)));
}

/** Half of what the phases of complex vectors, which are free, add: from one side, as TensorFlow does. */
function turns(
  [u, v]: readonly Tensor[],
  [du, dv]: readonly (Tensor | null)[],
): Tensor | null {
  const [m, n] = [u, v].map((x) => x.staticShape?.at(-2) ?? null);
  const isTall = m !== null && n !== null && m > n;
  const [x, dx] = isTall ? [u, du] : [v, dv];
  if (dx === null) return null;
  const along = sum(mul(conj(x), dx), -2), twice = sub(along, conj(along));
  return mul(twice, isTall ? 0.5 : -0.5);
}

/** Vectors without a singular value, beside the others of their side, and what their gradient is; null where there are none. */
type Rest = readonly [x: Tensor, dx: Tensor] | null;

/**
 * The vectors have no gradient if a singular value repeats or is 0. J. Townsend, "Differentiating the SVD" (2016). Of vectors without a
 * singular value the part along the others counts: within their space they may turn, which gives one vector no slope.
 */
function svdGradient(
  [s, u, v]: readonly Tensor[],
  [ds, du, dv]: readonly (Tensor | null)[],
  rests: readonly [Rest, Rest] = [null, null],
): Tensor {
  let inner = diag(ds ?? zerosLike(s)), outer: Tensor | null = null;
  const other = gaps(square(s));
  const across = (x: Tensor, dx: Tensor): Tensor => {
    const all = product(x, dx, true);
    return mul(other, sub(all, adjointOf(all)));
  };
  // The part outside the space of the given vectors.
  const beyond = (x: Tensor, dx: Tensor, rest: Rest): Tensor => {
    const own = sub(dx, matMul(x, product(x, dx, true)));
    return rest === null ? own : sub(own, matMul(rest[0], product(rest[1], x, true)));
  };
  const inverse = div(1, s);
  if (du !== null) {
    inner = add(inner, scaled(across(u, du), s));
    outer = product(scaled(beyond(u, du, rests[0]), inverse), v, false, true);
  }
  if (dv !== null) {
    inner = add(inner, mul(across(v, dv), expandDims(s, -1)));
    const part = product(scaled(u, inverse), beyond(v, dv, rests[1]), false, true);
    outer = outer === null ? part : add(outer, part);
  }
  const turning = isComplex(u) ? turns([u, v], [du, dv]) : null;
  if (turning !== null) inner = add(inner, diag(mul(turning, inverse)));
  const within = matMul(u, product(inner, v, false, true));
  return outer === null ? within : add(within, outer);
}

/** The gradient of decompositions with all vectors of both sides. */
function fullSvdGradient(
  [s, u, v]: readonly Tensor[],
  [ds, du, dv]: readonly (Tensor | null)[],
): Tensor {
  const k = s.staticShape?.at(-1) ?? gather(shape(s), sub(rank(s), 1));
  const parts = ([[u, du], [v, dv]] as const).map(([x, dx]) => {
    const first = columns(x, 0, k);
    if (dx === null) return { first, own: null, rest: null };
    const own = columns(dx, 0, k), rest = [columns(x, k), columns(dx, k)] as const;
    return { first, own, rest };
  });
  const [left, right] = parts;
  return svdGradient([s, left.first, right.first], [ds, left.own, right.own], [
    left.rest,
    right.rest,
  ]);
}

const Svd: OpDef = defineOp({
  name: "Svd",
  inputs: ["input: T"],
  outputs: ["s: T", "u: T", "v: T"],
  attrs: ["compute_uv: bool = true", "full_matrices: bool = false", NUMBERS],
  infer: ([x], { compute_uv, full_matrices }): PartialShape[] => {
    const known = matrixShape("Svd", x);
    if (known === null) return [null, compute_uv ? null : [0], compute_uv ? null : [0]];
    const { batch, rows, columns } = known;
    const least = rows === null || columns === null ? null : Math.min(rows, columns);
    const s = [...batch, least];
    if (!compute_uv) return [s, [0], [0]];
    const side = (n: number | null) => [...batch, n, full_matrices ? n : least];
    return [s, side(rows), side(columns)];
  },
  grad: {
    saves: ["input", "s", "u", "v"],
    partial: true,
    vjp: ({ input, s, u, v }, [ds, du, dv], { attrs }) => {
      if (!attrs.compute_uv) {
        const all = apply(Svd, [input], { compute_uv: true, full_matrices: false });
        return [svdGradient(all, [ds, null, null])];
      }
      const [m, n] = input.staticShape?.slice(-2) ?? [];
      if (!attrs.full_matrices || (m != null && m === n)) {
        return [svdGradient([s, u, v], [ds, du, dv])];
      }
      if (m != null && n != null && Math.abs(m - n) > 1 && (du !== null || dv !== null)) {
        throw new UnimplementedError(
          `Cannot differentiate Svd: full_matrices is implemented for extents that differ by 1 at most, received ${m} and ${n}`,
        );
      }
      return [fullSvdGradient([s, u, v], [ds, du, dv])];
    },
  },
  cpu: ([x], [s, u, v], { attrs }) =>
    (isComplex(x) ? complexSvdCpu : svdCpu)(x, s, attrs.compute_uv ? [u, v] : null),
});

const Eigh: OpDef = defineOp({
  name: "SelfAdjointEigV2",
  inputs: ["input: T"],
  outputs: ["e: T", "v: T"],
  attrs: ["compute_v: bool = true", NUMBERS],
  infer: ([x], { compute_v }): PartialShape[] => {
    const known = matrixShape("SelfAdjointEigV2", x, true);
    if (known === null) return [null, compute_v ? null : [0]];
    const { batch, rows, columns } = known, n = rows ?? columns;
    return [[...batch, n], compute_v ? [...batch, n, n] : [0]];
  },
  grad: {
    saves: ["input", "e", "v"],
    vjp: ({ input, e, v }, [de, dv], { attrs }) => {
      const vectors = attrs.compute_v ? v : apply(Eigh, [input], { compute_v: true })[1];
      const along = diag(de!);
      const inner = attrs.compute_v ? add(along, mul(gaps(e), product(v, dv!, true))) : along;
      const all = matMul(vectors, product(inner, vectors, false, true));
      // Only the lower triangle was read.
      const lower = bandPart(add(all, adjointOf(all)), -1, 0);
      return [setDiag(lower, mul(diagPart(lower), 0.5))];
    },
  },
  cpu: ([x], [e, v], { attrs }) =>
    (isComplex(x) ? complexEighCpu : eighCpu)(x, e, attrs.compute_v ? v : null),
});

const strictlyLower = (x: Tensor): Tensor => sub(bandPart(x, -1, 0), bandPart(x, 0, 0));

const Lu: OpDef = defineOp({
  name: "Lu",
  inputs: ["input: T"],
  outputs: ["lu: T", "p: output_idx_type"],
  attrs: ["output_idx_type: index = int32", NUMBERS],
  infer: ([x]): PartialShape[] => {
    const known = matrixShape("Lu", x, true);
    if (known === null) return [null, null];
    const { batch, rows, columns } = known, n = rows ?? columns;
    return [[...batch, n, n], [...batch, n]];
  },
  grad: {
    saves: ["lu", "p"],
    // Both triangles of the gradient are carried back over those of the matrix.
    vjp: ({ lu, p }, [dy]) => {
      const n = gather(shape(lu), sub(rank(lu), 1));
      const lower = setDiag(bandPart(lu, -1, 0), onesLike(diagPart(lu))),
        upper = bandPart(lu, 0, -1);
      const below = strictlyLower(product(lower, strictlyLower(dy!), true));
      const above = bandPart(product(bandPart(dy!, 0, -1), upper, false, true), 0, -1);
      const half = triangularSolve(lower, add(below, above), true, true);
      const rows = adjointOf(triangularSolve(upper, adjointOf(half), false));
      // Row k of the factors is row p[k] of the matrix.
      const places = equal(
        expandDims(cast(p, "int32"), -1),
        range(0, n as unknown as number, 1, "int32"),
      );
      return [matMul(cast(places, lu.dtype), rows, true)];
    },
  },
  meaning: { kind: "elimination", gives: "factors" },
  cpu: ([x], [lu, p]) => (isComplex(x) ? complexLuCpu : luCpu)(x, lu, p),
});

/** Shapes of eigenvalues and vectors of square matrices. */
function eigShapes(op: string, x: Spec): [PartialShape, PartialShape] {
  const known = matrixShape(op, x, true);
  if (known === null) return [null, null];
  const { batch, rows, columns } = known, n = rows ?? columns;
  return [[...batch, n], [...batch, n, n]];
}

/** The adjoint of the inverse of {@linkcode eig}'s vectors, which its gradient reads. */
const EigLeft: OpDef = defineOp({
  name: "_EigLeft",
  portable: { never: "TensorFlow's order of eigenvalues is another" },
  inputs: ["input: T"],
  outputs: ["w: Tout"],
  attrs: ["T: {float32, float64, complex64, complex128}", "Tout: {complex64, complex128}"],
  infer: ([x]) => [eigShapes("Eig", x)[1]],
  grad: null,
  cpu: ([x], [w]) => eigLeftCpu(x, w),
});

const Eig: OpDef = defineOp({
  name: "Eig",
  inputs: ["input: T"],
  outputs: ["e: Tout", "v: Tout"],
  attrs: [
    "compute_v: bool = true",
    "T: {float32, float64, complex64, complex128}",
    "Tout: {complex64, complex128}",
  ],
  infer: ([x], { compute_v }) => {
    const [e, v] = eigShapes("Eig", x);
    return [e, compute_v ? v : [0]];
  },
  grad: {
    saves: ["input", "e", "v"],
    partial: true,
    // M. Giles, "An extended collection of matrix derivative results" (2008), section 3.1, for complex matrices.
    vjp: ({ input, e, v }, [de, dv], { attrs: { compute_v, Tout } }) => {
      const left = apply1(EigLeft, [input], { Tout });
      const vectors = compute_v ? v : apply(Eig, [input], { compute_v: true, Tout })[1];
      const adjoint = adjointOf(vectors);
      let inner: Tensor | null = de === null ? null : diag(de);
      if (compute_v && dv !== null) {
        const gap = sub(expandDims(e, -2), expandDims(e, -1)), isNone = equal(gap, 0);
        const inverse = where(
          isNone,
          zerosLike(gap),
          div(onesLike(gap), where(isNone, onesLike(gap), gap)),
        );
        const product = matMul(adjoint, dv);
        const along = real(diagPart(product));
        const own = matMul(adjoint, scaled(vectors, complex(along, zerosLike(along))));
        const across = mul(conj(inverse), sub(product, own));
        inner = inner === null ? across : add(inner, across);
      }
      if (inner === null) return [null];
      const all = matMul(left, matMul(inner, adjoint));
      return [/^complex/.test(input.dtype) ? all : real(all)];
    },
  },
  cpu: ([x], [e, v], { attrs }) => eigCpu(x, e, attrs.compute_v ? v : null),
});

/** Singular values of complex matrices as real numbers, in place of the complex ones. */
function realOf(s: Tensor): Tensor {
  if (!isComplex(s)) return s;
  const values = real(s);
  s.dispose();
  return values;
}

/**
 * Singular value decompositions: `a = u · diag(s) · vᵀ` for each matrix (`vᴴ` for complex ones), singular values real and descending. TensorFlow op `Svd`. Throws
 * `ValueError` for what is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [s, u, v] = tf.linalg.svd([[3, 0], [0, -4]]);
 * console.log(await s.array(), u.shape, v.shape); // [4, 3] [2, 2] [2, 2]
 * ```
 */
export function svd(a: TensorLike, fullMatrices = false): [s: Tensor, u: Tensor, v: Tensor] {
  const input = toFloatInput(a, "a", "svd");
  const [s, u, v] = apply(Svd, [input], { compute_uv: true, full_matrices: fullMatrices });
  return [realOf(s), u, v];
}

/**
 * Singular values of each matrix, descending. TensorFlow op `Svd`. Throws `ValueError` for what is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.svdvals([[0, 2], [1, 0]]).arraySync()); // [2, 1]
 * ```
 */
export function svdvals(a: TensorLike): Tensor {
  const input = toFloatInput(a, "a", "svdvals");
  const [s, ...empty] = apply(Svd, [input], { compute_uv: false });
  for (const t of empty) t.dispose();
  return realOf(s);
}

/**
 * Eigenvalues, ascending, and eigenvectors, as columns, of symmetric or Hermitian matrices; only the lower triangle is read. TensorFlow op
 * `SelfAdjointEigV2`. Throws `ValueError` for matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [values, vectors] = tf.linalg.eigh([[2, 1], [1, 2]]);
 * console.log(await tf.round(values).array(), vectors.shape); // [1, 3] [2, 2]
 * ```
 */
export function eigh(a: TensorLike): [values: Tensor, vectors: Tensor] {
  const [e, v] = apply(Eigh, [toFloatInput(a, "a", "eigh")], { compute_v: true });
  return [e, v];
}

/**
 * Eigenvalues of symmetric matrices, ascending. TensorFlow op `SelfAdjointEigV2`. Throws `ValueError` for matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.eigvalsh([[3, 0], [0, 2]]).arraySync()); // [2, 3]
 * ```
 */
export function eigvalsh(a: TensorLike): Tensor {
  const [e, empty] = apply(Eigh, [toFloatInput(a, "a", "eigvalsh")], { compute_v: false });
  empty.dispose();
  return e;
}

/**
 * Eigenvalues and eigenvectors, as columns of length 1, of any square matrices, complex and in no order. On the host. TensorFlow op `Eig`.
 * Throws `ValueError` for matrices that are not square, `InvalidArgumentError` for NaN and infinities.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [values] = tf.linalg.eig([[0, -1], [1, 0]]); // a quarter turn: i and -i
 * console.log(await tf.round(tf.abs(tf.imag(values))).array()); // [1, 1]
 * ```
 */
export function eig(a: TensorLike): [values: Tensor, vectors: Tensor] {
  const input = toFloatInput(a, "a", "eig");
  const [e, v] = apply(Eig, [input], { compute_v: true, Tout: complexOf(input.dtype) });
  return [e, v];
}

/**
 * Eigenvalues of any square matrices, complex and in no order. TensorFlow op `Eig`. Throws as {@linkcode eig} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.eigvals([[0, -1], [1, 0]]).dtype); // complex64
 * ```
 */
export function eigvals(a: TensorLike): Tensor {
  const input = toFloatInput(a, "a", "eigvals");
  const [e, empty] = apply(Eig, [input], { compute_v: false, Tout: complexOf(input.dtype) });
  empty.dispose();
  return e;
}

function complexOf(dtype: DType): DType {
  return dtype === "float64" || dtype === "complex128" ? "complex128" : "complex64";
}

/**
 * Triangular factors of each square matrix in one, and the rows in the order of the pivots: row k of the product is row `p[k]` of the
 * matrix. TensorFlow op `Lu`. Throws `ValueError` for matrices that are not square, `InvalidArgumentError` for one without an inverse.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [lu, p] = tf.linalg.lu([[0, 2], [4, 1]]);
 * console.log(await lu.array(), await p.array()); // [[4, 1], [0, 2]] [1, 0]
 * ```
 */
export function lu(a: TensorLike): [lu: Tensor, p: Tensor] {
  const [factors, p] = apply(Lu, [toFloatInput(a, "a", "lu")]);
  return [factors, p];
}
