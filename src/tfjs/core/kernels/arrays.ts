/** Kernels of TensorFlow.js that move, count and reduce elements, as functions of Weft. */
import * as tf from "../../../../mod.ts";
import type { Kernel, KernelTable } from "./types.ts";

type Reduction = typeof tf.sum;
const reduction = (fn: Reduction): Kernel => ({ x }, { axis, keepDims }) => fn(x, axis, keepDims);

/** Kernels that move elements. */
const MOVES: KernelTable = {
  BatchToSpaceND: ({ x }, { blockShape, crops }) => tf.batchToSpaceND(x, blockShape, crops),
  BroadcastArgs: ({ s0, s1 }) => tf.broadcastArgs(s0, s1),
  BroadcastTo: ({ x }, { shape }) => tf.broadcastTo(x, shape),
  Concat: (inputs, { axis }) => tf.concat(Object.values(inputs), axis),
  DepthToSpace: ({ x }, { blockSize, dataFormat }) => tf.depthToSpace(x, blockSize, dataFormat),
  Diag: ({ x }) => tf.diag(x),
  ExpandDims: ({ input }, { dim }) => tf.expandDims(input, dim),
  Fill: (_, { shape, value, dtype }) => tf.fill(shape, value, dtype),
  GatherNd: ({ params, indices }) => tf.gatherND(params, indices),
  GatherV2: ({ x, indices }, { axis, batchDims }) => tf.gather(x, indices, axis, batchDims),
  LinSpace: (_, { start, stop, num }) => tf.linspace(start, stop, num),
  MatrixBandPart: ({ input, numLower, numUpper }) => tf.linalg.bandPart(input, numLower, numUpper),
  MirrorPad: ({ x }, { paddings, mode }) => tf.mirrorPad(x, paddings, mode),
  OneHot: ({ indices }, { depth, onValue, offValue, dtype }) =>
    tf.oneHot(indices, depth, onValue, offValue, dtype),
  Pack: (inputs, { axis }) => tf.stack(Object.values(inputs), axis),
  PadV2: ({ x }, { paddings, constantValue }) => tf.pad(x, paddings, constantValue),
  Range: (_, { start, stop, step, dtype }) => tf.range(start, stop, step, dtype),
  Reshape: ({ x }, { shape }) => tf.reshape(x, shape),
  Reverse: ({ x }, { dims }) => tf.reverse(x, dims),
  ScatterNd: ({ indices, updates }, { shape }) => tf.scatterND(indices, updates, shape),
  Slice: ({ x }, { begin, size }) => tf.slice(x, begin, size),
  SpaceToBatchND: ({ x }, { blockShape, paddings }) => tf.spaceToBatchND(x, blockShape, paddings),
  SparseToDense: ({ sparseIndices, sparseValues, defaultValue }, { outputShape }) =>
    tf.sparseToDense(sparseIndices, sparseValues, outputShape, defaultValue),
  SplitV: ({ x }, { numOrSizeSplits, axis }) => tf.split(x, numOrSizeSplits, axis),
  StridedSlice: ({ x }, a) =>
    tf.stridedSlice(
      x,
      a.begin,
      a.end,
      a.strides,
      a.beginMask,
      a.endMask,
      a.ellipsisMask,
      a.newAxisMask,
      a.shrinkAxisMask,
    ),
  TensorScatterUpdate: ({ tensor, indices, updates }) =>
    tf.tensorScatterUpdate(tensor, indices, updates),
  Tile: ({ x }, { reps }) => tf.tile(x, reps),
  Transpose: ({ x }, { perm }) => tf.transpose(x, perm),
  Unpack: ({ value }, { axis }) => tf.unstack(value, axis),
};

