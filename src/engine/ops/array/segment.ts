/** Sums over segments of the leading axes. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineOp, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { mergeShapes, type PartialShape, type Shape, shapeText, sizeOf } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { RowLayout } from "../../core/meaning.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";
import { hostInts, knownInts, reshape } from "./view.ts";
import { scatterKernels } from "./define_scatter.ts";
import { gather, indexInput, wideIndexInput } from "./gather.ts";
import { intScalar, toInput, wantRank } from "../input.ts";
import { brief } from "../../core/text.ts";

export function segmentShape(
  data: PartialShape,
  ids: PartialShape,
  num: number | null,
): PartialShape {
  if (data === null || ids === null) return null;
  if (ids.length > data.length) {
    throw new ValueError(
      `Cannot sum segments of shape ${shapeText(data)}: segment_ids have shape ${shapeText(ids)}`,
    );
  }
  mergeShapes(data.slice(0, ids.length), ids);
  return [num, ...data.slice(ids.length)];
}

type Shaped = { readonly shape: Shape };

function rowsInto(out: Shaped, data: Shaped, ids: Shaped): RowLayout {
  return {
    batch: 1,
    outer: 1,
    dims: [out.shape[0]],
    inner: sizeOf(data.shape.slice(ids.shape.length)),
    count: sizeOf(ids.shape),
  };
}

const UnsortedSegmentSum = defineOp({
  name: "UnsortedSegmentSum",
  inputs: ["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
  outputs: ["output: T"],
  attrs: ["T: numeric", "Tindices: {int16, int32, int64}", "Tnumsegments: index = int32"],
  hostInputs: ["num_segments"],
  infer: ([data, ids, num]) => [segmentShape(data.shape, ids.shape, knownInts(num)?.[0] ?? null)],
  grad: {
    saves: ["segment_ids"],
    vjp: ({ segment_ids }, [dy]) => [pickSegments(dy, segment_ids), null, null],
  },
  ...scatterKernels(
    ({ inputs: [data, ids], outputs: [out] }) => rowsInto(out, data, ids),
    { rows: 0, indices: 1 },
    { skip: "negative" },
  ),
});

/** Returns each element's segment; zeros for a negative id, which belongs to none. */
const PickSegments = defineOp({
  name: "PickSegments",
  portable: "parts",
  inputs: ["segments: T", "segment_ids: Tindices"],
  outputs: ["output: T"],
  attrs: ["T: numeric", "Tindices: {int16, int32, int64}"],
  infer: ([{ shape }, ids]) => [shape && ids.shape && [...ids.shape, ...shape.slice(1)]],
  grad: {
    saves: ["segment_ids"],
    vjp: ({ segment_ids }, [dy], ctx) => {
      const shape = ctx.shapeOf(0);
      const num = shape instanceof NdArray ? intScalar(hostInts(shape)[0]) : gather(shape, 0);
      return [apply1(UnsortedSegmentSum, [dy, segment_ids, num]), null];
    },
  },
  expand: ([segments, ids]) => {
    const zero = toInput(0, "zero", "segmentSum", { dtype: ids.dtype });
    const inside = apply1(lookupOp("GreaterEqual")!, [ids, zero]);
    const picked = gather(segments, apply1(lookupOp("Maximum")!, [ids, zero]));
    const shape = [...ids.shape, ...new Array(segments.shape.length - 1).fill(1)];
    const wide = reshape(inside, shape);
    const nothing = apply1(lookupOp("ZerosLike")!, [picked]);
    return [apply1(lookupOp("SelectV2")!, [wide, picked, nothing])];
  },
});

export function pickSegments(segments: Tensor, ids: Tensor): Tensor {
  return apply1(PickSegments, [segments, ids]);
}

