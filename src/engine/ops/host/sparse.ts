/** The namespace `tf.sparse` of TensorFlow.js: ops on tensors given by indices and values. They run on the host. */
import { apply } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { sizeOf, stridesOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { setWhole, wholeArray } from "../../kernels/host/numbers.ts";
import { hostInts } from "../array/view.ts";
import { gather, indexInput } from "../array/gather.ts";
import { castInput, toInput, wantArgument } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";

export { sparseSegmentMean, sparseSegmentSum } from "./sparse_segments.ts";

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
 * const { outputValues } = tf.sparse.sparseFillEmptyRows([[0, 1], [2, 0]], [5, 6], [3, 2], -1);
 * console.log(outputValues.arraySync()); // [5, -1, 6]
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
 * const { outputIndices } = tf.sparse.sparseReshape([[0, 1], [1, 0]], [2, 3], [3, -1]);
 * console.log(outputIndices.arraySync()); // [[0, 1], [1, 1]]
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
