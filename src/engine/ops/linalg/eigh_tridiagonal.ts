/** Eigenvalues of symmetric matrices of three diagonals, part of the namespace `tf.linalg`. */
import { compose } from "../../core/apply.ts";
import { optionCheck, wantBoolean, wantList } from "../../core/arguments.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { expandDims, reshape } from "../array/view.ts";
import { asTensor, shapeOfInput, toFloatInput, toMatchingInputs } from "../input.ts";
import { add, mul, neg } from "../pointwise/arithmetic.ts";
import { greater, lessEqual } from "../pointwise/compare.ts";
import { complex, real } from "../pointwise/complex.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { angle } from "../pointwise/made.ts";
import { abs } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { cos, sin } from "../pointwise/trigonometric.ts";
import { cumsum } from "../reduce/scan.ts";
import { eigh, eigvalsh } from "./decompositions.ts";
import { diag } from "./diagonals.ts";
import { brief } from "../../core/text.ts";

/** Options of {@linkcode eighTridiagonal}. */
export interface EighTridiagonalOptions {
  /** False: the eigenvectors are returned too. Default true. */
  readonly eigvalsOnly?: boolean;
  /** `"a"`: all eigenvalues; `"i"`: those whose numbers, `"v"`: those of a vector's matrix whose values are in a range. Default `"a"`. */
  readonly select?: "a" | "i" | "v";
  /** The first and last number for `"i"`; for `"v"` two values, of which the first does not belong to the range. */
  readonly selectRange?: readonly [number, number];
}

const check = optionCheck<EighTridiagonalOptions>("linalg.eighTridiagonal", {
  eigvalsOnly: true,
  select: true,
  selectRange: true,
});

function checkRange({ select = "a", selectRange }: EighTridiagonalOptions, fn: string): void {
  if (!["a", "i", "v"].includes(select)) {
    throw new ValueError(
      `Cannot apply ${fn}: select must be "a", "i" or "v", received ${brief(select)}`,
    );
  }
  if (select === "a") return;
  wantList(selectRange, "selectRange", fn, "two numbers");
  const [low, high] = selectRange!, isWhole = select === "v" || [low, high].every(Number.isInteger);
  const isEmpty = select === "v" ? !(low < high) : !(low >= 0 && low <= high);
  if (selectRange!.length !== 2 || isEmpty || !isWhole) {
    throw new ValueError(
      `Cannot apply ${fn}: selectRange must be ${
        select === "v" ? "two rising numbers" : "the first and last number of eigenvalues"
      }, received [${selectRange}]`,
    );
  }
}

/**
 * Eigenvalues, ascending, of the symmetric matrices with the diagonals `alpha`, `[..., n]`, and `beta` beside it, `[..., n - 1]`; with
 * `eigvalsOnly: false` also the eigenvectors, as columns. Complex ones are of Hermitian matrices: of `alpha` the real part counts, `beta`
 * is the upper diagonal. The matrices are built in full. Throws `ValueError` for extents that do not fit and for ranges that are empty.
 * Follows TensorFlow `tf.linalg.eigh_tridiagonal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.round(tf.linalg.eighTridiagonal([2, 2], [1]) as tf.Tensor).array()); // [1, 3]
 * ```
 */
export function eighTridiagonal(
  alpha: TensorLike,
  beta: TensorLike,
  options: EighTridiagonalOptions = {},
): Tensor | [values: Tensor, vectors: Tensor] {
  const fn = "linalg.eighTridiagonal";
  check(options);
  const { eigvalsOnly = true, select = "a", selectRange = [0, 0] } = options;
  wantBoolean(eigvalsOnly, "eigvalsOnly", fn);
  checkRange(options, fn);
  const made = compose(() => {
    const first = asTensor(toFloatInput(alpha, "alpha", fn));
    const [a, b] = toMatchingInputs(first, beta, fn, ["alpha", "beta"]).map(asTensor);
    checkExtents(a, b, { fn, isOne: select === "v" });
    const isComplex = DTYPES[a.dtype].kind === "complex";
    const main = isComplex ? real(a) : a, side = isComplex ? abs(b) : b;
    const full = add(diag(main), diag(side, { k: -1 }));
    if (eigvalsOnly) return [taken(eigvalsh(full), -1, select, selectRange)];
    const [e, v] = eigh(full);
    const vectors = isComplex ? turned(v, b, main) : v;
    if (select !== "v") return [e, vectors].map((x) => taken(x, -1, select, selectRange));
    const at = placesIn(e, selectRange);
    return [gather(e, at), gather(vectors, at, -1)];
  });
  return eigvalsOnly ? made[0] : [made[0], made[1]];
}

function checkExtents(
  a: Tensor,
  b: Tensor,
  { fn, isOne }: { readonly fn: string; readonly isOne: boolean },
): void {
  const main = shapeOfInput(a), side = shapeOfInput(b), n = main?.at(-1) ?? null;
  const fits = main === null || side === null ||
    main.length > 0 && side.length > 0 && (!isOne || main.length === 1) &&
      compatible([...main.slice(0, -1), n === null ? null : n - 1], side);
  if (fits && n !== 0) return;
  throw new ValueError(
    `Cannot apply ${fn} to alpha of shape ${shapeText(main)} and beta of shape ${
      shapeText(side)
    }: wanted ${isOne ? "[n] and [n - 1]" : "[..., n] and [..., n - 1]"}`,
  );
}

/** Takes eigenvalues, or columns, by their numbers or their values. */
function taken(x: Tensor, axis: number, select: string, range: readonly [number, number]): Tensor {
  if (select === "a") return x;
  if (select === "v") return gather(x, placesIn(x, range));
  const [low, high] = range;
  return gather(x, Array.from({ length: high - low + 1 }, (_, i) => low + i), axis);
}

function placesIn(values: Tensor, [low, high]: readonly [number, number]): Tensor {
  const isIn = logicalAnd(greater(values, low), lessEqual(values, high));
  return reshape(where(isIn), [-1]);
}

/** Turns the rows of vectors by the sums of the angles that turn beta into its size. */
function turned(v: Tensor, beta: Tensor, main: Tensor): Tensor {
  const none = zerosLike(gather(main, [0], -1));
  const angles = expandDims(concat([none, cumsum(neg(angle(beta)), -1)], -1), -1);
  return complex(mul(v, cos(angles)), mul(v, sin(angles)));
}
