/** Calls of functions of `tf`, with inputs for them: what tests join with scripts, control flow and gradients. */

import * as tf from "@weft/weft";

/** An input: its values, and its dtype where that is not float32. */
export type Given = readonly [values: unknown, dtype?: tf.DType];

/** A call whose results are the same however its inputs come and wherever it stands. */
export interface JoinedRow {
  readonly name: string;
  readonly inputs: readonly Given[];
  /** The results that are tensors; those without extents of their own can be rows of a map. */
  readonly call: (...x: tf.Tensor[]) => tf.Tensor | readonly tf.Tensor[];
  /** Numbers of the inputs with gradients. Default: those of float32. */
  readonly wrt?: readonly number[];
  /** True: the ranks of inputs must be known while a graph is made. */
  readonly ranked?: boolean;
  /** Values of which one makes the call fail where it runs, for the input of this number. */
  readonly wrong?: readonly [input: number, values: unknown, text: string];
  /** True: kernels of a GPU, which cannot throw, pass over what is wrong. */
  readonly isSilent?: boolean;
}

const M = [[1, -2, 0.5], [3, 0.25, -1]];
const IDS: Given = [[1, 0, 1], "int32"];
const SPARSE_AT = [[0, 0], [0, 1], [2, 0]];
const ids = (values: tf.Tensor): tf.SparseTensor => new tf.SparseTensor(SPARSE_AT, values, [3, 2]);
const row = (
  name: string,
  inputs: readonly Given[],
  call: JoinedRow["call"],
  more: Partial<JoinedRow> = {},
): JoinedRow => ({ name, inputs, call, ...more });
const parts = (z: tf.Tensor): tf.Tensor[] => [tf.real(z), tf.imag(z)];
const { nn, quantization, ragged, random, signal, sets, io } = tf;

const ELEMENTS: readonly JoinedRow[] = [
  row("sequenceMask", [[[1, 3, 0], "int32"]], (n) => tf.sequenceMask(n)),
  row(
    "sequenceMask of a length",
    [[[1, 3], "int64"], [4, "int32"]],
    (n, most) => tf.sequenceMask(n, most),
  ),
  row("repeat", [[M]], (x) => tf.repeat(x, 2, -1)),
  row("repeat each", [[M], [[2, 1], "int32"]], (x, n) => tf.repeat(x, n, 0)),
  row("reverseSequence", [[M], [[2, 3], "int32"]], (x, n) => tf.reverseSequence(x, n), {
    ranked: true,
  }),
  row("dynamicPartition", [[[5, 6, 7]], IDS], (x, p) => tf.dynamicPartition(x, p, 2), {
    wrong: [1, [1, 0, 2], "is not in [0, 2)"],
  }),
  row(
    "dynamicStitch",
    [[[0, 2], "int32"], [[1], "int32"], [M], [[[4, 5, 6]]]],
    (i, j, x, y) => tf.dynamicStitch([i, j], [x, y]),
    { ranked: true, wrong: [1, [-1], ""] },
  ),
  row("uniqueWithCounts", [[[3, 1, 3, 3], "int32"]], (x) => {
    const { values, indices, counts } = tf.uniqueWithCounts(x);
    return [values, indices, counts];
  }, { ranked: true }),
  row("bitcast", [[M]], (x) => tf.bitcast(tf.bitcast(x, "int32"), "uint8"), { wrt: [] }),
  row("saturateCast", [[[300, -7.5, 3]]], (x) => tf.saturateCast(x, "uint8"), { wrt: [] }),
  row("histogramFixedWidth", [[M]], (x) => tf.histogramFixedWidth(x, [-1, 2], 4), { wrt: [] }),
  row(
    "histogramFixedWidthBins",
    [[M], [[-1, 2]]],
    (x, r) => tf.histogramFixedWidthBins(x, r, 4),
    { wrt: [] },
  ),
  ...(["tensorScatterMax", "tensorScatterMin", "tensorScatterSub"] as const).map((fn) =>
    row(fn, [[M], [[[1]], "int32"], [[[2, 0, 1]]]], (x, at, y) => tf[fn](x, at, y), {
      wrong: [1, [[7]], fn === "tensorScatterSub" ? "" : "7"],
      isSilent: fn === "tensorScatterSub",
    })
  ),
  row(
    "truncateDiv",
    [[[7, -7, 5], "int32"], [[2, 2, -3], "int32"]],
    (a, b) => tf.truncateDiv(a, b),
  ),
  row("truncateMod", [[[7, -7, 5]], [[2, 2, -3]]], (a, b) => tf.truncateMod(a, b)),
  row("gradPassThrough", [[M]], (x) => tf.gradPassThrough((v) => tf.round(v))(x)),
];

