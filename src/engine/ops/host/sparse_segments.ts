/** Sums and means of rows picked by indices over segments, in the namespace `tf.sparse`. They run on the host. */
import { apply1 } from "../../core/apply.ts";
import { isBigInt } from "../../core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { Accumulator, addable } from "../../kernels/host/scatter_accumulate.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { gather, indexInput } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { hostInts, knownInts, reshape, shape as shapeOf } from "../array/view.ts";
import { intScalar, intVector, shapeOfInput, toInput, wantArgument } from "../input.ts";
import { div } from "../pointwise/arithmetic.ts";
import { sqrt } from "../pointwise/power.ts";

/** Combines rows of `data` picked by `indices` over runs of equal `segmentIds`. */
export type SparseSegments = (
  data: TensorLike,
  indices: TensorLike,
  segmentIds: TensorLike,
) => Tensor;

/** The same, where the number of segments may be told. */
export type SparseSegmentsOf = (
  data: TensorLike,
  indices: TensorLike,
  segmentIds: TensorLike,
  numSegments?: number,
) => Tensor;

/** Divisor of a segment's sum: none, the number of its rows, or the root of that. */
type Norm = "sum" | "mean" | "sqrtn";

function defineSegmentOp(name: string, norm: Norm, isCounted: boolean): OpDef {
  return defineOp({
    name,
    inputs: [
      ...["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
      ...isCounted ? ["num_segments: Tnumsegments"] : [],
    ],
    outputs: ["output: T"],
    attrs: [
      ...["T: real", "Tidx: index = int32", "Tsegmentids: index = int32"],
      ...isCounted ? ["Tnumsegments: index = int32"] : [],
    ],
    hostInputs: isCounted ? ["num_segments"] : [],
    infer: ([data, , , num]) => {
      const count = num && knownInts(num)?.[0];
      return [data.shape && [count ?? null, ...data.shape.slice(1)]];
    },
    grad: {
      saves: ["indices", "segment_ids"],
      vjp: ({ indices, segment_ids }, [dy], ctx) => {
        const shape = ctx.shapeOf(0);
        const rows = shape instanceof NdArray ? intScalar(hostInts(shape)[0]) : gather(shape, 0);
        const own = gather(dy, segment_ids);
        const picked = norm === "sum" ? own : divided(own, segment_ids, norm);
        const dx = apply1(lookupOp("UnsortedSegmentSum")!, [picked, indices, rows]);
        return [dx, null, null, ...isCounted ? [null] : []];
      },
    },
    cpu: ([data, indices, ids, num]) => [
      sumSegments(data, hostInts(indices), hostInts(ids), { norm, num: num && hostInts(num)[0] }),
    ],
  });
}

/** Defines both ops of a norm. Returns the maker of their function, by its name in errors. */
function defineSegments(name: string, norm: Norm): (fn: string) => SparseSegmentsOf {
  const def = defineSegmentOp(name, norm, false);
  const counted = defineSegmentOp(`${name}WithNumSegments`, norm, true);
  return (fn) => (data, indices, segmentIds, numSegments) => {
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
    if (numSegments === undefined) return apply1(def, [rows, at, ids]);
    if (!(Number.isInteger(numSegments) && numSegments >= 0)) {
      throw new ValueError(
        `Cannot apply ${fn}: numSegments must be a whole number, received ${numSegments}`,
      );
    }
    return apply1(counted, [rows, at, ids, intScalar(numSegments)]);
  };
}

/** Returns gradients of each row's mean as gradients of its sum. */
function divided(own: Tensor, ids: Tensor, norm: Norm): Tensor {
  const counts = gather(apply1(lookupOp("SegmentSum")!, [onesLike(ids), ids]), ids);
  const ones = onesLike(slice(shapeOf(own), [1]));
  const by = cast(reshape(counts, concat([intVector([-1]), ones])), own.dtype);
  return div(own, norm === "mean" ? by : sqrt(by));
}

function sumSegments(
  data: NdArray,
  indices: readonly number[],
  ids: readonly number[],
  { norm, num: wanted }: { readonly norm: Norm; readonly num: number | undefined },
): NdArray {
  const rows = data.shape[0], inner = sizeOf(data.shape.slice(1));
  const num = wanted ?? (ids.length === 0 ? 0 : ids[ids.length - 1] + 1);
  if (ids.some((id) => id < 0)) throw new InvalidArgumentError("segment ids must be >= 0");
  if (ids.some((id, i) => i > 0 && id < ids[i - 1])) {
    throw new InvalidArgumentError("segment ids are not increasing");
  }
  const counts = new Array<number>(num).fill(0);
  const out = NdArray.zeros(data.dtype, [num, ...data.shape.slice(1)]);
  const sums = new Accumulator(out), values = addable(data);
  ids.forEach((id, i) => {
    if (id >= num) throw new InvalidArgumentError(`Segment id ${id} out of range [0, ${num})`);
    const row = indices[i];
    if (row < 0 || row >= rows) {
      throw new InvalidArgumentError(`Bad: indices[${i}] == ${row} out of range [0, ${rows})`);
    }
    sums.add(id * inner, values, row * inner, inner);
    counts[id]++;
  });
  sums.finish();
  if (norm === "sum") return out;
  for (let i = 0; i < out.size; i++) {
    const count = Math.max(1, counts[Math.floor(i / inner)]);
    const value = Number(out.at(i)) / (norm === "mean" ? count : Math.sqrt(count));
    setElement(out, i, isBigInt(out.dtype) ? BigInt(Math.trunc(value)) : value);
  }
  return out;
}

const ofSum = defineSegments("SparseSegmentSum", "sum");
const ofMean = defineSegments("SparseSegmentMean", "mean");
const ofSqrtN = defineSegments("SparseSegmentSqrtN", "sqrtn");

/**
 * Sums the rows picked by `indices` over runs of equal `segmentIds`, which must not decrease; with `numSegments` there are
 * as many sums, 0 for segments without rows. Differentiable with respect to data. Throws `ValueError` for shapes that do
 * not fit, `InvalidArgumentError` for indices and ids out of range. Follows TensorFlow `tf.sparse.segment_sum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sparse.segmentSum([[1], [2], [4]], [0, 2, 1], [0, 0, 1], 3).arraySync()); // [[5], [2], [0]]
 * ```
 */
export const segmentSum: SparseSegmentsOf = ofSum("sparse.segmentSum");

/**
 * Averages the rows picked by `indices` as {@linkcode segmentSum} sums them. Throws as that does. Follows TensorFlow `tf.sparse.segment_mean`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sparse.segmentMean([[1], [2], [3]], [0, 2, 1], [0, 0, 1]).arraySync()); // [[2], [2]]
 * ```
 */
export const segmentMean: SparseSegmentsOf = ofMean("sparse.segmentMean");

/**
 * Sums the rows picked by `indices` as {@linkcode segmentSum} does, and divides by the root of their number. Throws as
 * {@linkcode segmentMean} does. Follows TensorFlow `tf.sparse.segment_sqrt_n`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sparse.segmentSqrtN([[1], [1], [1], [1]], [0, 1, 2, 3], [0, 0, 0, 0]).arraySync()); // [[2]]
 * ```
 */
export const segmentSqrtN: SparseSegmentsOf = ofSqrtN("sparse.segmentSqrtN");

/** As {@linkcode segmentSum}, by TensorFlow.js's name: TensorFlow op `SparseSegmentSum`. */
export const sparseSegmentSum: SparseSegments = ofSum("sparseSegmentSum");

/** As {@linkcode segmentMean}, by TensorFlow.js's name: TensorFlow op `SparseSegmentMean`. */
export const sparseSegmentMean: SparseSegments = ofMean("sparseSegmentMean");
