/**
 * Lines of programs with functions of `tf.nn`, `tf.quantization`, `tf.signal` and `tf.io`. The table's language is explained in
 * templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Losses and activations, moments, pools, and transposed filters. */
const LAYERS: readonly Template[] = [
  [
    "x:float",
    "tf.nn.#pick(silu|swish)($x, #pick(1|1.5)) ≡ tf.mul($x, tf.sigmoid(tf.mul($x, #pick(1|1.5))))",
  ],
  [
    "x:rows",
    "tf.nn.crelu($x, #pick(0|-1)) ≡ tf.concat([tf.relu($x), tf.relu(tf.neg($x))], #pick(0|-1))",
  ],
  ["x:float", "tf.nn.l2Loss($x) ≡ tf.div(tf.sum(tf.square($x)), 2)"],
  [
    "x:float y=x z~x",
    "tf.nn.weightedCrossEntropyWithLogits({ labels: tf.sigmoid($x), logits: $y, posWeight: #pick(2.5|$z) })",
    2,
  ],
  [
    "x:float y=x",
    "tf.nn.weightedCrossEntropyWithLogits({ labels: tf.sigmoid($x), logits: $y, posWeight: 1 }) ≡ tf.add(tf.sub($y, tf.mul($y, tf.sigmoid($x))), tf.softplus(tf.neg($y)))",
  ],
  ["x:float y=x", "tf.nn.logPoissonLoss($x, $y) ≡ tf.sub(tf.exp($y), tf.mul($y, $x))"],
  ["x:float y=x", "tf.nn.logPoissonLoss(tf.abs($x), $y, { computeFullLoss: true })"],
  [
    "x:rows",
    'tf.nn.maxPool1d(tf.reshape($x, [1, -1, 1]), #int(1,3), #int(1,2), "#pick(same|valid)") ≡ tf.reshape(tf.maxPool(tf.reshape($x, [1, 1, -1, 1]), [1, #int(1,3)], [1, #int(1,2)], "#pick(same|valid)"), [1, -1, 1])',
  ],
  [
    "x:rows",
    'tf.nn.avgPool1d(tf.reshape($x, [1, -1, 1]), #int(1,3), #int(1,2), "#pick(same|valid)") ≡ tf.reshape(tf.avgPool(tf.reshape($x, [1, 1, -1, 1]), [1, #int(1,3)], [1, #int(1,2)], "#pick(same|valid)"), [1, -1, 1])',
  ],
  [
    "x:rows",
    'tf.nn.conv1dTranspose(tf.reshape($x, [1, -1, 1]), tf.cast(tf.constant([[[1], [-2]], [[0.5], [3]]]), $x.dtype), tf.stack([1, tf.mul(tf.size($x), 2), 2]), 2, "same")',
  ],
  [
    "x:image",
    'tf.nn.atrousConv2dTranspose($x, tf.cast(tf.reshape(tf.sin(tf.range(0, 16)), [2, 2, 2, 2]), $x.dtype), tf.shape($x), 2, "same")',
  ],
  [
    "x:image",
    'tf.nn.erosion2d($x, tf.cast(tf.reshape(tf.sin(tf.range(0, 8)), [2, 2, 2]), $x.dtype), #int(1,2), "#pick(same|valid)")',
    2,
  ],
  [
    "x:rows",
    "(({ meanSs, varianceSs, count }) => tf.sub(tf.mul(varianceSs, 2), tf.div(meanSs, count)))(tf.nn.sufficientStatistics($x, 0, { keepDims: #bool }))",
  ],
  [
    "x:rows",
    "tf.nn.normalizeMoments(tf.nn.sufficientStatistics($x, 0)).#pick(mean|variance) ≡ tf.moments($x, 0).#pick(mean|variance)",
    2,
  ],
  [
    "x:image y:float32",
    'tf.nn.batchNormWithGlobalNormalization($x, { ...Object.fromEntries(["mean", "variance", "beta", "gamma"].map((k, i) => [k, tf.cast(tf.add(tf.abs(tf.tanh(tf.sum($y))), [i, 0.5]), $x.dtype)])), varianceEpsilon: 0.01, scaleAfterNormalization: #bool })',
  ],
  ["x:rows", "tf.nn.isotonicRegression($x, { axis: #pick(0|-1), decreasing: #bool }).output", 2],
  ["x:rows", "tf.nn.isotonicRegression(tf.sort($x), { decreasing: false }).output ≡ tf.sort($x)"],
];

