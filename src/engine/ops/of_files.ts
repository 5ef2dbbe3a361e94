/** Functions that rules of files call, and FILE_OPS: ops whose modules pages without files leave out. Named as values, a bundler keeps them there alone. */
import type { OpDef } from "../core/op.ts";
import { Bitcast } from "./array/bitcast.ts";
import { DynamicPartition } from "./array/partition.ts";
import { TensorScatterMax, TensorScatterMin, TensorScatterMul } from "./array/scatter_fold.ts";
import { FRACTIONAL_POOLS } from "./conv/fractional_pool.ts";
import { PATCHES } from "./conv/patch_ops.ts";
import { DecodePaddedRaw, DecodeRaw } from "./host/decode_raw.ts";
import { ParseSequenceExampleV2 } from "./host/sequence_examples.ts";
import {
  DeserializeManySparse,
  DeserializeSparse,
  SerializeManySparse,
  SerializeSparse,
} from "./host/serialize_sparse.ts";
import {
  CombinedNonMaxSuppression,
  DRAWN_BOXES,
  NonMaxSuppressionWithOverlaps,
} from "./image/box_ops.ts";
import { BandedTriangularSolve } from "./linalg/banded.ts";
import { MatrixLogarithm, MatrixSquareRoot } from "./linalg/roots.ts";
import { DISTORTED_BOXES } from "./image/distorted_box.ts";
import { GLIMPSES } from "./image/glimpse.ts";
import { GenerateBoundingBoxProposals } from "./image/proposals.ts";
import { IsotonicRegression } from "./nn/isotonic.ts";
import { FAKE_QUANT_OPS } from "./quantised/fake_quant.ts";
import { CANDIDATE_OPS } from "./random/candidate_ops.ts";
import { DISTRIBUTION_OPS } from "./random/distributions.ts";
import { GammaOfKey } from "./random/gamma_ops.ts";
import { PHILOX_OPS } from "./random/philox.ts";
import { PhiloxSkip, StatelessShuffle } from "./random/shuffle.ts";
import { CTCBeamSearchDecoder, CTCGreedyDecoder, CTCLoss } from "./rows/ctc.ts";
import { EditDistance } from "./text/edit_distance.ts";
import { Fingerprint } from "./text/fingerprint.ts";
import { StringFormat } from "./text/format.ts";
import { UnicodeScript } from "./text/scripts.ts";
import { SET_OPS } from "./sets/set_ops.ts";
import { DecodeCSV } from "./text/csv.ts";

export { histogramOf } from "./array/histogram.ts";
export { dynamicStitch } from "./array/partition.ts";
export { tensorScatterSub } from "./array/scatter_fold.ts";
export { concat } from "./array/join.ts";
export { transpose } from "./array/move.ts";
export { range } from "./array/ranges.ts";
export { reverseSequence } from "./array/sequences.ts";
export { slice } from "./array/slice.ts";
export { choleskyGradient } from "./linalg/solve.ts";
export { conj } from "./pointwise/complex.ts";
export { angle } from "./pointwise/made.ts";
export { raggedFillEmptyRows } from "./ragged/ragged_segments.ts";
export { checkedIndices } from "./ragged/sparse_check.ts";
export { drawKey } from "./random/state.ts";
export { PhiloxSkip } from "./random/shuffle.ts";
export { prod } from "./reduce/prod.ts";
export { cumprod } from "./reduce/scan.ts";
export { argsort } from "./reduce/topk.ts";
export { stft } from "./signal/signal.ts";

export const FILE_OPS: readonly OpDef[] = [
  CTCBeamSearchDecoder,
  CTCGreedyDecoder,
  CTCLoss,
  CombinedNonMaxSuppression,
  DecodeCSV,
  DecodePaddedRaw,
  DecodeRaw,
  DeserializeManySparse,
  DeserializeSparse,
  ...DISTORTED_BOXES,
  ...DRAWN_BOXES,
  ...GLIMPSES,
  GammaOfKey,
  GenerateBoundingBoxProposals,
  ...CANDIDATE_OPS,
  ...DISTRIBUTION_OPS,
  ...FAKE_QUANT_OPS,
  ...FRACTIONAL_POOLS,
  ...PATCHES,
  IsotonicRegression,
  NonMaxSuppressionWithOverlaps,
  ParseSequenceExampleV2,
  ...PHILOX_OPS,
  PhiloxSkip,
  SerializeManySparse,
  SerializeSparse,
  ...SET_OPS,
  StatelessShuffle,
  ...[EditDistance, Fingerprint, StringFormat, UnicodeScript],
  ...[BandedTriangularSolve, MatrixLogarithm, MatrixSquareRoot],
  ...[Bitcast, DynamicPartition, TensorScatterMax, TensorScatterMin, TensorScatterMul],
];
