/**
 * Diagonals of matrices, part of the namespace `tf.linalg`: cross, diag, diagPart, setDiag, trace. Diagonals are moved
 * on the host.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type Problem } from "../../core/op.ts";
import { optionCheck } from "../../core/arguments.ts";
import { mergeShapes, type PartialShape, shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { type Band, diagonalsOf, longest, putDiagonals } from "../../kernels/host/diagonals.ts";
import { zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { asTensor, intVector, toIndexInput, toInput, toInputs } from "../input.ts";
import { mul, sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";

const ALIGN = 'align: string = "RIGHT_LEFT"';
/** True: diagonals outside of the matrices have no elements, as the gradient of diagonals without elements wants it. */
const OUTSIDE = "_outside: bool = false";
const ALIGNS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"];

/** Returns the lowest and the highest diagonal. Throws `ValueError` for others. */
function ends(k: readonly number[]): [lower: number, upper: number] {
  const [lower, upper = lower] = k;
  if (k.length > 2 || !Number.isInteger(lower) || lower > upper) {
    throw new ValueError(
      `Cannot take diagonals [${k}]: k must be a number, or the lowest and the highest diagonal`,
    );
  }
  return [lower, upper];
}

function endsOf(k: Spec): [number, number] | null {
  const known = knownInts(k);
  return known === undefined ? null : ends(known as number[]);
}

/** Throws `ValueError` for a diagonal out of range. */
function checked(band: Band): Band {
  const { lower, upper, rows, columns } = band;
  for (const [which, d] of [["lower", lower], ["upper", upper]] as const) {
    if (d !== 0 && !(d > -rows && d < columns)) {
      throw new ValueError(
        `${which}_diag_index is out of bound: ${d}. It must be between ${-rows} and ${columns}`,
      );
    }
  }
  return band;
}

function bandOf(
  problem: Problem,
  { k, matrix }: { readonly k: number; readonly matrix: readonly number[] },
): Band {
  const [lower, upper] = ends(hostInts(problem.hosts[k]!)), [rows, columns] = matrix.slice(-2);
  return { lower, upper, rows, columns, align: problem.attrs.align as string };
}

function partShape(x: PartialShape, k: Spec, mayBeOutside: boolean): PartialShape {
  const range = endsOf(k);
  if (x === null || range === null) return null;
  const [rows, columns] = x.slice(-2), [lower, upper] = range;
  if (x.length < 2) {
    throw new ValueError(`Cannot take diagonals of shape ${shapeText(x)}: wanted matrices`);
  }
  let length: number | null = null;
  if (rows !== null && columns !== null) {
    const band = { lower, upper, rows, columns, align: "" };
    length = longest(mayBeOutside ? band : checked(band));
  }
  const count = upper - lower + 1;
  return [...x.slice(0, -2), ...(count > 1 ? [count] : []), length];
}

const MatrixDiagPart = defineOp({
  name: "MatrixDiagPartV3",
  inputs: ["input: T", "k: int32", "padding_value: T"],
  outputs: ["diagonal: T"],
  attrs: ["T: type", ALIGN, OUTSIDE],
  hostInputs: ["k"],
  infer: ([x, k], { _outside }) => [partShape(x.shape, k, _outside)],
  grad: {
    saves: ["input", "k"],
    vjp: ({ input, k }, [dy], { attrs: { align, _outside } }) => [
      apply1(MatrixSetDiag, [zerosLike(input), dy, k], { align, _outside }),
      null,
      null,
    ],
  },
  cpu: ([x, , padding], [out], problem) =>
    diagonalsOf(x, padding, out, bandOf(problem, { k: 1, matrix: x.shape })),
});

/** Returns the extents of matrices with these diagonals; -1 stands for the smallest possible. */
function extents(
  [lower, upper]: readonly [number, number],
  length: number,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): [number, number] {
  const least = [length - Math.min(upper, 0), length + Math.max(lower, 0)];
  if (rows === -1 && columns === -1) return [Math.max(...least), Math.max(...least)];
  const found: [number, number] = [
    rows === -1 ? least[0] : rows,
    columns === -1 ? least[1] : columns,
  ];
  if (
    found[0] < least[0] || found[1] < least[1] || (found[0] > least[0] && found[1] > least[1])
  ) {
    throw new ValueError(
      `Cannot make matrices of ${found[0]} rows and ${
        found[1]
      } columns: diagonals of length ${length} want at least ${least[0]} and ${
        least[1]
      }, one of them exactly`,
    );
  }
  return found;
}

