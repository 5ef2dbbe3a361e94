"""Writes keras_metrics.json: what Keras's metrics make of two batches, with weights of samples and without."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np

M = keras.metrics
rng = np.random.default_rng(7)


def real(*shape):
    return np.round(rng.normal(size=shape), 3)


def unit(*shape):
    return np.round(rng.uniform(0.02, 0.98, size=shape), 3)


def bits(*shape):
    return rng.integers(0, 2, size=shape)


def classes(*shape):
    return rng.integers(0, 4, size=shape)


def hot(*shape):
    return np.eye(4, dtype=int)[classes(*shape)]


# The metric, labels and predictions of two batches, whose first axis is that of samples.
CASES = {
    "accuracy": (M.Accuracy, classes, classes, [(6,), (6,)]),
    "binaryAccuracy": (M.BinaryAccuracy, bits, unit, [(5, 3), (5, 3)]),
    "categoricalAccuracy": (M.CategoricalAccuracy, hot, lambda n: unit(n, 4), [(8,), (8,)]),
    "sparseCategoricalAccuracy": (M.SparseCategoricalAccuracy, classes, lambda n: unit(n, 4), [(8,), (8,)]),
    "topKCategoricalAccuracy": (lambda: M.TopKCategoricalAccuracy(2), hot, lambda n: unit(n, 4), [(8,), (8,)]),
    "sparseTopKCategoricalAccuracy": (
        lambda: M.SparseTopKCategoricalAccuracy(2), classes, lambda n: unit(n, 4), [(8,), (8,)]),
    "meanSquaredError": (M.MeanSquaredError, real, real, [(4, 3), (4, 3)]),
    "rootMeanSquaredError": (M.RootMeanSquaredError, real, real, [(4, 3), (4, 3)]),
    "meanAbsoluteError": (M.MeanAbsoluteError, real, real, [(4, 3), (4, 3)]),
    "meanAbsolutePercentageError": (M.MeanAbsolutePercentageError, real, real, [(4, 3), (4, 3)]),
    "cosineSimilarity": (M.CosineSimilarity, real, real, [(4, 3), (4, 3)]),
    "binaryCrossentropy": (M.BinaryCrossentropy, bits, unit, [(4, 3), (4, 3)]),
    "binaryCrossentropy, logits": (lambda: M.BinaryCrossentropy(from_logits=True), bits, real, [(4, 3), (4, 3)]),
    "categoricalCrossentropy": (M.CategoricalCrossentropy, hot, lambda n: unit(n, 4), [(6,), (6,)]),
    "categoricalCrossentropy, logits": (
        lambda: M.CategoricalCrossentropy(from_logits=True), hot, lambda n: real(n, 4), [(6,), (6,)]),
    "sparseCategoricalCrossentropy": (M.SparseCategoricalCrossentropy, classes, lambda n: unit(n, 4), [(6,), (6,)]),
    "precision": (M.Precision, bits, unit, [(9,), (9,)]),
    "precision, thresholds": (lambda: M.Precision(thresholds=[0.2, 0.5, 0.9]), bits, unit, [(9,), (9,)]),
    "recall": (M.Recall, bits, unit, [(9,), (9,)]),
    "recall, thresholds": (lambda: M.Recall(thresholds=[0.2, 0.5, 0.9]), bits, unit, [(3, 4), (3, 4)]),
    "auc": (M.AUC, bits, unit, [(30,), (30,)]),
    "auc, few thresholds": (lambda: M.AUC(num_thresholds=7), bits, unit, [(30,), (30,)]),
    "auc, PR": (lambda: M.AUC(curve="PR"), bits, unit, [(30,), (30,)]),
    "f1Score": (M.F1Score, hot, lambda n: unit(n, 4), [(9,), (9,)]),
    "f1Score, micro": (lambda: M.F1Score("micro", 0.5), lambda n: bits(n, 4), lambda n: unit(n, 4), [(9,), (9,)]),
    "f1Score, macro": (lambda: M.F1Score("macro", 0.5), lambda n: bits(n, 4), lambda n: unit(n, 4), [(9,), (9,)]),
    "f1Score, weighted": (lambda: M.F1Score("weighted"), hot, lambda n: unit(n, 4), [(9,), (9,)]),
    "meanIoU": (lambda: M.MeanIoU(4, dtype="float32"), classes, classes, [(12,), (12,)]),
}

out = {}
for name, (make, labels, predictions, shapes) in CASES.items():
    batches = [(labels(*s), predictions(*s), np.round(rng.uniform(0, 2, size=s[:1]), 2)) for s in shapes]
    results = []
    for weighted in [False, True]:
        metric = make()
        for y, p, w in batches:
            metric.update_state(y.astype("float32"), p.astype("float32"), sample_weight=w if weighted else None)
        results.append(np.asarray(metric.result()).astype("float64").tolist())
    out[name] = {
        "batches": [[y.tolist(), p.tolist(), w.tolist()] for y, p, w in batches],
        "plain": results[0],
        "weighted": results[1],
    }
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_metrics.json")
with open(path, "w") as f:
    json.dump(out, f)
    f.write("\n")
