/** Joined strings of segments, in the namespace `tf.strings`. On the host. */
import { apply1 } from "../../core/apply.ts";
import { wantString } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { brief, encodeString, joinBytes } from "../../core/text.ts";
import { wideIndexInput } from "../array/gather.ts";
import { segmentShape } from "../array/segment.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse, textsOf } from "../host/arrays.ts";
import { intScalar } from "../input.ts";
import { texts } from "./text_input.ts";

const UnsortedSegmentJoin: OpDef = defineOp({
  name: "UnsortedSegmentJoin",
  inputs: ["inputs: string", "segment_ids: Tindices", "num_segments: Tnumsegments"],
  outputs: ["output: string"],
  attrs: ['separator: string = ""', "Tindices: index", "Tnumsegments: index = int32"],
  hostInputs: ["num_segments"],
  infer: ([x, ids, count]) => [segmentShape(x.shape, ids.shape, knownInts(count)?.[0] ?? null)],
  grad: null,
  cpu: ([x, ids], [out], { attrs: { separator } }) => {
    const list = hostInts(ids), count = out.shape[0], inner = sizeOf(out.shape.slice(1));
    const texts = textsOf(x), between = encodeString(separator), to = textsOf(out);
    const found: Uint8Array[][] = Array.from({ length: out.size }, () => []);
    list.forEach((id, row) => {
      if (id < 0 || id >= count) refuse(`segment_ids[${row}] = ${id} is not in [0, ${count})`);
      for (let i = 0; i < inner; i++) found[id * inner + i].push(texts[row * inner + i]);
    });
    found.forEach((all, at) => to[at] = joinBytes(all, between));
  },
});

/**
 * Joins the strings of each segment in their order; a segment without strings is empty. `segmentIds` have the shape of the leading
 * dimensions. TensorFlow op `UnsortedSegmentJoin`. Throws `ValueError` for shapes that do not fit and a number of segments that is not
 * whole, `TypeError` for a separator that is no string, `InvalidArgumentError` for an id out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.unsortedSegmentJoin(["a", "b", "c"], [1, 0, 1], 2, "-").arraySync()); // ["b", "a-c"]
 * ```
 */
export function unsortedSegmentJoin(
  inputs: TensorLike,
  segmentIds: TensorLike,
  numSegments: number,
  separator: string = "",
): Tensor {
  const fn = "strings.unsortedSegmentJoin";
  wantString(separator, "separator", fn);
  if (!(Number.isInteger(numSegments) && numSegments >= 0)) {
    throw new ValueError(
      `Cannot apply ${fn}: numSegments must be a whole number, received ${brief(numSegments)}`,
    );
  }
  const ids = wideIndexInput(segmentIds, fn);
  const given = [texts(inputs, "unsortedSegmentJoin"), ids, intScalar(numSegments)];
  return apply1(UnsortedSegmentJoin, given, { separator });
}
