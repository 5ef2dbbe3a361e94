"""Gradients as ops of their own, and draws that have them, with what TensorFlow 2.21 computes: fixtures/gradient_ops.pb and .json.

usage: python tests/tf/make_gradient_op_fixtures.py
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
v1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(9)


def noise(*shape):
    return tf.constant(random.normal(size=shape).astype(np.float32))


def feed(x):
    """A tensor whose shape is unknown while the graph is built."""
    return v1.placeholder_with_default(np.asarray(x), [None] * np.ndim(x))


def segments():
    out, dy = {}, random.normal(size=(3, 2, 2)).astype(np.float32)
    ids, at = np.array([0, 0, 1, 1, 1], np.int32), np.array([3, 0, 5, 3, 1], np.int32)
    for norm in ("Sum", "Mean", "SqrtN"):
        first, second = getattr(raw, f"SparseSegment{norm}Grad"), getattr(raw, f"SparseSegment{norm}GradV2")
        for name, make in (("known", tf.constant), ("open", feed)):
            given = dict(grad=make(dy), segment_ids=make(ids))
            out[f"{norm}_{name}"] = first(**given, indices=make(at), output_dim0=7)
            picked = second(**given, indices=make(at.astype(np.int64)), dense_output_dim0=7)
            out[f"{norm}_{name}_picked"] = picked.output
            out[f"{norm}_{name}_places"] = tf.cast(picked.sorted_unique_indices, tf.float32)
        # TensorFlow leaves rows undefined where nothing is picked, but for those of the second version, which has none.
        none = np.zeros([0], np.int32)
        out[f"{norm}_none_picked"] = second(grad=dy, segment_ids=none, indices=none, dense_output_dim0=2).output
    return out


def pools():
    out = {}
    for name, padding, format in (("valid", "VALID", "NHWC"), ("same", "SAME", "NHWC")):
        x = tf.constant(random.permutation(120).reshape(2, 5, 6, 2).astype(np.float32))
        given = dict(ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], padding=padding, data_format=format)
        y = raw.MaxPoolV2(input=x, **given)
        out[name] = raw.MaxPoolGradV2(orig_input=x, orig_output=y, grad=tf.sin(y), **given)
        out[f"{name}_second"] = raw.MaxPoolGradGradV2(orig_input=x, orig_output=y, grad=tf.cos(x), **given)
    return out


def factors():
    x = noise(2, 3, 3)
    l = tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + 2 * tf.eye(3))
    return {"dense": raw.CholeskyGrad(l=l, grad=noise(2, 3, 3)), "open": raw.CholeskyGrad(l=l, grad=feed(np.ones((2, 3, 3), np.float32)))}


def gammas():
    out, alpha = {}, tf.constant([0.3, 1.0, 2.5, 40.0])
    sample = tf.constant([[0.1, 0.5, 3.0, 36.0], [0.0, 2.0, 0.01, 52.0], [1e-6, 9.0, 12.0, 40.0]])
    out["slope"] = raw.RandomGammaGrad(alpha=alpha, sample=sample)
    key, counter, alg = raw.StatelessRandomGetKeyCounterAlg(seed=[7, 2 ** 40])
    for name, dtype in (("half", tf.float16), ("single", tf.float32), ("double", tf.float64)):
        shapes = tf.cast(alpha, dtype)
        y = raw.StatelessRandomGammaV3(shape=[3, 4], key=key, counter=counter, alg=alg, alpha=shapes)
        out[name] = tf.cast(y, tf.float32)
        if dtype != tf.float16:
            out[f"{name}_dx"] = tf.cast(tf.gradients(tf.sin(y), shapes)[0], tf.float32)
    y = raw.StatelessRandomGammaV2(shape=[5, 2, 4], seed=[1, 2], alpha=alpha)
    out["seeded"], out["seeded_dx"] = y, tf.gradients(y * y, alpha)[0]
    both, rate = tf.constant([[0.5], [3.0]]), tf.constant([1.0, 4.0])
    y = tf.random.stateless_gamma([3, 2, 2], [3, 4], both, rate)
    out["named"], (out["named_dx"], out["named_dy"]) = y, tf.gradients(y * y, [both, rate])
    return out


def generators():
    state = v1.get_variable("state", initializer=tf.constant([1, 2 ** 62, 3], tf.int64), use_resource=True)
    with tf.control_dependencies([state.initializer]):
        first = raw.RngSkip(resource=state.handle, algorithm=tf.constant(1, tf.int64), delta=tf.constant(5, tf.int64))
    with tf.control_dependencies([first]):
        moved = state.read_value()
        return {"moved": tf.strings.as_string(moved)}


FAMILIES = (segments, pools, factors, gammas, generators)


def main():
    graph = tf.Graph()
    with graph.as_default():
        made = {f"{f.__name__}/{key}": tf.identity(t, name=f"{f.__name__}_{key}")
                for f in FAMILIES for key, t in f().items()}
        with v1.Session(graph=graph) as session:
            results = {key: session.run(t) for key, t in made.items()}
    with open(os.path.join(FOLDER, "gradient_ops.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())

    def plain(v):
        return v.decode() if isinstance(v, bytes) else float(f"{v:.7g}")

    cases = [{"tensor": made[key].name, "shape": list(np.shape(y)), "values": [plain(v) for v in np.ravel(y)]}
             for key, y in results.items()]
    with open(os.path.join(FOLDER, "gradient_ops.json"), "w") as f:
        json.dump(cases, f)


main()
