/** Singular values, eigenvalues of symmetric matrices and triangular factors, which only files have. On the host. */
import { apply } from "../../engine/core/apply.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { defineOp, type OpDef } from "../../engine/core/op.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { eighCpu, luCpu, svdCpu } from "../../engine/kernels/host/linalg/decompose.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike, zerosLike } from "../../engine/ops/array/creation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { expandDims, rank, shape } from "../../engine/ops/array/view.ts";
import { diag, diagPart, setDiag } from "../../engine/ops/linalg/diagonals.ts";
import { bandPart, flip, triangularSolve } from "../../engine/ops/linalg/linalg.ts";
import { matMul } from "../../engine/ops/linalg/matmul.ts";
import { square } from "../../engine/ops/pointwise/power.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal } from "../../engine/ops/pointwise/compare.ts";
import { where } from "../../engine/ops/pointwise/select.ts";
import { iota } from "./shared.ts";

const FLOATS = "T: {float64, float32, float16}";

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

/** The vectors have no gradient if a singular value repeats or is 0. J. Townsend, "Differentiating the SVD" (2016). */
function svdGradient(
  [s, u, v]: readonly Tensor[],
  [ds, du, dv]: readonly (Tensor | null)[],
): Tensor {
  let inner = diag(ds ?? zerosLike(s)), outer: Tensor | null = null;
  const other = gaps(square(s));
  const across = (x: Tensor, dx: Tensor): Tensor => {
    const product = matMul(x, dx, true);
    return mul(other, sub(product, flip(product)));
  };
  // The part outside the space of the given vectors.
  const beyond = (x: Tensor, dx: Tensor): Tensor => sub(dx, matMul(x, matMul(x, dx, true)));
  const inverse = div(1, s);
  if (du !== null) {
    inner = add(inner, scaled(across(u, du), s));
    outer = matMul(scaled(beyond(u, du), inverse), v, false, true);
  }
  if (dv !== null) {
    inner = add(inner, mul(across(v, dv), expandDims(s, -1)));
    const part = matMul(scaled(u, inverse), beyond(v, dv), false, true);
    outer = outer === null ? part : add(outer, part);
  }
  const within = matMul(u, matMul(inner, v, false, true));
  return outer === null ? within : add(within, outer);
}

const Svd: OpDef = defineOp({
  name: "Svd",
  inputs: ["input: T"],
  outputs: ["s: T", "u: T", "v: T"],
  attrs: ["compute_uv: bool = true", "full_matrices: bool = false", FLOATS],
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
      if (attrs.full_matrices && m != null && n != null && m !== n) {
        throw new UnimplementedError(
          "Cannot differentiate Svd: full_matrices is implemented for square matrices",
        );
      }
      return [svdGradient([s, u, v], [ds, du, dv])];
    },
  },
  cpu: ([x], [s, u, v], { attrs }) => svdCpu(x, s, attrs.compute_uv ? [u, v] : null),
});

const Eigh: OpDef = defineOp({
  name: "SelfAdjointEigV2",
  inputs: ["input: T"],
  outputs: ["e: T", "v: T"],
  attrs: ["compute_v: bool = true", FLOATS],
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
      const inner = attrs.compute_v ? add(along, mul(gaps(e), matMul(v, dv!, true))) : along;
      const all = matMul(vectors, matMul(inner, vectors, false, true));
      // Only the lower triangle was read.
      const lower = bandPart(add(all, flip(all)), -1, 0);
      return [setDiag(lower, mul(diagPart(lower), 0.5))];
    },
  },
  cpu: ([x], [e, v], { attrs }) => eighCpu(x, e, attrs.compute_v ? v : null),
});

const strictlyLower = (x: Tensor): Tensor => sub(bandPart(x, -1, 0), bandPart(x, 0, 0));

defineOp({
  name: "Lu",
  inputs: ["input: T"],
  outputs: ["lu: T", "p: output_idx_type"],
  attrs: ["output_idx_type: index = int32", FLOATS],
  infer: ([x]): PartialShape[] => {
    const known = matrixShape("Lu", x, true);
    if (known === null) return [null, null];
    const { batch, rows, columns } = known, n = rows ?? columns;
    return [[...batch, n, n], [...batch, n]];
  },
  grad: {
    saves: ["lu", "p"],
    // As in TensorFlow: both triangles of the gradient are carried back over those of the matrix.
    vjp: ({ lu, p }, [dy]) => {
      const n = gather(shape(lu), sub(rank(lu), 1));
      const lower = setDiag(bandPart(lu, -1, 0), onesLike(diagPart(lu))),
        upper = bandPart(lu, 0, -1);
      const below = strictlyLower(matMul(lower, strictlyLower(dy!), true));
      const above = bandPart(matMul(bandPart(dy!, 0, -1), upper, false, true), 0, -1);
      const half = triangularSolve(lower, add(below, above), true, true);
      const rows = flip(triangularSolve(upper, flip(half), false));
      // Row k of the factors is row p[k] of the matrix.
      const places = equal(expandDims(cast(p, "int32"), -1), iota(n));
      return [matMul(cast(places, lu.dtype), rows, true)];
    },
  },
  cpu: ([x], [lu, p]) => luCpu(x, lu, p),
});