const SETS: readonly JoinedRow[] = [
  ...(["union", "intersection", "difference"] as const).map((fn) =>
    row(
      `sets.${fn}`,
      [[[[1, 2, 2], [3, 4, 4]], "int32"], [[[2, 5], [3, 3]], "int32"]],
      (a, b) => tf.sparse.toDense(sets[fn](a, b)),
      { ranked: true },
    )
  ),
  row(
    "sets.size",
    [[[[1, 2, 2], [3, 3, 3]], "int32"]],
    (a) => sets.size(sets.union(a, a)),
    { ranked: true },
  ),
];

const SEED: Given = [[3, 7], "int32"];
const DRAWS: readonly JoinedRow[] = [
  row("random.split", [SEED], (seed) => random.split(seed, 3)),
  row("random.foldIn", [SEED, [5, "int32"]], (seed, n) => random.foldIn(seed, n)),
  row(
    "random.statelessCategorical",
    [[[[0, 1, 2], [2, 1, 0]]], SEED],
    (x, seed) => random.statelessCategorical(x, 4, seed),
    { wrt: [], ranked: true },
  ),
  row(
    "random.statelessGamma",
    [SEED, [[1, 2.5]]],
    (seed, alpha) => random.statelessGamma([3, 2], seed, alpha, 2),
    { wrt: [] },
  ),
  row("random.shuffle", [[[4, 2, 9]]], (x) => tf.sort(random.shuffle(x))),
];

const LAYERS: readonly JoinedRow[] = [
  row("nn.silu", [[M]], (x) => nn.silu(x, 1.5)),
  row("nn.crelu", [[M]], (x) => nn.crelu(x), { ranked: true }),
  row("nn.l2Loss", [[M]], (x) => nn.l2Loss(x)),
  row(
    "nn.weightedCrossEntropyWithLogits",
    [[[[0, 1, 0.5], [1, 1, 0]]], [M], [[2, 1, 0.5]]],
    (labels, logits, posWeight) => nn.weightedCrossEntropyWithLogits({ labels, logits, posWeight }),
  ),
  row(
    "nn.logPoissonLoss",
    [[[[0, 1, 2], [3, 4, 0.5]]], [M]],
    (t, x) => nn.logPoissonLoss(t, x, { computeFullLoss: true }),
  ),
  row(
    "nn.sufficientStatistics",
    [[M], [[0.5, 1, 0]]],
    (x, shift) => {
      const { count, meanSs, varianceSs } = nn.sufficientStatistics(x, [0], { shift });
      return [count, meanSs, varianceSs];
    },
    { ranked: true },
  ),
  row(
    "nn.normalizeMoments",
    [[4], [[2, 4]], [[6, 9]]],
    (count, meanSs, varianceSs) => {
      const { mean, variance } = nn.normalizeMoments({ count, meanSs, varianceSs });
      return [mean, variance];
    },
  ),
  row(
    "nn.maxPool1d",
    [[[[[1], [3], [2], [0]]]]],
    (x) => nn.maxPool1d(x, 2, 1, "same"),
    { ranked: true },
  ),
  row(
    "nn.avgPool1d",
    [[[[[1], [3], [2], [0]]]]],
    (x) => nn.avgPool1d(x, 2, 2, "valid"),
    { ranked: true },
  ),
  row(
    "nn.conv1dTranspose",
    [[[[[1], [3]]]], [[[[1], [2]], [[0.5], [-1]]]]],
    (x, f) => nn.conv1dTranspose(x, f, [1, 4, 2], 2, "same"),
    { ranked: true },
  ),
  row(
    "nn.erosion2d",
    [[[[[[1], [3]], [[0], [2]]]]], [[[[0.5], [0]]]]],
    (x, k) => nn.erosion2d(x, k, 1, "same"),
    { ranked: true },
  ),
  row("nn.isotonicRegression", [[[[3, 1, 2], [1, 2, 3]]]], (x) => {
    const { output, segments } = nn.isotonicRegression(x);
    return [output, segments];
  }, { ranked: true }),
  row("nn.ctcUniqueLabels", [[[[1, 2, 2], [4, 4, 0]], "int32"]], (l) => nn.ctcUniqueLabels(l), {
    ranked: true,
  }),
  row(
    "nn.collapseRepeated",
    [[[[1, 1, 2], [4, 5, 5]], "int32"], [[3, 2], "int32"]],
    (l, n) => nn.collapseRepeated(l, n),
    { ranked: true },
  ),
];

