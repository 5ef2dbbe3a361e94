/** Sums and means of embeddings over rows of ids, in the namespace `tf.nn`. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { describe } from "../../core/text.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { segmentSum } from "../array/segment.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape, size } from "../array/view.ts";
import { asTensor, castInput, intVector, shapeOfInput, toFloatInput, toInput } from "../input.ts";
import { divNoNan, mul, sub } from "../pointwise/arithmetic.ts";
import { greater, greaterEqual } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { sqrt, square } from "../pointwise/power.ts";
import { where } from "../pointwise/select.ts";
import { isRagged } from "../ragged/ragged_class.ts";
import type { RaggedTensor } from "../ragged/ragged_tensor.ts";
import { fillEmptyRows } from "../ragged/sparse_makers.ts";
import { reshape as reshapeSparse } from "../ragged/sparse_moves.ts";
import { retain } from "../ragged/sparse_namespace.ts";
import { isSparse, type SparseLike } from "../ragged/sparse_input.ts";
import { sparseRows } from "../ragged/sparse_rows_of.ts";
import { SparseTensor } from "../ragged/sparse_tensor.ts";
import { clipByNorm } from "../reduce/reduce_derived.ts";
import { prod } from "../reduce/prod.ts";

/** The one embedding of a row: the sum of its embeddings, that over the weights' sum, or over the root of the sum of their squares. */
export type EmbeddingCombiner = "sum" | "mean" | "sqrtn";

/** Rows of ids, and rows of weights. */
export type EmbeddingRows = SparseLike | RaggedTensor;

/** Options of {@linkcode embeddingLookupSparse}. */
export interface EmbeddingOptions {
  /** Weights of the ids, in rows of the same lengths. Default all 1. */
  readonly weights?: EmbeddingRows | null;
  /** The one embedding of a row. Default `"mean"`. */
  readonly combiner?: EmbeddingCombiner;
  /** Greatest norm of an embedding, beyond which it is scaled down. Default none. */
  readonly maxNorm?: number | null;
}

/** Options of {@linkcode safeEmbeddingLookupSparse}. */
export interface SafeEmbeddingOptions extends EmbeddingOptions {
  /** The id of rows that have none. Default none: such rows are zeros. */
  readonly defaultId?: number | null;
}

const checkOptions = optionCheck<EmbeddingOptions>("embeddingLookupSparse", {
  weights: true,
  combiner: true,
  maxNorm: true,
});
const checkSafe = optionCheck<SafeEmbeddingOptions>("safeEmbeddingLookupSparse", {
  weights: true,
  combiner: true,
  maxNorm: true,
  defaultId: true,
});

/** The values of rows, and the number of each value's row. */
interface Rows {
  readonly values: Tensor;
  readonly rowIds: Tensor;
}

function wantRows(x: unknown, arg: string, fn: string): EmbeddingRows {
  if (isSparse(x) || isRagged(x)) return x as EmbeddingRows;
  throw new TypeError(
    `Argument '${arg}' passed to '${fn}' must be a SparseTensor or a RaggedTensor, but got ${
      describe(x)
    }`,
  );
}

function rowsIn(x: EmbeddingRows): Rows {
  if (isRagged(x)) return { values: x.flatValues, rowIds: x.valueRowIds() };
  const { indices, values } = sparseRows(x);
  return { values, rowIds: reshape(slice(indices, [0, 0], [-1, 1]), [-1]) };
}

function wantOptions(fn: string, { combiner = "mean", maxNorm }: EmbeddingOptions): void {
  if (!["sum", "mean", "sqrtn"].includes(combiner)) {
    throw new ValueError(
      `Cannot apply ${fn}: combiner must be "sum", "mean" or "sqrtn", received ${
        describe(combiner)
      }`,
    );
  }
  if (maxNorm !== undefined && maxNorm !== null) wantNumber(maxNorm, "maxNorm", fn);
}

/** Returns ids as rows. Throws `TypeError` for other dtypes than integers. */
function idsIn(ids: EmbeddingRows, fn: string): Rows {
  const rows = rowsIn(ids);
  if (isInteger(rows.values.dtype)) return rows;
  throw new TypeError(`Cannot use ${rows.values.dtype} as ids of ${fn}: wanted whole numbers`);
}

/**
 * Looks up the embeddings of each row's ids in `params`, `[vocabulary, ...]`, and combines them into one: of rows of ids, a sparse
 * matrix or a ragged tensor, gives `[rows, ...]` up to the last row that has an id. Differentiable with respect to the embeddings, as
 * `IndexedSlices`, and the weights. Throws `TypeError` for what are no such rows, `ValueError` for another combiner,
 * `InvalidArgumentError` for ids out of range. Follows TensorFlow `tf.nn.embedding_lookup_sparse`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = tf.tensor([[1, 1], [2, 4], [3, 9]]), ids = tf.ragged.constant([[0, 2], [1]], { dtype: "int32" });
 * console.log(tf.nn.embeddingLookupSparse(table, ids).arraySync()); // [[2, 5], [2, 4]]
 * ```
 */
