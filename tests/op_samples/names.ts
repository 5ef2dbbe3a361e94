/** Samples of ops behind names of `tf.nn`, `tf.linalg` and `tf.image`. */

import { NdArray } from "@weft/weft";
import {
  any,
  distinct,
  floats,
  number,
  positive,
  sample,
  type SampleTable,
  solid,
  vector,
} from "./inputs.ts";

const texts = (shape: number[], ...values: string[]): NdArray =>
  new NdArray("string", shape, values.map((v) => new TextEncoder().encode(v)));
const longs = (shape: number[], ...values: number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
/** Indices, values and dense shape. */
const sparse = [longs([2, 2], 0, 1, 2, 0), longs([2], 5, 6), longs([2], 3, 2)];
/** TensorProtos of int64[0, 1], float32[0] and int64[1]. */
const NONE = ["\b\t\x12\b\x12\x02\b\x00\x12\x02\b\x01", "\b\x01\x12\x04\x12\x02\b\x00"];
const none = [...NONE, "\b\t\x12\x04\x12\x02\b\x01\x22\b\x05\0\0\0\0\0\0\0"];

const seed = vector(17, -4), classes = longs([2, 2], 1, 2, 0, 3);
const counts = { num_true: 2, num_sampled: 3, unique: true };
const ranged = { ...counts, range_max: 5 }, weighted = { ...ranged, unigrams: [5, 4, 3, 2, 1] };
const sequences = [longs([3, 2], 0, 0, 0, 1, 1, 0), texts([3], "a", "b", "c"), longs([2], 2, 2)];
const key = new NdArray("uint64", [1], BigUint64Array.of(7n));
const counter = new NdArray("uint64", [2], BigUint64Array.of(1n, 2n));
const trials = [floats([2], 10, 400), floats([2], 0.25, 0.5)];
const doubles = (...values: number[]): NdArray =>
  new NdArray("float64", [values.length], Float64Array.from(values));
const bounds = [any(3), positive(3), doubles(-20), doubles(20, 30, 40)];
const complex = new NdArray("complex64", [2, 2], Float32Array.of(1, 0, 2, 1, -1, 0, 4, -1));

/** Windows of seeds, and those that a pooling has drawn. */
const fractional = { pooling_ratio: [1, 1.5, 1.25, 1], deterministic: true, seed: 3, seed2: 4 };
const places = [longs([3], 0, 1, 4), longs([3], 0, 2, 3)];
const REALS = { dtypes: ["float32", "float64"] } as const;
const patches = { ksizes: [1, 3, 2, 1], strides: [1, 2, 1, 1], rates: [1, 1, 1, 1] };
const volume = [1, 2, 1, 2, 1];

const FLOAT32 = { dtypes: ["float32"] } as const;
const box = floats([1, 1, 4], 0.25, 0.25, 0.75, 0.5);
const anchors = floats([1, 2, 8], 0, 0, 9, 9, 5, 5, 20, 25, 4, 4, 30, 30, 1, 1, 10, 9);

export const NAMES: SampleTable = {
  EditDistance: [
    sample([...sequences, longs([2, 2], 0, 0, 1, 1), texts([2], "a", "c"), longs([2], 2, 3)]),
    sample([...sequences, ...sequences], { normalize: false }),
  ],
  Fingerprint: [
    sample([vector(1, 2, 3), texts([], "farmhash64")]),
    sample([texts([2, 2], "a", "b", "", "c"), texts([], "farmhash64")]),
  ],
  RegexFullMatch: [sample([texts([2, 1], "ab", "cb"), texts([], "a.")])],
  UnicodeScript: [sample([vector(65, 0x628, 32, -1)])],
  DecodeCompressed: [sample([texts([2], "a", "")])],
  MatrixSquareRoot: [
    sample([solid]),
    sample([complex]),
    sample([{ shape: [0, 2, 2], values: [] }]),
  ],
  MatrixLogarithm: [sample([complex])],
  BandedTriangularSolve: [true, false].flatMap((lower) =>
    [true, false].map((adjoint) => sample([positive(2, 3), any(3, 2)], { lower, adjoint }))
  ).concat([sample([positive(2, 1, 3), any(3, 1)]), sample([positive(3, 3), any(2, 3, 1)])]),
  StatelessRandomPoisson: [
    sample([vector(3, 2), seed, floats([2], 0.5, 40)], { dtype: "int32" }),
    sample([vector(4), seed, floats([], 3)], { dtype: "float32" }),
  ],
  RandomPoissonV2: [sample([vector(3), floats([2], 0.5, 40)], { dtype: "int32" })],
  StatelessRandomBinomial: [sample([vector(3, 2), seed, ...trials], { dtype: "int32" })],
  _BinomialOfKey: [
    sample([vector(3, 2), key, counter, number(1), ...trials], { dtype: "float32" }),
  ],
  // As in TensorFlow the gradients hold the number's distance from the mean, which differences do not.
  StatelessParameterizedTruncatedNormal: [
    sample([vector(2, 3), seed, ...bounds], {}, { dtypes: ["float64"], gradient: false }),
  ],
  RandomIndexShuffle: [
    sample([vector(0, 1, 2, 3), vector(1, 2, 3), number(3)]),
    sample([vector(5, 300), vector(1, 2, 3, 4, 5, 6).reshape([2, 3]), number(70000)]),
  ],
  UniformCandidateSampler: [sample([classes], ranged)],
  _UniformCandidateSamplerOfKey: [sample([classes, seed], ranged)],
  LogUniformCandidateSampler: [sample([classes], ranged)],
  _LogUniformCandidateSamplerOfKey: [sample([classes, seed], { ...ranged, unique: false })],
  FixedUnigramCandidateSampler: [sample([classes], weighted)],
  _FixedUnigramCandidateSamplerOfKey: [sample([classes, seed], weighted)],
  LearnedUnigramCandidateSampler: [sample([classes], ranged)],
  ThreadUnsafeUnigramCandidateSampler: [sample([classes], ranged)],
  AllCandidateSampler: [sample([classes], { ...counts, num_sampled: 4 })],
  ...Object.fromEntries(
    ["ExtractGlimpse", "ExtractGlimpseV2"].map((name) => [name, [
      sample(
        [any(2, 4, 3, 2), vector(2, 2), floats([2, 2], 0, 0.25, -2, 3)],
        { noise: "zero", uniform_noise: false },
        FLOAT32,
      ),
      sample([any(1, 3, 3, 1), vector(2, 5), floats([1, 2], 0, 1)], {
        ...{ noise: "zero", uniform_noise: false, centered: false, normalized: false },
      }, FLOAT32),
    ]]),
  ),
  StatelessSampleDistortedBoundingBox: [
    sample([vector(40, 30, 3), box, floats([], 0.25), seed]),
    sample([vector(9, 9, 1), floats([1, 0, 4]), floats([], 0.5), seed], {
      use_image_if_no_bounding_boxes: true,
    }),
  ],
  SampleDistortedBoundingBox: [sample([vector(40, 30, 3), box])],
  SampleDistortedBoundingBoxV2: [sample([vector(40, 30, 3), box, floats([], 0.25)])],
  GenerateBoundingBoxProposals: [
    sample(
      [
        ...[distinct(2, 1, 2, 2), { shape: [2, 1, 2, 8], low: -0.25, high: 0.25 }],
        ...[floats([2, 5], 40, 40, 1, 0, 0, 30, 30, 1, 0, 0), anchors],
        ...[floats([], 0.5), number(3), floats([], 2)],
      ],
      { post_nms_topn: 3 },
      FLOAT32,
    ),
  ],
  ...Object.fromEntries(
    ["FractionalMaxPool", "FractionalAvgPool"].map((name) => [name, [
      sample([distinct(2, 5, 6, 2)], { ...fractional, overlapping: true }, REALS),
      sample([distinct(1, 4, 7, 1)], { ...fractional, pseudo_random: true }, REALS),
    ]]),
  ),
  FractionalMaxPoolGrad: [
    sample([distinct(1, 4, 3, 2), any(1, 2, 2, 2), any(1, 2, 2, 2), ...places], {}, {
      ...REALS,
      wrt: [2],
    }),
  ],
  _FractionalWinners: [
    sample([distinct(1, 4, 3, 2), any(1, 4, 3, 2), ...places], {}, { ...REALS, wrt: [1] }),
  ],
  _FractionalMeans: [sample([any(1, 4, 3, 2), ...places], { overlapping: true }, REALS)],
  FractionalAvgPoolGrad: [
    sample([longs([4], 1, 4, 3, 2), any(1, 2, 2, 2), ...places], { overlapping: true }, REALS),
  ],
  ExtractImagePatches: [
    sample([any(2, 5, 4, 2)], { ...patches, rates: [1, 1, 2, 1], padding: "SAME" }),
    sample([any(1, 3, 4, 1)], { ...patches, padding: "VALID" }),
    sample([any(1, 2, 1, 2)], { ...patches, padding: "VALID" }),
  ],
  _ExtractImagePatchesGrad: [
    sample([vector(1, 3, 4, 1), any(1, 1, 3, 6)], { ...patches, padding: "VALID" }),
  ],
  ExtractVolumePatches: ["SAME", "VALID"].map((padding) =>
    sample([any(1, 3, 4, 3, 2)], { ksizes: volume, strides: [1, 1, 2, 1, 1], padding })
  ),
  _ExtractVolumePatchesGrad: [
    sample([vector(1, 2, 2, 3, 1), any(1, 1, 2, 2, 4)], {
      ...{ ksizes: volume, strides: [1, 1, 1, 1, 1], padding: "VALID" },
    }),
  ],
  ComputeAccidentalHits: [sample([classes, longs([3], 3, 7, 1)], { num_true: 2 })],
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
