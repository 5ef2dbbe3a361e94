/** Products of many matrices, and matrices of one vector: matrixPower, multiDot, toeplitz. */
import { compose } from "../../core/apply.ts";
import { wantList } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { reverse } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { expandDims, identity, shape, squeeze } from "../array/view.ts";
import { onesLike } from "../array/creation.ts";
import { asTensor } from "../input.ts";
import { add, sub, toNumberInput } from "../pointwise/arithmetic.ts";
import { conj } from "../pointwise/complex.ts";
import { diag } from "./diagonals.ts";
import { matMul } from "./matmul.ts";
import { inv } from "./solve.ts";

/**
 * Square matrices times themselves, `n` factors of each; for 0 identity matrices, for a negative `n` powers of the inverse. Of the shape of `x`. Follows `numpy.linalg.matrix_power`. Throws
 * `ValueError` for matrices that are not square, an unknown rank and an `n` that is no whole number.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.matrixPower([[1, 1], [0, 1]], 5).arraySync()); // [[1, 5], [0, 1]]
 * ```
 */
export function matrixPower(x: TensorLike, n: number): Tensor {
  return compose(() => {
    const input = asTensor(toNumberInput(x, "matrixPower")), dims = input.staticShape;
    const [rows, columns] = dims?.slice(-2) ?? [];
    const isSquare = rows === columns || rows === null || columns === null;
    if (dims === null || dims.length < 2 || !isSquare || !Number.isSafeInteger(n)) {
      throw new ValueError(
        `Cannot apply matrixPower to shape ${shapeText(dims)} with n ${
          describe(n)
        }: wanted square matrices and a whole number`,
      );
    }
    if (n === 0) {
      const column = gather(input, 0, dims.length - 1);
      return diag(onesLike(column));
    }
    let square = n < 0 ? inv(input) : input, power: Tensor | null = null;
    for (let rest = Math.abs(n);; square = matMul(square, square)) {
      if (rest % 2 === 1) power = power === null ? square : matMul(power, square);
      rest = Math.floor(rest / 2);
      if (rest === 0) return power === input ? identity(input) : power!;
    }
  });
}

/**
 * The product of two or more matrices, in the order of the fewest multiplications where extents are known. The first and the last may be vectors, a row and a column, whose axis the result has not.
 * Follows `numpy.linalg.multi_dot`. Throws `ValueError` for fewer, other ranks and extents that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.multiDot([[1, 2], [[1, 0], [1, 1]], [3, 4]]).item()); // 17
 * ```
 */
export function multiDot(matrices: readonly TensorLike[]): Tensor {
  return compose(() => {
    wantList(matrices, "matrices", "multiDot", "tensors");
    const all = matrices.map((m) => asTensor(toNumberInput(m, "multiDot"))), end = all.length - 1;
    const shapes = all.map((m) => m.staticShape);
    const isOuter = (i: number): boolean => i === 0 || i === end;
    if (end < 1 || shapes.some((s, i) => s?.length !== 2 && !(s?.length === 1 && isOuter(i)))) {
      throw new ValueError(
        `Cannot apply multiDot to shapes ${
          shapes.map(shapeText).join(", ")
        }: wanted two matrices or more, vectors only at both ends`,
      );
    }
    const isRow = shapes[0]!.length === 1, isColumn = shapes[end]!.length === 1;
    const wide = all.map((m, i) => {
      if (m.staticShape!.length === 2) return m;
      return expandDims(m, i === 0 ? 0 : 1);
    });
    const y = productOf(wide, 0, { end, cuts: cutsOf(wide.map((m) => m.staticShape!)) });
    const gone = [...(isRow ? [0] : []), ...(isColumn ? [1] : [])];
    return gone.length === 0 ? y : squeeze(y, gone);
  });
}

interface Order {
  readonly end: number;
  /** The last factor of the left part of each product from `i` to `j`; null where extents are unknown. */
  readonly cuts: readonly (readonly number[])[] | null;
}

function productOf(all: readonly Tensor[], from: number, { end, cuts }: Order): Tensor {
  if (from === end) return all[from];
  const cut = cuts?.[from][end] ?? end - 1;
  const left = productOf(all, from, { end: cut, cuts });
  return matMul(left, productOf(all, cut + 1, { end, cuts }));
}

/** Finds the order of fewest multiplications. */
function cutsOf(shapes: readonly (readonly (number | null)[])[]): number[][] | null {
  const dims = [shapes[0][0], ...shapes.map((s) => s[1])], n = shapes.length;
  if (dims.includes(null)) return null;
  const d = dims as number[];
  const cost = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  const cuts = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  for (let length = 2; length <= n; length++) {
    for (let i = 0; i + length <= n; i++) {
      const j = i + length - 1;
      cost[i][j] = Infinity;
      for (let k = i; k < j; k++) {
        const whole = cost[i][k] + cost[k + 1][j] + d[i] * d[k + 1] * d[j + 1];
        if (whole < cost[i][j]) [cost[i][j], cuts[i][j]] = [whole, k];
      }
    }
  }
  return cuts;
}

/**
 * The matrices of Toeplitz, whose diagonals are constant: `column` is the first column, `row` the first row, whose first element is not read. Default for `row`: the conjugate of
 * `column`. Of shape `[..., column, row]`. Follows `scipy.linalg.toeplitz`. Throws `ValueError` for scalars, unknown ranks and batches that differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.toeplitz([1, 2, 3], [1, 4]).arraySync()); // [[1, 4], [2, 1], [3, 2]]
 * ```
 */
export function toeplitz(column: TensorLike, row?: TensorLike): Tensor {
  return compose(() => {
    const c = asTensor(toNumberInput(column, "toeplitz"));
    const r = row === undefined
      ? c.dtype.startsWith("complex") ? conj(c) : c
      : asTensor(toNumberInput(row, "toeplitz"));
    const [a, b] = [c.staticShape, r.staticShape];
    const fits = a !== null && b !== null && a.length > 0 && a.length === b.length &&
      a.slice(0, -1).every((d, i) => d === null || b[i] === null || d === b[i]);
    if (!fits) {
      throw new ValueError(
        `Cannot apply toeplitz to a column of shape ${shapeText(a)} and a row of shape ${
          shapeText(b)
        }: wanted vectors, or equal batches of them`,
      );
    }
    const last = a.length - 1, others = (1 << last) - 1;
    const rest = stridedSlice(
      r,
      [...new Array<number>(last).fill(0), 1],
      new Array<number>(last + 1).fill(0),
      undefined,
      others,
      others | (1 << last),
    );
    const line = concat([reverse(c, last), rest], last);
    const [n, m] = [a[last] ?? gather(shape(c), last), b[last] ?? gather(shape(r), last)];
    const [i, j] = [n, m].map((d) => range(0, d as number, 1, "int32"));
    const places = add(sub(typeof n === "number" ? n - 1 : sub(n, 1), expandDims(i, 1)), j);
    return gather(line, places, last);
  });
}
