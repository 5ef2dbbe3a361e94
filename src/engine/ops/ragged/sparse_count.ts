/** Counts of values as sparse tensors, in the namespace `tf.sparse`. On the host. */
import { apply, compose, type OpInput } from "../../core/apply.ts";
import { optionCheck } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { hostInts, reshape } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { asTensor, shapeOfInput, toDenseInput } from "../input.ts";
import { isSparse, type SparseLike, toSparse, wideParts } from "./sparse_input.ts";
import { SparseTensor } from "./sparse_tensor.ts";

/** A value in a row, and the weight that it adds. */
interface Counted {
  readonly row: number;
  readonly value: number;
  readonly weight: number | bigint;
}

/** Attributes of both ops. */
interface CountAttrs {
  readonly minlength: number | bigint;
  readonly maxlength: number | bigint;
  readonly binary_output: boolean;
}

const ATTRS = [
  "T: index",
  "minlength: int = -1",
  "maxlength: int = -1",
  "binary_output: bool",
  "output_type: {int32, int64, float, double}",
];
const OUTPUTS = [
  "output_indices: int64",
  "output_values: output_type",
  "output_dense_shape: int64",
];

/** Sums weights by row and value. Returns indices, sums and the dense shape. */
function counted(
  items: readonly Counted[],
  rows: number | null,
  weights: NdArray,
  attrs: CountAttrs,
): NdArray[] {
  const least = Number(attrs.minlength), most = Number(attrs.maxlength);
  const sums = new Map<number, Map<number, number | bigint>>();
  let longest = 1;
  for (const { row, value, weight } of items) {
    if (value < 0) refuse("Input values must all be non-negative");
    if (most >= 0 && value >= most) continue;
    const own = sums.get(row) ?? new Map<number, number | bigint>();
    sums.set(row, own);
    const before = own.get(value);
    const sum = before === undefined ? weight : (before as number) + (weight as number);
    own.set(value, attrs.binary_output ? (typeof weight === "bigint" ? 1n : 1) : sum);
    longest = Math.max(longest, value + 1);
  }
  const width = most > 0 ? most : Math.max(longest, least);
  const ascending = <V>(m: Map<number, V>): [number, V][] => [...m].sort(([a], [b]) => a - b);
  const all = ascending(sums).flatMap(([row, own]) =>
    ascending(own).map(([value, sum]) => ({ row, value, sum }))
  );
  const values = NdArray.zeros(weights.dtype, [all.length]);
  all.forEach(({ sum }, i) => setElement(values, i, sum));
  const isVector = rows === null,
    places = all.flatMap(({ row, value }) => isVector ? [value] : [row, value]);
  return [
    wholeArray("int64", places, [all.length, isVector ? 1 : 2]),
    values,
    wholeArray("int64", isVector ? [width] : [rows, width]),
  ];
}

/** Returns the weight of each value: 1 where there are none. */
function weightsOf(weights: NdArray, count: number): (i: number) => number | bigint {
  if (weights.size === 0) {
    const one = weights.dtype === "int64" ? 1n : 1;
    return () => one;
  }
  if (weights.size !== count) {
    refuse(`Weights and values must have the same shape, received ${weights.size} and ${count}`);
  }
  return (i) => weights.at(i) as number | bigint;
}

const DenseCountSparseOutput: OpDef = defineOp({
  name: "DenseCountSparseOutput",
  inputs: ["values: T", "weights: output_type"],
  outputs: OUTPUTS,
  attrs: ATTRS,
  infer: ([{ shape }]) => {
    if (shape !== null && shape.length !== 1 && shape.length !== 2) {
      throw new ValueError(
        `Input must be a 1 or 2-dimensional tensor, received ${shapeText(shape)}`,
      );
    }
    return [[null, shape?.length ?? null], [null], [shape?.length ?? null]];
  },
  grad: null,
  cpu: ([values, weights], _, { attrs }) => {
    const weight = weightsOf(weights, values.size), width = values.shape.at(-1) ?? 1;
    const items = hostInts(values).map((value, i) => ({
      row: values.rank === 2 ? Math.floor(i / width) : 0,
      value,
      weight: weight(i),
    }));
    return counted(
      items,
      values.rank === 2 ? values.shape[0] : null,
      weights,
      attrs as unknown as CountAttrs,
    );
  },
});

const SparseCountSparseOutput: OpDef = defineOp({
  name: "SparseCountSparseOutput",
  inputs: ["indices: int64", "values: T", "dense_shape: int64", "weights: output_type"],
  outputs: OUTPUTS,
  attrs: ATTRS,
  infer: ([, , { shape }]) => [[null, shape?.[0] ?? null], [null], shape],
  grad: null,
  cpu: ([indices, values, dims, weights], _, { attrs }) => {
    const at = hostInts(indices), extents = hostInts(dims), rank = extents.length;
    if (rank !== 1 && rank !== 2) refuse(`Input must be 1 or 2-dimensional, received ${rank}`);
    const weight = weightsOf(weights, values.size);
    const items = hostInts(values).map((value, i) => {
      const row = rank === 2 ? at[i * rank] : 0;
      if (row < 0 || rank === 2 && row >= extents[0]) {
        refuse(
          `Index value along the first dimension must be in [0, ${extents[0]}), received ${row}`,
        );
      }
      return { row, value, weight: weight(i) };
    });
    return counted(items, rank === 2 ? extents[0] : null, weights, attrs as unknown as CountAttrs);
  },
});

