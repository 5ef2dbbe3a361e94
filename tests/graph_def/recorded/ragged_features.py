"""Ragged features of records, with partitions of every kind, nested too."""
import json

import numpy as np
import tensorflow as tf
from recorder import CASES, record

S = "ragged_features"
R = tf.io.RaggedFeature


def example(**features):
    kinds = {np.float32: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
             int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
             bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))}
    return tf.train.Example(features=tf.train.Features(
        feature={k: kinds[kind](v) for k, (kind, v) in features.items()})).SerializeToString()


RECORDS = np.array([
    example(v=(np.float32, [1, 2, 3]), s=(int, [0, 1, 3]), n=(int, [2, 1]), w=(bytes, [b"a", b"b", b"c"]), i=(int, [0, 0, 2]), u=(int, [0, 1, 2, 3]), o=(int, [0, 2, 2])),
    example(v=(np.float32, []), s=(int, [0]), n=(int, []), w=(bytes, []), i=(int, []), u=(int, []), o=(int, [0])),
    example(v=(np.float32, [4, 5]), s=(int, [0, 0, 2]), n=(int, [0, 2]), w=(bytes, [b"d", b""]), i=(int, [1, 1]), u=(int, [4, 5]), o=(int, [0, 0, 2])),
], object)
FORMS = {
    "values alone": R(tf.float32, "v"),
    "row splits": R(tf.float32, "v", [R.RowSplits("s")]),
    "row lengths": R(tf.float32, "v", [R.RowLengths("n")]),
    "row ids": R(tf.string, "w", [R.ValueRowIds("i")]),
    "row starts": R(tf.int64, "u", [R.UniformRowLength(2)]),
    "nested rows of one length": R(tf.int64, "u", [R.UniformRowLength(2), R.UniformRowLength(1)]),
    "splits of lengths": R(tf.float32, "v", [R.RowSplits("o"), R.RowLengths("n")]),
    "wide splits": R(tf.float32, "v", [R.RowSplits("s")], row_splits_dtype=tf.int64),
}


def parts(x):
    return [x.flat_values, *x.nested_row_splits] if isinstance(x, tf.RaggedTensor) else [x]


for name, form in FORMS.items():
    for shapes in (None, [[None]]):
        record(S, f"{name} {shapes}", lambda r: parts(tf.io.parse_example(r, {"x": form})["x"]), [RECORDS], shapes)
    record(S, f"{name} of one record", lambda r: parts(tf.io.parse_single_example(r, {"x": form})["x"]), [RECORDS[0]])
wide = lambda r: [t for k, x in sorted(tf.io.parse_example(r, {k: f for k, f in FORMS.items() if k != "wide splits"}).items()) for t in parts(x)]
record(S, "all at once", wide, [RECORDS])
lists = tf.train.FeatureLists(feature_list={"l": tf.train.FeatureList(feature=[
    tf.train.Feature(int64_list=tf.train.Int64List(value=v)) for v in ([1, 2], [], [3])])})
SEQUENCE = tf.train.SequenceExample(feature_lists=lists, context=tf.train.Features(
    feature={"c": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2]))})).SerializeToString()
SEQUENCES = np.array([SEQUENCE, tf.train.SequenceExample().SerializeToString()], object)


def sequences(r):
    context, features, lengths = tf.io.parse_sequence_example(
        r, {"c": R(tf.float32)}, {"l": R(tf.int64)})
    return parts(context["c"]) + parts(features["l"])


record(S, "ragged lists of sequences", sequences, [SEQUENCES], [[None]])
CASES[S] = [c for c in CASES[S] if len(json.dumps(c, separators=(",", ":"))) < 14000]