const SAMPLED_LABELS = [[1], [0]];
const TABLES: readonly JoinedRow[] = [
  ...(["sum", "mean", "sqrtn"] as const).map((combiner) =>
    row(
      `nn.embeddingLookupSparse ${combiner}`,
      [[M], IDS, [[0.5, 2, 1]]],
      (table, at, w) => nn.embeddingLookupSparse(table, ids(at), { combiner, weights: ids(w) }),
      { ranked: true, wrong: [1, [1, 0, 9], "9"], isSilent: true },
    )
  ),
  row(
    "nn.embeddingLookupSparse ragged",
    [[M], IDS],
    (table, at) => nn.embeddingLookupSparse(table, tf.RaggedTensor.fromRowLengths(at, [1, 0, 2])),
    { ranked: true },
  ),
  row(
    "nn.safeEmbeddingLookupSparse",
    [[M], [[1, -1, 0], "int32"]],
    (table, at) => nn.safeEmbeddingLookupSparse(table, ids(at), { defaultId: 1 }),
    { ranked: true },
  ),
  ...(["sampledSoftmaxLoss", "nceLoss"] as const).map((fn) =>
    row(
      `nn.${fn}`,
      [[[[1, 2], [0.5, -1], [0, 1], [2, 2]]], [[0, 0.5, 1, -1]], [[[1, 0.5], [-1, 2]]]],
      (weights, biases, inputs) =>
        nn[fn]({
          ...{ weights, biases, inputs, labels: SAMPLED_LABELS },
          sampledValues: [[2, 3], [[0.5], [1]], [0.75, 1.5]],
        }),
      { ranked: true },
    )
  ),
];

const OTHERS: readonly JoinedRow[] = [
  row(
    "quantization.fakeQuantWithMinMaxArgs",
    [[M]],
    (x) => quantization.fakeQuantWithMinMaxArgs(x, { min: -1, max: 2, numBits: 4 }),
  ),
  row(
    "quantization.fakeQuantWithMinMaxVars",
    [[M], [-1], [2]],
    (x, min, max) => quantization.fakeQuantWithMinMaxVars(x, { min, max }),
  ),
  row(
    "quantization.fakeQuantWithMinMaxVarsPerChannel",
    [[M], [[-1, -2, 0]], [[2, 1, 3]]],
    (x, min, max) => quantization.fakeQuantWithMinMaxVarsPerChannel(x, { min, max, numBits: 5 }),
  ),
  row(
    "ragged.rowSplitsToSegmentIds",
    [[[0, 2, 2, 5], "int32"]],
    (s) => ragged.rowSplitsToSegmentIds(s),
  ),
  row(
    "ragged.segmentIdsToRowSplits",
    [[[0, 0, 2], "int32"]],
    (s) => ragged.segmentIdsToRowSplits(s),
  ),
  row(
    "ragged.stackDynamicPartitions",
    [[[5, 6, 7]], IDS],
    (x, p) => ragged.stackDynamicPartitions(x, p, 3).toTensor(),
    { ranked: true, wrong: [1, [1, 0, 3], ""], isSilent: true },
  ),
  row(
    "ragged.crossHashed",
    [[[[1, 2], [3, 4]], "int32"], [[[5], [6]], "int32"]],
    (a, b) => ragged.crossHashed([a, b], { numBuckets: 50 }).toTensor(),
    { ranked: true },
  ),
  row("signal.fftnd", [[M], [M]], (a, b) => parts(signal.fftnd(tf.complex(a, b))), {
    ranked: true,
  }),
  row(
    "signal.rfftnd",
    [[M]],
    (a) => parts(signal.rfftnd(a, { fftLength: [2, 4] })),
    { ranked: true },
  ),
  row(
    "signal.irfftnd",
    [[M], [M]],
    (a, b) => signal.irfftnd(tf.complex(a, b), { fftLength: [2, 4], norm: "ortho" }),
    { ranked: true },
  ),
  row("signal.rfft3d", [[[M, M]]], (a) => parts(signal.rfft3d(a, [2, 2, 4])), { ranked: true }),
  row(
    "io.parseTensor",
    [[M]],
    (x) => io.parseTensor(io.serializeTensor(x), "float32"),
    { wrt: [] },
  ),
  row(
    "io.decodeCsv",
    [[["1,2", "3,"], "string"]],
    (x) => io.decodeCsv(x, [tf.scalar(0, "int32"), tf.scalar(0.5)]),
    { wrong: [0, ["1,2", "a,3"], "not a valid"] },
  ),
  row("io.decodeRaw", [[["abcd", "efgh"], "string"]], (x) => io.decodeRaw(x, "int16"), {
    wrong: [0, ["abc", "def"], "multiple of 2 bytes"],
  }),
];

/** All of them. */
export const JOINED_ROWS: readonly JoinedRow[] = [
  ...ELEMENTS,
  ...SETS,
  ...DRAWS,
  ...LAYERS,
  ...TABLES,
  ...OTHERS,
];
