/** Ragged tensors as splits and values: ranges, rows picked by index, and conversion to dense tensors. On the host. */
import { wantList } from "../../core/arguments.ts";
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type GradContext } from "../../core/op.ts";
import { broadcastStrides, compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { copyCpu } from "../../kernels/host/copy.ts";
import { wholeArray } from "../../kernels/host/numbers.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import {
  naturalShape,
  raggedGather as gatherRows,
  raggedRange as rangesOf,
  type RowPartition,
  scatterRagged,
  splitsOfPartitions,
} from "../../kernels/host/ragged.ts";
import { fill } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { slice } from "../array/slice.ts";
import { hostInts, shape as shapeOf } from "../array/view.ts";
import { castInput, toIndexInput, toInput } from "../input.ts";
import { where } from "../pointwise/select.ts";

/** Returns the tensors of a variadic input. */
function listOf(saved: Readonly<Record<string, Tensor>>, name: string): Tensor[] {
  return Object.keys(saved).filter((key) => key.startsWith(`${name}:`)).map((key) => saved[key]);
}

/** Sums the gradients of the places that each value went to; `moved` moves the values' numbers as the op moves the values. */
function sumOfPlaces(
  dy: Tensor,
  { inputs, shapeOf }: GradContext,
  { values, moved }: { values: number; moved: (numbers: Tensor) => Tensor },
): Tensor {
  const count = inputs[values].shape?.[0] ?? gather(shapeOf(values), 0);
  return unsortedSegmentSum(dy, moved(range(0, count, 1, "int32")), count);
}

const RaggedRange = defineOp({
  name: "RaggedRange",
  inputs: ["starts: T", "limits: T", "deltas: T"],
  outputs: ["rt_nested_splits: Tsplits", "rt_dense_values: T"],
  attrs: ["T: real = int32", "Tsplits: index = int64"],
  infer: (inputs) => {
    const rows = inputs.find((x) => x.shape?.length === 1)?.shape?.[0];
    const scalars = inputs.every((x) => x.shape?.length === 0);
    return [[scalars ? 2 : rows == null ? null : rows + 1], [null]];
  },
  grad: null,
  cpu: ([starts, limits, deltas], _, { attrs: { Tsplits } }) => {
    const { splits, values } = rangesOf(starts, limits, deltas);
    return [wholeArray(Tsplits, [splits[0].length], splits[0]), values];
  },
});

const RaggedGather = defineOp({
  name: "RaggedGather",
  inputs: [
    "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits",
    "params_dense_values: Tvalues",
    "indices: Tindices",
  ],
  outputs: [
    "output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits",
    "output_dense_values: Tvalues",
  ],
  attrs: [
    "Tvalues: type",
    "Tindices: index",
    "Tsplits: index = int64",
    "PARAMS_RAGGED_RANK: int >= 1",
    "OUTPUT_RAGGED_RANK: int >= 0",
  ],
  infer: (inputs, { OUTPUT_RAGGED_RANK }) => {
    const values = inputs[inputs.length - 2].shape;
    return [
      ...Array.from({ length: OUTPUT_RAGGED_RANK }, (): PartialShape => [null]),
      values && [null, ...values.slice(1)],
    ];
  },
  grad: {
    saves: ["params_nested_splits", "indices"],
    vjp: (saved, dys, ctx) => {
      const splits = listOf(saved, "params_nested_splits"), { OUTPUT_RAGGED_RANK } = ctx.attrs;
      const moved = (numbers: Tensor): Tensor =>
        apply(RaggedGather, [...splits, numbers, saved.indices], { OUTPUT_RAGGED_RANK }).at(-1)!;
      const values = splits.length;
      return [...splits.map(() => null), sumOfPlaces(dys.at(-1)!, ctx, { values, moved }), null];
    },
  },
  cpu: (inputs, _, { attrs: { Tsplits } }) => {
    const [values, indices] = inputs.slice(-2);
    const params = { splits: inputs.slice(0, -2).map(hostInts), values };
    const out = gatherRows(params, indices);
    return [...out.splits.map((s) => wholeArray(Tsplits, [s.length], s)), out.values];
  },
});