const MatrixDiag = defineOp({
  name: "MatrixDiagV3",
  inputs: ["diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32", "padding_value: T"],
  outputs: ["output: T"],
  attrs: ["T: type", ALIGN],
  hostInputs: ["k", "num_rows", "num_cols"],
  infer: ([{ shape }, k, numRows, numCols]) => {
    const range = endsOf(k), rows = knownInts(numRows)?.[0], columns = knownInts(numCols)?.[0];
    if (shape === null || range === null) return [null];
    const count = range[1] - range[0] + 1, axes = count > 1 ? 2 : 1;
    if (shape.length < axes || (axes === 2 && shape.at(-2) !== null && shape.at(-2) !== count)) {
      throw new ValueError(
        `Cannot put ${count} diagonals into matrices: received diagonals of shape ${
          shapeText(shape)
        }`,
      );
    }
    const length = shape.at(-1) ?? null;
    const matrix = length === null || rows == null || columns == null
      ? [null, null]
      : extents(range, length, { rows, columns });
    return [[...shape.slice(0, -axes), ...matrix]];
  },
  grad: {
    saves: ["k"],
    vjp: ({ k }, [dy], { attrs: { align } }) => [
      diagonals(dy, k, align),
      null,
      null,
      null,
      null,
    ],
  },
  cpu: ([diagonal, , , , padding], [out], problem) =>
    putDiagonals(diagonal, padding, out, bandOf(problem, { k: 1, matrix: out.shape })),
});

const MatrixSetDiag = defineOp({
  name: "MatrixSetDiagV3",
  inputs: ["input: T", "diagonal: T", "k: int32"],
  outputs: ["output: T"],
  attrs: ["T: type", ALIGN, OUTSIDE],
  hostInputs: ["k"],
  infer: ([x, diagonal, k], { _outside }) => {
    mergeShapes(diagonal.shape, partShape(x.shape, k, _outside));
    return [x.shape];
  },
  grad: {
    saves: ["k"],
    vjp: ({ k }, [dy], { attrs: { align, _outside } }) => {
      const part = diagonals(dy, k, align);
      return [apply1(MatrixSetDiag, [dy, zerosLike(part), k], { align, _outside }), part, null];
    },
  },
  cpu: ([x, diagonal], [out], problem) =>
    putDiagonals(diagonal, x, out, bandOf(problem, { k: 2, matrix: x.shape })),
});

/** Returns the diagonals of a gradient, no elements of those outside of the matrices. */
function diagonals(x: Tensor, k: OpInput, align: string): Tensor {
  const zero = toInput(0, "padding", "diagPart", { dtype: x.dtype });
  return apply1(MatrixDiagPart, [x, k, zero], { align, _outside: true });
}

const Cross = defineOp({
  name: "Cross",
  inputs: ["a: T", "b: T"],
  outputs: ["product: T"],
  attrs: ["T: real"],
  infer: ([a, b]) => {
    const shape = mergeShapes(a.shape, b.shape);
    const inner = shape?.at(-1);
    if (shape !== null && inner !== 3 && inner !== null) {
      throw new ValueError(
        `Cannot take cross products of shape ${
          shapeText(shape)
        }: inner-most dimension must have size 3`,
      );
    }
    return [shape && [...shape.slice(0, -1), 3]];
  },
  grad: {
    saves: ["a", "b"],
    vjp: ({ a, b }, [dy]) => [apply1(Cross, [b, dy]), apply1(Cross, [dy, a])],
  },
  expand: ([a, b]) => {
    const turned = (x: OpInput, by: readonly number[]): Tensor =>
      gather(asTensor(x), intVector(by), -1);
    const next = [1, 2, 0], last = [2, 0, 1];
    return [sub(mul(turned(a, next), turned(b, last)), mul(turned(a, last), turned(b, next)))];
  },
});

/** Options of {@linkcode diagPart} and {@linkcode setDiag}. */
export interface DiagonalOptions {
  /** A diagonal, 0 for the main one and positive above it, or the lowest and the highest of several. Default 0. */
  readonly k?: number | readonly [number, number] | Tensor | undefined;
  /** Alignment of shorter diagonals in rows of one length, those above first. Default `"RIGHT_LEFT"`. */
  readonly align?: "RIGHT_LEFT" | "LEFT_RIGHT" | "LEFT_LEFT" | "RIGHT_RIGHT" | undefined;
}
/** Options of {@linkcode diagPart}. */
export interface DiagPartOptions extends DiagonalOptions {
  /** Padding of shorter diagonals. Default 0. */
  readonly paddingValue?: TensorLike | undefined;
}
/** Options of {@linkcode diag}. */
export interface DiagOptions extends DiagonalOptions {
  /** Rows of the matrices. Default: the smallest number, square if columns are not given either. */
  readonly numRows?: number | undefined;
  /** Columns likewise. */
  readonly numCols?: number | undefined;
  /** Elements elsewhere. Default 0. */
  readonly paddingValue?: TensorLike | undefined;
}

