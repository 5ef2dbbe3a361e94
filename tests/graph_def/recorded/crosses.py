"""Crossed features: SparseCross, SparseCrossV2, SparseCrossHashed and RaggedCross."""
import numpy as np
import tensorflow as tf
from recorder import raw, record

S = "crosses"
AT = np.array([[0, 0], [0, 1], [2, 0]])
TEXTS = np.array([b"a", b"bc", b"\xc3\xa4"], object)
NUMBERS = np.array([3, -4, 2**40])
SHAPE = np.array([3, 2])
DENSE = np.array([[b"x", b"y"], [b"z", b""], [b"q", b"r"]], object)
COUNTS = np.array([[1], [-2], [3]])
SALT = np.array([5, -77])


def of_sparse(op, sparse=(), dense=(), **more):
    r = op(indices=[s[0] for s in sparse], values=[s[1] for s in sparse], shapes=[s[2] for s in sparse],
           dense_inputs=list(dense), **more)
    return list(r)


SHAPES = [None, [None, 2], [None], [2], [None, None]]
for strong in (False, True):
    for buckets in (0, 10):
        record(S, f"hashed {strong} {buckets}", lambda i, v, s, d: of_sparse(
            raw.SparseCrossHashed, [(i, v, s)], [d], num_buckets=buckets, strong_hash=strong, salt=SALT),
            [AT, TEXTS, SHAPE, DENSE])
        # TensorFlow reads numbers as texts where it hashes them with a key.
        if strong:
            continue
        record(S, f"hashed numbers {buckets}", lambda i, v, s, d: of_sparse(
            raw.SparseCrossHashed, [(i, v, s)], [d], num_buckets=buckets, strong_hash=strong, salt=SALT),
            [AT, NUMBERS, SHAPE, COUNTS], SHAPES[1:])
record(S, "hashed salt of three", lambda d: of_sparse(
    raw.SparseCrossHashed, [], [d], num_buckets=3, strong_hash=True, salt=[1, 2, 3]), [DENSE])
record(S, "hashed unequal rows", lambda d, e: of_sparse(
    raw.SparseCrossHashed, [], [d, e], num_buckets=3, strong_hash=False, salt=SALT), [DENSE, COUNTS[:2]], [None, None])
record(S, "joined", lambda i, v, s, d: of_sparse(raw.SparseCrossV2, [(i, v, s)], [d], sep="-"), [AT, NUMBERS, SHAPE, DENSE])
record(S, "of version 1", lambda i, v, s, d: of_sparse(
    raw.SparseCross, [(i, v, s)], [d], hashed_output=True, num_buckets=7, hash_key=956888297470, out_type=tf.int64,
    internal_type=tf.string), [AT, TEXTS, SHAPE, DENSE])


def of_ragged(ragged=(), sparse=(), dense=(), order="", out=tf.string, buckets=0, splits=tf.int64):
    r = raw.RaggedCross(
        ragged_values=[v for v, _ in ragged], ragged_row_splits=[s for _, s in ragged],
        sparse_indices=[s[0] for s in sparse], sparse_values=[s[1] for s in sparse], sparse_shape=[s[2] for s in sparse],
        dense_inputs=list(dense), input_order=order, hashed_output=out == tf.int64, num_buckets=buckets,
        hash_key=956888297470, out_values_type=out, out_row_splits_type=splits)
    return list(r)


SPLITS = np.array([0, 1, 1, 3])
for out in (tf.string, tf.int64):
    for order in ("RSD", "DRS", "SDR"):
        record(S, f"ragged {out.name} {order}", lambda v, p, i, w, s, d: of_ragged(
            [(v, p)], [(i, w, s)], [d], order, out), [TEXTS, SPLITS, AT, NUMBERS, SHAPE, DENSE])
record(S, "ragged buckets", lambda v, p, w, q: of_ragged(
    [(v, p), (w, q)], order="RR", out=tf.int64, buckets=100),
    [TEXTS, SPLITS, NUMBERS, np.array([0, 2, 2, 3])], [[None], [None], None, [None]])
record(S, "ragged alone", lambda v, p: of_ragged([(v, p)], order="R"), [TEXTS, SPLITS])
record(S, "ragged bad splits", lambda v, p: of_ragged([(v, p)], order="R"), [TEXTS, np.array([0, 2, 1, 3])])
record(S, "ragged late splits", lambda v, p: of_ragged([(v, p)], order="R"), [TEXTS, np.array([1, 3])])
record(S, "tf.ragged.cross_hashed", lambda v, p, d: [t for r in [tf.ragged.cross_hashed(
    [tf.RaggedTensor.from_row_splits(v, p, validate=False), d], 50)] for t in (r.values, r.row_splits)],
    [TEXTS, SPLITS, DENSE], [[None], [None], [None, None]])
