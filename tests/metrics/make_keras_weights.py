"""Writes keras_weights.json: what Keras's means make of weights of all shapes that it takes, and of predictions at the ends."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np

M = keras.metrics


def count(shape):
    return np.arange(int(np.prod(shape)))


# Numbers by their places, of argument `k` of batch `b`; keras_weights_test.ts makes the same.
def real(shape, b, k):
    return ((count(shape) * 37 + 11 * b + 5 * k) % 101 / 50 - 0.99).reshape(shape)


def unit(shape, b, k):
    return ((count(shape) * 37 + 11 * b + 5 * k) % 97 / 97 + 0.005).reshape(shape)


def bits(shape, b, k):
    return ((count(shape) * 53 + b + 3 * k) % 7 % 2).reshape(shape)


def classes(shape, b, k):
    return ((count(shape) * 31 + b + 3 * k) % 11 % 4).reshape(shape)


def hot(shape, b, k):
    return np.eye(4, dtype=int)[classes(shape[:-1], b, k)]


def short(shape, b, k):
    return classes(shape[:-1], b, k)


def weight(shape, b):
    return ((count(shape) * 29 + 3 * b + 1) % 19 / 8).reshape(shape)


# Metrics of labels and predictions [2, 3, 4]; classes have no last axis.
MAKERS = {
    "mean": (M.Mean, None, real),
    "sum": (M.Sum, None, real),
    "accuracy": (M.Accuracy, classes, classes),
    "binaryAccuracy": (M.BinaryAccuracy, bits, unit),
    "categoricalAccuracy": (M.CategoricalAccuracy, hot, unit),
    "sparseCategoricalAccuracy": (M.SparseCategoricalAccuracy, short, unit),
    "topKCategoricalAccuracy": (lambda: M.TopKCategoricalAccuracy(2), hot, unit),
    "sparseTopKCategoricalAccuracy": (
        lambda: M.SparseTopKCategoricalAccuracy(2), short, unit),
    "meanSquaredError": (M.MeanSquaredError, real, real),
    "rootMeanSquaredError": (M.RootMeanSquaredError, real, real),
    "meanAbsoluteError": (M.MeanAbsoluteError, real, real),
    "meanAbsolutePercentageError": (M.MeanAbsolutePercentageError, real, real),
    "cosineSimilarity": (M.CosineSimilarity, real, real),
    "binaryCrossentropy": (M.BinaryCrossentropy, bits, unit),
    "categoricalCrossentropy": (M.CategoricalCrossentropy, hot, unit),
    "sparseCategoricalCrossentropy": (
        M.SparseCategoricalCrossentropy, short, unit),
}
# Shapes of two batches of one metric, whose steps differ in number.
BATCHES = {3: [(2, 3, 4), (3, 2, 4)], 2: [(2, 4), (3, 4)], 1: [(4,), (4,)]}
# Weights by the shape of values: of leading axes, with extents of 1, and one axis of 1 more.
WEIGHTS = [
    None,
    lambda s: (),
    lambda s: (1,),
    lambda s: s[:1],
    lambda s: (s[0], 1),
    lambda s: (1, 1),
    lambda s: s[:2],
    lambda s: (1, *s[1:2]),
    lambda s: s,
    lambda s: (*s[:-1], 1),
    lambda s: (1,) * len(s),
    lambda s: (*s, 1),
    lambda s: (1, *s[1:]),
    lambda s: s[-1:],
    lambda s: (*s, 2),
]

rows = []
for name, (make, labels, predictions) in MAKERS.items():
    for rank, shapes in BATCHES.items():
        if rank == 1 and name not in ("mean", "sum", "accuracy", "binaryAccuracy"):
            continue
        seen = set()
        for weigh in WEIGHTS:
            key = None if weigh is None else tuple(tuple(weigh(s)) for s in shapes)
            if key in seen:
                continue
            seen.add(key)
            metric, result = make(), None
            try:
                for b, s in enumerate(shapes):
                    given = [p(s, b, k) for k, p in enumerate(p for p in (labels, predictions) if p is not None)]
                    w = None if key is None else weight(key[b], b).astype("float32")
                    metric.update_state(*(x.astype("float32") for x in given), sample_weight=w)
                result = round(float(metric.result()), 7)
            except Exception:
                pass  # Keras refuses it.
            rows.append([name, shapes, key, result])

ENDS = [
    ("a row of zeros", [[0, 1, 0]], [[0, 0, 0]]),
    ("a row of zeros beside another", [[0, 1, 0], [1, 0, 0]], [[0, 0, 0], [0.2, 0.3, 0.5]]),
    ("labels and predictions of zeros", [[0, 0, 0]], [[0, 0, 0]]),
    ("probabilities of zero and one", [[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]),
    ("a negative sum", [[0, 1, 0]], [[-1, 0.25, 0.25]]),
    ("a sum of zero", [[0, 1, 0]], [[-1, 0.5, 0.5]]),
    ("more than one", [[0, 1, 0]], [[2, 3, 5]]),
    ("tiny predictions", [[0, 1, 0]], [[1e-9, 2e-9, 1e-9]]),
]
ends = []
for name in ["CategoricalCrossentropy", "BinaryCrossentropy", "SparseCategoricalCrossentropy", "CategoricalAccuracy", "CosineSimilarity"]:
    for case, y, p in ENDS:
        labels = np.argmax(y, -1) if name.startswith("Sparse") else np.array(y)
        metric = getattr(M, name)()
        metric.update_state(labels.astype("float32"), np.array(p, "float32"))
        value = float(metric.result())
        ends.append({
            "metric": name[0].lower() + name[1:], "case": case, "y": labels.tolist(), "p": p,
            "result": "NaN" if np.isnan(value) else "Infinity" if np.isinf(value) else value,
        })
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_weights.json")
with open(path, "w") as f:
    f.write('{\n"weights": [\n' + ",\n".join(map(json.dumps, rows)) + "\n],\n")
    f.write('"ends": [\n' + ",\n".join(map(json.dumps, ends)) + "\n]\n}\n")
