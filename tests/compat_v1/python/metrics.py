"""Writes ../metrics.json: metrics over four batches, as metrics_test.ts counts them. Needs tensorflow-cpu 2.21."""

import json
import os

import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
metrics = v1.metrics

BATCHES = [
    {
        "labels": [0, 1, 1, 0],
        "scores": [0.1, 0.8, 0.3, 0.6],
        "classes": [0, 1, 2, 0],
        "weights": [1, 0.5, 2, 0],
    },
    {"labels": [1, 1], "scores": [0.9, 0.45], "classes": [1, 2], "weights": [0.25, 1]},
    {"labels": [0, 0, 1], "scores": [0.0, 1.0, 1.0], "classes": [2, 2, 1], "weights": [3, 1, 1]},
    {"labels": [1], "scores": [0.2], "classes": [2], "weights": [0]},
]
THRESHOLDS = [0.25, 0.5, 0.9]


def made(labels, scores, classes, weights):
    hard = tf.round(scores)
    least = tf.stack([scores, 1 - scores], 1)
    rows = tf.stack([tf.cast(labels, tf.float32), 1 - tf.cast(labels, tf.float32)], 1)
    return {
        "mean": lambda w: metrics.mean(scores, w),
        "accuracy": lambda w: metrics.accuracy(labels, hard, w),
        "meanAbsoluteError": lambda w: metrics.mean_absolute_error(tf.cast(labels, tf.float32), scores, w),
        "meanSquaredError": lambda w: metrics.mean_squared_error(tf.cast(labels, tf.float32), scores, w),
        "meanRelativeError": lambda w: metrics.mean_relative_error(
            tf.cast(labels, tf.float32), scores, tf.cast(classes, tf.float32), w
        ),
        "rootMeanSquaredError": lambda w: metrics.root_mean_squared_error(
            tf.cast(labels, tf.float32), scores, w
        ),
        "meanCosineDistance": lambda w: metrics.mean_cosine_distance(
            rows, least, 1, None if w is None else tf.expand_dims(w, 1)
        ),
        "percentageBelow": lambda w: metrics.percentage_below(scores, 0.5, w),
        "meanPerClassAccuracy": lambda w: metrics.mean_per_class_accuracy(classes, labels, 3, w),
        "meanIou": lambda w: metrics.mean_iou(classes, labels, 3, w),
        "truePositives": lambda w: metrics.true_positives(labels, hard, w),
        "falseNegatives": lambda w: metrics.false_negatives(labels, hard, w),
        "trueNegatives": lambda w: metrics.true_negatives(labels, hard, w),
        "falsePositives": lambda w: metrics.false_positives(labels, hard, w),
        "precision": lambda w: metrics.precision(labels, hard, w),
        "recall": lambda w: metrics.recall(labels, hard, w),
        "truePositivesAtThresholds": lambda w: metrics.true_positives_at_thresholds(labels, scores, THRESHOLDS, w),
        "falseNegativesAtThresholds": lambda w: metrics.false_negatives_at_thresholds(labels, scores, THRESHOLDS, w),
        "trueNegativesAtThresholds": lambda w: metrics.true_negatives_at_thresholds(labels, scores, THRESHOLDS, w),
        "falsePositivesAtThresholds": lambda w: metrics.false_positives_at_thresholds(labels, scores, THRESHOLDS, w),
        "precisionAtThresholds": lambda w: metrics.precision_at_thresholds(labels, scores, THRESHOLDS, w),
        "recallAtThresholds": lambda w: metrics.recall_at_thresholds(labels, scores, THRESHOLDS, w),
        "auc": lambda w: metrics.auc(labels, scores, w),
        "aucPr": lambda w: metrics.auc(
            labels, scores, w, 20, curve="PR", summation_method="careful_interpolation"
        ),
        "aucMinoring": lambda w: metrics.auc(labels, scores, w, 20, summation_method="minoring"),
        "aucMajoring": lambda w: metrics.auc(
            labels, scores, w, curve="PR", summation_method="majoring", thresholds=[0.7, 0.3, 0.5]
        ),
    }


def run(weighted):
    with tf.Graph().as_default(), v1.Session() as session:
        fed = {
            "labels": v1.placeholder(tf.int32, [None]),
            "scores": v1.placeholder(tf.float32, [None]),
            "classes": v1.placeholder(tf.int32, [None]),
            "weights": v1.placeholder(tf.float32, [None]),
        }
        w = fed["weights"] if weighted else None
        pairs = {name: fn(w) for name, fn in made(**fed).items()}
        names = [v.op.name for v in v1.get_collection(v1.GraphKeys.METRIC_VARIABLES)]
        assert names == [v.op.name for v in v1.local_variables()]
        session.run(v1.local_variables_initializer())
        values = {name: pair[0] for name, pair in pairs.items()}
        updates = {name: pair[1] for name, pair in pairs.items()}
        rows = [{"value": session.run(values)}]
        for batch in BATCHES:
            feeds = {fed[key]: batch[key] for key in fed}
            updated = session.run(updates, feeds)
            rows.append({"update": updated, "value": session.run(values)})
        plain = lambda row: {k: {n: v.tolist() for n, v in x.items()} for k, x in row.items()}
        return {
            "names": names,
            "tensors": {n: [t.name for t in pair] for n, pair in pairs.items() if n in ("accuracy", "precision")},
            "rows": [plain(row) for row in rows],
        }


with open(os.path.join(os.path.dirname(__file__), "..", "metrics.json"), "w") as file:
    json.dump({"batches": BATCHES, "plain": run(False), "weighted": run(True)}, file)
    file.write("\n")
