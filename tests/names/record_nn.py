"""tf.nn. See recorder.py."""

from recorder import np, rec, tf, write

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


nn = tf.nn
X = normal(2, 3)
rec("silu", nn.silu, X)
rec("silu beta", lambda x: nn.silu(x, 1.5), X)
rec("swish", nn.swish, X)
rec("crelu", nn.crelu, X)
rec("crelu 0", lambda x: nn.crelu(x, axis=0), X)
rec("l2Loss", nn.l2_loss, X)
L = rng.uniform(size=(2, 3)).astype(np.float32)
rec("weightedCrossEntropyWithLogits", lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, 2.5), L, X)
rec("weightedCrossEntropyWithLogits weights", nn.weighted_cross_entropy_with_logits, L, X, np.float32([1, 2, 3]))
T = np.float32([[0, 1, 2], [0.5, 7, 3.5]])
rec("logPoissonLoss", nn.log_poisson_loss, T, X)
rec("logPoissonLoss full", lambda t, x: nn.log_poisson_loss(t, x, compute_full_loss=True), np.float32([[0.25, 1, 2], [0.5, 7, 3.5]]), X)
W = normal(2, 7, 2)
for pad in ("SAME", "VALID"):
    for size, stride in ((2, 1), (3, 2)):
        rec(f"maxPool1d {pad} {size} {stride}", lambda x: nn.max_pool1d(x, size, stride, pad), W)
        rec(f"avgPool1d {pad} {size} {stride}", lambda x: nn.avg_pool1d(x, size, stride, pad), W)
F = normal(3, 4, 2)
rec("conv1dTranspose SAME", lambda x, f: nn.conv1d_transpose(x, f, [2, 14, 4], 2, "SAME"), W, F)
rec("conv1dTranspose VALID", lambda x, f: nn.conv1d_transpose(x, f, [2, 15, 4], 2, "VALID"), W, F)
I, K = normal(1, 4, 5, 2), normal(2, 3, 3, 2)
rec("atrousConv2dTranspose SAME", lambda x, k: nn.atrous_conv2d_transpose(x, k, [1, 4, 5, 3], 2, "SAME"), I, K)
rec("atrousConv2dTranspose VALID", lambda x, k: nn.atrous_conv2d_transpose(x, k, [1, 6, 9, 3], 2, "VALID"), I, K)
E, EK = normal(1, 4, 5, 2), normal(2, 3, 2)
rec("erosion2d SAME", lambda x, k: nn.erosion2d(x, k, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), E, EK)
rec("erosion2d VALID", lambda x, k: nn.erosion2d(x, k, [1, 2, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]), E, EK)
rec("erosion2d gaps", lambda x, k: nn.erosion2d(x, k, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 2, 1]), E, EK)
S = normal(2, 3, 4)
rec("sufficientStatistics", lambda x: nn.sufficient_statistics(x, [0, -1])[1:3], S)
rec("sufficientStatistics count", lambda x: nn.sufficient_statistics(x, [0, -1])[0], S, grads=False)
rec("sufficientStatistics shift", lambda x, s: nn.sufficient_statistics(x, [1], shift=s, keepdims=True)[2], S, normal(4))
rec("normalizeMoments", lambda n, m, v: nn.normalize_moments(n, m, v, None), np.float32(6), normal(4), 9 + normal(4))
rec("normalizeMoments shift", nn.normalize_moments, np.float32(6), normal(4), 9 + normal(4), np.float32(0.5))
rec("normalizeMoments variance", lambda *a: nn.normalize_moments(*a, None)[1], np.float32(6), normal(4), 9 + normal(4))
B = (normal(3), rng.uniform(1, 2, 3).astype(np.float32), normal(3), normal(3))
rec("batchNormWithGlobalNormalization", lambda x, m, v, b, g: nn.batch_norm_with_global_normalization(x, m, v, b, g, 0.01, True), normal(1, 2, 2, 3), *B)
rec("batchNormWithGlobalNormalization unscaled", lambda x, m, v, b: nn.batch_norm_with_global_normalization(x, m, v, b, b, 0.01, False), normal(1, 2, 2, 3), *B[:3])
rec("ctcUniqueLabels", lambda l: nn.ctc_unique_labels(l), np.int32([[3, 4, 4, 3], [0, 5, 0, 9], [1, 1, 1, 1]]))
rec("collapseRepeated", nn.collapse_repeated, np.int32([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5], [7, 7, 7, 7, 7]]), np.int32([5, 3, 2]))
rec("collapseRepeated none", nn.collapse_repeated, np.int32([[1, 1, 2]]), np.int32([0]))
Y = normal(2, 3, 5)
rec("isotonicRegression", nn.isotonic_regression, normal(4, 6))
rec("isotonicRegression deep", nn.isotonic_regression, Y, grads=False)
rec("isotonicRegression 0", lambda x: nn.isotonic_regression(x, axis=0), normal(5, 3))
rec("isotonicRegression up", lambda x: nn.isotonic_regression(x, decreasing=False), normal(4, 6))
rec("isotonicRegression ties", lambda x: nn.isotonic_regression(x), np.float32([[2, 2, 1, 3, 0]]), grads=False)

