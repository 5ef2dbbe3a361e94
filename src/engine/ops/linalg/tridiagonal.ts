/** Matrices of three diagonals, part of the namespace `tf.linalg`: tridiagonalMatmul, tridiagonalSolve. */
import { apply1, compose } from "../../core/apply.ts";
import { optionCheck, wantList, wrongArgument } from "../../core/arguments.ts";
import { UnimplementedError, ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, mergeShapes, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { tridiagonalSolveCpu } from "../../kernels/host/linalg/tridiagonal.ts";
import { zerosLike } from "../array/creation.ts";
import { concat, split, stack } from "../array/join.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { expandDims, squeeze } from "../array/view.ts";
import { asTensor, shapeOfInput, toFloatInput, toMatchingInputs } from "../input.ts";
import { add, mul, neg } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { diagPart } from "./diagonals.ts";
import { flip } from "./adjoints.ts";
import { brief } from "../../core/text.ts";

const FLOATS = "T: {float64, float32, float16}";

/** The form of three diagonals. */
export type DiagonalsFormat = "compact" | "sequence" | "matrix";

/** Options of {@linkcode tridiagonalMatmul}. */
export interface TridiagonalOptions {
  /**
   * `"compact"`: one tensor `[..., 3, m]` of the upper diagonal, whose last element is not read, the main one, and the lower one, whose
   * first is not read. `"sequence"`: a list of these three, of `[..., m]`; the outer ones may have an element less. `"matrix"`: the
   * whole matrix `[..., m, m]`, of which the three diagonals are read. Default `"compact"`.
   */
  readonly diagonalsFormat?: DiagonalsFormat | undefined;
}

/** Options of {@linkcode tridiagonalSolve}. */
export interface TridiagonalSolveOptions extends TridiagonalOptions {
  /** True for right sides `[..., k, m]`. Default false. */
  readonly transposeRhs?: boolean | undefined;
  /** False to leave rows in their order: faster, and only right for matrices that need no exchange. Default true. */
  readonly partialPivoting?: boolean | undefined;
}

const checkMatmul = optionCheck<TridiagonalOptions>("linalg.tridiagonalMatmul", {
  diagonalsFormat: true,
});
const checkSolve = optionCheck<TridiagonalSolveOptions>("linalg.tridiagonalSolve", {
  diagonalsFormat: true,
  transposeRhs: true,
  partialPivoting: true,
});

/** Returns a part of the last axis, or of the last but one: all but its first or last element, or its first one. */
function part(x: Tensor, which: "tail" | "head" | "first", axis: -1 | -2): Tensor {
  const isTail = which === "tail", rest = axis === -2 ? 0b100 : 0;
  const begin = [0, isTail ? 1 : 0, 0], end = [0, which === "head" ? -1 : 1, 0];
  const [from, to] = axis === -2 ? [begin, end] : [begin.slice(0, 2), end.slice(0, 2)];
  return stridedSlice(x, from, to, null, rest, rest | (isTail ? 0b010 : 0), 0b001);
}

/** Appends zeros in the place of an element, or puts them before. */
function withZeros(x: Tensor, place: "after" | "before", axis: -1 | -2, like: Tensor): Tensor {
  const zeros = zerosLike(part(like, "first", axis));
  return concat(place === "after" ? [x, zeros] : [zeros, x], axis);
}

/** Returns the diagonals of the transposed matrices. */
function transposed(diagonals: Tensor): Tensor {
  const [upper, main, lower] = split(diagonals, 3, -2);
  return concat([
    withZeros(part(lower, "tail", -1), "after", -1, main),
    main,
    withZeros(part(upper, "head", -1), "before", -1, main),
  ], -2);
}

/** Checks that diagonals `[..., 3, m]` fit right sides `[..., m, k]`; returns their common shape. */
function solutionShape(diagonals: PartialShape, rhs: PartialShape): PartialShape {
  if (diagonals === null || rhs === null) return rhs;
  const n = diagonals.length,
    fits = n >= 2 && rhs.length === n &&
      compatible([...diagonals.slice(0, -2), diagonals[n - 1]], rhs.slice(0, -1)) &&
      compatible([diagonals[n - 2]], [3]);
  if (!fits) {
    throw new ValueError(
      `Cannot solve a tridiagonal system: diagonals of shape ${
        shapeText(diagonals)
      } do not fit right-hand sides of shape ${shapeText(rhs)}: wanted [..., 3, m] and [..., m, k]`,
    );
  }
  const known = mergeShapes([...diagonals.slice(0, -2), diagonals[n - 1]], rhs.slice(0, -1))!;
  return [...known, rhs[n - 1]];
}

const TridiagonalSolve: OpDef = defineOp({
  name: "TridiagonalSolve",
  inputs: ["diagonals: T", "rhs: T"],
  outputs: ["output: T"],
  attrs: ["partial_pivoting: bool = true", "perturb_singular: bool = false", FLOATS],
  infer: ([diagonals, rhs], { perturb_singular }) => {
    if (perturb_singular) {
      throw new UnimplementedError(
        "Cannot apply TridiagonalSolve: perturb_singular is not supported",
      );
    }
    return [solutionShape(diagonals.shape, rhs.shape)];
  },
  grad: {
    saves: ["diagonals", "output"],
    vjp: ({ diagonals, output: x }, [dy], { attrs, needs }) => {
      const db = apply1(TridiagonalSolve, [transposed(diagonals), dy], attrs);
      if (!needs[0]) return [null, db];
      const main = sum(mul(db, x), -1);
      const upper = sum(mul(part(db, "head", -2), part(x, "tail", -2)), -1);
      const lower = sum(mul(part(db, "tail", -2), part(x, "head", -2)), -1);
      const all = [
        withZeros(upper, "after", -1, main),
        main,
        withZeros(lower, "before", -1, main),
      ];
      return [neg(stack(all, -2)), db];
    },
  },
  cpu: ([diagonals, rhs], [out], { attrs }) =>
    tridiagonalSolveCpu(diagonals, rhs, out, attrs.partial_pivoting),
});

const TridiagonalMatMul: OpDef = defineOp({
  name: "TridiagonalMatMul",
  inputs: ["superdiag: T", "maindiag: T", "subdiag: T", "rhs: T"],
  outputs: ["output: T"],
  attrs: [FLOATS],
  infer: ([upper, main, lower, rhs]) => {
    for (const { shape } of [upper, main, lower]) {
      if (shape === null || rhs.shape === null) continue;
      const batch = rhs.shape.slice(0, -2), m = rhs.shape.at(-2) ?? null;
      if (rhs.shape.length < 2 || !compatible(shape, [...batch, 1, m])) {
        throw new ValueError(
          `Cannot multiply by a tridiagonal matrix: a diagonal of shape ${
            shapeText(shape)
          } does not fit a matrix of shape ${
            shapeText(rhs.shape)
          }: wanted [..., 1, m] and [..., m, k]`,
        );
      }
    }
    return [rhs.shape];
  },
  expand: (inputs) => {
    const [upper, main, lower, x] = inputs.map(asTensor);
    const above = mul(flip(part(upper, "head", -1)), part(x, "tail", -2));
    const below = mul(flip(part(lower, "tail", -1)), part(x, "head", -2));
    const outer = add(withZeros(above, "after", -2, x), withZeros(below, "before", -2, x));
    return [add(mul(flip(main), x), outer)];
  },
});

/** Adds the element of an outer diagonal that is not read, where there is none. */
function lengthened(x: Tensor, place: "after" | "before", main: Tensor): Tensor {
  const own = x.staticShape?.at(-1), wanted = main.staticShape?.at(-1);
  const isShort = own != null && wanted != null && own === wanted - 1;
  return isShort ? withZeros(x, place, -1, main) : x;
}

/** Returns diagonals of any form as `[..., 3, m]`. */
function compactOf(
  diagonals: TensorLike | readonly TensorLike[],
  format: DiagonalsFormat,
  fn: string,
): Tensor {
  const float = (x: TensorLike): Tensor => asTensor(toFloatInput(x, "diagonals", fn));
  switch (format) {
    case "compact":
      return float(diagonals as TensorLike);
    case "matrix":
      return diagPart(float(diagonals as TensorLike), { k: [-1, 1], align: "LEFT_RIGHT" });
    case "sequence": {
      wantList(diagonals, "diagonals", fn, "three tensors");
      const list = diagonals as readonly TensorLike[];
      if (list.length !== 3) {
        throw wrongArgument(diagonals, "diagonals", fn, "a list of three tensors");
      }
      const [upper, main, lower] = list.map(float);
      return stack([lengthened(upper, "after", main), main, lengthened(lower, "before", main)], -2);
    }
  }
  throw new ValueError(
    `${fn}(): diagonalsFormat must be compact, sequence or matrix, received ${brief(format)}`,
  );
}

/**
 * Multiplies matrices `[..., m, k]` by matrices of three diagonals. TensorFlow op `TridiagonalMatMul`. Throws `ValueError` for shapes that
 * do not fit and an unknown format.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const diagonals = [[1, 1], [2, 2, 2], [-1, -1]];
 * const y = tf.linalg.tridiagonalMatmul(diagonals, [[1], [2], [3]], { diagonalsFormat: "sequence" });
 * console.log(await y.array()); // [[4], [6], [4]]
 * ```
 */
export function tridiagonalMatmul(
  diagonals: TensorLike | readonly TensorLike[],
  rhs: TensorLike,
  options: TridiagonalOptions = {},
): Tensor {
  checkMatmul(options);
  return compose(() => {
    const fn = "linalg.tridiagonalMatmul";
    const compact = compactOf(diagonals, options.diagonalsFormat ?? "compact", fn);
    const [all, x] = toMatchingInputs(compact, rhs, fn, ["diagonals", "rhs"]);
    return apply1(TridiagonalMatMul, [...split(asTensor(all), 3, -2), x]);
  });
}

/**
 * Solves systems of three diagonals for right sides `[..., m, k]`, or `[..., m]` for one each. NaN where a matrix has no inverse. On the
 * host, in float64. TensorFlow op `TridiagonalSolve`. Throws `ValueError` for shapes that do not fit and an unknown format.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const diagonals = [[1, 1, 0], [2, 2, 2], [0, -1, -1]];
 * console.log(await tf.linalg.tridiagonalSolve(diagonals, [4, 6, 4]).array()); // [1, 2, 3]
 * ```
 */
export function tridiagonalSolve(
  diagonals: TensorLike | readonly TensorLike[],
  rhs: TensorLike,
  options: TridiagonalSolveOptions = {},
): Tensor {
  checkSolve(options);
  const { diagonalsFormat = "compact", transposeRhs = false, partialPivoting = true } = options;
  return compose(() => {
    const fn = "linalg.tridiagonalSolve", compact = compactOf(diagonals, diagonalsFormat, fn);
    const [all, given] = toMatchingInputs(compact, rhs, fn, ["diagonals", "rhs"]);
    const b = asTensor(given), rank = shapeOfInput(given)?.length;
    const isVector = rank !== undefined && rank + 1 === shapeOfInput(all)?.length;
    const right = isVector ? expandDims(b, -1) : transposeRhs ? flip(b) : b;
    const x = apply1(TridiagonalSolve, [all, right], { partial_pivoting: partialPivoting });
    return isVector ? squeeze(x, [-1]) : x;
  });
}
