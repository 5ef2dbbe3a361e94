"""What TensorFlow's ops give for ragged tensors.

    python tests/composites/make_ragged_ops.py

Writes fixtures/ragged_ops.json: calls by a function's name, the names of its operands and its options, and the result of each as nested
lists, or that TensorFlow refuses it. Needs TensorFlow 2.21.
"""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

R = tf.ragged.constant
OPERANDS = {
    "rows": R([[1.0, 2.0], [], [3.0, 4.0, 5.0]]),
    "others": R([[6.0], [7.0, 8.0], [9.0]]),
    "single": R([[1.0, 2.0, 3.0]]),
    "columns": R([[1.0], [2.0], [3.0]]),
    "ints": R([[2, 0], [1]], dtype=tf.int32),
    "places": R([[1, 0], [], [2, 0]], dtype=tf.int32),
    "flags": R([[True, False], [], [True, True, True]]),
    "words": R([["ab", "b"], [], ["aab"]]),
    "deep": R([[[1.0], []], [], [[2.0, 3.0], [4.0], [5.0, 6.0, 7.0]]]),
    "other_deep": R([[[8.0], [9.0, 10.0]], [], [[11.0], [], [12.0]]]),
    "deep_places": R([[[0], []], [], [[1, 0], [0], [2]]], dtype=tf.int32),
    "deep_flags": R([[[True], []], [], [[False, True], [False], [True, True, False]]]),
    "deepest": R([[[[1.0, 2.0], []], [[3.0]]], [[[4.0, 5.0, 6.0]]]]),
    "pairs": tf.RaggedTensor.from_row_splits([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 1, 3]),
    "deep_pairs": tf.RaggedTensor.from_nested_row_splits(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0, 2, 2, 3], [0, 1, 1, 3]]
    ),
    "ones": R([[[[1.0]]], [[[2.0]]]]),
    "one_pairs": tf.RaggedTensor.from_row_splits([[[1.0], [2.0]], [[3.0], [4.0]]], [0, 1, 2]),
    "matrix": tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "cube": tf.reshape(tf.range(12.0), [3, 2, 2]),
    "vector": tf.constant([10.0, 20.0, 30.0]),
    "index": tf.constant(1),
    "indices": tf.constant([0, 0]),
    "firsts": tf.constant([2, 0, 2]),
    "table": tf.constant([[2, 0], [0, 2]]),
    "box": tf.constant([[[0], [2]], [[1], [0]]]),
    "each": tf.constant([[0], [0], [1]]),
    "batch": tf.constant([0, 0, 1]),
    "column": tf.constant([[10.0], [20.0], [30.0]]),
    "mask": tf.constant([[True], [False], [True]]),
    "even": R([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "boxes": tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(12.0), [6, 2]), [0, 2, 3, 6]),
    "wide": tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(12.0), [4, 3]), [0, 2, 2, 4]),
    "even_deep": R([[[1.0, 2.0], [3.0, 4.0]], [[5.0]], [[6.0, 7.0, 8.0]]]),
    "by_even": R([[[1.0], [2.0]], [[3.0, 4.0]], [[5.0], [6.0], [7.0]]]),
    "fours": tf.RaggedTensor.from_row_splits(
        tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(12.0), [6, 2]), [0, 2, 3, 6]), [0, 1, 3]
    ),
    "by_fours": tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(12.0), [3, 2, 2]), [0, 1, 3]),
    "at_rows": tf.constant([[2, 1], [0, 0]]),
    "at_deep": tf.constant([[2, 1, 0], [0, 0, 0]]),
    "at_one": tf.constant([2, 1]),
    "at_cube": tf.constant([[[2, 0], [0, 0]], [[2, 2], [0, 1]]]),
    "at_ragged": tf.RaggedTensor.from_row_splits([[2, 1], [0, 0], [2, 0]], [0, 1, 3]),
    "at_first": tf.constant([[2], [0]]),
}

