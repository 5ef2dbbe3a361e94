/** The namespace `tf.ragged`: makes and reduces ragged tensors. */
import { compose } from "../../core/apply.ts";
import { toNdArray } from "../../core/convert.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { optionCheck, wantList, wrongArgument } from "../../core/arguments.ts";
import { shortText, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { constant as denseConstant } from "../array/creation.ts";
import { expandDims, reshape } from "../array/view.ts";
import { raggedRange } from "../host/ragged.ts";
import { asTensor, toInput } from "../input.ts";
import {
  max as denseMax,
  mean as denseMean,
  min as denseMin,
  sum as denseSum,
} from "../reduce/reduce.ts";
import { joinRows } from "./ragged_join.ts";
import { RaggedTensor, type RaggedValues } from "./ragged_tensor.ts";

/** Options of {@linkcode constant}. */
export interface RaggedConstantOptions {
  /** Element type. Default `float32`, or that of strings and booleans. */
  readonly dtype?: DType;
  /** Number of ragged dimensions; deeper lists are dense. Default: all but the outermost. */
  readonly raggedRank?: number;
}

const checkConstant = optionCheck<RaggedConstantOptions>("ragged.constant", {
  dtype: true,
  raggedRank: true,
});

/**
 * Makes a ragged tensor of nested lists. Throws `ValueError` for lists of unequal depth, and for ragged lists below
 * `raggedRank`. Follows TensorFlow `tf.ragged.constant`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[[1], []], [[2, 3]]]);
 * console.log([x.raggedRank, x.toList()]); // [2, [[[1], []], [[2, 3]]]]
 * ```
 */
export function constant(
  lists: readonly unknown[],
  options: RaggedConstantOptions = {},
): RaggedTensor {
  checkConstant(options);
  const depth = depthOf(lists);
  const { raggedRank = Math.max(1, depth - 1) } = options;
  if (
    !Number.isInteger(raggedRank) || raggedRank < 1 || raggedRank > depth - 1 + Number(depth === 1)
  ) {
    throw new ValueError(
      `Cannot make a ragged tensor of lists nested ${depth} deep: raggedRank ${raggedRank} must be from 1 to ${
        depth - 1
      }`,
    );
  }
  let rows: unknown[] = [...lists];
  const splits: number[][] = [];
  for (let level = 0; level < raggedRank; level++) {
    let end = 0;
    const ends = [
      0,
      ...rows.map((row) => {
        if (Array.isArray(row)) return end += row.length;
        throw unequalDepths();
      }),
    ];
    splits.push(ends);
    rows = (rows as unknown[][]).flat();
  }
  const dtype = options.dtype === undefined ? {} : { dtype: asDType(options.dtype) };
  if (depth - raggedRank === 1 && rows.some(Array.isArray)) throw unequalDepths();
  let flat: Tensor;
  try {
    const array = toNdArray(rows, rows.length === 0 ? { dtype: dtype.dtype ?? "float32" } : dtype);
    flat = denseConstant(array, array.dtype);
  } catch (e) {
    if (!(e instanceof ValueError && rows.some(Array.isArray))) throw e;
    throw new ValueError(
      "Cannot make a ragged tensor: values below its ragged dimensions must be of one shape",
      { cause: e },
    );
  }
  return RaggedTensor.fromNestedRowSplits(flat, splits.map((s) => denseConstant(s, "int32")));
}

function unequalDepths(): ValueError {
  return new ValueError(
    "Cannot make a ragged tensor: all scalar values must have the same nesting depth",
  );
}

/** Returns the depth of scalars. */
function depthOf(value: unknown): number {
  if (!Array.isArray(value)) return 0;
  return 1 + Math.max(0, ...value.map(depthOf));
}

/** Makes ragged tensors of tensors, with one more ragged dimension. */
function rowsOf(x: RaggedTensor | TensorLike, fn: string): RaggedTensor {
  if (x instanceof RaggedTensor) {
    return RaggedTensor.fromRowLengths(x, reshape(x.nrows(), [1]));
  }
  const t = asTensor(toInput(x, "values", fn));
  const rank = t.staticShape?.length;
  if (rank === undefined || rank === 0) {
    throw new ValueError(`Cannot call ${fn} with ${shortText(t)}: wanted rank 1 at least`);
  }
  if (rank === 1) return RaggedTensor.fromTensor(expandDims(t, 0));
  return rowsOf(RaggedTensor.fromTensor(t), fn);
}

/**
 * Stacks tensors of different lengths as the rows of one ragged tensor. Throws `ValueError` for an empty list or
 * scalars. Follows TensorFlow `tf.ragged.stack`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ragged.stack([tf.tensor1d([1, 2]), tf.tensor1d([3])]).toList()); // [[1, 2], [3]]
 * ```
 */
export function stack(values: readonly (RaggedTensor | TensorLike)[]): RaggedTensor {
  wantList(values, "values", "ragged.stack", "tensors");
  if (values.length === 0) throw new ValueError("ragged.stack() wants at least one tensor");
  return compose(() => joinRows(values.map((v) => rowsOf(v, "ragged.stack")), "ragged.stack"));
}

/**
 * Joins the rows of several ragged tensors. Throws `InvalidArgumentError` where ranks or dtypes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1, 2], []]), y = tf.ragged.constant([[3]]);
 * console.log(tf.compat.v1.ragged.concatRows([x, y]).toList()); // [[1, 2], [], [3]]
 * ```
 */
export function concatRows(values: readonly RaggedTensor[]): RaggedTensor {
  wantList(values, "values", "ragged.concatRows", "ragged tensors");
  values.forEach((v, i) => {
    if (v instanceof RaggedTensor) return;
    throw wrongArgument(v, `values[${i}]`, "ragged.concatRows", "a RaggedTensor");
  });
  if (values.length === 0) throw new ValueError("ragged.concatRows() wants at least one tensor");
  return compose(() => joinRows(values, "ragged.concatRows"));
}

/**
 * Returns rows of numbers from `starts` to before `limits` by `deltas`. With one argument rows begin at 0. Throws as
 * {@linkcode raggedRange} does. Follows TensorFlow `tf.ragged.range`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ragged.range([2, 0, 3]).toList()); // [[0, 1], [], [0, 1, 2]]
 * ```
 */
export function range(
  starts: TensorLike,
  limits?: TensorLike,
  deltas: TensorLike = 1,
): RaggedTensor {
  const [from, to] = limits === undefined ? [0, starts] : [starts, limits];
  const { rtNestedSplits, rtDenseValues } = raggedRange(from, to, deltas);
  return RaggedTensor.fromRowSplits(rtDenseValues, rtNestedSplits);
}

/**
 * Applies a function element by element to ragged tensors of the same rows, and to operands that broadcast to their
 * innermost values. Throws `InvalidArgumentError` where the rows are known to differ. Follows TensorFlow
 * `tf.ragged.map_flat_values`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1], [2, 3]]);
 * console.log(tf.ragged.mapFlatValues(tf.add, x, x).toList()); // [[2], [4, 6]]
 * ```
 */
export function mapFlatValues<A extends readonly unknown[]>(
  // deno-lint-ignore no-explicit-any
  fn: (...args: any[]) => TensorLike,
  ...args: A
): RaggedTensor {
  const ragged = args.filter((a) => a instanceof RaggedTensor) as unknown as RaggedTensor[];
  if (ragged.length === 0) throw new ValueError("ragged.mapFlatValues() wants a ragged tensor");
  const [first] = ragged;
  for (const other of ragged) {
    const sizes = [first, other].map((x) => x.flatValues.staticShape?.[0] ?? null);
    const fits = other.raggedRank === first.raggedRank &&
      (sizes[0] === null || sizes[1] === null || sizes[0] === sizes[1]);
    if (fits) continue;
    throw new InvalidArgumentError(
      `Cannot map ${first} and ${other}: they do not have the same rows`,
      { op: "ragged.mapFlatValues" },
    );
  }
  return first.withFlatValues(
    fn(...args.map((a) => (a instanceof RaggedTensor ? a.flatValues : a))),
  );
}

/** Reduces a ragged tensor by its op's rule. */
function reduced(of: typeof denseSum, x: RaggedTensor, axis: number | null): RaggedValues {
  return of(x as unknown as Tensor, axis) as RaggedValues;
}

/**
 * Sums over an axis: over rows for a ragged one, over columns for axis 0, over all values if `axis` is null.
 * Differentiable. Throws `ValueError` for an axis out of range. `tf.sum` does the same. Follows TensorFlow
 * `tf.reduce_sum` of ragged tensors.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1, 2], [], [3]]);
 * console.log((tf.ragged.sum(x, 1) as tf.Tensor).arraySync()); // [3, 0, 3]
 * ```
 */
export function sum(x: RaggedTensor, axis: number | null = null): RaggedValues {
  return reduced(denseSum, x, axis);
}

/**
 * Averages, NaN for empty rows; otherwise as {@linkcode sum}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1, 3], [5]]);
 * console.log((tf.ragged.mean(x, 1) as tf.Tensor).arraySync()); // [2, 5]
 * ```
 */
export function mean(x: RaggedTensor, axis: number | null = null): RaggedValues {
  return reduced(denseMean, x, axis);
}

/**
 * Takes the largest values; the lowest finite number of the dtype for empty rows. Otherwise as {@linkcode sum}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1, 3], [5]]);
 * console.log((tf.ragged.max(x, 1) as tf.Tensor).arraySync()); // [3, 5]
 * ```
 */
export function max(x: RaggedTensor, axis: number | null = null): RaggedValues {
  return reduced(denseMax, x, axis);
}

/**
 * Takes the smallest values; the largest finite number of the dtype for empty rows. Otherwise as {@linkcode sum}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ragged.constant([[1, 3], [5]]);
 * console.log((tf.ragged.min(x, 1) as tf.Tensor).arraySync()); // [1, 5]
 * ```
 */
export function min(x: RaggedTensor, axis: number | null = null): RaggedValues {
  return reduced(denseMin, x, axis);
}

export {
  cross,
  type CrossedRows,
  crossHashed,
  rowSplitsToSegmentIds,
  segmentIdsToRowSplits,
  stackDynamicPartitions,
} from "./ragged_segments.ts";
