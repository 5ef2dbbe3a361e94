"""Ops of TensorFlow's files whose rules `./tf` has, fused cells and their gradients among them, with what TensorFlow 2.21 computes: fixtures/recurrent_ops.pb and .json.

usage: python tests/tf/make_recurrent_op_fixtures.py
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
STEPS, ROWS, INPUTS, UNITS = 3, 2, 3, 2


def noise(*shape):
    return tf.constant(random.normal(size=shape).astype(np.float32))


def feed(*shape):
    """A tensor whose shape is unknown while the graph is built."""
    return v1.placeholder_with_default(random.normal(size=shape).astype(np.float32), [None] * len(shape))


def weights(gates):
    return dict(w=noise(INPUTS + UNITS, gates * UNITS), wci=noise(UNITS), wcf=noise(UNITS), wco=noise(UNITS),
                b=noise(gates * UNITS))


def named(prefix, results):
    return {f"{prefix}_{name}": getattr(results, name) for name in results._fields}


def lstmcell():
    out = {}
    for name, attrs in (("plain", {}), ("peeps", dict(use_peephole=True, cell_clip=-1., forget_bias=0.5)),
                        ("clipped", dict(cell_clip=0.25, use_peephole=True))):
        given = dict(x=noise(ROWS, INPUTS), cs_prev=noise(ROWS, UNITS) * 2, h_prev=noise(ROWS, UNITS), **weights(4))
        y = raw.LSTMBlockCell(**given, **attrs)
        out.update(named(name, y))
        saved = {key: getattr(y, key) for key in ("i", "cs", "f", "o", "ci", "co")}
        out.update(named(f"{name}_grad", raw.LSTMBlockCellGrad(
            **given, **saved, cs_grad=noise(ROWS, UNITS), h_grad=noise(ROWS, UNITS),
            use_peephole=attrs.get("use_peephole", False))))
    return out


def blocks():
    out = {}
    for version, op, grad in ((1, raw.BlockLSTM, raw.BlockLSTMGrad), (2, raw.BlockLSTMV2, raw.BlockLSTMGradV2)):
        for name, length, make, attrs in (
                ("plain", STEPS, noise, {}), ("short", 2, noise, dict(use_peephole=True)),
                ("open", 2, feed, dict(cell_clip=0.3)), ("none", 0, noise, {})):
            given = dict(seq_len_max=tf.constant(length, tf.int64), x=make(STEPS, ROWS, INPUTS),
                         cs_prev=make(ROWS, UNITS), h_prev=make(ROWS, UNITS), **weights(4))
            y = op(**given, **attrs)
            # TensorFlow leaves all but the states undefined after the last step.
            out.update({key: v if key[-2:] in ("cs", "_h") else v[:length]
                        for key, v in named(f"v{version}_{name}", y).items()})
            out.update(named(f"v{version}_{name}_grad", grad(
                **given, **y._asdict(), cs_grad=noise(STEPS, ROWS, UNITS) * 0.5, h_grad=noise(STEPS, ROWS, UNITS),
                use_peephole=attrs.get("use_peephole", False))))
    return out


def gru():
    out = {}
    for name, make in (("known", noise), ("open", feed)):
        given = dict(x=make(ROWS, INPUTS), h_prev=make(ROWS, UNITS), w_ru=noise(INPUTS + UNITS, 2 * UNITS),
                     w_c=noise(INPUTS + UNITS, UNITS), b_ru=noise(2 * UNITS), b_c=noise(UNITS))
        y = raw.GRUBlockCell(**given)
        out.update(named(name, y))
        out.update(named(f"{name}_grad", raw.GRUBlockCellGrad(
            **given, r=y.r, u=y.u, c=y.c, d_h=noise(ROWS, UNITS))))
    return out


def sparsesplit():
    out = {}
    x = tf.sparse.from_dense(tf.constant(random.randint(0, 3, (5, 4)).astype(np.float32)))
    for axis, count in ((0, 2), (1, 3), (-1, 4), (0, 5)):
        for k, part in enumerate(tf.sparse.split(sp_input=x, num_split=count, axis=axis)):
            name = f"{'last' if axis < 0 else axis}_{count}_{k}"
            out[f"{name}_at"], out[f"{name}_values"] = tf.cast(part.indices, tf.float32), part.values
            out[f"{name}_dims"] = tf.cast(part.dense_shape, tf.float32)
    return out


FAMILIES = (lstmcell, blocks, gru, sparsesplit)


def main():
    graph = tf.Graph()
    with graph.as_default():
        made = {f"{f.__name__}/{key}": tf.identity(t, name=f"{f.__name__}_{key}")
                for f in FAMILIES for key, t in f().items()}
        with v1.Session(graph=graph) as session:
            results = {key: session.run(t) for key, t in made.items()}
    with open(os.path.join(FOLDER, "recurrent_ops.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())
    cases = [{"tensor": made[key].name, "shape": list(np.shape(y)),
              "values": [float(f"{v:.7g}") for v in np.ravel(y)]} for key, y in results.items()]
    with open(os.path.join(FOLDER, "recurrent_ops.json"), "w") as f:
        json.dump(cases, f)


main()