P = normal(6, 3)
AT, IDS, BY = [[0, 0], [0, 2], [2, 0], [2, 1], [2, 4]], np.int64([1, 3, 0, 5, 1]), np.float32([0.5, 2, 1, -1, 3])
ids = lambda: tf.SparseTensor(AT, IDS, [4, 5])
by = lambda w: tf.SparseTensor(AT, w, [4, 5])
SIDS = np.int64([1, -3, 0, 5, 1])
sids = lambda: tf.SparseTensor(AT, SIDS, [4, 5])
for how in ("sum", "mean", "sqrtn"):
    rec(f"embeddingLookupSparse {how}", lambda p: nn.embedding_lookup_sparse(p, ids(), None, combiner=how), P)
    rec(f"embeddingLookupSparse {how} weights", lambda p, w: nn.embedding_lookup_sparse(p, ids(), by(w), combiner=how), P, BY)
    rec(f"safeEmbeddingLookupSparse {how}", lambda p: nn.safe_embedding_lookup_sparse(p, sids(), None, combiner=how), P)
    rec(f"safeEmbeddingLookupSparse {how} weights", lambda p, w: nn.safe_embedding_lookup_sparse(p, sids(), by(w), combiner=how, default_id=2), P, BY)
rec("embeddingLookupSparse maxNorm", lambda p: nn.embedding_lookup_sparse(p, ids(), None, combiner="sum", max_norm=0.5), P)
rag = lambda: tf.RaggedTensor.from_row_splits(IDS, [0, 2, 2, 5])
rec("embeddingLookupSparse ragged", lambda p: nn.embedding_lookup_sparse(p, rag(), None), P)
rec("safeEmbeddingLookupSparse ragged", lambda p: nn.safe_embedding_lookup_sparse(p, tf.RaggedTensor.from_row_splits(SIDS, [0, 2, 2, 5]), None), P)
rec("safeEmbeddingLookupSparse deep", lambda p: nn.safe_embedding_lookup_sparse(p, tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 1, 0]], np.int64([1, 2, 3]), [2, 2, 2]), None), normal(6, 2))

LABELS, SAMPLE = np.int64([[1, 2], [0, 4], [3, 3]]), np.int64([2, 0, 5, 3])
TRUE, NOISE = np.float32([[0.5, 1], [2, 0.25], [1, 1]]), np.float32([0.5, 1.5, 2, 0.75])
for hits in (True, False):
    h = hits
    rec(
        f"sampledSoftmaxLoss {str(hits).lower()}",
        lambda w, b, x: nn.sampled_softmax_loss(w, b, LABELS, x, 4, 6, 2, (SAMPLE, TRUE, NOISE), remove_accidental_hits=h),
        normal(6, 2),
        normal(6),
        normal(3, 2),
    )
    rec(
        f"nceLoss {str(hits).lower()}",
        lambda w, b, x: nn.nce_loss(w, b, LABELS, x, 4, 6, 2, (SAMPLE, TRUE, NOISE), remove_accidental_hits=h),
        normal(6, 2),
        normal(6),
        normal(3, 2),
    )
write("nn")
