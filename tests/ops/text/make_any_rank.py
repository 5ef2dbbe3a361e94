"""Writes any_rank.json: what TensorFlow 2.21 makes of strings of several ranks. Bytes are written as characters of Latin 1."""

import json
import pathlib

import tensorflow as tf

S = tf.strings
INPUTS = {
    "scalar": tf.constant("aé b"),
    "vector": tf.constant(["a b", "c"]),
    "matrix": tf.constant([["a b"], ["c"]]),
    "rank 3": tf.constant([[["a b", "é"]], [["c", ""]]]),
    "ragged": tf.ragged.constant([["Ab", " c"], ["1d"]]),
    "ragged twice": tf.ragged.constant([[["a", "b"], ["c"]], [[]], [["é"]]]),
    "no rows": tf.zeros([0, 2], tf.string),
}
FUNCTIONS = {
    "split": S.split,
    "splitB": lambda x: S.split(x, "b", 1),
    "bytes": S.bytes_split,
    "decode": lambda x: S.unicode_decode(x, "UTF-8"),
    "offsets": lambda x: S.unicode_decode_with_offsets(x, "UTF-8")[1],
    "letters": lambda x: S.unicode_split(x, "UTF-8"),
    "encode": lambda x: S.unicode_encode(S.unicode_decode(x, "UTF-8"), "UTF-8"),
    "script": lambda x: S.unicode_script(S.unicode_decode(x, "UTF-8")),
    "join": lambda x: S.join([x, "-", x]),
    "substr": lambda x: S.substr(x, 0, 1),
    "regex": lambda x: S.regex_replace(x, "[ab]", "x"),
    "strong": lambda x: S.to_hash_bucket_strong(x, 10, [1, 2]),
    "transcode": lambda x: S.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
    "reduceAll": lambda x: S.reduce_join(x, separator="-"),
    "reduceLast": lambda x: S.reduce_join(x, -1, separator="-"),
    "reduceFirst": lambda x: S.reduce_join(x, 0, separator="-"),
    "keep": lambda x: S.reduce_join(x, -1, keepdims=True, separator="-"),
}


def plain(value):
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value.decode("latin1") if isinstance(value, bytes) else value


def read(value):
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    array = value.numpy()
    return plain(array.tolist() if hasattr(array, "tolist") else array)


def result(fn, x):
    try:
        return read(fn(x))
    except tf.errors.OpError as error:
        return f"error {type(error).__name__}"


goldens = {name: {kind: result(fn, x) for kind, x in INPUTS.items()} for name, fn in FUNCTIONS.items()}
path = pathlib.Path(__file__).with_name("any_rank.json")
path.write_text(json.dumps(goldens, ensure_ascii=False))
