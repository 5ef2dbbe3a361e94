/** Samples of ops whose output shapes depend on values, of sparse tensors, and of strings. */

import { any, bools, sample, type SampleTable, vector } from "./inputs.ts";
import { NdArray } from "@weft/weft";

/** A string vector as given. */
const texts = (...values: string[]): NdArray =>
  new NdArray("string", [values.length], values.map((v) => new TextEncoder().encode(v)));
const text = (value: string): NdArray => texts(value).reshape([]);
const longs = (...values: number[]): NdArray =>
  new NdArray("int64", [values.length], BigInt64Array.from(values, BigInt));
const wide = (shape: number[], ...values: number[]): NdArray => longs(...values).reshape(shape);
const matrix = (...rows: number[][]): NdArray =>
  new NdArray("int32", [rows.length, rows[0].length], Int32Array.from(rows.flat()));
const repeated = { shape: [7], values: [3, 1, 3, 2, 1, 5, 3] };

export const DYNAMIC: SampleTable = {
  Where: [
    sample([bools(2, 3)]),
    sample([{ shape: [5], values: [0, 1, 0, 2, 0] }], {}, { dtypes: ["float32", "int32", "bool"] }),
    sample([bools(0)]),
    sample([bools()]),
  ],
  UniqueV2: [
    sample([repeated, vector(0)]),
    sample([matrix([1, 2], [3, 4], [1, 2]), vector(0)]),
    sample([matrix([1, 2, 1], [3, 4, 3]), vector(1)]),
    sample([texts("b", "a", "b"), vector(0)]),
  ],
  _WriteRows: [
    sample([any(4, 3), vector(2, 0), any(2, 3)]),
    sample([any(3), vector(1), any(1)]),
    // Rows of which nothing is known yet take the shape of what is written.
    sample([{ shape: [3, 0], values: [] }, vector(1), any(1, 2)], {}, { dtypes: ["float32"] }),
  ],
  _ClearRows: [
    sample([vector(4, 3), vector(2, 0), any(4, 3)]),
    sample([vector(3, 0), vector(1), any(3, 2)], {}, { dtypes: ["float32"] }),
  ],
  _FilledRows: [
    sample([any(2, 3), vector(3)]),
    sample([{ shape: [2, 0], values: [] }, vector(3, 2)], {}, { dtypes: ["float32"] }),
    sample([{ shape: [0, 0], values: [] }, vector()], {}, { dtypes: ["float32"] }),
  ],
  _PutRow: [
    sample([any(2, 3), { shape: [], values: [1] }, any(3)]),
    sample([any(2), { shape: [], values: [4] }, any()]),
    sample([any(2, 3), { shape: [], values: [-1] }, any(3)], { appended: true }),
    sample([{ shape: [2, 0], values: [] }, new NdArray("int32", [], Int32Array.of(2)), any(3)]),
  ],
  _TakeRow: [
    sample([any(3, 2), vector(3, 2), { shape: [], values: [1] }]),
    sample([any(3, 2), vector(2, 2), { shape: [], values: [-1] }], { appended: true }),
    sample([any(4), vector(2), { shape: [], values: [3] }]),
  ],
  _EmptyRows: [
    sample([{ shape: [], values: [3] }], { dtype: "float32", row: [2] }, { dtypes: ["int32"] }),
  ],
  DenseToDenseSetOperation: [
    sample([matrix([3, 1, 3], [5, 4, 1]), matrix([1, 9], [5, 4])], { set_operation: "union" }),
    sample([matrix([3, 1, 3]), matrix([1, 9])], { set_operation: "a-b" }),
  ],
  DenseToSparseSetOperation: [
    sample([
      matrix([3, 1, 3], [5, 4, 1]),
      wide([2, 2], 0, 0, 1, 1),
      new NdArray("int32", [2], Int32Array.of(1, 4)),
      longs(2, 2),
    ], { set_operation: "intersection" }),
  ],
  SparseToSparseSetOperation: [
    sample([
      wide([2, 2], 0, 0, 1, 1),
      new NdArray("int32", [2], Int32Array.of(1, 4)),
      longs(2, 2),
      wide([3, 2], 0, 0, 0, 1, 1, 0),
      new NdArray("int32", [3], Int32Array.of(1, 3, 5)),
      longs(2, 3),
    ], { set_operation: "b-a" }),
  ],
  SetSize: [
    sample([wide([3, 2], 0, 0, 0, 1, 2, 0), texts("a", "a", "b"), longs(3, 2)]),
  ],
  ListDiff: [
    sample([repeated, { shape: [2], values: [3, 5] }]),
    sample([texts("a", "b", "c"), texts("b")]),
    sample([{ shape: [0], values: [] }, repeated], {}, { dtypes: ["float32"] }),
  ],
  SparseFillEmptyRows: [
    sample([matrix([0, 1], [2, 0], [2, 3]), any(3), vector(4, 5), any()]),
    sample([matrix([0, 0], [1, 0]), any(2), vector(2, 1), any()]),
  ],
  _CheckedIndices: [
    sample([matrix([0, 1], [2, 0]), vector(3, 2)]),
    sample([{ shape: [0, 2], values: [] }, vector(3, 2)], {}, { dtypes: ["int32"] }),
  ],
  SparseReshape: [
    sample([matrix([0, 1], [2, 0]), vector(3, 4), vector(2, -1)]),
    sample([matrix([0, 1, 1], [1, 0, 0]), vector(2, 2, 3), vector(12)]),
  ],
  RaggedRange: [
    sample([vector(0, 5, 8, 5), vector(8, 7, 8, 1), vector(2, 1, 1, -1)]),
    sample(
      [{ shape: [], values: [1] }, { shape: [], values: [3] }, { shape: [], values: [0.5] }],
      {},
      {
        dtypes: ["float32"],
      },
    ),
  ],
  RaggedGather: [
    sample([vector(0, 3, 3, 7, 9), any(9), vector(2, 1, 0, 3)], { OUTPUT_RAGGED_RANK: 1 }),
    sample([vector(0, 1, 3), vector(0, 2, 2, 4), any(4, 2), matrix([1, 0], [1, 1])], {
      OUTPUT_RAGGED_RANK: 3,
    }),
  ],
  RaggedTensorToTensor: [
    sample([vector(-1, 3), any(6), any(), vector(0, 2, 2, 6)], {
      row_partition_types: ["ROW_SPLITS"],
    }),
    sample([vector(4, -1, 2), any(4, 2), any(2), vector(3), vector(0, 0, 2, 2)], {
      row_partition_types: ["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    }),
  ],
  StringSplit: [
    sample([texts("a b", "", "c  d e"), text(" ")]),
    sample([texts("a,b"), text(",")], { skip_empty: false }),
  ],
  StringNGrams: [
    sample([texts("a", "b", "c", "d"), longs(0, 1, 4)], {
      separator: "|",
      ngram_widths: [2, 1],
      left_pad: "<",
      right_pad: ">",
      pad_width: -1,
      preserve_short_sequences: false,
    }),
  ],
  StaticRegexReplace: [
    sample([texts("abab", "xyz")], { pattern: "a(b)", rewrite: "\\1!", replace_global: true }),
    sample([texts("abab")], { pattern: "ab", rewrite: "", replace_global: false }),
  ],
  StringToHashBucketFast: [sample([texts("hello", "", "wörld")], { num_buckets: 10 })],
};
