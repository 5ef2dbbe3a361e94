/** Samples of ops that only files have. */

import { any, distinct, floats, sample, type SampleTable, typed } from "./inputs.ts";
import { NdArray } from "@weft/weft";

const texts = (...values: string[]): NdArray =>
  new NdArray("string", [values.length], values.map((v) => new TextEncoder().encode(v)));
const ints = (...values: number[]): NdArray =>
  new NdArray("int32", [values.length], Int32Array.from(values));
const int = (value: number): NdArray => ints(value).reshape([]);
const words = texts("Hello World", "  aé ", "", "x1");

const wide = (shape: readonly number[], values: readonly number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
/** Rounding of positions decides what is read: float64 may decide otherwise. */
const ANY_PIXEL = { dtypes: ["float32", "int32", "uint8"], integersFollowFloats: true } as const;
/** As in TensorFlow there is no gradient of the gradient, nor of the places. */
const IMAGES_ONLY = { wrt: [0], secondOrder: false } as const;
const half = { half_pixel_centers: true }, corners = { align_corners: true };
const [some, single] = [typed("float32", 2, 4, 5, 2), typed("float32", 1, 3, 4, 1)];
const triangle = { kernel_type: "triangle" };
const float = (value: number): NdArray => floats([], value);
const ROUNDED = { dtypes: ["float32"], gradient: false } as const;
const twos = (a: number, b: number): NdArray => floats([2], a, b);
const entries = wide([3, 2], [0, 1, 2, 0, 2, 1]), extents = wide([2], [3, 2]);

const key = new NdArray("uint64", [1], BigUint64Array.of(7n));
const counter = new NdArray("uint64", [2], BigUint64Array.of(1n, 2n));
const scalar = (value: number): NdArray => new NdArray("float32", [], Float32Array.of(value));

export const IMPORTED: SampleTable = {
  EncodeBase64: [sample([words]), sample([words], { pad: true })],
  DecodeBase64: [sample([texts("-_8=", "YWJj", "")])],
  UnicodeTranscode: [
    sample([words], { input_encoding: "UTF-8", output_encoding: "UTF-16-BE" }),
    sample([words], {
      input_encoding: "US-ASCII",
      output_encoding: "UTF-8",
      errors: "ignore",
      replace_control_characters: true,
    }),
  ],
  UnicodeEncode: [
    sample([ints(104, 233, -1), wide([3], [0, 2, 3])], { output_encoding: "UTF-8" }),
    sample([ints(104, 0x1f600), ints(0, 0, 2)], { output_encoding: "UTF-16-BE", Tsplits: "int32" }),
  ],
  StringToHashBucket: [sample([words], { num_buckets: 1000 })],
  StringToHashBucketStrong: [sample([words], { num_buckets: 1000, key: [1, 2] })],
  SerializeTensor: [sample([ints(1, 2)]), sample([words])],
  StatelessRandomUniformV2: [sample([ints(2, 3), key, counter, int(1)])],
  StatelessRandomNormalV2: [sample([ints(2, 3), key, counter, int(3)])],
  StatelessTruncatedNormalV2: [sample([ints(2, 3), key, counter, int(1)])],
  StatelessRandomUniformIntV2: [
    sample([ints(2, 3), key, counter, int(1), int(-5), int(9)], { dtype: "int32" }),
  ],
  StatelessRandomUniformFullIntV2: [sample([ints(2, 3), key, counter, int(1)])],
  StatelessRandomGetKeyCounter: [sample([wide([2], [1, 2])])],
  StatelessRandomGetKeyCounterAlg: [sample([ints(1, 2)], { Tseed: "int32" })],
  SparseReorder: [sample([wide([3, 2], [2, 1, 0, 1, 2, 0]), any(3), extents])],
  SparseSlice: [sample([entries, any(3), extents, wide([2], [1, 0]), wide([2], [5, 1])])],
  SparseAdd: [
    sample([...[entries, any(3), extents], ...[entries, any(3), extents], scalar(0)]),
  ],
  StringLower: [sample([words]), sample([words], { encoding: "utf-8" })],
  StringUpper: [sample([words]), sample([words], { encoding: "utf-8" })],
  StringStrip: [sample([words])],
  StaticRegexFullMatch: [sample([words], { pattern: "[a-z]\\d|.*o.*" })],
  StringJoin: [
    sample([words, texts("-").reshape([]), words], { separator: "/" }),
    sample([texts("a").reshape([]), texts("b").reshape([])]),
  ],
  Substr: [
    sample([texts("Hello World", "  aé ", "héy"), int(1), int(2)]),
    sample([texts("Hello World", "  aé ", "héy"), int(-2), int(9)], { unit: "UTF8_CHAR" }),
    sample([texts("abc").reshape([]), ints(0, 1, 3), ints(1, -1, 2)]),
  ],
  ReduceJoin: [
    sample([texts("a", "b", "c", "d", "e", "f").reshape([2, 3]), ints(1)], { separator: "-" }),
    sample([texts("a", "b", "c", "d", "e", "f").reshape([2, 3]), ints(-1, 0)], { keep_dims: true }),
    sample([texts("a", "b").reshape([2]), ints()]),
  ],
  StringLength: [sample([words]), sample([words], { unit: "UTF8_CHAR" })],
  StringToNumber: [
    sample([texts("1.5", " -2e3", "inf", ".5")]),
    sample([texts("12", "-7")], { out_type: "int64" }),
  ],
  RegexReplace: [
    sample([words, texts("[a-z]+").reshape([]), texts("<\\0>").reshape([])]),
    sample([words, texts("l").reshape([]), texts("L").reshape([])], { replace_global: false }),
  ],
  StringSplitV2: [
    sample([words, texts("").reshape([])]),
    sample([words, texts("l").reshape([])], { maxsplit: 1 }),
  ],
  DecodeRaw: [sample([texts("abcd", "efgh")], { out_type: "int16" })],
  UnicodeDecode: [
    sample([words], { input_encoding: "UTF-8" }),
    sample([texts("a\n").reshape([1, 1])], { input_encoding: "UTF-8", Tsplits: "int32" }),
  ],
  UnicodeDecodeWithOffsets: [sample([words], { input_encoding: "UTF-8" })],
  Betainc: [
    sample(
      [{ shape: [], values: [2.5] }, { shape: [], values: [1.5] }, {
        shape: [3],
        values: [0.2, 0.5, 0.75],
      }],
      {},
      { wrt: [2] },
    ),
  ],
  SparseTensorDenseMatMul: [
    sample([entries, any(3), extents, any(2, 4)]),
    sample([entries, any(3), extents, any(4, 3)], { adjoint_a: true, adjoint_b: true }),
  ],
  SparseTensorDenseAdd: [sample([entries, any(3), extents, any(3, 2)])],
  SparseReduceSum: [
    sample([entries, any(3), extents, ints(1)]),
    sample([entries, any(3), extents, ints(-2, 1)], { keep_dims: true }),
  ],
  SparseReduceMax: [sample([entries, distinct(3), extents, ints(0)])],
  CTCGreedyDecoder: [
    sample([distinct(4, 2, 3), ints(4, 2)]),
    sample([distinct(4, 2, 3), ints(4, 2)], { merge_repeated: true, blank_index: 0 }),
  ],
  // The second result is the gradient of the first and has none of its own, as in TensorFlow; ctc_test.ts checks it.
  _CTCLoss: [
    sample([any(4, 2, 3), ints(1, 2, 2, 2).reshape([2, 2]), ints(2, 1), ints(4, 3)], {}, {
      gradient: false,
    }),
    sample([any(3, 1, 4), ints(0).reshape([1, 1]), ints(1), ints(3)], { blank_index: -1 }, {
      gradient: false,
    }),
  ],
  _CTCSlope: [sample([any(3, 1, 4)])],
  CTCBeamSearchDecoder: [
    sample([distinct(4, 2, 3), ints(4, 2)], { beam_width: 4, top_paths: 2 }),
  ],
  BroadcastGradientArgs: [
    sample([{ shape: [3], values: [2, 1, 3] }, { shape: [2], values: [4, 3] }], {}, {
      dtypes: ["int32"],
    }),
  ],
  ConcatOffset: [
    sample([int(-1), { shape: [3], values: [2, 1, 3] }, { shape: [3], values: [2, 1, 4] }], {}, {
      dtypes: ["int32"],
    }),
  ],
  ResizeBicubic: [
    sample([any(1, 3, 4, 2), ints(5, 7)], {}, { ...ANY_PIXEL, ...IMAGES_ONLY }),
    sample([any(2, 5, 4, 1), ints(3, 6)], half, { ...ANY_PIXEL, ...IMAGES_ONLY }),
    sample([any(1, 4, 4, 3), ints(2, 3)], corners, { ...ANY_PIXEL, ...IMAGES_ONLY }),
  ],
  ResizeBicubicGrad: [
    sample([typed("float32", 2, 3, 6, 2), some], half),
    sample([typed("float32", 2, 7, 2, 2), some], corners),
  ],
  ResizeArea: [
    sample([any(1, 5, 4, 2), ints(2, 3)], {}, ANY_PIXEL),
    sample([any(1, 2, 3, 1), ints(4, 5)], corners, ANY_PIXEL),
  ],
  ScaleAndTranslate: [
    sample([any(1, 4, 5, 2), ints(3, 6), twos(0.75, 1.25), twos(0.5, -1)], {}, {
      ...ANY_PIXEL,
      ...IMAGES_ONLY,
    }),
    sample([any(2, 4, 3, 1), ints(2, 2), twos(0.5, 0.5), twos(0, 0)], triangle, {
      ...ANY_PIXEL,
      ...IMAGES_ONLY,
    }),
  ],
  ScaleAndTranslateGrad: [
    sample([typed("float32", 1, 2, 3, 1), single, twos(0.75, 0.75), twos(0, 0.25)], triangle, {
      wrt: [0],
    }),
  ],
  NonMaxSuppressionWithOverlaps: [
    sample([
      floats([3, 3], 1, 0.75, 0, 0.75, 1, 0.25, 0, 0.25, 1),
      floats([3], 0.5, 0.75, 0.25),
      int(3),
      floats([], 0.5),
      floats([], 0),
    ]),
  ],
  CombinedNonMaxSuppression: [
    sample([
      floats([1, 3, 1, 4], 0, 0, 1, 1, 0, 0.125, 1, 1.125, 0, 2, 1, 3),
      floats([1, 3, 2], 0.5, 0.125, 0.75, 0.25, 0.875, 0.375),
      int(2),
      int(3),
      floats([], 0.5),
      floats([], 0.25),
    ]),
  ],
  DrawBoundingBoxes: [sample([single, floats([1, 1, 4], 0, 0.25, 0.75, 1)])],
  DrawBoundingBoxesV2: [
    sample([single, floats([1, 2, 4], 0, 0.25, 0.75, 1, -1, 0.5, 2, 2), floats([2, 1], 0.5, -1)]),
  ],
  // Gradients are those of the identity, as in TensorFlow; what is rounded has no other.
  QuantizeAndDequantizeV2: [
    sample([any(3, 4), float(0), float(0)], {}, ROUNDED),
    sample([any(3, 4), float(-0.9), float(1.1)], { range_given: true, num_bits: 4 }, ROUNDED),
  ],
  QuantizeAndDequantizeV3: [
    sample([any(3, 4), float(-0.9), float(1.1), int(5)], { signed_input: false }, ROUNDED),
    sample([any(3, 4), float(0), float(0), int(4)], { range_given: false, axis: 1 }, ROUNDED),
  ],
  QuantizeAndDequantizeV4: [
    sample([any(2, 3), float(0), float(0)], { num_bits: 3, narrow_range: true }, ROUNDED),
    sample([any(5), float(-0.9), float(1.1)], { range_given: true, num_bits: 3 }, ROUNDED),
  ],
  QuantizeAndDequantizeV4Grad: [
    sample([any(2, 3), any(2, 3), float(-0.9), float(1.1)], {}, { dtypes: ["float32"], wrt: [0] }),
    sample([any(2, 2), any(2, 2), floats([2], -0.9, 0), floats([2], 1.1, 0.5)], { axis: 1 }, {
      dtypes: ["float32"],
      wrt: [0],
    }),
  ],
};
