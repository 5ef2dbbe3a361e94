"""Functions of `tf.sets`."""

import numpy as np
import tensorflow as tf
from goldens import case

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "string"]


def sparse(dense):
    """The values of rows that are not 0."""
    return tf.sparse.from_dense(tf.constant(dense))


def write():
    for dtype in KINDS:
        if dtype == "string":
            a, b = np.array([["b", "a", "b"], ["c", "é", "a"]]), np.array([["a", "z"], ["c", "é"]])
        else:
            a, b = np.array([[3, 1, 3], [5, 4, 1]]).astype(dtype), np.array([[1, 9], [5, 4]]).astype(dtype)
        for name in ["difference", "intersection", "union"]:
            case(f"sets.{name}", getattr(tf.sets, name), [a, b])
    a = np.array([[[1, 2, 0], [3, 3, 1]], [[0, 0, 0], [4, 5, 4]]], np.int64)
    b = np.array([[[2, 9], [3, 1]], [[7, 8], [0, 5]]], np.int64)
    for name in ["difference", "intersection", "union"]:
        fn = getattr(tf.sets, name)
        case(f"sets.{name}", fn, [sparse(a), sparse(b)])
        case(f"sets.{name}", fn, [tf.constant(a), sparse(b)])
        case(f"sets.{name}", fn, [sparse(a), tf.constant(b)])
    case("sets.difference", lambda a, b: tf.sets.difference(a, b, False), [a, b], ours=[a, b, False])
    case("sets.difference", lambda a, b: tf.sets.difference(a, b, False), [sparse(a), sparse(b)], ours=[sparse(a), sparse(b), False])
    for dtype in KINDS[:-1]:
        case("sets.size", tf.sets.size, [sparse(np.array([[3, 1, 3], [0, 0, 0], [5, 4, 1]]).astype(dtype))])
    case("sets.size", tf.sets.size, [sparse(a)])