export function embeddingLookupSparse(
  params: TensorLike,
  ids: EmbeddingRows,
  options: EmbeddingOptions = {},
): Tensor {
  checkOptions(options);
  return compose(() => {
    const fn = "embeddingLookupSparse";
    wantOptions(fn, options);
    const rows = idsIn(wantRows(ids, "ids", fn), fn), { weights } = options;
    const by = weights === undefined || weights === null
      ? null
      : rowsIn(wantRows(weights, "weights", fn)).values;
    return combined(asTensor(toInput(params, "params", fn)), rows, by, { ...options, fn });
  });
}

/** Combines the embeddings of ids; `weights` null stands for ones. */
function combined(
  params: Tensor,
  { values, rowIds }: Rows,
  weights: Tensor | null,
  { fn, combiner = "mean", maxNorm }: EmbeddingOptions & { readonly fn: string },
): Tensor {
  const picked = gather(params, values);
  const clipped = maxNorm === undefined || maxNorm === null ? picked : clipByNorm(
    picked,
    maxNorm,
    innerAxes(params, fn),
  );
  const own = asTensor(toFloatInput(clipped, "params", fn));
  if (weights === null && combiner === "sum") return segmentSum(own, rowIds);
  const factors = weights === null
    ? onesLike(cast(rowIds, own.dtype))
    : asTensor(castInput(toFloatInput(weights, "weights", fn), own.dtype));
  // Factors stand before the axes of an embedding.
  const ones = onesLike(slice(shape(own), [1]));
  const column = (x: Tensor): Tensor => reshape(x, concat([intVector([-1]), ones]));
  const sums = segmentSum(weights === null ? own : mul(own, column(factors)), rowIds);
  if (combiner === "sum") return sums;
  const total = segmentSum(combiner === "mean" ? factors : square(factors), rowIds);
  return divNoNan(sums, column(combiner === "mean" ? total : sqrt(total)));
}

function innerAxes(params: Tensor, fn: string): number[] {
  const known = shapeOfInput(params);
  if (known !== null) return known.slice(1).map((_, i) => i + 1);
  throw new ValueError(`Cannot apply maxNorm in ${fn}: the rank of params is unknown`);
}

/**
 * As {@linkcode embeddingLookupSparse}, for ids of which some are not there: ids below 0 do not count, nor those whose weight is not
 * above 0 (unless sums are wanted), and rows without ids have the embedding of `defaultId`, or zeros. Ids of more dimensions are rows along
 * the last one; gives `[..., ...]` with all rows. Throws as that does. Follows TensorFlow `tf.nn.safe_embedding_lookup_sparse`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = tf.tensor([[1, 1], [2, 4], [3, 9]]), ids = tf.ragged.constant([[0, -1], [], [2]], { dtype: "int32" });
 * console.log(tf.nn.safeEmbeddingLookupSparse(table, ids).arraySync()); // [[1, 1], [0, 0], [3, 9]]
 * ```
 */
export function safeEmbeddingLookupSparse(
  params: TensorLike,
  ids: EmbeddingRows,
  options: SafeEmbeddingOptions = {},
): Tensor {
  checkSafe(options);
  return compose(() => {
    const fn = "safeEmbeddingLookupSparse", { weights, combiner = "mean", defaultId } = options;
    wantOptions(fn, options);
    idsIn(wantRows(ids, "ids", fn), fn);
    const given = sparseRows(ids), { denseShape } = given;
    const outer = slice(denseShape, [0], sub(size(denseShape), intVector([1])));
    const flat = reshapeSparse(
      given,
      concat([reshape(prod(cast(outer, "int32")), [1]), intVector([-1])]),
    );
    const by = weights === undefined || weights === null
      ? null
      : asTensor(toFloatInput(rowsIn(wantRows(weights, "weights", fn)).values, "weights", fn));
    const isValid = greaterEqual(flat.values, 0);
    const kept = by === null || combiner === "sum" ? isValid : logicalAnd(isValid, greater(by, 0));
    const start = defaultId ?? 0;
    const [filled, isEmpty] = fillEmptyRows(retain(flat, kept), start);
    const factors = by === null
      ? null
      : fillEmptyRows(retain(new SparseTensor(flat.indices, by, flat.denseShape), kept), 1)[0]
        .values;
    const table = asTensor(toInput(params, "params", fn));
    const rows = combined(table, rowsIn(filled), factors, { ...options, fn });
    const inner = slice(shape(rows), [1]);
    const column = reshape(isEmpty, concat([intVector([-1]), onesLike(inner)]));
    const whole = defaultId === undefined || defaultId === null
      ? where(column, zerosLike(rows), rows)
      : rows;
    return reshape(whole, concat([cast(outer, "int32"), inner]));
  });
}