const RaggedTensorToTensor = defineOp({
  name: "RaggedTensorToTensor",
  inputs: [
    "shape: Tshape",
    "values: T",
    "default_value: T",
    "row_partition_tensors: num_row_partition_tensors * Tindex",
  ],
  outputs: ["result: T"],
  attrs: [
    "T: type",
    "Tindex: index",
    "Tshape: index",
    "num_row_partition_tensors: int >= 1",
    "row_partition_types: list(string)",
  ],
  infer: ([shape, values], { row_partition_types }) => {
    if (shape.value && shape.shape!.length === 1) {
      return [hostInts(shape.value).map((d) => (d < 0 ? null : d))];
    }
    if (values.shape == null) return [null];
    const ragged = (row_partition_types as RowPartition[]).filter((t) => t !== "FIRST_DIM_SIZE");
    return [[null, ...ragged.map(() => null), ...values.shape.slice(1)]];
  },
  grad: {
    saves: ["row_partition_tensors"],
    vjp: (saved, [dy], ctx) => {
      const partitions = listOf(saved, "row_partition_tensors"),
        { row_partition_types } = ctx.attrs;
      const dense = (shape: Tensor, values: Tensor, other: TensorLike): Tensor =>
        raggedTensorToTensor(shape, values, other, partitions, row_partition_types);
      const ragged = (row_partition_types as RowPartition[]).filter((t) => t !== "FIRST_DIM_SIZE");
      // No value went to places of number -1.
      const moved = (numbers: Tensor): Tensor =>
        dense(slice(shapeOf(dy), [0], [ragged.length + 1]), numbers, -1);
      const isFilled = (): Tensor => dense(shapeOf(dy), fill(ctx.shapeOf(1), false, "bool"), true);
      return [
        null,
        ctx.needs[1] ? sumOfPlaces(dy, ctx, { values: 1, moved }) : null,
        ctx.needs[2] ? ctx.sumLike(where(isFilled(), dy, 0), 2) : null,
        ...partitions.map(() => null),
      ];
    },
  },
  cpu: ([shape, values, fallback, ...partitions], _, { attrs: { row_partition_types } }) => {
    const ragged = {
      splits: splitsOfPartitions(partitions.map(hostInts), row_partition_types),
      values,
    };
    const natural = naturalShape(ragged);
    const asked = shape.shape.length === 0 ? null : hostInts(shape).map((d) => (d < 0 ? null : d));
    const dense = ragged.splits.length + 1;
    const held: PartialShape = natural.map((d, i) => (i < dense ? null : d));
    if (!compatible(asked, held)) {
      throw new InvalidArgumentError(
        `Shape ${shapeText(asked)} and the shape ${
          shapeText(held)
        } of ragged values are incompatible`,
      );
    }
    const out = NdArray.zeros(values.dtype, natural.map((d, i) => asked?.[i] ?? d));
    const strides = broadcastStrides(fallback.shape, out.shape);
    copyCpu({ base: 0, axes: out.shape.map((d, i) => plainAxis(d, strides[i])) }, fallback, out);
    scatterRagged(ragged, out);
    return [out];
  },
});

/** The result of {@linkcode raggedRange}. */
export interface RaggedRanges {
  /** Start of each row, and the end of the last; int32. */
  readonly rtNestedSplits: Tensor;
  /** The elements of all rows. */
  readonly rtDenseValues: Tensor;
  /** Value by name. */
  readonly [name: string]: Tensor;
}

/**
 * Returns rows `start, start + delta, …` up to `limit`, as splits (int32) and values. Operands are vectors of one
 * length, or scalars for all rows. Throws `InvalidArgumentError` for other shapes, and for a delta of 0. TensorFlow op
 * `RaggedRange`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { rtNestedSplits, rtDenseValues } = tf.raggedRange([0, 5], [3, 7], 1);
 * console.log([rtNestedSplits.arraySync(), rtDenseValues.arraySync()]); // [[0, 3, 5], [0, 1, 2, 5, 6]]
 * ```
 */
