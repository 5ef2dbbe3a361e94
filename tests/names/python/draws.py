"""Functions of `tf.random` whose numbers are TensorFlow's."""

import numpy as np
import tensorflow as tf
from goldens import case


def drawn(seed, method, *args):
    """What a generator draws in two calls, and its state then."""
    g = tf.random.Generator.from_seed(seed)
    first = getattr(g, method)(*args)
    return [first, getattr(g, method)(*args), g.state.read_value()]


def write():
    for seed in [np.array([1, 2], np.int32), np.array([-7, 2**31 - 1], np.int32), np.array([2**40, -3], np.int64)]:
        case("random.split", lambda s: tf.random.split(s, 3), [seed], ours=[seed, 3])
        case("random.foldIn", lambda s: tf.random.fold_in(s, 5), [seed], ours=[seed, 5])
        case("random.foldIn", tf.random.fold_in, [seed, np.array(2**33, np.int64)])
    for seed in [1, -3, 2**40 + 7]:
        for dtype in ["float32", "float64", "float16"]:
            d = tf.as_dtype(dtype)
            case("normal", lambda: drawn(seed, "normal", [5], 1.0, 2.0, d), [], ours=[seed, [5], 1, 2, dtype])
            case("truncatedNormal", lambda: drawn(seed, "truncated_normal", [2, 3], 0.5, 3.0, d), [], ours=[seed, [2, 3], 0.5, 3, dtype])
            case("uniform", lambda: drawn(seed, "uniform", [3, 2], -1.0, 3.0, d), [], ours=[seed, [3, 2], -1, 3, dtype])
        for dtype in ["int32", "int64"]:
            d = tf.as_dtype(dtype)
            case("uniform", lambda: drawn(seed, "uniform", [4], -5, 100, d), [], ours=[seed, [4], -5, 100, dtype])
        for dtype in ["int32", "int64", "uint32", "uint64"]:
            case("uniformFullInt", lambda: drawn(seed, "uniform_full_int", [3], tf.as_dtype(dtype)), [], ours=[seed, [3], dtype])
        case("makeSeeds", lambda: drawn(seed, "make_seeds", 3), [], ours=[seed, 3])
        case("skip", lambda: drawn(seed, "skip", 11), [], ours=[seed, 11])
        case("split", lambda: [x if not isinstance(x, list) else [g.state.read_value() for g in x] for x in drawn(seed, "split", 2)], [], ours=[seed, 2])
