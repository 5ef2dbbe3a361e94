"""Ragged tensors as variants: what RaggedTensorToVariant and RaggedTensorFromVariant make, alone and in loops."""
import numpy as np
import tensorflow as tf
from recorder import raw, record

S = "ragged_variants"
f32 = np.float32
VALUES = np.arange(6, dtype=f32)
SPLITS = np.array([0, 2, 2, 6])
EVEN = np.array([0, 2, 4, 6])


def rows(splits, values, batched=True):
    return raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values, batched_input=batched)


def back(v, t, out, inner=-1, splits=tf.int64):
    r = raw.RaggedTensorFromVariant(
        encoded_ragged=v, input_ragged_rank=inner, output_ragged_rank=out, Tvalues=t, Tsplits=splits)
    return list(r.output_nested_splits) + [r.output_dense_values]


for dtype in (np.float32, np.int64, np.bool_, np.complex64, object):
    values = VALUES.astype(dtype) if dtype is not object else np.array([b"a", b"", b"cde", b"\xff", b"e", b"f"], object)
    tft = tf.string if dtype is object else tf.as_dtype(dtype)
    for stype in (np.int64, np.int32):
        st = tf.as_dtype(stype)
        record(S, f"batched {tft.name} {st.name}",
               lambda s, v: back(rows([s], v), tft, 1, splits=st), [SPLITS.astype(stype), values])
for shapes, what in ((None, "known"), ([None, None], "unknown rank"), ([[None], [None]], "unknown extents")):
    record(S, f"whole, {what}", lambda s, v: back(rows([s], v, False), tf.float32, 1, 1), [SPLITS, VALUES], shapes)
    record(S, f"rows of pairs, {what}", lambda s, v: back(rows([s], v), tf.float32, 1),
           [SPLITS, VALUES.repeat(2).reshape(6, 2)], shapes and [shapes[0], shapes[1] and [None, None]])
OUTER = np.array([0, 0, 3])
record(S, "two ragged dimensions by rows", lambda a, b, v: back(rows([a, b], v), tf.float32, 2), [OUTER, SPLITS, VALUES])
record(S, "two ragged dimensions whole", lambda a, b, v: back(rows([a, b], v, False), tf.float32, 2, 2), [OUTER, SPLITS, VALUES])
record(S, "one row", lambda a, b, v: back(rows([a, b], v)[1], tf.float32, 1, 1), [OUTER, SPLITS, VALUES])
record(S, "rows of dense values", lambda v: back(rows([], v), tf.float32, 1), [VALUES.reshape(3, 2)])
record(S, "dense values whole", lambda v: back(rows([], v, False), tf.float32, 0), [VALUES.reshape(3, 2)])
record(S, "no rows", lambda s, v: back(rows([s], v), tf.float32, 1), [np.array([0]), VALUES[:0]])
record(S, "variants in a matrix", lambda s, v: back(tf.reshape(rows([s], v), [2, 2]), tf.float32, 2),
       [np.array([0, 2, 2, 5, 6]), VALUES])
grad = lambda v, s, n: raw.RaggedTensorToVariantGradient(encoded_ragged_grad=v, row_splits=s, dense_values_shape=n, Tvalues=tf.float32)
record(S, "gradient of rows", lambda s, v: [grad(rows([s], v), s, tf.shape(v))], [SPLITS, VALUES])
record(S, "gradient of pairs", lambda s, v: [grad(rows([s], v), s, tf.shape(v))], [SPLITS, VALUES.repeat(2).reshape(6, 2)])
record(S, "gradient of the whole", lambda s, v: [grad(rows([s], v, False), s, tf.shape(v))], [SPLITS, VALUES])
record(S, "gradient of dense rows", lambda v: [grad(rows([], v), tf.constant(0, tf.int64), tf.shape(v))], [VALUES.reshape(3, 2)])
# Errors.
record(S, "splits that begin late", lambda s, v: [rows([s], v)], [np.array([1, 6]), VALUES])
record(S, "splits that fall", lambda s, v: back(rows([s], v), tf.float32, 1), [np.array([0, 4, 2, 6]), VALUES])
record(S, "splits beyond the values", lambda s, v: back(rows([s], v), tf.float32, 1), [np.array([0, 4, 9]), VALUES])
record(S, "another dtype", lambda s, v: back(rows([s], v), tf.int32, 1), [SPLITS, VALUES])
record(S, "another dtype of splits", lambda s, v: back(rows([s], v, False), tf.float32, 1, 1, tf.int32), [SPLITS, VALUES])
record(S, "another rank", lambda s, v: back(rows([s], v), tf.float32, 2), [SPLITS, VALUES])
record(S, "a rank below that of the variants", lambda s, v: back(rows([s], v), tf.float32, 0), [SPLITS, VALUES])


def ragged(s, v):
    return tf.RaggedTensor.from_row_splits(v, s, validate=False)


def parts(r):
    return [r.values, r.row_splits] if r.ragged_rank == 1 else [r.flat_values, *r.nested_row_splits]


record(S, "map_fn to numbers", lambda s, v: [tf.map_fn(tf.reduce_sum, ragged(s, v), fn_output_signature=tf.float32)],
       [SPLITS, VALUES])
record(S, "map_fn to ragged rows", lambda s, v: parts(tf.map_fn(
    lambda x: x[1:] * 2, ragged(s, v), fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, 0))), [SPLITS, VALUES])
record(S, "map_fn from dense to ragged", lambda n: parts(tf.map_fn(
    tf.range, n, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))), [np.array([3, 0, 2], np.int32)])
record(S, "map_fn over two ragged dimensions", lambda a, b, v: parts(tf.map_fn(
    lambda x: tf.RaggedTensor.from_row_splits(x.values + 1, x.row_splits, validate=False),
    tf.RaggedTensor.from_nested_row_splits(v, [a, b], validate=False),
    fn_output_signature=tf.RaggedTensorSpec([None, None], tf.float32, 1))), [OUTER, SPLITS, VALUES])
record(S, "map_fn of texts", lambda s, v: parts(tf.map_fn(
    lambda x: tf.strings.upper(x), ragged(s, v), fn_output_signature=tf.RaggedTensorSpec([None], tf.string, 0))),
    [SPLITS, np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object)])
record(S, "map_fn of unknown rows", lambda s, v: parts(tf.map_fn(
    lambda x: x * x, ragged(s, v), fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, 0))),
    [SPLITS, VALUES], [[None], [None]])
slope = lambda y, x: tf.gradients(y, x)[0]
record(S, "gradient within the graph", lambda s, v: [slope(tf.map_fn(
    lambda x: tf.reduce_sum(x * x), ragged(s, v), fn_output_signature=tf.float32), v)], [EVEN, VALUES])
record(S, "gradient of ragged rows within the graph", lambda s, v: [slope(tf.map_fn(
    lambda x: x * x, ragged(s, v), fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, 0)).values, v)], [EVEN, VALUES])
