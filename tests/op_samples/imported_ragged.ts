/** Samples of ops on ragged tensors as elements of lists and on crossed features that only files have. */

import { NdArray } from "@weft/weft";
import { writeTensor } from "../../src/engine/kernels/host/text/tensor_message.ts";
import { any, floats, sample, type SampleTable, vector } from "./inputs.ts";

const wide = (...values: number[]): NdArray =>
  new NdArray("int64", [values.length], BigInt64Array.from(values, BigInt));
const texts = (...values: string[]): NdArray =>
  new NdArray("string", [values.length], values.map((v) => new TextEncoder().encode(v)));

/** A ragged tensor of one dimension as an element: each part behind its length. */
function element(splits: NdArray, values: NdArray): Uint8Array {
  const parts = [splits, values].map(writeTensor);
  return Uint8Array.from(
    parts.flatMap((part) => [...new Uint8Array(Uint32Array.of(part.length).buffer), ...part]),
  );
}

const rows = new NdArray("string", [2], [
  element(wide(0, 2), floats([2], 1, 2)),
  element(wide(0, 0, 1), floats([1], 3)),
]);
const plain = new NdArray("string", [2], [new Uint8Array(), rowOf(floats([2], 1, 2))]);

function rowOf(values: NdArray): Uint8Array {
  const part = writeTensor(values);
  return Uint8Array.of(...new Uint8Array(Uint32Array.of(part.length).buffer), ...part);
}

const flags = { Tvalues: "float32", Tsplits: "int64" };
const strong = new NdArray("bool", [], Uint8Array.of(1));
const buckets = new NdArray("int64", [], BigInt64Array.of(9n));
const places = wide(0, 0, 1, 0).reshape([2, 2]);
const letters = texts("x", "y", "z", "q").reshape([2, 2]);

/** The samples, by op. */
export const IMPORTED_RAGGED: SampleTable = {
  RaggedTensorToVariant: [
    // Bytes of numbers would be those of their dtype.
    sample([wide(0, 2, 3), texts("a", "", "b")], { RAGGED_RANK: 1, batched_input: true }),
    sample([wide(0, 1, 1), wide(0, 2), texts("a", "c")], { RAGGED_RANK: 2, batched_input: false }),
  ],
  RaggedTensorFromVariant: [
    sample([rows], { input_ragged_rank: 1, output_ragged_rank: 2, ...flags }),
    sample([plain], { input_ragged_rank: -1, output_ragged_rank: 1, ...flags }),
  ],
  RaggedTensorToSparse: [
    sample([wide(0, 2, 3), any(3, 2)], { RAGGED_RANK: 1 }),
    sample([vector(0, 1, 1), vector(0, 2), any(2)], { RAGGED_RANK: 2 }),
  ],
  _RaggedPartition: [
    sample([vector(0, 3, 5), vector(1, 2, 2), vector(0, 2, 3)], { kind: "rowLengths" }),
    sample([vector(0, 4), vector(2), vector(0, 4)], { kind: "uniformRowLength", inner: 1 }),
  ],
  RaggedTensorToVariantGradient: [sample([plain, wide(0, 1, 3), vector(3)], flags)],
  _ZerosOfVariants: [sample([rows])],
  _SumOfVariants: [sample([rows, rows, rows])],
  SparseCrossHashed: [
    sample([places, texts("a", "bc"), wide(2, 1), letters, buckets, strong, wide(1, 2)], {
      N: 1,
      sparse_types: ["string"],
      dense_types: ["string"],
    }),
  ],
  RaggedCross: [
    sample([texts("a", "b"), wide(0, 2, 2), places, wide(5, 6), wide(2, 1), letters], {
      Nsparse: 1,
      input_order: "RDS",
      hashed_output: false,
      num_buckets: 0,
      hash_key: 3,
      ragged_values_types: ["string"],
      ragged_splits_types: ["int64"],
      sparse_values_types: ["int64"],
      dense_types: ["string"],
      out_values_type: "string",
      out_row_splits_type: "int64",
    }),
  ],
};
