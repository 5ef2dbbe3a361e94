"""Random graphs of ragged, sparse and looked-up values with branches, loops, calls and maps, drawn from one seed."""
import json
import os

import numpy as np
import tensorflow as tf
from recorder import CASES, raw, record

S = "random_graphs"


def variants(r, v, s, x):
    return tf.map_fn(lambda row: row * 2 + tf.cast(tf.size(row), v.dtype), tf.RaggedTensor.from_row_splits(v, s, validate=False),
                     fn_output_signature=tf.RaggedTensorSpec([None], v.dtype, 0)).values


def through_variant(r, v, s, x):
    e = raw.RaggedTensorToVariant(rt_nested_splits=[s], rt_dense_values=v, batched_input=True)
    e = tf.gather(e, tf.range(tf.shape(e)[0])[::-1])
    out = raw.RaggedTensorFromVariant(encoded_ragged=e, input_ragged_rank=-1, output_ragged_rank=1, Tvalues=v.dtype)
    return out.output_dense_values


def sparse(r, v, s, x):
    at, values, dims = raw.RaggedTensorToSparse(rt_nested_splits=[s], rt_dense_values=v)
    dense = tf.sparse.to_dense(tf.SparseTensor(at, values, dims))
    return tf.concat([values, tf.reshape(dense, [-1])[: tf.size(v)]], 0)[: tf.size(v)]


def table(r, v, s, x):
    t = raw.MutableDenseHashTableV2(empty_key=tf.constant(-99, tf.int64), deleted_key=tf.constant(-98, tf.int64),
                                    value_dtype=tf.float32, shared_name=f"t{r.randint(10**9)}")
    keys = tf.cast(tf.round(v), tf.int64)
    with tf.control_dependencies([raw.LookupTableInsertV2(table_handle=t, keys=keys, values=tf.cast(keys, tf.float32) + x)]):
        return raw.LookupTableFindV2(table_handle=t, keys=keys + r.randint(2), default_value=tf.constant(0.5))


def crossed(r, v, s, x):
    out = raw.RaggedCross(ragged_values=[tf.cast(v, tf.int64)], ragged_row_splits=[s], sparse_indices=[], sparse_values=[],
                          sparse_shape=[], dense_inputs=[], input_order="R", hashed_output=True, num_buckets=r.randint(5, 50),
                          hash_key=int(r.randint(1, 10**6)), out_values_type=tf.int64, out_row_splits_type=tf.int64)
    return tf.cast(out.output_values, tf.float32)


def array(r, v, s, x):
    n = tf.shape(v)[0]
    ta = tf.TensorArray(tf.float32, n).unstack(v)
    return tf.while_loop(lambda i, _: i < n, lambda i, o: (i + 1, o.write(n - 1 - i, ta.read(i) * x)),
                         (0, tf.TensorArray(tf.float32, n)))[1].stack()


def pointwise(r, v, s, x):
    f = [tf.tanh, tf.sin, tf.nn.relu, lambda t: t * x, lambda t: t - tf.reduce_mean(t), lambda t: tf.cumsum(t) / 4][r.randint(6)]
    return f(v)


def counted(r, v, s, x):
    rows = tf.RaggedTensor.from_row_splits(v, s, validate=False)
    return v + tf.repeat(tf.reduce_sum(rows, 1), rows.row_lengths())


LEAVES = [variants, through_variant, sparse, table, crossed, array, pointwise, pointwise, counted]


def branch(r, v, s, x, depth):
    a, b = body(r, depth), body(r, depth)
    return tf.cond(x > r.randn(), lambda: a(v, s, x), lambda: b(v, s, x))


def turns(r, v, s, x, depth):
    f, n = body(r, depth), r.randint(0, 4)
    return tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, tf.ensure_shape(f(t, s, x) * 0.5, [None])), (0, v),
                         shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1]


def call(r, v, s, x, depth):
    f = body(r, depth)
    return tf.function(lambda v, s, x: f(v, s, x))(v, s, x)


def mapped(r, v, s, x, depth):
    f = body(r, depth)
    return tf.map_fn(lambda k: f(v * k, s, x), tf.stack([x, tf.constant(1.0)]))[r.randint(2)]


NODES = [branch, turns, call, mapped]


def body(r, depth):
    """A function that draws its parts when it is first built, and repeats them later."""
    seed, count = r.randint(2**31), r.randint(1, 4)

    def run(v, s, x):
        own = np.random.RandomState(seed)
        for _ in range(count):
            if depth > 0 and own.rand() < 0.5:
                v = NODES[own.randint(len(NODES))](own, v, s, x, depth - 1)
            else:
                v = LEAVES[own.randint(len(LEAVES))](own, v, s, x)
            v = tf.ensure_shape(v, [None])
        return v

    return run


# Most letters of a graph that is kept, of so many that are tried.
SMALL = 12000
for seed in range(int(os.environ.get("GRAPHS", "100"))):
    r = np.random.RandomState(seed)
    lengths = r.randint(0, 4, size=r.randint(1, 4))
    splits = np.concatenate([[0], np.cumsum(lengths)])
    v = r.randn(int(splits[-1])).astype(np.float32).round(1)
    shapes = [None, [[None], [None], []]][seed % 2]
    run = body(r, 2)
    record(S, f"graph {seed}", lambda v, s, x: [run(v, s, x)], [v, splits, np.float32(r.randn())], shapes)
CASES[S] = [c for c in CASES[S] if len(json.dumps(c, separators=(",", ":"))) < SMALL]
