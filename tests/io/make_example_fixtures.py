# What TensorFlow makes of records of tf.train.Example, for tests/io/examples_test.ts.
#
#   python tests/io/make_example_fixtures.py     (a Python that has TensorFlow)
#
# Writes fixtures/examples.json: records in base64, and for each case the features that are asked for and what comes of it.

import base64
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

train, io = tf.train, tf.io


def example(**features):
    def feature(values):
        if not values:
            return train.Feature()
        if isinstance(values[0], bytes):
            return train.Feature(bytes_list=train.BytesList(value=values))
        if isinstance(values[0], int):
            return train.Feature(int64_list=train.Int64List(value=values))
        return train.Feature(float_list=train.FloatList(value=values))

    made = train.Example(features=train.Features(feature={k: feature(v) for k, v in features.items()}))
    return made.SerializeToString(deterministic=True)


RECORDS = {
    "a": example(x=[1.0, 2.0], n=[3], s=[b"p", "q€".encode()]),
    "b": example(x=[5.0, -0.5], n=[4, -5], s=[]),
    "c": example(n=[2**62, -(2**63), 0, 127, 128, 2**31, 2**32, -1]),
    "d": example(ix=[3, 1], iy=[0, 2], v=[1.0, 2.0]),
    "e": example(ix=[2], iy=[1], v=[5.0]),
    "empty": example(),
    "nothing": b"",
    "garbage": b"abcdef",
    "cut": example(n=[300])[:-1],
}
FIXED, VAR, SEQUENCE, RAGGED = "FixedLenFeature", "VarLenFeature", "FixedLenSequenceFeature", "RaggedFeature"
SPARSE = "SparseFeature"
# Records, features, whether it is one record, and the names.
CASES = [
    ("aab", {"x": [FIXED, [2], "float32"]}),
    ("aab", {"x": [FIXED, [2, 1], "float32"]}),
    ("a", {"n": [FIXED, [], "int64"], "s": [FIXED, [2], "string"]}),
    ("a", {"n": [FIXED, [], "int64"], "s": [FIXED, [2], "string"]}, True),
    ("c", {"n": [VAR, "int64"]}, True),
    ("c", {"n": [FIXED, [8], "int64"]}),
    ("abc", {"n": [VAR, "int64"], "s": [VAR, "string"], "x": [VAR, "float32"], "z": [VAR, "float32"]}),
    ("abc", {"n": [RAGGED, "int64"], "s": [RAGGED, "string"], "x": [RAGGED, "float32"], "z": [RAGGED, "int64"]}),
    ("a", {"n": [RAGGED, "int64"], "s": [RAGGED, "string"], "z": [RAGGED, "float32"]}, True),
    ("ab", {"other": [RAGGED, "int64", "n"]}),
    ("abc", {"n": [SEQUENCE, [], "int64"], "x": [SEQUENCE, [2], "float32"]}),
    ("abc", {"n": [SEQUENCE, [], "int64", -1], "s": [SEQUENCE, [], "string", "none"]}),
    ("b", {"n": [SEQUENCE, [], "int64"]}, True),
    (["a", "empty", "nothing"], {"x": [FIXED, [2], "float32", [7.0, 8.0]]}),
    ("b", {"s": [FIXED, [1], "string", ["z"]]}),
    ("", {"n": [FIXED, [], "int64"], "s": [VAR, "string"], "r": [RAGGED, "int64"]}),
    (["d", "e", "empty"], {"s": [SPARSE, "ix", "v", "float32", 10]}),
    (["d", "e", "empty"], {"s": [SPARSE, "ix", "v", "float32", 10, True]}),
    (["d", "e"], {"s": [SPARSE, ["iy", "ix"], "v", "float32", [5, 6]], "ix": [VAR, "int64"]}),
    (["d"], {"s": [SPARSE, ["ix"], "iy", "int64", [4]], "t": [SPARSE, "iy", "v", "float32", 3]}, True),
    ("", {"s": [SPARSE, "ix", "v", "float32", 4]}),
    # What is refused.
    (["d", "e"], {"s": [SPARSE, "ix", "v", "int64", 10]}),
    (["a", "empty"], {"x": [FIXED, [2], "float32"]}),
    (["a", "empty"], {"x": [FIXED, [2], "float32"]}, False, ["first", "second"]),
    (["empty"], {"x": [FIXED, [2], "float32"]}, True),
    ("ab", {"n": [FIXED, [], "int64"]}),
    ("ab", {"n": [FIXED, [2], "int64"]}, False, ["first", "second"]),
    ("a", {"n": [FIXED, [], "float32"]}),
    ("a", {"n": [FIXED, [], "float32"]}, True),
    ("a", {"n": [VAR, "float32"]}),
    ("a", {"n": [VAR, "float32"]}, True),
    ("a", {"n": [RAGGED, "float32"]}),
    ("a", {"n": [SEQUENCE, [], "float32"]}),
    ("ab", {"n": [SEQUENCE, [2], "int64"]}),
    ("ab", {"x": [FIXED, [1], "float32"]}),
    (["garbage"], {"n": [FIXED, [], "int64"]}),
    (["a", "garbage"], {"n": [VAR, "int64"]}),
    (["garbage"], {"n": [FIXED, [], "int64"]}, True),
    ("aa", {"n": [FIXED, [], "int64"]}, False, ["first"]),
]


def feature(kind, *args):
    if kind == VAR:
        return io.VarLenFeature(tf.as_dtype(args[0]))
    if kind == SPARSE:
        keys, value, dtype, size, *in_order = args
        return io.SparseFeature(keys, value, tf.as_dtype(dtype), size, *in_order)
    if kind == RAGGED:
        return io.RaggedFeature(tf.as_dtype(args[0]), *args[1:])
    shape, dtype, *default = args
    more = {"default_value": default[0]} if default else {}
    if kind == SEQUENCE:
        more["allow_missing"] = True
    return getattr(io, kind)(shape, tf.as_dtype(dtype), **more)


def plain(value):
    if isinstance(value, tf.RaggedTensor):
        return {"ragged": texts(value.to_list())}
    if isinstance(value, tf.SparseTensor):
        return {"sparse": [plain(t) for t in (value.indices, value.values, value.dense_shape)]}
    return {"shape": value.shape.as_list(), "dtype": value.dtype.name, "values": texts(value.numpy().tolist())}


def texts(value):
    if isinstance(value, list):
        return [texts(v) for v in value]
    # int64 has more digits than numbers of JSON.
    return value.decode() if isinstance(value, bytes) else str(value) if isinstance(value, int) else value


def outcome(names, features, single=False, called=None):
    records = [RECORDS[name] for name in names]
    asked = {name: feature(*args) for name, args in features.items()}
    try:
        if single:
            out = io.parse_single_example(records[0], asked)
        else:
            out = io.parse_example(tf.constant(records, tf.string, [len(records)]), asked, called)
        return {"out": {name: plain(value) for name, value in out.items()}}
    except tf.errors.InvalidArgumentError as e:
        return {"error": str(e).split("}} ", 1)[-1].removesuffix(" [Op:ParseExampleV2]")}


cases = []
for records, features, *more in CASES:
    single = more[0] if more else False
    cases.append({
        "records": list(records), "features": features, "single": single,
        "names": more[1] if len(more) > 1 else None, **outcome(records, features, *more),
    })
path = pathlib.Path(__file__).parent / "fixtures" / "examples.json"
encoded = {name: base64.b64encode(record).decode() for name, record in RECORDS.items()}
path.write_text(json.dumps({"records": encoded, "cases": cases}, ensure_ascii=False, separators=(",", ":")) + "\n")