/** Options of {@linkcode bincount}. */
export interface SparseBincountOptions {
  /** Addends of the values, of their shape; 1 by default. */
  readonly weights?: TensorLike | SparseLike | undefined;
  /** 0 counts all values (the default), -1 those of each row. */
  readonly axis?: 0 | -1 | undefined;
  /** Least extent of the result's last dimension. */
  readonly minlength?: number | undefined;
  /** Extent of the result's last dimension; values that are not below it do not count. */
  readonly maxlength?: number | undefined;
  /** Writes 1 for each value that occurs. */
  readonly binaryOutput?: boolean | undefined;
}

const checkOptions = optionCheck<SparseBincountOptions>("sparse.bincount", {
  weights: true,
  axis: true,
  minlength: true,
  maxlength: true,
  binaryOutput: true,
});

/** Returns a length for the op: -1 for none. Throws `ValueError` for others than whole numbers. */
function lengthOf(value: number | undefined, name: string): number {
  if (value === undefined) return -1;
  if (Number.isInteger(value) && value >= 0) return value;
  throw new ValueError(
    `Cannot apply sparse.bincount: ${name} must be a whole number, received ${value}`,
  );
}

/**
 * Counts each whole number of a dense or sparse tensor, or sums weights, as a sparse tensor: a vector of counts, or with
 * `axis: -1` a row of them for each row. The counts are int32, or have the weights' dtype. Not differentiable, as in
 * TensorFlow. Throws `TypeError` for values that are not whole numbers and options that are none, `ValueError` for weights
 * with `binaryOutput` or of another shape, another axis and lengths below 0, `InvalidArgumentError` for negative values.
 * Follows TensorFlow `tf.sparse.bincount`, whose counts are int64.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const counts = tf.sparse.bincount(tf.cast([[1, 2, 1], [0, 0, 0]], "int32"), { axis: -1 });
 * console.log(tf.sparse.toDense(counts).arraySync()); // [[0, 2, 1], [3, 0, 0]]
 * ```
 */
export function bincount(
  values: TensorLike | SparseLike,
  options: SparseBincountOptions = {},
): SparseTensor {
  checkOptions(options);
  const { weights, axis = 0, minlength, maxlength, binaryOutput = false } = options;
  if (axis !== 0 && axis !== -1) {
    throw new ValueError(`Cannot apply sparse.bincount along axis ${axis}: wanted 0 or -1`);
  }
  if (weights !== undefined && binaryOutput) {
    throw new ValueError("Cannot apply sparse.bincount: binaryOutput takes no weights");
  }
  const attrs = {
    minlength: lengthOf(minlength, "minlength"),
    maxlength: lengthOf(maxlength, "maxlength"),
    binary_output: binaryOutput,
  };
  const x = isSparse(values) ? toSparse(values, "values", "bincount") : null;
  const flat = x?.values ?? toDenseInput(values as TensorLike, "values", "sparse.bincount", {
    dtype: "int32",
  });
  if (!isInteger(flat.dtype)) {
    throw new TypeError(
      `Cannot apply sparse.bincount: values must be whole numbers, received ${flat.dtype}`,
    );
  }
  const given = weightInput(weights, flat, x !== null);
  return compose(() => {
    const isAll = axis === 0, own = asTensor(flat);
    const dense = isAll || x === null;
    const inputs = dense
      ? [isAll ? reshape(own, [-1]) : own, isAll ? reshape(asTensor(given), [-1]) : given]
      : [...wideParts(x), given];
    const def = dense ? DenseCountSparseOutput : SparseCountSparseOutput;
    const [indices, sums, dims] = apply(def, inputs as OpInput[], attrs);
    return new SparseTensor(indices, sums, dims);
  });
}

/** Returns weights of the values' shape, or none. Throws `ValueError` for others. */
function weightInput(
  weights: TensorLike | SparseLike | undefined,
  values: OpInput,
  ofSparse: boolean,
): OpInput {
  if (weights === undefined) return new NdArray("int32", [0], new Int32Array(0));
  if (isSparse(weights) && !ofSparse) {
    throw new TypeError(
      "Argument 'weights' passed to 'sparse.bincount' must be dense for dense values",
    );
  }
  const own: Tensor | OpInput = isSparse(weights)
    ? toSparse(weights, "weights", "bincount").values
    : toDenseInput(weights, "weights", "sparse.bincount");
  if (!compatible(shapeOfInput(own), shapeOfInput(values))) {
    throw new ValueError(
      `Cannot apply sparse.bincount: weights must have the shape of the values ${
        shapeText(shapeOfInput(values))
      }, received ${shapeText(shapeOfInput(own))}`,
    );
  }
  return own;
}