const SHARED = { k: true, align: true } as const;
const checkSetDiag = optionCheck<DiagonalOptions>("setDiag", SHARED);
const checkDiagPart = optionCheck<DiagPartOptions>("diagPart", { ...SHARED, paddingValue: true });
const checkDiag = optionCheck<DiagOptions>("diag", {
  ...SHARED,
  numRows: true,
  numCols: true,
  paddingValue: true,
});

function settings({ k = 0, align = "RIGHT_LEFT" }: DiagonalOptions, fn: string) {
  if (!ALIGNS.includes(align)) {
    throw new ValueError(`${fn}(): align must be one of ${ALIGNS.join(", ")}, received ${align}`);
  }
  if (!(k instanceof Tensor)) ends([k].flat());
  return { k: toIndexInput(k, "k", fn), align };
}

/**
 * Makes matrices with these diagonals: a vector, or a batch of vectors, becomes the diagonal `k`; with several
 * diagonals the last but one axis has a row for each, the topmost first. TensorFlow op `MatrixDiagV3`. Throws
 * `ValueError` for extents and diagonals that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.diag([1, 2]).arraySync()); // [[1, 0], [0, 2]]
 * console.log(tf.linalg.diag([1, 2], { k: 1 }).arraySync()); // [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
 * ```
 */
export function diag(diagonal: TensorLike, options: DiagOptions = {}): Tensor {
  checkDiag(options);
  const { numRows = -1, numCols = -1, paddingValue = 0 } = options;
  const { k, align } = settings(options, "diag");
  const x = toInput(diagonal, "diagonal", "diag");
  const [rows, columns] = [numRows, numCols].map((n) => toIndexInput(n, "extent", "diag"));
  const padding = toInput(paddingValue, "paddingValue", "diag", { dtype: x.dtype });
  return apply1(MatrixDiag, [x, k, rows, columns, padding], { align });
}

/**
 * Returns diagonals of each matrix. Several lie in rows of one length, the topmost first. TensorFlow op
 * `MatrixDiagPartV3`. Throws `ValueError` for ranks below 2 and diagonals out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = [[1, 2, 3], [4, 5, 6]];
 * console.log(tf.linalg.diagPart(x).arraySync()); // [1, 5]
 * console.log(tf.linalg.diagPart(x, { k: [-1, 1] }).arraySync()); // [[2, 6], [1, 5], [4, 0]]
 * ```
 */
export function diagPart(input: TensorLike, options: DiagPartOptions = {}): Tensor {
  checkDiagPart(options);
  const { k, align } = settings(options, "diagPart");
  const x = toInput(input, "input", "diagPart");
  const { paddingValue = 0 } = options;
  const padding = toInput(paddingValue, "paddingValue", "diagPart", { dtype: x.dtype });
  return apply1(MatrixDiagPart, [x, k, padding], { align });
}

/**
 * Replaces diagonals of matrices by others, in the form of {@linkcode diagPart}. TensorFlow op `MatrixSetDiagV3`.
 * Throws `ValueError` for diagonals that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.setDiag([[1, 2], [3, 4]], [8, 9]).arraySync()); // [[8, 2], [3, 9]]
 * ```
 */
export function setDiag(
  input: TensorLike,
  diagonal: TensorLike,
  options: DiagonalOptions = {},
): Tensor {
  checkSetDiag(options);
  const { k, align } = settings(options, "setDiag");
  return apply1(MatrixSetDiag, [...toInputs([input, diagonal], "tensors", "setDiag"), k], {
    align,
  });
}

/**
 * The sum of each matrix's main diagonal. Follows TensorFlow `tf.linalg.trace`. Throws `ValueError` for ranks below 2.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.trace([[1, 2], [3, 4]]).item()); // 5
 * ```
 */
export function trace(x: TensorLike): Tensor {
  return sum(diagPart(x), -1);
}

/**
 * Cross products of vectors of three elements along the last axis. TensorFlow op `Cross`. Throws `ValueError` for shapes that differ, or
 * have another last dimension.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.cross([1, 0, 0], [0, 1, 0]).arraySync()); // [0, 0, 1]
 * ```
 */
export function cross(a: TensorLike, b: TensorLike): Tensor {
  return apply1(Cross, toInputs([a, b], "tensors", "cross"));
}
