"""Records of tf.train.SequenceExample and what TensorFlow parses of them. See recorder.py."""

import base64
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

from recorder import plain

train = tf.train


def feature(values):
    if values and isinstance(values[0], str):
        return train.Feature(bytes_list=train.BytesList(value=[v.encode() for v in values]))
    if values and isinstance(values[0], float):
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values)) if values else train.Feature()


def record(context, lists):
    return train.SequenceExample(
        context=train.Features(feature={k: feature(v) for k, v in context.items()}),
        feature_lists=train.FeatureLists(feature_list={k: train.FeatureList(feature=[feature(v) for v in steps]) for k, steps in lists.items()}),
    ).SerializeToString(deterministic=True)


RECORDS = [
    record({"label": [3], "words": ["a", "bc"], "box": [0.5, 1.0]}, {"ids": [[1], [2], [3]], "pairs": [[0.5, 1.5], [2.5, 3.5]], "tags": [["x", "y"], [], ["z"]]}),
    record({"label": [-1], "words": [], "box": [2.0, 4.0]}, {"ids": [[7]], "pairs": [], "tags": [["w"]]}),
    record({"label": [2**40], "box": [0.0, -1.0]}, {"ids": []}),
]
io = tf.io
CONTEXT = {"label": io.FixedLenFeature([], tf.int64), "words": io.VarLenFeature(tf.string), "box": io.FixedLenFeature([2], tf.float32), "none": io.FixedLenFeature([1], tf.float32, [9.0]), "rows": io.RaggedFeature(tf.int64, "label")}
CONTEXT.pop("rows")
LISTS = {"ids": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True), "pairs": io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True), "tags": io.VarLenFeature(tf.string)}
RAGGED = {"tags": io.RaggedFeature(tf.string), "ids": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
batch = io.parse_sequence_example(RECORDS, CONTEXT, LISTS)
told = {
    "records": [base64.b64encode(r).decode() for r in RECORDS],
    "batch": [plain(part) for part in batch],
    "ragged": [plain(part) for part in io.parse_sequence_example(RECORDS, {"label": io.RaggedFeature(tf.int64)}, RAGGED)],
    "single": [[plain(part) for part in io.parse_single_sequence_example(r, CONTEXT, LISTS)] for r in RECORDS],
    "singleRagged": [[plain(part) for part in io.parse_single_sequence_example(r, None, RAGGED)] for r in RECORDS],
}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "sequences.json"), "w") as f:
    json.dump(told, f)
