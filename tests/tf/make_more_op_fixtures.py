"""Ops of TensorFlow's files, with what TensorFlow 2.21 computes: fixtures/more_ops.pb and more_ops.json.

usage: python tests/tf/make_more_op_fixtures.py
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
v1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(5)
wide = lambda x: tf.constant(x, tf.int64)
number = lambda t: raw.AsString(input=t)


def noise(*shape):
    return tf.constant(random.normal(size=shape).astype(np.float32))


def scattered():
    x, rows, out = noise(4, 3), noise(3, 3), {}
    at = tf.constant([[2], [0], [2]])
    for op in (raw.TensorScatterMax, raw.TensorScatterMin):
        for name, indices, updates in (("rows", at, rows), ("cells", [[0, 1], [3, 2], [0, 1]], noise(3))):
            y = op(tensor=x, indices=indices, updates=updates)
            out[f"{op.__name__}_{name}"] = y
            out[f"{op.__name__}_{name}_dx"], out[f"{op.__name__}_{name}_du"] = tf.gradients(y * y, [x, updates])
        ties = op(tensor=tf.ones([2, 2]), indices=[[0], [0]], updates=tf.constant([[1., 2], [1, 0]]))
        out[f"{op.__name__}_ties"] = ties
        out[f"{op.__name__}_whole"] = op(tensor=wide([5, 6]), indices=[[1]], updates=wide([2 ** 40]))
    return out


def variables():
    """Scattering into references of TensorFlow 1, and into resources."""
    out, start = {}, np.arange(1, 13).reshape(4, 3).astype(np.float32)
    rows, one = noise(3, 3), tf.constant(2.)
    for how in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
        for name, updates in (("rows", rows), ("one", one)):
            ref = v1.Variable(start, use_resource=False, name=f"ref_{how}_{name}")
            indices = [2, 0, 1] if how == "Update" else [2, 0, 2]
            out[f"{how}_{name}"] = tf.identity(getattr(raw, f"Scatter{how}")(
                ref=v1.assign(ref, start), indices=indices, updates=updates))
            if how in ("Mul", "Div", "Min", "Max"):
                out[f"resource_{how}_{name}"] = resource(
                    getattr(raw, f"ResourceScatter{how}"), start, indices, updates)
    for how in ("Add", "Sub", "Min", "Max", "Update"):
        ref = v1.Variable(start, use_resource=False, name=f"ref_nd_{how}")
        indices, updates = [[1, 2], [3, 0]], tf.constant([50., -50])
        out[f"nd_{how}"] = tf.identity(getattr(raw, f"ScatterNd{how}")(
            ref=v1.assign(ref, start), indices=indices, updates=updates))
        out[f"resource_nd_{how}"] = resource(getattr(raw, f"ResourceScatterNd{how}"), start, indices, updates, True)
    whole = v1.Variable([7, -7, 3], use_resource=False, name="ref_whole")
    out["whole"] = tf.identity(raw.ScatterDiv(ref=v1.assign(whole, [7, -7, 3]), indices=[0, 1], updates=[2, 2]))
    momentum, var = (v1.Variable(start, use_resource=False, name=n) for n in ("ref_momentum", "ref_updated"))
    with tf.control_dependencies([v1.assign(momentum, start)]):
        ready = v1.assign(var, start)
    out["momentum"] = tf.identity(raw.SparseApplyMomentum(
        var=ready, accum=momentum, lr=0.5, grad=rows[:2], indices=[3, 1], momentum=0.9))
    return out


def resource(op, start, indices, updates, is_nd=False):
    handle = raw.VarHandleOp(dtype=tf.float32, shape=start.shape, shared_name=v1.get_default_graph().unique_name("held"))
    with tf.control_dependencies([raw.AssignVariableOp(resource=handle, value=start)]):
        done = op(ref=handle, indices=indices, updates=updates) if is_nd else op(
            resource=handle, indices=indices, updates=updates)
    with tf.control_dependencies([done]):
        return raw.ReadVariableOp(resource=handle, dtype=tf.float32)


def quantized():
    out = {}
    x = tf.constant(np.concatenate([random.normal(size=20) * 1.5, [0, -1, 1, 2.5, -9, 9, 0.5]]).astype(np.float32))
    table = noise(4, 3) * 2
    for T in (tf.quint8, tf.qint8, tf.qint32, tf.qint16, tf.quint16):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            if mode == "MIN_FIRST" and T in (tf.qint16, tf.quint16):
                continue
            for k, (low, high, more) in enumerate(((-1.0, 2.5, {}), (0.0, 6.0, {}), (0.5, 0.5, {}), (-3.0, -1.0, dict(narrow_range=True)))):
                # Levels from 0 on have none for what is negative: TensorFlow's scale is then without end.
                if k == 3 and mode == "SCALED" and T in (tf.quint8, tf.quint16):
                    continue
                name = f"{T.name}_{mode}_{k}"
                if T != tf.qint32:
                    y = raw.QuantizeV2(input=x, min_range=low, max_range=high, T=T, mode=mode, **more)
                    out[f"{name}_levels"] = tf.bitcast(y.output, {
                        "quint8": tf.uint8, "qint8": tf.int8, "qint16": tf.int16, "quint16": tf.uint16}[T.name])
                    out[f"{name}_low"], out[f"{name}_high"] = y.output_min, y.output_max
                    out[f"{name}_back"] = raw.Dequantize(
                        input=y.output, min_range=y.output_min, max_range=y.output_max, mode=mode, **more)
                else:
                    levels = tf.bitcast(tf.constant([-2 ** 31, -5, 0, 7, 2 ** 30]), tf.qint32)
                    out[f"{name}_back"] = raw.Dequantize(input=levels, min_range=low, max_range=high, mode=mode)
    for axis in (0, 1):
        low, high = -tf.abs(noise(4 - axis)), tf.abs(noise(4 - axis))
        for mode in ("MIN_COMBINED", "SCALED"):
            y = raw.QuantizeV2(input=table, min_range=low, max_range=high, T=tf.qint8, mode=mode, axis=axis)
            out[f"axis_{axis}_{mode}_low"] = y.output_min
            out[f"axis_{axis}_{mode}_back"] = raw.Dequantize(
                input=y.output, min_range=y.output_min, max_range=y.output_max, mode=mode, axis=axis)
    even = raw.QuantizeV2(input=[0.5, 1.5, 2.5, -0.5], min_range=-127., max_range=127., T=tf.qint8, mode="SCALED", round_mode="HALF_TO_EVEN")
    out["even"] = raw.Dequantize(input=even.output, min_range=even.output_min, max_range=even.output_max, mode="SCALED")
    held = tf.constant(np.array([(v,) for v in (-3, 0, 5, 127)], tf.qint8.as_numpy_dtype), tf.qint8)
    out["held"] = raw.Dequantize(input=held, min_range=-1.0, max_range=1.0, mode="SCALED")
    out["half"] = tf.cast(raw.Dequantize(input=held, min_range=-1.0, max_range=1.0, dtype=tf.bfloat16), tf.float32)
    return out


def faked():
    out = {}
    x, weights = tf.concat([noise(5, 4) * 2, [[-1., 0, 2.5, 9], [-9, 0.5, -0.5, 1]]], 0), noise(7, 4)
    for k, (low, high, more) in enumerate((
            (-1.0, 2.5, {}), (0.1, 6.0, dict(num_bits=4)), (-4.0, -1.0, {}), (0.0, 0.0, {}), (-0.5, 0.75, dict(narrow_range=True, num_bits=2)),
            (-1.3, 1.7, dict(num_bits=16)))):
        ends = [tf.constant(low), tf.constant(high)]
        cases = [("vars", tf.quantization.fake_quant_with_min_max_vars(x, *ends, **more), [x, *ends])]
        channels = [tf.constant([low, -1., 0., low]), tf.constant([high, 1., 3., high])]
        cases.append(("channel", tf.quantization.fake_quant_with_min_max_vars_per_channel(x, *channels, **more), [x, *channels]))
        if low < high:
            cases.append(("args", tf.quantization.fake_quant_with_min_max_args(x, low, high, **more), [x]))
        for name, y, inputs in cases:
            out[f"{name}_{k}"] = y
            for i, d in enumerate(tf.gradients(y * weights, inputs)):
                out[f"{name}_{k}_d{i}"] = d
    return out


def gammas():
    a = tf.constant(np.exp(random.uniform(-4, 6, size=40)), tf.float64)
    x = a * tf.constant(np.exp(random.normal(size=40) * 0.7), tf.float64)
    out = {"rough": raw.Igamma(a=tf.cast(a, tf.float32), x=tf.cast(x, tf.float32))}
    for op in (raw.Igamma, raw.Igammac):
        out[op.__name__] = op(a=a, x=x)
        out[f"{op.__name__}_da"], out[f"{op.__name__}_dx"] = tf.gradients(op(a=a, x=x), [a, x])
        far = op(a=tf.constant([1e4, 1e5, 1e5], tf.float64), x=tf.constant([1e4, 1.001e5, 9.99e4], tf.float64))
        out[f"{op.__name__}_far"] = far
        edges = op(a=[-1., 0, 1, 2, np.nan, 2, np.inf, 3], x=[1., 1, -1, 0, 1, np.inf, 2, 0])
        out[f"{op.__name__}_edges"] = number(edges)
        out[f"{op.__name__}_broadcast"] = op(a=[[0.5], [3.0]], x=[0.5, 1, 2.0])
    return out


def decomposed():
    out = {}
    cases = (("tall", noise(5, 3)), ("broad", noise(2, 3, 4)), ("square", noise(3, 3)), ("thin", tf.ones([3, 2])))
    for name, x in cases:
        for full in (False, True):
            y = raw.Svd(input=x, full_matrices=full)
            out[f"svd_{name}_{full}"] = y.s
            n = tf.shape(y.s)[-1]
            out[f"svd_{name}_{full}_again"] = tf.matmul(y.u[..., :n] * y.s[..., None, :], y.v[..., :n], transpose_b=True)
            for side, v in (("u", y.u), ("v", y.v)):
                out[f"svd_{name}_{full}_{side}"] = tf.matmul(v, v, transpose_a=True)
        if name != "thin":
            s, u, v = tf.linalg.svd(x)
            out[f"svd_{name}_ds"] = tf.gradients(tf.linalg.svd(x, compute_uv=False) ** 2, x)[0]
            # Signs of vectors are free: only what does not depend on them is compared.
            out[f"svd_{name}_duv"] = tf.gradients(tf.math.cumsum(tf.matmul(u, v, transpose_b=True), -1) ** 2, x)[0]
    for name, x in (("one", noise(4, 4)), ("batch", noise(2, 3, 3))):
        e, v = tf.linalg.eigh(x)
        out[f"eigh_{name}"] = e
        out[f"eigh_{name}_again"] = tf.matmul(v * e[..., None, :], v, transpose_b=True)
        out[f"eigh_{name}_de"] = tf.gradients(tf.linalg.eigvalsh(x) ** 3, x)[0]
        out[f"eigh_{name}_dv"] = tf.gradients(tf.matmul(v * tf.exp(e)[..., None, :], v, transpose_b=True) ** 2, x)[0]
        lu = raw.Lu(input=x)
        out[f"lu_{name}"], out[f"lu_{name}_p"] = lu.lu, lu.p
    out["eigh_diagonal"] = raw.SelfAdjointEigV2(input=[[2., 0], [0, -1]], compute_v=False).e
    return out


def sparse_dense():
    out = {}
    indices, values, dims = wide([[0, 1], [1, 0], [2, 3]]), noise(3), wide([3, 4])
    for op in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseDiv):
        for k, dense in enumerate((noise(3, 4), noise(4), noise(3, 1))):
            y = op(sp_indices=indices, sp_values=values, sp_shape=dims, dense=dense)
            out[f"{op.__name__}_{k}"] = y
            out[f"{op.__name__}_{k}_d"] = tf.gradients(y ** 2, values)[0]
    return out


def rowwise():
    out = {}
    x = noise(3, 4, 2)
    for name, lengths, more in (("front", [4, 0, 2], dict(seq_dim=1)), ("back", wide([1, 3]), dict(seq_dim=0, batch_dim=2)),
                                ("middle", [2, 3, 0, 1], dict(seq_dim=0, batch_dim=1))):
        y = raw.ReverseSequence(input=x, seq_lengths=lengths, **more)
        out[f"reversed_{name}"], out[f"reversed_{name}_d"] = y, tf.gradients(y ** 2, x)[0]
    for name, partitions in (("rows", [2, 0, 2]), ("cells", [[0, 1, 2, 0], [2, 2, 2, 0], [0, 0, 0, 0]])):
        parts = tf.dynamic_partition(x, partitions, 4)
        for k, part in enumerate(parts):
            out[f"part_{name}_{k}"] = part
        out[f"part_{name}_d"] = tf.gradients([p * (k + 1) for k, p in enumerate(parts)], x)[0]
    for name, weights in (("plain", tf.zeros([0])), ("weighted", noise(5))):
        for binary in (False, True):
            out[f"count_{name}_{binary}"] = raw.RaggedBincount(
                splits=wide([0, 2, 2, 5]), values=[1, 1, 0, 7, 2], size=4, weights=weights, binary_output=binary)
    out["count_wide"] = raw.RaggedBincount(splits=wide([0, 2]), values=wide([1, 1]), size=wide(2), weights=wide([]))
    out["joined"] = raw.UnsortedSegmentJoin(inputs=["a", "b", "c"], segment_ids=[2, 0, 2], num_segments=4, separator="-")
    out["joined_rows"] = raw.UnsortedSegmentJoin(
        inputs=[["a", "b"], ["c", "d"], ["e", "f"]], segment_ids=wide([1, 0, 1]), num_segments=2)
    out["product"] = raw.MulNoNan(x=[[np.inf, 1, 2], [np.nan, 3, 4]], y=[0., 2, -1])
    table = tf.constant([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]])
    for k, seed in enumerate(([1, 2], [-5, 2 ** 40])):
        out[f"shuffled_{k}"] = tf.random.experimental.stateless_shuffle(tf.range(23), wide(seed))
        out[f"shuffled_rows_{k}"] = tf.random.experimental.stateless_shuffle(table, wide(seed))
    shuffled = tf.random.experimental.stateless_shuffle(x, [3, 4])
    out["shuffled_cube"] = shuffled
    state = raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="generator")
    with tf.control_dependencies([raw.AssignVariableOp(resource=state, value=wide([-3, 7, 9]))]):
        first = raw.RngReadAndSkip(resource=state, alg=1, delta=tf.constant(10, tf.uint64))
    with tf.control_dependencies([first]):
        second = raw.RngReadAndSkip(resource=state, alg=1, delta=tf.constant(2 ** 62 + 1, tf.uint64))
    out["state_first"], out["state_second"] = number(first), number(second)
    with tf.control_dependencies([second]):
        out["state_last"] = number(raw.ReadVariableOp(resource=state, dtype=tf.int64))
    return out


FAMILIES = (scattered, variables, quantized, faked, gammas, decomposed, sparse_dense, rowwise)


def values(x):
    if x.dtype.kind in "OS":
        return [v.decode("utf-8") for v in x.ravel()]
    if x.dtype == np.float32 and np.isfinite(x).all():
        return [float(f"{v:.7g}") for v in x.ravel()]
    return x.ravel().tolist()


def main():
    graph = tf.Graph()
    with graph.as_default():
        made = {f"{f.__name__}/{key}": tf.identity(t, name=f"{f.__name__.replace('_', '')}_{key}")
                for f in FAMILIES for key, t in f().items()}
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            results = {key: session.run(t) for key, t in made.items()}
    with open(os.path.join(FOLDER, "more_ops.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())
    cases = [{"tensor": made[key].name, "shape": list(np.shape(y)), "values": values(np.asarray(y))}
             for key, y in results.items()]
    with open(os.path.join(FOLDER, "more_ops.json"), "w") as f:
        json.dump(cases, f, ensure_ascii=False)


main()