FUNCTIONS = {
    "gather": lambda xs, axis=0, batch=0: tf.gather(*xs, axis=axis, batch_dims=batch),
    "stack": lambda xs, axis=0: tf.stack(xs, axis),
    "concat": lambda xs, axis=0: tf.concat(xs, axis),
    "expandDims": lambda xs, axis=0: tf.expand_dims(xs[0], axis),
    "squeeze": lambda xs, axis=None: tf.squeeze(xs[0], axis),
    "tile": lambda xs, reps=None: tf.tile(xs[0], reps),
    "reverse": lambda xs, axis=None: tf.reverse(xs[0], axis),
    "rank": lambda xs: tf.rank(xs[0]),
    "size": lambda xs: tf.size(xs[0]),
    "zerosLike": lambda xs: tf.zeros_like(xs[0]),
    "onesLike": lambda xs: tf.ones_like(xs[0]),
    "where": lambda xs: tf.where(*xs),
    "cast": lambda xs, dtype=None: tf.cast(xs[0], dtype),
    "oneHot": lambda xs, depth=3, axis=-1: tf.one_hot(xs[0], depth, axis=axis, dtype=tf.int32),
    "staticRegexReplace": lambda xs: tf.strings.regex_replace(xs[0], "a", "z"),
    "stringToHashBucketFast": lambda xs: tf.strings.to_hash_bucket_fast(xs[0], 100),
    "softmax": lambda xs, axis=-1: tf.nn.softmax(xs[0], axis),
    "cumsum": lambda xs, axis=0, exclusive=False, reverse=False: tf.cumsum(
        xs[0], axis, exclusive, reverse
    ),
    "split": lambda xs, sizes=1, axis=0: tf.split(xs[0], sizes, axis),
    "gatherND": lambda xs: tf.gather_nd(*xs),
    "reshape": lambda xs, shape=None: tf.reshape(xs[0], shape),
    "matMul": lambda xs, ta=False, tb=False: tf.matmul(*xs, transpose_a=ta, transpose_b=tb),
    **{
        name: lambda xs, axis=None, keep=False, name=name: getattr(tf, f"reduce_{name}")(
            xs[0], axis, keep
        )
        for name in ["sum", "mean", "prod", "max", "min", "any", "all"]
    },
}