/** Kernels that reduce, count and search. */
const REDUCTIONS: KernelTable = {
  All: reduction(tf.all),
  Any: reduction(tf.any),
  ArgMax: ({ x }, { axis }) => tf.argMax(x, axis),
  ArgMin: ({ x }, { axis }) => tf.argMin(x, axis),
  Bincount: ({ x, weights }, { size }) => tf.bincount(x, weights, size),
  Cumprod: ({ x }, { axis, exclusive, reverse }) => tf.cumprod(x, axis, exclusive, reverse),
  Cumsum: ({ x }, { axis, exclusive, reverse }) => tf.cumsum(x, axis, exclusive, reverse),
  DenseBincount: ({ x, weights }, { size, binaryOutput }) =>
    tf.denseBincount(x, weights, size, binaryOutput),
  LowerBound: ({ sortedSequence, values }) => tf.lowerBound(sortedSequence, values),
  Max: ({ x }, { reductionIndices, keepDims }) => tf.max(x, reductionIndices, keepDims),
  Mean: reduction(tf.mean),
  Min: reduction(tf.min),
  Multinomial: ({ logits }, { numSamples, seed, normalized }) =>
    tf.multinomial(logits, numSamples, seed, normalized),
  Prod: reduction(tf.prod),
  SearchSorted: ({ sortedSequence, values }, { side }) =>
    tf.searchSorted(sortedSequence, values, side),
  Sum: reduction(tf.sum),
  TopK({ x }, { k, sorted }) {
    const { values, indices } = tf.topk(x, k, sorted);
    return [values, indices];
  },
  Unique({ x }, { axis }) {
    const { values, indices } = tf.unique(x, axis);
    return [values, indices];
  },
  UnsortedSegmentSum: ({ x, segmentIds }, { numSegments }) =>
    tf.unsortedSegmentSum(x, segmentIds, numSegments),
  UpperBound: ({ sortedSequence, values }) => tf.upperBound(sortedSequence, values),
};

/** Kernels for sparse and ragged tensors and for texts. */
const RECORDS: KernelTable = {
  RaggedGather({ paramsDenseValues, indices, ...rest }, { outputRaggedRank }) {
    const splits = rest.paramsNestedSplits as unknown as tf.Tensor[];
    const { outputNestedSplits, outputDenseValues } = tf.raggedGather(
      splits,
      paramsDenseValues,
      indices,
      outputRaggedRank,
    );
    return [...outputNestedSplits, outputDenseValues];
  },
  RaggedRange({ starts, limits, deltas }) {
    const { rtNestedSplits, rtDenseValues } = tf.raggedRange(starts, limits, deltas);
    return [rtNestedSplits, rtDenseValues];
  },
  RaggedTensorToTensor({ shape, values, defaultValue, ...rest }, { rowPartitionTypes }) {
    const partitions = rest.rowPartitionTensors as unknown as tf.Tensor[];
    return tf.raggedTensorToTensor(shape, values, defaultValue, partitions, rowPartitionTypes);
  },
  SparseFillEmptyRows({ indices, values, denseShape, defaultValue }) {
    const out = tf.sparse.sparseFillEmptyRows(indices, values, denseShape, defaultValue);
    return [out.outputIndices, out.outputValues, out.emptyRowIndicator, out.reverseIndexMap];
  },
  SparseReshape({ inputIndices, inputShape, newShape }) {
    const out = tf.sparse.sparseReshape(inputIndices, inputShape, newShape);
    return [out.outputIndices, out.outputShape];
  },
  SparseSegmentMean: ({ data, indices, segmentIds }) =>
    tf.sparse.sparseSegmentMean(data, indices, segmentIds),
  SparseSegmentSum: ({ data, indices, segmentIds }) =>
    tf.sparse.sparseSegmentSum(data, indices, segmentIds),
  StaticRegexReplace: ({ x }, { pattern, rewrite, replaceGlobal }) =>
    tf.string.staticRegexReplace(x, pattern, rewrite, replaceGlobal),
  StringNGrams({ data, dataSplits }, a) {
    const { nGrams, nGramsSplits } = tf.string.stringNGrams(
      data,
      dataSplits,
      a.separator,
      a.nGramWidths,
      a.leftPad,
      a.rightPad,
      a.padWidth,
      a.preserveShortSequences,
    );
    return [nGrams, nGramsSplits];
  },
  StringSplit({ input, delimiter }, { skipEmpty }) {
    const { indices, values, shape } = tf.string.stringSplit(input, delimiter, skipEmpty);
    return [indices, values, shape];
  },
  StringToHashBucketFast: ({ input }, { numBuckets }) =>
    tf.string.stringToHashBucketFast(input, numBuckets),
};

/** Kernels that move, count and reduce. */
export const ARRAYS: KernelTable = { ...MOVES, ...REDUCTIONS, ...RECORDS };