/** Defines an op of slices and their ascending segment ids; `fold` fills a result of zeros. */
export function defineSorted(
  name: string,
  types: string,
  grad: GradRule,
  fold: (data: NdArray, ids: NdArray, out: NdArray) => void,
): OpDef {
  return defineOp({
    name,
    inputs: ["data: T", "segment_ids: Tindices"],
    outputs: ["output: T"],
    attrs: [`T: ${types}`, "Tindices: index"],
    infer: ([data, ids]) => {
      mergeShapes(ids.shape, [null]);
      return [segmentShape(data.shape, ids.shape, null)];
    },
    grad,
    cpu: ([data, ids]) => {
      const out = NdArray.zeros(data.dtype, [segmentsOf(hostInts(ids)), ...data.shape.slice(1)]);
      fold(data, ids, out);
      return [out];
    },
  });
}

/** Returns the number of segments. Throws `InvalidArgumentError` for ids that decrease. */
function segmentsOf(ids: readonly number[]): number {
  ids.forEach((id, i) => {
    if (id < (i === 0 ? 0 : ids[i - 1])) {
      throw new InvalidArgumentError(`segment ids are not increasing: segment_ids[${i}] = ${id}`);
    }
  });
  return ids.length === 0 ? 0 : ids[ids.length - 1] + 1;
}

const SegmentSum = defineSorted(
  "SegmentSum",
  "numeric",
  {
    saves: ["segment_ids"],
    vjp: ({ segment_ids }, [dy]) => [gather(dy, segment_ids), null],
  },
  (data, ids, out) => scatterCpu(data, ids, rowsInto(out, data, ids), out, { how: "add" }),
);

/**
 * Sums the slices of `x` by id: row i of the result is the sum for id i. Negative ids are ignored. Throws `ValueError`
 * where ids and `x` do not fit. TensorFlow op `UnsortedSegmentSum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const ids = tf.tensor1d([1, 0, 1], "int32");
 * console.log(tf.unsortedSegmentSum([1, 2, 3], ids, 2).arraySync()); // [2, 4]
 * ```
 */
export function unsortedSegmentSum(
  x: TensorLike,
  segmentIds: TensorLike,
  numSegments: number | Tensor,
): Tensor {
  const known = numSegments instanceof Tensor ? null : numSegments;
  if (known !== null && (!Number.isInteger(known) || known < 0)) {
    throw new ValueError(
      `Cannot sum ${brief(numSegments)} segments: numSegments must be of dtype int`,
    );
  }
  return apply1(UnsortedSegmentSum, [
    toInput(x, "x", "unsortedSegmentSum"),
    indexInput(segmentIds, "unsortedSegmentSum"),
    known === null ? toInput(numSegments, "numSegments", "unsortedSegmentSum") : intScalar(known),
  ]);
}

/**
 * Sums the slices of `x` by id; ids must not decrease, and the last one determines the number of segments. Throws
 * `InvalidArgumentError` for ids that decrease. Follows TensorFlow `tf.math.segment_sum`, op `SegmentSum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const ids = tf.tensor1d([0, 0, 2], "int32");
 * console.log(tf.segmentSum([1, 2, 3], ids).arraySync()); // [3, 0, 3]
 * ```
 */
export function segmentSum(x: TensorLike, segmentIds: TensorLike): Tensor {
  const ids = wideIndexInput(segmentIds, "segmentSum");
  wantRank(ids, 1, (shape) => `Cannot sum segments with ids of shape ${shape}: wanted a vector`);
  return apply1(SegmentSum, [toInput(x, "x", "segmentSum"), ids]);
}

/** Returns the numbers from 0 to below `n`. */
export function iota(n: OpInput): Tensor {
  return apply1(lookupOp("Range")!, [intScalar(0), n, intScalar(1)]);
}

/** Sums the rows that share a place, of `count` places. */
export function sumInto(rows: OpInput, places: OpInput, count: OpInput): Tensor {
  return apply1(lookupOp("UnsortedSegmentSum")!, [rows, places, count]);
}
