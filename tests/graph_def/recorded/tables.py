"""Lookup tables: mutable, dense, of tensors and without names. Each list of fetched tensors is a run of one session."""
import numpy as np
import tensorflow as tf
from recorder import raw, record

S = "tables"
KEYS = np.array([3, 9, 3])
PAIRS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def steps(table, kind, k, v, missing, imports=True):
    """Inserts, finds, removes, finds again, exports the one that is left and imports others."""
    kt, vt = kind
    insert = raw.LookupTableInsertV2(table_handle=table, keys=k, values=v)
    find = raw.LookupTableFindV2(table_handle=table, keys=k, default_value=missing)
    size = raw.LookupTableSizeV2(table_handle=table)
    remove = raw.LookupTableRemoveV2(table_handle=table, keys=k[:1])
    out = raw.LookupTableExportV2(table_handle=table, Tkeys=kt, Tvalues=vt)
    refill = raw.LookupTableImportV2(table_handle=table, keys=k[:1], values=v[:1]) if imports else None

    def done(op):
        with tf.control_dependencies([op]):
            return tf.constant(True)

    runs = [[find, size], [done(insert)], [find, size], [done(remove)], [find, size]]
    # TensorFlow exports the empty places of a dense table, and ends with a failed check where one of scalars is imported.
    return runs + [[out.keys, out.values], [done(refill)], [find, size, out.keys]] if imports else runs


def table(op, kt, vt, **more):
    return op(key_dtype=kt, value_dtype=vt, **more)


I, F, T = tf.int64, tf.float32, tf.string
tables = [
    ("mutable", lambda: table(raw.MutableHashTableV2, I, F, shared_name="m"), False),
    ("anonymous mutable", lambda: table(raw.AnonymousMutableHashTable, I, F), False),
    ("of tensors", lambda: table(raw.MutableHashTableOfTensorsV2, I, F, value_shape=[2], shared_name="o"), True),
    ("anonymous of tensors", lambda: table(raw.AnonymousMutableHashTableOfTensors, I, F, value_shape=[2]), True),
    ("dense", lambda: raw.MutableDenseHashTableV2(empty_key=tf.constant(-1, I), deleted_key=tf.constant(-2, I), value_dtype=F), False),
    ("dense of pairs", lambda: raw.MutableDenseHashTableV2(
        empty_key=tf.constant(-1, I), deleted_key=tf.constant(-2, I), value_dtype=F, value_shape=[2]), True),
    ("anonymous dense", lambda: raw.AnonymousMutableDenseHashTable(
        empty_key=tf.constant(-1, I), deleted_key=tf.constant(-2, I), value_dtype=F, value_shape=[2]), True),
]
for name, make, wide in tables:
    anonymous = name.startswith("anonymous")
    v = PAIRS if wide else PAIRS[:, 0]
    missing = np.array([-1, -2], np.float32) if wide else np.float32(-1)
    if anonymous:
        # Each run makes a new one: all in one run.
        def once(k, v, make=make, missing=missing):
            t = make()
            with tf.control_dependencies([raw.LookupTableInsertV2(table_handle=t, keys=k, values=v)]):
                return [raw.LookupTableFindV2(table_handle=t, keys=k, default_value=missing),
                        raw.LookupTableSizeV2(table_handle=t)]
        record(S, name, once, [KEYS, v])
        continue
    record(S, name, lambda k, v, make=make, missing=missing, name=name: steps(make(), (I, F), k, v, missing, "dense" not in name), [KEYS, v])
    record(S, f"{name}, unknown shapes", lambda k, v, make=make, missing=missing, name=name: steps(
        make(), (I, F), k, v, missing, "dense" not in name), [KEYS, v], [[None], None])


def filled(k, v):
    t = raw.AnonymousHashTable(key_dtype=T, value_dtype=I)
    with tf.control_dependencies([raw.LookupTableImportV2(table_handle=t, keys=k, values=v)]):
        return [raw.LookupTableFindV2(table_handle=t, keys=tf.reverse(k, [0]), default_value=tf.constant(-1, I))]


record(S, "anonymous", filled, [np.array([b"a", b"bc"], object), np.array([4, 5])])
dense = lambda e=-1, d=-2: raw.MutableDenseHashTableV2(empty_key=tf.constant(e, I), deleted_key=tf.constant(d, I), value_dtype=F)


def inserted(t, k, v):
    with tf.control_dependencies([raw.LookupTableInsertV2(table_handle=t, keys=k, values=v)]):
        return [tf.constant(1)]


record(S, "dense: the empty key", lambda k, v: inserted(dense(), k, v), [np.array([3, -1]), PAIRS[:2, 0]])
record(S, "dense: the deleted key", lambda k, v: inserted(dense(), k, v), [np.array([-2, 3]), PAIRS[:2, 0]])
record(S, "dense: finding the empty key", lambda k: [raw.LookupTableFindV2(
    table_handle=dense(), keys=k, default_value=tf.constant(0.0))], [np.array([-1])])
record(S, "of tensors: values of another shape", lambda k, v: inserted(
    table(raw.MutableHashTableOfTensorsV2, I, F, value_shape=[3]), k, v), [KEYS, PAIRS])