export function raggedRange(
  starts: TensorLike,
  limits: TensorLike,
  deltas: TensorLike,
): RaggedRanges {
  const first = toInput(starts, "starts", "raggedRange");
  const rest = [toInput(limits, "limits", "raggedRange"), toInput(deltas, "deltas", "raggedRange")];
  const inputs = [first, ...rest.map((x) => castInput(x, first.dtype))];
  const [rtNestedSplits, rtDenseValues] = apply(RaggedRange, inputs, { Tsplits: "int32" });
  return { rtNestedSplits, rtDenseValues };
}

/** The result of {@linkcode raggedGather}. */
export interface RaggedRows {
  /** Splits of each ragged dimension, from the outermost. */
  readonly outputNestedSplits: Tensor[];
  /** The values of the innermost rows. */
  readonly outputDenseValues: Tensor;
}

/**
 * Gathers rows of a ragged tensor by index, in the indices' shape. `outputRaggedRank` is the number of splits of the
 * result: one for each given, plus the rank of the indices, less 1. Throws `InvalidArgumentError` for splits that are
 * not sorted or point past the values, and for indices out of range. TensorFlow op `RaggedGather`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { outputNestedSplits, outputDenseValues } = tf.raggedGather([[0, 1, 3]], [7, 8, 9], [1, 0], 1);
 * console.log([outputNestedSplits[0].arraySync(), outputDenseValues.arraySync()]); // [[0, 2, 3], [8, 9, 7]]
 * ```
 */
export function raggedGather(
  paramsNestedSplits: readonly TensorLike[],
  paramsDenseValues: TensorLike,
  indices: TensorLike,
  outputRaggedRank: number,
): RaggedRows {
  wantList(paramsNestedSplits, "paramsNestedSplits", "raggedGather");
  const splits = paramsNestedSplits.map((s, i) => indexed(s, `paramsNestedSplits[${i}]`));
  const values = toInput(paramsDenseValues, "paramsDenseValues", "raggedGather");
  const outputs = apply(RaggedGather, [...splits, values, indexed(indices, "indices")], {
    OUTPUT_RAGGED_RANK: outputRaggedRank,
  });
  return { outputNestedSplits: outputs.slice(0, -1), outputDenseValues: outputs.at(-1)! };
}

function indexed(x: TensorLike, name: string): OpInput {
  return toIndexInput(x, name, "raggedGather");
}

/**
 * Converts a ragged tensor to a dense one, padded with `defaultValue`. `shape` may be -1 as a whole, or at each
 * dimension, for the smallest that holds all rows; values that do not fit are dropped. The partitions are row splits,
 * or value row ids after the size of the first dimension. Throws `InvalidArgumentError` where shape, values and
 * partitions do not fit. TensorFlow op `RaggedTensorToTensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const dense = tf.raggedTensorToTensor([-1, -1], [1, 2, 3], 0, [[0, 2, 3]], ["ROW_SPLITS"]);
 * console.log(dense.arraySync()); // [[1, 2], [3, 0]]
 * ```
 */
export function raggedTensorToTensor(
  shape: TensorLike,
  values: TensorLike,
  defaultValue: TensorLike,
  rowPartitionTensors: readonly TensorLike[],
  rowPartitionTypes: readonly RowPartition[],
): Tensor {
  const fn = "raggedTensorToTensor";
  wantList(rowPartitionTensors, "rowPartitionTensors", fn);
  wantList(rowPartitionTypes, "rowPartitionTypes", fn);
  const data = toInput(values, "values", fn);
  return apply1(RaggedTensorToTensor, [
    toIndexInput(shape, "shape", fn),
    data,
    castInput(toInput(defaultValue, "defaultValue", fn), data.dtype),
    ...rowPartitionTensors.map((t, i) => toIndexInput(t, `rowPartitionTensors[${i}]`, fn)),
  ], { row_partition_types: [...rowPartitionTypes] });
}