CALLS = [
    *[["gather", ["rows", at], {}] for at in ["index", "indices", "firsts", "table", "box", "ints"]],
    *[["gather", ["deep", at], {}] for at in ["index", "firsts", "table", "places"]],
    *[["gather", ["pairs", at], {}] for at in ["index", "table", "ints"]],
    ["gather", ["matrix", "ints"], {}],
    ["gather", ["columns", "indices"], {"axis": 1}],
    ["gather", ["columns", "indices"], {"axis": -1}],
    ["gather", ["pairs", "indices"], {"axis": 2}],
    ["gather", ["pairs", "table"], {"axis": 2}],
    ["gather", ["one_pairs", "indices"], {"axis": 1}],
    ["gather", ["one_pairs", "indices"], {"axis": 2}],
    ["gather", ["one_pairs", "index"], {"axis": 2}],
    ["gather", ["ones", "indices"], {"axis": 2}],
    ["gather", ["ones", "indices"], {"axis": 3}],
    ["gather", ["matrix", "ints"], {"axis": 1}],
    ["gather", ["columns", "each"], {"batch": 1, "axis": 1}],
    ["gather", ["rows", "places"], {"batch": 1, "axis": 1}],
    ["gather", ["matrix", "places"], {"batch": 1, "axis": 1}],
    ["gather", ["others", "batch"], {"batch": 1, "axis": 1}],
    ["gather", ["deep", "deep_places"], {"batch": 2, "axis": 2}],
    ["gather", ["one_pairs", "ints"], {"batch": 1, "axis": 2}],
    ["gather", ["rows", "indices"], {"axis": 2}],
    ["gather", ["rows", "firsts"], {"batch": 2}],
    ["gather", ["rows", "places"], {"batch": 1, "axis": 0}],
    ["gather", ["rows", "table"], {"batch": 1, "axis": 1}],
    *[["stack", ["rows", "others"], {"axis": a}] for a in [0, 1, 2, -1, -2, 3, -4]],
    *[["stack", ["deep", "other_deep"], {"axis": a}] for a in [0, 1, 2, -1]],
    *[["stack", ["pairs", "pairs"], {"axis": a}] for a in [0, 1, 2, 3]],
    *[["stack", ["rows", "rows"], {"axis": a}] for a in [2, -1]],
    ["stack", ["rows", "matrix"], {"axis": 0}],
    ["stack", ["matrix", "rows", "others"], {"axis": 1}],
    ["stack", ["rows"], {"axis": 1}],
    ["stack", ["rows", "vector"], {"axis": 0}],
    ["stack", ["rows", "deep"], {"axis": 0}],
    ["stack", ["rows", "single"], {"axis": 0}],
    ["stack", ["rows", "single"], {"axis": 1}],
    *[["concat", ["rows", "others"], {"axis": a}] for a in [0, 1, -1, -2, 2]],
    *[["concat", ["deep", "other_deep"], {"axis": a}] for a in [0, 1, -1]],
    ["concat", ["deep", "deep"], {"axis": 2}],
    *[["concat", ["pairs", "pairs"], {"axis": a}] for a in [0, 1, 2]],
    ["concat", ["matrix", "rows"], {"axis": 0}],
    ["concat", ["rows", "matrix", "others"], {"axis": 1}],
    ["concat", ["deep", "cube"], {"axis": 0}],
    ["concat", ["deep", "cube"], {"axis": 1}],
    ["concat", ["pairs", "cube"], {"axis": 1}],
    ["concat", ["rows", "vector"], {"axis": 0}],
    ["concat", ["rows", "single"], {"axis": 1}],
    *[["expandDims", ["rows"], {"axis": a}] for a in [0, 1, 2, -1, -3, 3, -4]],
    *[["expandDims", ["deep"], {"axis": a}] for a in [0, 1, 2, 3, -2]],
    *[["expandDims", ["pairs"], {"axis": a}] for a in [1, 2, 3]],
    *[["squeeze", ["ones"], {"axis": a}] for a in [[1], [2], [3], [1, 2], [2, 3], [1, 2, 3], [-1]]],
    *[["squeeze", ["one_pairs"], {"axis": a}] for a in [[1], [3], [1, 3]]],
    *[["squeeze", [x], {"axis": a}] for x, a in [("single", [0]), ("columns", [1])]],
    ["squeeze", ["ones"], {"axis": [0]}],
    ["squeeze", ["rows"], {"axis": [1]}],
    ["squeeze", ["pairs"], {"axis": [2]}],
    ["squeeze", ["ones"], {"axis": [4]}],
    ["squeeze", ["ones"], {}],
    *[["tile", ["rows"], {"reps": r}] for r in [[1, 1], [2, 1], [1, 2], [3, 2], [0, 1], [1, 0]]],
    *[["tile", ["deep"], {"reps": r}] for r in [[2, 1, 1], [1, 2, 1], [1, 1, 2], [2, 3, 2]]],
    *[["tile", ["pairs"], {"reps": r}] for r in [[1, 1, 2], [2, 2, 2]]],
    ["tile", ["deep_pairs"], {"reps": [2, 1, 2, 2]}],
    *[["reverse", ["rows"], {"axis": a}] for a in [[0], [1], [0, 1], [-1], [], [2], [-3]]],
    *[["reverse", ["deep"], {"axis": a}] for a in [[0], [1], [2], [0, 2], [-2, -1]]],
    *[["reverse", ["pairs"], {"axis": a}] for a in [[2], [1, 2]]],
    *[[fn, [x], {}] for fn in ["rank", "size", "zerosLike", "onesLike"] for x in ["rows", "deep", "pairs"]],
    ["where", ["flags", "rows", "rows"], {}],
    ["where", ["mask", "rows", "rows"], {}],
    ["where", ["flags", "rows", "column"], {}],
    ["where", ["deep_flags", "deep", "deep"], {}],
    *[["cast", [x], {"dtype": "int32"}] for x in ["rows", "deep", "flags"]],
    *[["oneHot", ["places"], {"axis": a}] for a in [-1, 2]],
    ["oneHot", ["deep_places"], {}],
    ["oneHot", ["places"], {"axis": 1}],
    ["staticRegexReplace", ["words"], {}],
    ["stringToHashBucketFast", ["words"], {}],
    *[
        [fn, ["rows"], {"axis": a, "keep": k}]
        for fn in ["sum", "mean", "max"]
        for a in [None, 0, 1, -1, -2, [0, 1]]
        for k in [False, True]
    ],
    *[["sum", ["rows"], {"axis": a}] for a in [2, -3, [0, 2]]],
    *[
        [fn, ["deep"], {"axis": a, "keep": k}]
        for fn in ["sum", "prod", "max", "min"]
        for a in [0, 1, 2, -2, [0, 1], [0, 2], [-1, 1], [0, 1, 2]]
        for k in [False, True]
    ],
    *[["mean", ["deep"], {"axis": a}] for a in [0, 1, 2, [0, 2], [1, 2], None]],
    *[[fn, ["deepest"], {"axis": a}] for fn in ["sum", "mean"] for a in [0, 1, 2, 3, [1, 3], [0, 1], -4]],
    *[["sum", ["pairs"], {"axis": a}] for a in [0, 1, 2, [1, 2], [0, 2]]],
    *[["sum", ["deep_pairs"], {"axis": a}] for a in [0, 1, 2, 3]],
    *[["softmax", [x], {"axis": a}] for x, a in [("rows", -1), ("rows", 1), ("deep", 2), ("pairs", 1), ("pairs", -1)]],
    *[["cumsum", [x], {"axis": a}] for x, n in [("rows", 2), ("deep", 3), ("pairs", 3)] for a in [-1, *range(n)]],
    *[
        ["cumsum", ["rows"], {"axis": a, "exclusive": e, "reverse": r}]
        for a in [0, 1]
        for e, r in [(True, False), (False, True), (True, True)]
    ],
    ["cumsum", ["rows"], {"axis": 2}],
    *[["split", ["rows"], {"sizes": s}] for s in [1, 3, [1, 2], [0, 3], 2, [2, 2]]],
    *[["split", ["pairs"], {"sizes": s, "axis": 2}] for s in [2, [1, 1], [2, 0], 3]],
    *[["split", ["deep"], {"sizes": 3, "axis": a}] for a in [0, 1, 2, -3]],
    *[["gatherND", ["rows", x], {}] for x in ["at_rows", "at_one", "at_first", "at_ragged"]],
    *[["gatherND", ["deep", x], {}] for x in ["at_rows", "at_deep", "at_one", "at_first", "at_cube", "at_ragged"]],
    *[["gatherND", ["pairs", x], {}] for x in ["at_rows", "at_one", "at_first"]],
    ["gatherND", ["matrix", "at_ragged"], {}],
    ["gatherND", ["rows", "places"], {}],
    *[["reshape", [x], {"shape": s}] for x, s in [("rows", [5]), ("rows", [5, 1]), ("deep", [-1]), ("pairs", [2, 3])]],
    ["reshape", ["rows"], {"shape": [4]}],
    *[["matMul", ["even", x], {}] for x in ["even", "matrix"]],
    ["matMul", ["even", "even"], {"ta": True}],
    ["matMul", ["even", "matrix"], {"tb": True}],
    ["matMul", ["rows", "matrix"], {}],
    ["matMul", ["boxes", "cube"], {}],
    ["matMul", ["boxes", "cube"], {"tb": True}],
    ["matMul", ["cube", "boxes"], {}],
    ["matMul", ["cube", "boxes"], {"tb": True}],
    *[["matMul", ["boxes", "boxes"], o] for o in [{"ta": True}, {"tb": True}]],
    ["matMul", ["boxes", "boxes"], {}],
    *[["matMul", ["even_deep", x], {}] for x in ["by_even", "even_deep"]],
    ["matMul", ["even_deep", "even_deep"], {"ta": True}],
    ["matMul", ["even_deep", "even_deep"], {"tb": True}],
    ["matMul", ["deep", "deep"], {"tb": True}],
    ["matMul", ["fours", "by_fours"], {}],
    ["matMul", ["wide", "boxes"], {}],
    *[[fn, ["flags"], {"axis": a}] for fn in ["any", "all"] for a in [None, 0, 1]],
    *[[fn, ["deep_flags"], {"axis": a}] for fn in ["any", "all"] for a in [0, 1, 2, [0, 1]]],
]


