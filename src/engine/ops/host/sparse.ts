/** The namespace `tf.sparse`: ops on tensors given by indices and values. They run on the host. */
import { apply, apply1 } from "../../core/apply.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { isBigInt } from "../../core/dtype.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { sizeOf, stridesOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { setWhole, wholeArray } from "../../kernels/host/numbers.ts";
import { Accumulator, addable } from "../../kernels/host/scatter_accumulate.ts";
import { hostInts, reshape } from "../array/view.ts";
import { onesLike } from "../array/creation.ts";
import { gather, indexInput } from "../array/gather.ts";
import { castInput, intScalar, shapeOfInput, toInput, wantArgument } from "../input.ts";
import { div, sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { cast } from "../array/cast.ts";

const SparseFillEmptyRows = defineOp({
  name: "SparseFillEmptyRows",
  inputs: ["indices: Tindices", "values: T", "dense_shape: Tindices", "default_value: T"],
  outputs: [
    "output_indices: Tindices",
    "output_values: T",
    "empty_row_indicator: bool",
    "reverse_index_map: Tindices",
  ],
  attrs: ["T: type", "Tindices: index = int64"],
  portable: { without: { Tindices: (v) => v === "int64" } },
  infer: (
    [indices],
  ) => [[null, indices.shape?.[1] ?? null], [null], [null], [indices.shape?.[0] ?? null]],
  grad: {
    saves: ["reverse_index_map"],
    vjp: ({ reverse_index_map }, [, dy], ctx) => {
      const given = gather(dy, reverse_index_map);
      return [null, given, null, ctx.needs[3] ? sub(sum(dy), sum(given)) : null];
    },
  },
  cpu: ([indices, values, shape, start], _, { attrs }) => {
    const { Tindices } = attrs;
    const [count, rank] = indices.shape;
    const at = hostInts(indices), rows = hostInts(shape)[0];
    if (rows === 0 && count !== 0) {
      throw new InvalidArgumentError(
        `Received SparseTensor with denseShape[0] = 0 but indices.shape[0] = ${count}`,
      );
    }
    const perRow: number[][] = Array.from({ length: rows }, () => []);
    for (let i = 0; i < count; i++) {
      const row = at[i * rank];
      if (row < 0) throw new InvalidArgumentError(`indices(${i}, 0) is invalid: ${row} < 0`);
      if (row >= rows) {
        throw new InvalidArgumentError(`indices(${i}, 0) is invalid: ${row} >= ${rows}`);
      }
      perRow[row].push(i);
    }
    const total = perRow.reduce((n, list) => n + Math.max(1, list.length), 0);
    const outIndices: number[] = [], map = new Array<number>(count).fill(0);
    const outValues = NdArray.zeros(values.dtype, [total]);
    let to = 0;
    perRow.forEach((list, row) => {
      for (const i of list) {
        outIndices.push(...at.slice(i * rank, (i + 1) * rank));
        setElement(outValues, to, values.at(i));
        map[i] = to++;
      }
      if (list.length === 0) {
        outIndices.push(row, ...new Array(rank - 1).fill(0));
        setElement(outValues, to++, start.at(0));
      }
    });
    return [
      wholeArray(Tindices, [total, rank], outIndices),
      outValues,
      new NdArray("bool", [rows], Uint8Array.from(perRow, (list) => (list.length === 0 ? 1 : 0))),
      wholeArray(Tindices, [count], map),
    ];
  },
});

/** Returns the target shape with its -1 resolved. Throws `InvalidArgumentError` where the sizes differ. */
function reshapedDims(from: readonly number[], target: readonly number[]): number[] {
  const size = sizeOf(from), wild = target.indexOf(-1);
  if (wild !== target.lastIndexOf(-1)) {
    throw new InvalidArgumentError(
      `only one output dimension may be -1, not both ${wild} and ${target.lastIndexOf(-1)}`,
    );
  }
  target.forEach((d, i) => {
    if (d < -1) throw new InvalidArgumentError(`size ${i} must be non-negative, not ${d}`);
  });
  const rest = target.reduce((n, d) => (d === -1 ? n : n * d), 1);
  if (wild >= 0 && rest <= 0) {
    throw new InvalidArgumentError(
      "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are non-zero",
    );
  }
  if (wild < 0 ? rest !== size : size % rest !== 0) {
    throw new InvalidArgumentError(
      `Input to reshape is a SparseTensor with ${size} dense values, but the requested shape requires ${
        wild < 0 ? "" : "a multiple of "
      }${rest}. inputShape=${from} outputShape=${target}`,
    );
  }
  return target.map((d) => (d === -1 ? size / rest : d));
}

const SparseReshape = defineOp({
  name: "SparseReshape",
  inputs: ["input_indices: Tindices", "input_shape: Tindices", "new_shape: Tindices"],
  outputs: ["output_indices: Tindices", "output_shape: Tindices"],
  attrs: ["Tindices: index = int64"],
  portable: { without: { Tindices: (v) => v === "int64" } },
  infer: ([indices, , target]) => {
    const rank = target.shape?.[0] ?? null;
    return [[indices.shape?.[0] ?? null, rank], [rank]];
  },
  grad: null,
  cpu: ([indices, from, target], [out, shape]) => {
    const old = hostInts(from), dims = reshapedDims(old, hostInts(target));
    const strides = stridesOf(old), steps = stridesOf(dims);
    const at = hostInts(indices), rank = old.length;
    for (let i = 0; i < indices.shape[0]; i++) {
      let flat = 0;
      for (let d = 0; d < rank; d++) flat += at[i * rank + d] * strides[d];
      for (let d = 0; d < dims.length; d++) {
        const step = Math.floor(flat / steps[d]);
        setWhole(out, i * dims.length + d, step);
        flat -= step * steps[d];
      }
    }
    dims.forEach((d, i) => setWhole(shape, i, d));
  },
});

/** Combines rows of `data` picked by `indices` over runs of equal `segmentIds`. */
export type SparseSegments = (
  data: TensorLike,
  indices: TensorLike,
  segmentIds: TensorLike,
) => Tensor;

function defineSegments(name: string, mean: boolean): SparseSegments {
  const def = defineOp({
    name,
    inputs: ["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
    outputs: ["output: T"],
    attrs: ["T: real", "Tidx: index = int32", "Tsegmentids: index = int32"],
    infer: ([data]) => [data.shape && [null, ...data.shape.slice(1)]],
    grad: {
      saves: ["indices", "segment_ids"],
      vjp: ({ indices, segment_ids }, [dy], ctx) => {
        const shape = ctx.shapeOf(0);
        const rows = shape instanceof NdArray ? intScalar(hostInts(shape)[0]) : gather(shape, 0);
        const picked = gather(mean ? perRow(dy, segment_ids) : dy, segment_ids);
        return [apply1(lookupOp("UnsortedSegmentSum")!, [picked, indices, rows]), null, null];
      },
    },
    cpu: ([data, indices, ids]) => [sumSegments(data, hostInts(indices), hostInts(ids), mean)],
  });
  const fn = name.replace("S", "s");
  return (data, indices, segmentIds) => {
    const rows = toInput(data, "data", fn),
      at = indexInput(indices, fn),
      ids = indexInput(segmentIds, fn);
    if (shapeOfInput(rows)?.length === 0) {
      throw new ValueError(`Cannot apply ${fn}: data should be at least 1 dimensional`);
    }
    wantArgument(at, 1, fn, "indices");
    wantArgument(ids, 1, fn, "segmentIds");
    const a = shapeOfInput(at)?.[0] ?? null, b = shapeOfInput(ids)?.[0] ?? null;
    if (a !== null && b !== null && a !== b) {
      throw new ValueError(
        `Cannot apply ${fn}: segmentIds and indices should have same size, received ${b} and ${a}`,
      );
    }
    return apply1(def, [rows, at, ids]);
  };
}

/** Returns gradients of means as gradients of sums: divided by each mean's number of rows. */
function perRow(dy: Tensor, ids: Tensor): Tensor {
  const counts = apply1(lookupOp("SegmentSum")!, [onesLike(ids), ids]);
  const rank = dy.staticShape?.length;
  if (rank === undefined) {
    throw new ValueError("Cannot differentiate SparseSegmentMean: the rank must be known");
  }
  return div(dy, cast(reshape(counts, [-1, ...new Array(rank - 1).fill(1)]), dy.dtype));
}

function sumSegments(
  data: NdArray,
  indices: readonly number[],
  ids: readonly number[],
  mean: boolean,
): NdArray {
  const rows = data.shape[0], inner = sizeOf(data.shape.slice(1));
  const num = ids.length === 0 ? 0 : ids[ids.length - 1] + 1;
  if (num < 0) throw new InvalidArgumentError("segment ids must be >= 0");
  const counts = new Array<number>(num).fill(0);
  const out = NdArray.zeros(data.dtype, [num, ...data.shape.slice(1)]);
  const sums = new Accumulator(out), values = addable(data);
  ids.forEach((id, i) => {
    if (id < 0) throw new InvalidArgumentError("segment ids must be >= 0");
    if (i > 0 && id < ids[i - 1]) throw new InvalidArgumentError("segment ids are not increasing");
    const row = indices[i];
    if (row < 0 || row >= rows) {
      throw new InvalidArgumentError(`Bad: indices[${i}] == ${row} out of range [0, ${rows})`);
    }
    sums.add(id * inner, values, row * inner, inner);
    counts[id]++;
  });
  sums.finish();
  if (mean) {
    for (let i = 0; i < out.size; i++) {
      const value = Number(out.at(i)) / Math.max(1, counts[Math.floor(i / inner)]);
      setElement(out, i, isBigInt(out.dtype) ? BigInt(Math.trunc(value)) : value);
    }
  }
  return out;
}

/** The result of {@linkcode sparseFillEmptyRows}. */
export interface FilledRows {
  /** Indices in row order. */
  readonly outputIndices: Tensor;
  /** Their values. */
  readonly outputValues: Tensor;
  /** For each row, true if it was empty. */
  readonly emptyRowIndicator: Tensor;
  /** New position of each given value. */
  readonly reverseIndexMap: Tensor;
  /** Value by name. */
  readonly [name: string]: Tensor;
}

/**
 * Gives each empty row of a sparse tensor one element, `defaultValue`, in its first column. Throws `ValueError` for shapes
 * that do not fit, `InvalidArgumentError` for indices out of range. TensorFlow op `SparseFillEmptyRows`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const { outputValues } = tf.sparse.sparseFillEmptyRows([[0, 1], [2, 0]], [5, 6], [3, 2], -1);
 * assertEquals(outputValues.arraySync(), [5, -1, 6]);
 * ```
 */
export function sparseFillEmptyRows(
  indices: TensorLike,
  values: TensorLike,
  denseShape: TensorLike,
  defaultValue: TensorLike,
): FilledRows {
  const fn = "sparseFillEmptyRows";
  const at = indexInput(indices, fn),
    list = toInput(values, "values", fn),
    dims = indexInput(denseShape, fn);
  const start = toInput(
    defaultValue,
    "defaultValue",
    fn,
    typeof defaultValue === "number" ? { dtype: list.dtype } : {},
  );
  wantArgument(at, 2, fn, "indices");
  wantArgument(list, 1, fn, "values");
  wantArgument(dims, 1, fn, "denseShape");
  wantArgument(start, 0, fn, "defaultValue");
  const [outputIndices, outputValues, emptyRowIndicator, reverseIndexMap] = apply(
    SparseFillEmptyRows,
    [at, list, castInput(dims, at.dtype), start],
    {},
  );
  return { outputIndices, outputValues, emptyRowIndicator, reverseIndexMap };
}

/** The result of {@linkcode sparseReshape}. */
export interface ReshapedSparse {
  /** Indices in the new shape. */
  readonly outputIndices: Tensor;
  /** The new shape, -1 resolved. */
  readonly outputShape: Tensor;
  /** Value by name. */
  readonly [name: string]: Tensor;
}

/**
 * Reshapes the indices of a sparse tensor; one dimension may be -1. Throws `ValueError` for ranks that do not fit,
 * `InvalidArgumentError` where the sizes differ. TensorFlow op `SparseReshape`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const { outputIndices } = tf.sparse.sparseReshape([[0, 1], [1, 0]], [2, 3], [3, -1]);
 * assertEquals(outputIndices.arraySync(), [[0, 1], [1, 1]]);
 * ```
 */
export function sparseReshape(
  inputIndices: TensorLike,
  inputShape: TensorLike,
  newShape: TensorLike,
): ReshapedSparse {
  const fn = "sparseReshape";
  const at = indexInput(inputIndices, fn),
    from = indexInput(inputShape, fn),
    to = indexInput(newShape, fn);
  wantArgument(at, 2, fn, "inputIndices");
  wantArgument(from, 1, fn, "inputShape");
  wantArgument(to, 1, fn, "newShape");
  const [outputIndices, outputShape] = apply(
    SparseReshape,
    [at, castInput(from, at.dtype), castInput(to, at.dtype)],
    {},
  );
  return { outputIndices, outputShape };
}

/**
 * Sums the rows picked by `indices` over runs of equal `segmentIds`, which must not decrease. Throws `ValueError` for
 * shapes that do not fit, `InvalidArgumentError` for indices out of range. TensorFlow op `SparseSegmentSum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.sparse.sparseSegmentSum([[1], [2], [4]], [0, 2, 1], [0, 0, 1]).arraySync(), [[5], [2]]);
 * ```
 */
export const sparseSegmentSum: SparseSegments = defineSegments("SparseSegmentSum", false);

/**
 * Averages the rows picked by `indices` over runs of equal `segmentIds`, which must not decrease. Throws as {@linkcode
 * sparseSegmentSum} does. TensorFlow op `SparseSegmentMean`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.sparse.sparseSegmentMean([[1], [2], [3]], [0, 2, 1], [0, 0, 1]).arraySync(), [[2], [2]]);
 * ```
 */
export const sparseSegmentMean: SparseSegments = defineSegments("SparseSegmentMean", true);
