/** Samples of ops behind names of `tf.nn`, `tf.linalg` and `tf.image`. */

import { NdArray } from "@weft/weft";
import { any, distinct, number, sample, type SampleTable } from "./inputs.ts";

const texts = (shape: number[], ...values: string[]): NdArray =>
  new NdArray("string", shape, values.map((v) => new TextEncoder().encode(v)));
const longs = (shape: number[], ...values: number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
/** Indices, values and dense shape. */
const sparse = [longs([2, 2], 0, 1, 2, 0), longs([2], 5, 6), longs([2], 3, 2)];
/** TensorProtos of int64[0, 1], float32[0] and int64[1]. */
const NONE = ["\b\t\x12\b\x12\x02\b\x00\x12\x02\b\x01", "\b\x01\x12\x04\x12\x02\b\x00"];
const none = [...NONE, "\b\t\x12\x04\x12\x02\b\x01\x22\b\x05\0\0\0\0\0\0\0"];

export const NAMES: SampleTable = {
  DecodePaddedRaw: ["uint8", "int16", "float32"].map((out_type) =>
    sample([texts([2], "ABC", "ABCDEFGHI"), number(4)], { out_type })
  ),
  SerializeSparse: [sample(sparse)],
  SerializeManySparse: [sample(sparse)],
  DeserializeSparse: [sample([texts([3], ...none)], { dtype: "float32" })],
  DeserializeManySparse: [sample([texts([2, 3], ...none, ...none)], { dtype: "float32" })],
  IsotonicRegression: [
    ...["float32", "float64", "float16"].map((output_dtype) =>
      sample([distinct(3, 5)], { output_dtype }, { dtypes: [output_dtype as "float32"] })
    ),
    sample([distinct(2, 1)], {}, { dtypes: ["float32", "int32"] }),
    sample([any(0, 3)], {}, { dtypes: ["float32"] }),
  ],
};
