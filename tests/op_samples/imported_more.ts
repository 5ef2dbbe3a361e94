/** Samples of ops on parts of variables, levels, decompositions and bits that only files have. */

import { NdArray } from "@weft/weft";
import {
  any,
  distinct,
  floats,
  number,
  positive,
  sample,
  type SampleTable,
  vector,
} from "./inputs.ts";

const wide = (shape: readonly number[], values: readonly number[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
const rows = new NdArray("int32", [3, 1], Int32Array.of(2, 0, 2));
const cells = new NdArray("int32", [2, 2], Int32Array.of(0, 1, 3, 2));
const end = (value: number): NdArray => floats([], value);
/** Rounding has only TensorFlow's own gradient. */
const ROUNDED = { dtypes: ["float32"], gradient: false } as const;
const FLOAT32 = { dtypes: ["float32"] } as const;
const levels = new NdArray("int8", [2, 2], Int8Array.of(-128, -3, 5, 127));
const sparse = [wide([3, 2], [0, 1, 1, 0, 2, 3]), any(3), wide([2], [3, 4])];
/** As in TensorFlow the slope in the first argument has no gradient. */
const FIRST_ORDER = { secondOrder: false } as const;
/** Signs of vectors are free, and with them what a gradient of one says. */
const NO_VECTORS = { gradient: false } as const;
const ends = [floats([3], -1, -0.5, -0.25), floats([3], 1, 0.75, 0.5)];
const few = { num_bits: 3, narrow_range: true };

const key = new NdArray("uint64", [1], BigUint64Array.of(7n));
const counter = new NdArray("uint64", [2], BigUint64Array.of(1n, 2n));

export const IMPORTED_MORE: SampleTable = {
  Mfcc: [
    sample([positive(1, 2, 33), number(8000)], {}, { dtypes: ["float32"] }),
    sample([positive(2, 1, 17), number(16000)], {
      ...{ upper_frequency_limit: 7000, filterbank_channel_count: 6, dct_coefficient_count: 4 },
    }, { dtypes: ["float32"] }),
  ],
  TensorScatterMax: [
    sample([distinct(4, 3), rows, distinct(3, 3)]),
    sample([distinct(4, 3), cells, distinct(2)]),
  ],
  TensorScatterMin: [sample([distinct(4, 3), rows, distinct(3, 3)])],
  _TensorScatterMul: [sample([any(4, 3), rows, any(3, 3)])],
  FakeQuantWithMinMaxVars: [
    sample([any(3, 4), end(-1), end(1.5)], {}, ROUNDED),
    sample([any(5), end(0.25), end(1)], few, ROUNDED),
  ],
  FakeQuantWithMinMaxVarsPerChannel: [sample([any(2, 3), ...ends], few, ROUNDED)],
  FakeQuantWithMinMaxArgs: [sample([any(5)], { min: -1, max: 1.25 }, ROUNDED)],
  FakeQuantWithMinMaxVarsGradient: [sample([any(6), any(6), end(-1), end(1)], {}, FLOAT32)],
  FakeQuantWithMinMaxVarsPerChannelGradient: [sample([any(2, 3), any(2, 3), ...ends], {}, FLOAT32)],
  FakeQuantWithMinMaxArgsGradient: [sample([any(6), any(6)], { min: -1, max: 1 }, FLOAT32)],
  QuantizeV2: [
    sample([any(3, 4), end(-1), end(1.5)], { T: "uint8" }, ROUNDED),
    sample([any(3, 4), end(-1), end(1.5)], { T: "int8", mode: "SCALED" }, ROUNDED),
    sample([any(3, 4), end(-1), end(1.5)], { T: "int16" }, ROUNDED),
    sample([any(3, 4), end(0), end(1.5)], { T: "int8", mode: "MIN_FIRST" }, ROUNDED),
  ],
  Dequantize: [
    sample([levels, end(-1), end(1.5)], {}, FLOAT32),
    sample([levels, floats([2], -1, -2), floats([2], 1, 3)], { mode: "SCALED", axis: 1 }, FLOAT32),
    sample([levels, end(-1), end(1.5)], { mode: "MIN_FIRST" }, FLOAT32),
  ],
  RaggedBincount: [
    sample([wide([3], [0, 1, 3]), vector(1, 0, 2), number(3), any(3)]),
    sample([wide([3], [0, 1, 3]), vector(1, 2, 2), number(3), any(0)], { binary_output: true }),
  ],
  DynamicPartition: [
    sample([any(3, 2), vector(1, 0, 1)], { num_partitions: 2 }),
    sample([any(2, 2), vector(1, 0, 2, 2).reshape([2, 2])], { num_partitions: 3 }),
  ],
  UnsortedSegmentJoin: [
    sample([
      new NdArray("string", [2], [Uint8Array.of(97), Uint8Array.of(98)]),
      vector(1, 1),
      number(2),
    ]),
  ],
  StatelessShuffle: [sample([any(5, 2), key, counter, number(1)])],
  _PhiloxSkip: [sample([wide([3], [1, 2, 3]), key])],
  Igamma: [sample([positive(3, 1), positive(4)], {}, FIRST_ORDER)],
  Igammac: [sample([positive(4), positive(4)], {}, FIRST_ORDER)],
  IgammaGradA: [sample([positive(4), positive(4)])],
  RandomGammaGrad: [sample([positive(3, 1), positive(4)])],
  StatelessRandomGammaV3: [
    sample([vector(2, 3), key, counter, number(1), positive(3)], {}, NO_VECTORS),
    sample([vector(0, 2), key, counter, number(3), positive()], {}, NO_VECTORS),
  ],
  Svd: [
    sample([distinct(4, 3)], {}, NO_VECTORS),
    sample([distinct(3, 3)], { full_matrices: true }, NO_VECTORS),
    sample([distinct(3, 3)], { compute_uv: false }),
  ],
  SelfAdjointEigV2: [
    sample([distinct(3, 3)], {}, NO_VECTORS),
    sample([distinct(3, 3)], { compute_v: false }),
  ],
  Lu: [
    sample([{ shape: [2, 3, 3], values: [1, 2, 0, 4, 3, 1, 0, 1, 5, 3, 1, 2, 1, 4, 0, 2, 1, 6] }]),
  ],
  SparseDenseCwiseAdd: [sample([...sparse, any(3, 4)])],
  SparseDenseCwiseMul: [sample([...sparse, any(3, 1)]), sample([...sparse, any()])],
  SparseDenseCwiseDiv: [sample([...sparse, positive(4)])],
  Bitcast: [
    sample([vector(1, -1, 7)], { type: "uint8" }),
    sample([vector(1, -1, 7)], { type: "uint32" }),
    sample([vector(1, -1, 7, 0).reshape([2, 2])], { type: "int64" }),
  ],
  PopulationCount: [sample([vector(0, 5, -1, 255)])],
  NextAfter: [sample([any(2, 3), any(3)], {}, { dtypes: ["float32", "float64"] })],
};
