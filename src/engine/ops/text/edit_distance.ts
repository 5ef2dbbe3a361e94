/** Distances between sequences: how many elements are inserted, deleted or exchanged. On the host. */
import { apply1 } from "../../core/apply.ts";
import { wantBoolean } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, shapeText, sizeOf } from "../../core/shape.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { castInput } from "../input.ts";
import { type SparseLike, toSparse, wideParts } from "../ragged/sparse_input.ts";
import { entriesOf } from "../ragged/sparse_parts.ts";

/** Elements of sequences, by the place of their sequence. */
function sequencesOf(
  [indices, values, dims]: readonly NdArray[],
  shape: readonly number[],
  name: string,
): ReadonlyMap<number, readonly unknown[]> {
  const extents = hostInts(dims), all = new Map<number, unknown[]>();
  for (const { at, i } of entriesOf(indices, extents)) {
    if (at.some((v, d) => v < 0 || v >= extents[d])) {
      refuse(`${name}_indices[${i}] = [${at}] is out of bounds: need 0 <= index < [${extents}]`);
    }
    const place = shape.reduce((sum, extent, d) => sum * extent + at[d], 0);
    const value = values.at(i), key = value instanceof Uint8Array ? value.join() : value;
    const list = all.get(place);
    if (list === undefined) all.set(place, [key]);
    else list.push(key);
  }
  return all;
}

/** V. Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals" (1966), a row at a time. */
function distance(a: readonly unknown[], b: readonly unknown[]): number {
  let before = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const exchanged = before[j] + Number(a[i] !== b[j]);
      row.push(Math.min(exchanged, before[j + 1] + 1, row[j] + 1));
    }
    before = row;
  }
  return before[b.length];
}

const parts = (name: string): string[] => [
  `${name}_indices: int64`,
  `${name}_values: T`,
  `${name}_shape: int64`,
];

export const EditDistance: OpDef = defineOp({
  name: "EditDistance",
  inputs: [...parts("hypothesis"), ...parts("truth")],
  outputs: ["output: float32"],
  attrs: ["normalize: bool = true", "T: type"],
  hostInputs: ["hypothesis_shape", "truth_shape"],
  infer: ([, , a, , , b]) => {
    const ranks = [a, b].map(({ shape }) => shape?.[0] ?? null);
    if (ranks.some((rank) => rank !== null && rank < 2) || !compatible([ranks[0]], [ranks[1]])) {
      throw new ValueError(
        `Cannot compare sequences of ranks ${shapeText(ranks)}: wanted one rank, from 2 on`,
      );
    }
    const shapes = [a, b].map(knownInts), rank = ranks[0] ?? ranks[1];
    if (shapes[0] && shapes[1]) return [widest(shapes as number[][])];
    return [rank === null ? null : new Array(rank - 1).fill(null)];
  },
  grad: null,
  cpu: (inputs, _, { attrs: { normalize } }) => {
    const shape = widest([inputs[2], inputs[5]].map((dims) => [...hostInts(dims)]));
    const [given, wanted] = [inputs.slice(0, 3), inputs.slice(3)].map((x, k) =>
      sequencesOf(x, shape, ["hypothesis", "truth"][k])
    );
    const out = Float32Array.from({ length: sizeOf(shape) }, (_, i) => {
      const truth = wanted.get(i) ?? [], steps = distance(given.get(i) ?? [], truth);
      return steps === 0 || !normalize ? steps : steps / truth.length;
    });
    return [new NdArray("float32", shape, out)];
  },
});

/** Returns the shape that holds all sequences. */
function widest([a, b]: readonly (readonly number[])[]): number[] {
  return a.slice(0, -1).map((extent, d) => Math.max(extent, b[d]));
}

/**
 * The Levenshtein distance between the sequences along the last axis of two sparse tensors, divided by the length of the truth where
 * `normalize` is true (infinite for an empty truth): float32, of their shape without that axis. Throws `TypeError` for dense tensors and
 * for different dtypes, `ValueError` for ranks that differ or are below 2. TensorFlow op `EditDistance`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const said = tf.sparse.fromDense([[1, 2, 3]]), truth = tf.sparse.fromDense([[1, 3]]);
 * console.log(await tf.editDistance(said, truth).array()); // [0.5]
 * ```
 */
export function editDistance(hypothesis: SparseLike, truth: SparseLike, normalize = true): Tensor {
  const fn = "tf.editDistance";
  wantBoolean(normalize, "normalize", fn);
  const a = toSparse(hypothesis, "hypothesis", fn), b = toSparse(truth, "truth", fn);
  if (a.values.dtype !== b.values.dtype) {
    throw new TypeError(
      `Cannot apply ${fn} to ${a.values.dtype} and ${b.values.dtype}: wanted one dtype`,
    );
  }
  const inputs = [a, b].flatMap((x) => {
    const [indices, values, dims] = wideParts(x);
    return [indices, values, castInput(dims, "int64")];
  });
  return apply1(EditDistance, inputs, { normalize });
}
