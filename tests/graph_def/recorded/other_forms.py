"""Ops that other devices, debuggers and versions have in place of those that are ours."""
import numpy as np
import tensorflow as tf
from recorder import raw, record

S = "other_forms"
R = np.random.RandomState(0)
f32 = lambda *s: R.randn(*s).astype(np.float32).round(2)
SPLITS, OUTER = np.array([0, 2, 2, 3]), np.array([0, 1, 3])
sparse = lambda splits, v: list(raw.RaggedTensorToSparse(rt_nested_splits=splits, rt_dense_values=v))
for shapes, what in ((None, "known"), ([[None], None], "unknown")):
    record(S, f"ragged to sparse, {what}", lambda s, v: sparse([s], v), [SPLITS, f32(3)], shapes, grad=[1])
    record(S, f"ragged pairs to sparse, {what}", lambda s, v: sparse([s], v), [SPLITS, f32(3, 2, 2)], shapes, grad=[1])
record(S, "two ragged dimensions to sparse", lambda a, b, v: sparse([a, b], v), [OUTER, SPLITS, f32(3)], grad=[2])
record(S, "ragged texts to sparse", lambda s, v: sparse([s], v), [SPLITS.astype(np.int32), np.array([b"a", b"", b"c"], object)])
record(S, "no rows to sparse", lambda s, v: sparse([s], v), [np.array([0]), f32(0)])
record(S, "splits that end early", lambda s, v: sparse([s], v), [np.array([0, 2]), f32(3)])
record(S, "splits that begin late", lambda s, v: sparse([s], v), [np.array([1, 3]), f32(3)])
for binary in (False, True):
    record(S, f"counts of ragged rows {binary}", lambda s, v, w: list(raw.RaggedCountSparseOutput(
        splits=s, values=v, weights=w, minlength=4, maxlength=9, binary_output=binary)),
        [SPLITS, np.array([3, 3, 5]), np.array([], np.float32)])
record(S, "weighted counts of ragged rows", lambda s, v, w: list(raw.RaggedCountSparseOutput(
    splits=s, values=v, weights=w, minlength=-1, maxlength=4, binary_output=False)),
    [SPLITS, np.array([3, 3, 5]), f32(3)])
filled = lambda m, d: list(raw.SparseFillEmptyRowsGrad(reverse_index_map=m, grad_values=d))
record(S, "gradient of filled rows", filled, [np.array([0, 3]), f32(4)], [[None], [None]])
record(S, "gradient of filled ragged rows", lambda m, d: list(raw.RaggedFillEmptyRowsGrad(
    reverse_index_map=m, grad_values=d)), [np.array([1, 2]), f32(4)])
record(S, "places for what is not there", lambda x: [
    raw.Empty(shape=[2, 3], dtype=tf.float32, init=True) + x, raw.Empty(shape=[2], dtype=tf.string, init=True)], [f32(3)])
record(S, "texts to sparse within a branch", lambda p, s, v: tf.cond(
    p, lambda: sparse([s], v), lambda: sparse([s], tf.reverse(v, [0]))), [np.array(False), SPLITS, f32(3)])


@tf.function
def on_cpu(x):
    return x * 2.0


@tf.function
def on_gpu(x):
    return x * 3.0


def by_device(x, names):
    branches = [f.get_concrete_function(tf.TensorSpec(x.shape, x.dtype)) for f in (on_cpu, on_gpu)]
    for f in branches:
        f.add_to_graph(tf.compat.v1.get_default_graph())
    index = raw.DeviceIndex(device_names=names)
    return [index, *raw.Case(branch_index=index, input=[x], Tout=[tf.float32], branches=branches)]


record(S, "branches by device", lambda x: by_device(x, ["CPU", "GPU"]), [f32(2)], grad=[0])
record(S, "the last branch by device", lambda x: by_device(x, ["GPU", "TPU"]), [f32(2)])