/** Labels, embeddings of sparse and of ragged rows, and sampled losses. */
const ROWS_OF_IDS: readonly Template[] = [
  ["i:int32", "tf.nn.ctcUniqueLabels(tf.reshape($i, [1, -1]))[#int(0,1)]"],
  [
    "i:int32",
    "tf.nn.collapseRepeated(tf.reshape($i, [1, -1]), tf.reshape(tf.size($i), [1]))[#int(0,1)]",
  ],
  ...["sum", "mean", "sqrtn"].flatMap((combiner): Template[] => {
    const ids = 'tf.tensor([0, 1, 0], [3], "int32")', at = "[[0, 0], [0, 1], [2, 0]]";
    const given = `new tf.SparseTensor(${at}, tf.mod(${ids}, #rows(x)), [3, 2])`;
    const weights =
      `new tf.SparseTensor(${at}, tf.add(tf.abs(tf.mul([1, 2, 3], tf.tanh(tf.cast(tf.sum($y), "float32")))), 0.5), [3, 2])`;
    return [
      ["x:matrix", `tf.nn.embeddingLookupSparse($x, ${given}, { combiner: "${combiner}" })`],
      [
        "x:matrix y:float",
        `tf.nn.embeddingLookupSparse($x, ${given}, { combiner: "${combiner}", weights: ${weights} })`,
      ],
      [
        "x:matrix y:float",
        `tf.nn.safeEmbeddingLookupSparse($x, ${given}, { combiner: "${combiner}", weights: ${weights}, defaultId: #pick(null|0) })`,
      ],
    ];
  }),
  [
    "x:matrix",
    'tf.nn.embeddingLookupSparse($x, tf.RaggedTensor.fromRowLengths(tf.range(0, #rows(x), 1, "int32"), [#rows(x) - 1, 1]), { combiner: "sum" }) ≡ tf.concat([tf.sum(tf.slice($x, [0, 0], [#rows(x) - 1, -1]), 0, true), tf.slice($x, [#rows(x) - 1, 0], [1, -1])], 0)',
    2,
  ],
  ...["sampledSoftmaxLoss", "nceLoss"].map((fn): Template => [
    "x:matrixRows y=x",
    `tf.nn.${fn}({ weights: $x, biases: tf.sum($x, 1), inputs: $y, labels: tf.reshape(tf.range(0, #rows(x), 1, "int32"), [-1, 1]), sampledValues: [tf.constant([0, #rows(x) - 1], "int32"), tf.fill([#rows(x), 1], 0.5), [0.5, 1.5]], removeAccidentalHits: #bool })`,
    2,
  ]),
];

/** Numbers that are rounded to few levels. */
const LEVELS: readonly Template[] = [
  [
    "x:float32",
    "tf.quantization.fakeQuantWithMinMaxArgs($x, { min: -#int(0,2), max: #int(1,3), numBits: #int(2,5), narrowRange: #bool })",
    2,
  ],
  [
    "x:float32 y:float32",
    "tf.quantization.fakeQuantWithMinMaxVars($x, { min: tf.sub(-1, tf.abs(tf.tanh(tf.sum($y)))), max: 1.5, numBits: #int(2,5) })",
    2,
  ],
  [
    "x:float32",
    "tf.quantization.fakeQuantWithMinMaxVarsPerChannel(tf.reshape($x, [-1, 1]), { min: [-1], max: [1.25], numBits: #int(2,5) })",
  ],
];

/** Parts of a complex value. */
const PARTS = "tf.#pick(real|imag)";
const CUBE =
  "tf.reshape(tf.concat([tf.reshape($x, [-1]), tf.ones([8])], 0).slice([0], [8]), [2, 2, 2])";

/** Fourier transforms of several axes. */
const SPECTRA: readonly Template[] = [
  ["x:complex", `${PARTS}(tf.signal.fftnd(tf.expandDims($x, 0)))`],
  [
    "x:complex",
    'tf.signal.ifftnd(tf.signal.fftnd($x, { norm: "#pick(backward|forward|ortho)" }), { norm: "#pick(backward|forward|ortho)" }) ≡ tf.identity($x)',
    2,
  ],
  [
    "x:float32",
    `${PARTS}(tf.signal.rfftnd(tf.expandDims($x, 0), { fftLength: [2, 3], axes: [0, -1] }))`,
  ],
  [
    "x:float32",
    "tf.signal.irfftnd(tf.signal.rfftnd(tf.expandDims($x, -1), { fftLength: [2], axes: [-1] }), { fftLength: [2], axes: [-1] })",
  ],
  ["x:float32", `${PARTS}(tf.signal.rfft3d(${CUBE}))`],
  ["x:float32", `tf.signal.irfft3d(tf.signal.rfft3d(${CUBE}), [2, 2, 2]) ≡ ${CUBE}`],
];

/** Numbers as bytes and texts, and back: nothing has a gradient through them. */
const FILES: readonly Template[] = [
  ["x:any", "tf.io.parseTensor(tf.io.serializeTensor($x), $x.dtype) ≡ tf.stopGradient($x)", 2],
  [
    "x:rows i:int",
    'tf.io.decodeRaw(tf.strings.asString(tf.mod($i, 10)), "uint8", { fixedLength: #int(1,3) })',
  ],
  [
    "i:int32",
    'tf.io.decodeCsv(tf.strings.join([tf.strings.asString($i), ",", ",7"]), [tf.constant([0], "int32"), tf.constant([5], "int32"), tf.constant([0.5])])[#int(0,2)]',
    2,
  ],
  [
    "x:float32",
    'tf.sparse.toDense(tf.io.deserializeManySparse(tf.io.serializeManySparse(tf.sparse.fromDense(tf.expandDims(tf.expandDims(tf.reshape($x, [-1]), 0), 0))), "float32"))',
  ],
  ["x:float", "tf.strings.length(tf.io.serializeSparse(tf.sparse.fromDense($x)))"],
];

/** Functions of namespaces. */
export const NAMESPACES: readonly Template[] = [
  ...LAYERS,
  ...ROWS_OF_IDS,
  ...LEVELS,
  ...SPECTRA,
  ...FILES,
];