def plain(value):
    """Lists of what a tensor holds; numbers that JSON lacks as text."""
    if isinstance(value, tf.RaggedTensor):
        return plain(value.to_list())
    if isinstance(value, tf.Tensor):
        return plain(value.numpy().tolist())
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def operand(value):
    if isinstance(value, tf.RaggedTensor):
        splits = [s.numpy().tolist() for s in value.nested_row_splits]
        return {"values": plain(value.flat_values), "dtype": value.dtype.name, "splits": splits}
    return {"values": plain(value), "dtype": value.dtype.name}


def outcome(fn, names, options):
    try:
        return {"result": plain(FUNCTIONS[fn]([OPERANDS[n] for n in names], **options))}
    except Exception as e:  # What TensorFlow refuses, it refuses with many classes.
        return {"error": type(e).__name__}


def main():
    cases = [
        {"fn": fn, "operands": names, "options": options, **outcome(fn, names, options)}
        for fn, names, options in CALLS
    ]
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
    found = {"operands": {k: operand(v) for k, v in OPERANDS.items()}, "cases": cases}
    with open(os.path.join(folder, "ragged_ops.json"), "w") as f:
        f.write("{\n\"operands\": {\n")
        f.write(",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found["operands"].items()))
        f.write("\n},\n\"cases\": [\n")
        f.write(",\n".join(json.dumps(c) for c in cases))
        f.write("\n]\n}\n")


main()
