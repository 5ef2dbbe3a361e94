"""Writes fixtures/autograph/: functions that AutoGraph made graphs of, and graphs of TensorFlow 1, with what TensorFlow 2.21 gives.

    python tests/tf/make_autograph_fixtures.py
"""

import json
import os
import pathlib

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import function as defun  # noqa: E402
from tensorflow.python.framework.convert_to_constants import (  # noqa: E402
    convert_variables_to_constants_v2 as freeze,
)

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "autograph"
VECTOR = tf.TensorSpec([None], tf.float32)
WORDS = tf.TensorSpec([None], tf.string)


def positive(x):
    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for v in x:
        if v > 0:
            ta = ta.write(ta.size(), v * 2)
    return ta.stack()


def until(x):
    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for v in x:
        if v < 0:
            break
        if v > 5:
            continue
        ta = ta.write(ta.size(), v)
    return ta.stack()


def either(x):
    ta = tf.TensorArray(tf.float32, 2, element_shape=[])
    if x[0] > 0:
        ta = ta.write(0, x[0])
        ta = ta.write(1, x[1])
    else:
        ta = ta.write(1, x[0])
    return ta.stack()


def made_in_a_branch(x):
    if tf.reduce_sum(x) > 0:
        ta = tf.TensorArray(tf.float32, 1, element_shape=[2]).write(0, x[:2])
    else:
        ta = tf.TensorArray(tf.float32, 2, element_shape=[2]).unstack(tf.stack([x[:2], x[1:3]]))
    return ta.stack()


def nested(x):
    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    n = 0
    while tf.reduce_sum(x) > 1:
        if n % 2 == 0:
            if x[0] > 3:
                ta = ta.write(ta.size(), x[0])
            else:
                ta = ta.write(ta.size(), x[1])
        else:
            ta = ta.write(ta.size(), tf.reduce_sum(x))
        x = x / 2
        n += 1
    return ta.stack(), n


def chosen(x):
    ta = tf.TensorArray(tf.float32, 1, element_shape=[])
    return tf.switch_case(
        tf.cast(x[0], tf.int32),
        [lambda: ta.write(0, x[1]), lambda: ta.write(0, x[2]), lambda: ta.write(0, x[1] * x[2])],
    ).stack()


def called(x):
    @tf.function
    def add(ta, v):
        return ta.write(ta.size(), v + 1)

    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for v in x:
        ta = add(ta, v)
    return ta.stack()


def text(words):
    out = tf.constant("")
    for w in words:
        if tf.strings.length(w) > 3:
            out = out + tf.strings.upper(w) + "-"
        elif w == "skip":
            continue
        else:
            out += tf.strings.join(["<", w, ">"])
    return out, tf.strings.format("{} and {}", (words[0], tf.strings.length(out)))


def pieces(words):
    ta = tf.TensorArray(tf.string, 0, dynamic_size=True)
    for w in words:
        if tf.strings.regex_full_match(w, "[a-z]+"):
            ta = ta.write(ta.size(), tf.strings.substr(w, 0, 2) + tf.strings.as_string(ta.size()))
    return ta.stack()


FUNCTIONS = [
    (positive, VECTOR, [[1, -1, 2], [-1, -2], [3]]),
    (until, VECTOR, [[1, 6, 2, -1, 4], [-1], [1, 2]]),
    (either, VECTOR, [[1, -1, 2], [-1, 1, 3]]),
    (made_in_a_branch, VECTOR, [[1, -1, 2], [-1, 0.5, -3]]),
    (nested, VECTOR, [[8, 4], [1, 9], [0, 1]]),
    (chosen, VECTOR, [[0, 5, 7], [1, 5, 7], [2, 5, 7], [3, 5, 7]]),
    (called, VECTOR, [[1, 2, 3]]),
    (text, WORDS, [["ab", "long", "skip", "c"], ["word"]]),
    (pieces, WORDS, [["abc", "D", "xyz"]]),
]


def plain(a):
    if a.dtype == object or a.dtype.kind == "S":
        return [v.decode() for v in a.reshape(-1)]
    return a.reshape(-1).tolist()


def record(name, graph_def, feed, fetches, inputs):
    (FOLDER / f"{name}.pb").write_bytes(graph_def.SerializeToString(deterministic=True))
    cases = []
    for value in inputs:
        graph = tf.Graph()
        with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
            tf.import_graph_def(graph_def, name="")
            found = session.run(fetches, {feed: value})
        outputs = [{"shape": list(np.shape(f)), "data": plain(np.asarray(f))} for f in found]
        cases.append({"input": value, "outputs": outputs})
    return {"name": name, "feed": feed, "fetches": fetches, "cases": cases}


def functions():
    for f, spec, inputs in FUNCTIONS:
        concrete = tf.function(f).get_concrete_function(spec)
        fetches = [t.name for t in concrete.outputs]
        graph_def = concrete.graph.as_graph_def()
        yield record(f.__name__, graph_def, concrete.inputs[0].name, fetches, inputs)
        if f in (chosen, nested, text):
            # Lowered: switches, merges and frames in place of functions.
            low = freeze(concrete, lower_control_flow=True)
            names = [t.name for t in low.outputs]
            name = f"{f.__name__}_lowered"
            yield record(name, low.graph.as_graph_def(), low.inputs[0].name, names, inputs)


def library():
    """Nodes whose ops are functions, and their gradients."""

    @defun.Defun(tf.float32, func_name="Cube")
    def cube(x):
        return x * x * x

    @defun.Defun(tf.float32, tf.float32, func_name="OwnGrad")
    def own_grad(x, dy):
        return dy * 10

    @defun.Defun(tf.float32, func_name="Own", grad_func=own_grad)
    def own(x):
        return x * 2

    @defun.Defun(tf.float32, tf.float32, func_name="Two")
    def two(x, y):
        return cube(x) + y, x * y

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        a, b = two(x, x)
        y = tf.identity(cube(x) + own(x) + a * b, name="y")
        tf.identity(tf.gradients(y, x)[0], name="dy")
    return record("library", graph.as_graph_def(), "x:0", ["y:0", "dy:0"], [[1, 2], [0, -3]])


FOLDER.mkdir(exist_ok=True)
TABLE = [*functions(), library()]
(FOLDER / "autograph.json").write_text(json.dumps(TABLE, indent=1) + "\n")
