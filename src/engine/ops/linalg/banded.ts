/** Triangular systems whose matrices have few diagonals, part of the namespace `tf.linalg`: bandedTriangularSolve. */
import { apply1, compose } from "../../core/apply.ts";
import { optionCheck, wantBoolean } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { broadcastShapes, compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { type BandedForm, bandedSolveCpu } from "../../kernels/host/linalg/banded.ts";
import { zerosLike } from "../array/creation.ts";
import { concat, stack } from "../array/join.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { expandDims, reshape, shape, squeeze } from "../array/view.ts";
import {
  asTensor,
  castInput,
  intScalar,
  shapeOfInput,
  toFloatInput,
  toMatchingInputs,
} from "../input.ts";
import { mul, neg, sub } from "../pointwise/arithmetic.ts";
import { matMul } from "./matmul.ts";

function solutionShape(bands: PartialShape, rhs: PartialShape): PartialShape {
  if (bands === null || rhs === null) return null;
  const m = bands.at(-1) ?? null, rows = rhs.at(-2) ?? null;
  if (bands.length < 2 || rhs.length < 2 || !compatible([m], [rows]) || bands.at(-2) === 0) {
    throw new ValueError(
      `Cannot solve a banded system: bands of shape ${
        shapeText(bands)
      } do not fit right-hand sides of shape ${shapeText(rhs)}: wanted [..., k, m] and [..., m, n]`,
    );
  }
  const batch = broadcastShapes(bands.slice(0, -2), rhs.slice(0, -2));
  return batch && [...batch, m ?? rows, rhs.at(-1)!];
}

/** The number of bands, int32. */
function countOf(bands: Tensor): Tensor {
  const known = bands.staticShape?.at(-2);
  return known == null
    ? reshape(stridedSlice(shape(bands), [-2], [-1]), [])
    : asTensor(intScalar(known));
}

export const BandedTriangularSolve: OpDef = defineOp({
  name: "BandedTriangularSolve",
  inputs: ["matrix: T", "rhs: T"],
  outputs: ["output: T"],
  attrs: ["lower: bool = true", "adjoint: bool = false", "T: {float64, float32, float16}"],
  infer: ([bands, rhs]) => [solutionShape(bands.shape, rhs.shape)],
  grad: {
    saves: ["matrix", "output"],
    vjp: ({ matrix, output: x }, [dy], { attrs, needs, sumLike }) => {
      const db = apply1(BandedTriangularSolve, [matrix, dy], { ...attrs, adjoint: !attrs.adjoint });
      if (!needs[0]) return [null, sumLike(db, 1)];
      const [left, right] = attrs.adjoint ? [x, db] : [db, x];
      const outer = neg(matMul(left, right, false, true));
      // The bands as MatrixDiagPartV3 numbers them: down to 1 - k, or up from k - 1.
      const far = mul(sub(intScalar(1), countOf(matrix)), attrs.lower ? 1 : -1);
      const none = zerosLike(far), zero = castInput(intScalar(0), matrix.dtype);
      const ends = stack(attrs.lower ? [far, none] : [none, far]);
      // A band may have no element, where there are more of them than rows.
      const attrsOfPart = { align: "LEFT_RIGHT", _outside: true };
      const taken = apply1(lookupOp("MatrixDiagPartV3")!, [outer, ends, zero], attrsOfPart);
      // One diagonal has no axis of its own.
      const last = stridedSlice(shape(matrix), [-2], [0], [1], 0, 1);
      const dims = concat([stridedSlice(shape(outer), [0], [-2]), last]);
      return [sumLike(reshape(taken, dims), 0), sumLike(db, 1)];
    },
  },
  cpu: ([bands, rhs], [out], { attrs }) => bandedSolveCpu(bands, rhs, out, attrs as BandedForm),
});

const check = optionCheck<Partial<BandedForm>>("linalg.bandedTriangularSolve", {
  lower: true,
  adjoint: true,
});

/**
 * Solves systems of triangular matrices that have `k` diagonals, `bands` `[..., k, m]`: from the main one down with `lower`, the default,
 * else from the topmost to the main one. Rows of diagonals below begin with elements that are not read, those of diagonals above end with
 * them. Right sides are `[..., m, n]`, or `[m]` for one vector; batches broadcast. With `adjoint` the transposed matrices are solved. On the
 * host. Throws `ValueError` for shapes that do not fit, `InvalidArgumentError` for a zero on a main diagonal. TensorFlow op
 * `BandedTriangularSolve`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bands = [[2, 4, 8], [0, 1, 2]]; // [[2, 0, 0], [1, 4, 0], [0, 2, 8]]
 * console.log(await tf.linalg.bandedTriangularSolve(bands, [2, 5, 10]).array()); // [1, 1, 1]
 * ```
 */
export function bandedTriangularSolve(
  bands: TensorLike,
  rhs: TensorLike,
  options: Partial<BandedForm> = {},
): Tensor {
  const fn = "linalg.bandedTriangularSolve";
  check(options);
  const { lower = true, adjoint = false } = options;
  wantBoolean(lower, "lower", fn);
  wantBoolean(adjoint, "adjoint", fn);
  return compose(() => {
    const left = asTensor(toFloatInput(bands, "bands", fn));
    const [a, b] = toMatchingInputs(left, rhs, fn, ["bands", "rhs"]);
    const isVector = shapeOfInput(b)?.length === 1;
    const x = apply1(BandedTriangularSolve, [a, isVector ? expandDims(asTensor(b), -1) : b], {
      lower,
      adjoint,
    });
    return isVector ? squeeze(x, [-1]) : x;
  });
}
