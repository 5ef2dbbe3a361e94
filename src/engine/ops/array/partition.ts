/** Rows that are dealt out to several tensors, and rows of several that are put in one by number. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { apply, compose, type OpInput } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { compatible, mergeShapes, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { refuse } from "../host/arrays.ts";
import { asTensor, castInput, intVector, shapeOfInput, toDenseInput, toInputs } from "../input.ts";
import { add } from "../pointwise/arithmetic.ts";
import { maximum } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { fill } from "./creation.ts";
import { gather, indexInput } from "./gather.ts";
import { concat } from "./join.ts";
import { tensorScatterMax } from "./scatter_fold.ts";
import { iota, sumInto } from "./segment.ts";
import { expandDims, hostInts, reshape, shape, size } from "./view.ts";

export const DynamicPartition: OpDef = defineOp({
  name: "DynamicPartition",
  inputs: ["data: T", "partitions: int32"],
  outputs: ["outputs: num_partitions * T"],
  attrs: ["num_partitions: int >= 1", "T: type"],
  infer: ([data, { shape }], { num_partitions }) => {
    if (data.shape !== null && shape !== null) {
      mergeShapes(data.shape.slice(0, shape.length), shape);
    }
    const row = data.shape === null || shape === null
      ? null
      : [null, ...data.shape.slice(shape.length)];
    return new Array(num_partitions).fill(row);
  },
  grad: {
    saves: ["data", "partitions"],
    // Each row returns to its source.
    vjp: ({ data, partitions }, dys, { attrs: { num_partitions } }) => {
      const count = size(partitions);
      const rows = reshape(
        iota(count),
        shape(partitions),
      );
      const places = concat(parts(rows, partitions, num_partitions));
      const back = sumInto(concat(dys as Tensor[]), places, count);
      return [reshape(back, shape(data)), null];
    },
  },
  cpu: ([data, partitions], _, { attrs: { num_partitions } }) => {
    const list = hostInts(partitions), row = data.shape.slice(partitions.rank), inner = sizeOf(row);
    const wrong = list.findIndex((p) => p < 0 || p >= num_partitions);
    if (wrong >= 0) {
      refuse(`partitions[${wrong}] = ${list[wrong]} is not in [0, ${num_partitions})`);
    }
    const rowsOf = Array.from({ length: num_partitions }, (): number[] => []);
    list.forEach((p, i) => rowsOf[p].push(i));
    return rowsOf.map((rows) => {
      const out = NdArray.zeros(data.dtype, [rows.length, ...row]);
      rows.forEach((from, to) => {
        for (let i = 0; i < inner; i++) setElement(out, to * inner + i, data.at(from * inner + i));
      });
      return out;
    });
  },
});

function parts(rows: Tensor, partitions: Tensor, num_partitions: number): Tensor[] {
  return [...apply(DynamicPartition, [rows, partitions], { num_partitions })];
}

/**
 * Deals the slices of `x` out to `numPartitions` tensors: slice i goes to the one that `partitions[i]` numbers. The shape of
 * `partitions` is the beginning of that of `x`; the numbers of rows are known at run time. Throws `ValueError` for shapes that
 * do not fit and for no partitions, `InvalidArgumentError` for numbers out of range. TensorFlow op `DynamicPartition`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [even, odd] = tf.dynamicPartition([10, 11, 12], [0, 1, 0], 2);
 * console.log(await even.array(), await odd.array()); // [10, 12] [11]
 * ```
 */
export function dynamicPartition(
  x: TensorLike,
  partitions: TensorLike,
  numPartitions: number,
): Tensor[] {
  wantNumber(numPartitions, "numPartitions", "dynamicPartition");
  if (!Number.isInteger(numPartitions) || numPartitions < 1) {
    throw new ValueError(
      `Cannot apply dynamicPartition: numPartitions must be a whole number >= 1, received ${numPartitions}`,
    );
  }
  const rows = toDenseInput(x, "x", "dynamicPartition");
  const at = castInput(indexInput(partitions, "dynamicPartition"), "int32");
  return [...apply(DynamicPartition, [rows, at], { num_partitions: numPartitions })];
}

/** Returns rows without their places' axes, and these as a vector. */
function flattened(places: OpInput, rows: OpInput, k: number): [Tensor, Tensor] {
  const at = shapeOfInput(places), given = shapeOfInput(rows);
  if (at === null || given === null) {
    throw new ValueError("Cannot apply dynamicStitch: the ranks of indices and data must be known");
  }
  if (!compatible(given.slice(0, at.length), at)) {
    throw new ValueError(
      `Cannot apply dynamicStitch: data[${k}] must begin with the shape of indices[${k}], received ${
        shapeText(given)
      } and ${shapeText(at)}`,
    );
  }
  const row = given.slice(at.length), isKnown = row.every((d) => d !== null && d > 0);
  const dims = isKnown
    ? intVector([-1, ...row as number[]])
    : concat([reshape(size(places), [1]), shape(rows).slice([at.length])]);
  return [reshape(asTensor(places), [-1]), reshape(asTensor(rows), dims)];
}

/**
 * Puts the slices of several tensors into one: slice i of `data[k]` stands at `indices[k][i]`, of several for one place the
 * last. Places that no index names have zeros, or empty texts. The number of rows, one more than the greatest index, is
 * known at run time. Throws `ValueError` for lists of different lengths and shapes that do not fit, `InvalidArgumentError`
 * for negative indices. Follows TensorFlow `tf.dynamic_stitch`, op `DynamicStitch`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.dynamicStitch([[0, 2], [1]], [[10, 12], [11]]).array()); // [10, 11, 12]
 * ```
 */
export function dynamicStitch(
  indices: readonly TensorLike[],
  data: readonly TensorLike[],
): Tensor {
  wantList(indices, "indices", "dynamicStitch", "tensors");
  wantList(data, "data", "dynamicStitch", "tensors");
  if (indices.length === 0 || indices.length !== data.length) {
    throw new ValueError(
      `Cannot apply dynamicStitch: wanted as many tensors of data as of indices, received ${data.length} and ${indices.length}`,
    );
  }
  const given = toInputs(data, "data", "dynamicStitch");
  return compose(() => {
    const pairs = given.map((rows, k) =>
      flattened(castInput(indexInput(indices[k], "dynamicStitch"), "int32"), rows, k)
    );
    const at = concat(pairs.map(([places]) => places)), rows = concat(pairs.map(([, r]) => r));
    // Row 0 is empty, for places that no index names.
    const none = fill(concat([intVector([1]), shape(rows).slice([1])]), emptyOf(rows), rows.dtype);
    const count = maximum(add(max(at), 1), 0), last = add(iota(size(at)), 1);
    const from = fill(reshape(count, [1]), 0, "int32");
    const source = tensorScatterMax(from, expandDims(at, 1), last);
    return gather(concat([none, rows]), source);
  });
}

function emptyOf(rows: Tensor): string | number {
  return rows.dtype === "string" ? "" : 0;
}
