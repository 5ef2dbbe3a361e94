/** Samples of ops on sparse tensors. */

import { any, distinct, ints, sample, type SampleTable, typed, vector } from "./inputs.ts";
import { NdArray } from "@weft/weft";

const wide = (shape: readonly number[], values: readonly number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
const texts = (...values: string[]): NdArray =>
  new NdArray("string", [values.length], values.map((v) => new TextEncoder().encode(v)));

const rows = wide([4, 2], [0, 1, 0, 2, 2, 0, 2, 1]), extents = wide([2], [3, 3]);
const others = wide([3, 2], [0, 1, 1, 0, 2, 2]);
const blocks = wide([4, 3], [0, 0, 0, 0, 0, 2, 0, 1, 1, 1, 0, 2]), deep = wide([3], [2, 2, 3]);
const FLOATS = { dtypes: ["float16", "float32", "float64"] } as const;
const ones = new NdArray("float32", [0], new Float32Array(0));
const segments = [any(5, 3), vector(4, 0, 0, 2), vector(0, 0, 1, 3)];
const few = [any(4), ints(0, 3, 3), vector(0, 1, 1)];
const WHOLE = { integersFollowFloats: false } as const;
const letters = texts("a", "b", "c", "d").reshape([2, 2]), narrow = wide([2, 1], [7, -9]);
const entries = [wide([3, 2], [0, 0, 1, 0, 1, 2]), texts("p", "q", "r"), wide([2], [2, 3])];
const LISTS = { N: 1, sparse_types: ["string"], dense_types: ["string", "int64"] };

/** Samples of sums of segments, with and without their number. */
function segmentSamples(name: string, rest: typeof WHOLE | Record<never, never>): SampleTable {
  return {
    [name]: [sample(segments, {}, rest), sample(few, {}, rest)],
    [`${name}WithNumSegments`]: [
      sample([...segments, new NdArray("int32", [], Int32Array.of(6))], {}, rest),
      sample([...few, new NdArray("int32", [], Int32Array.of(2))], {}, rest),
    ],
  };
}

export const SPARSE: SampleTable = {
  ...segmentSamples("SparseSegmentSum", {}),
  ...segmentSamples("SparseSegmentMean", WHOLE),
  ...segmentSamples("SparseSegmentSqrtN", WHOLE),
  SparseSoftmax: [
    sample([rows, any(4), extents], {}, FLOATS),
    sample([blocks, any(4), deep], {}, FLOATS),
  ],
  SparseSparseMaximum: [sample([rows, distinct(4), extents, others, any(3), extents])],
  SparseSparseMinimum: [sample([rows, distinct(4), extents, others, any(3), extents])],
  DenseCountSparseOutput: [
    sample([ints(0, 5, 7), ones], { binary_output: false }),
    sample([ints(0, 5, 3, 4), typed("float32", 3, 4)], { binary_output: false, maxlength: 4 }),
    sample([ints(0, 5, 3, 4), ones], { binary_output: true, minlength: 9 }),
  ],
  SparseCountSparseOutput: [
    sample([rows, ints(0, 5, 4), extents, ones], { binary_output: false }),
    sample([rows, ints(0, 5, 4), extents, typed("float32", 4)], { binary_output: false }),
  ],
  SparseCross: [
    sample([...entries, letters, narrow], {
      ...LISTS,
      hashed_output: true,
      num_buckets: 100,
      hash_key: 7,
      out_type: "int64",
      internal_type: "string",
    }),
  ],
  SparseCrossV2: [sample([...entries, letters, narrow, texts("-").reshape([])], LISTS)],
};
