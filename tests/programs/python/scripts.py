"""Script ops in the middle of training; see scripts_test.ts."""

import keras
import numpy as np
import tensorflow as tf

from registry import Adam, mean_square, minimizing, program

O = keras.optimizers


# TensorFlow's compiled gradient of a py_function in a loop finds no tape (KeyError): those programs are `compiled=False`.
def py(func, inputs, shape):
    y = tf.py_function(func, inputs, tf.float32)
    y.set_shape(shape)
    return y


def ranks(y):
    def body(x):
        return np.searchsorted(np.sort(x.ravel()), x).astype(np.float32) / np.float32(x.size)

    return tf.ensure_shape(tf.numpy_function(body, [y], tf.float32), [6, 2])


def labelled(v, xs):
    y = xs["x"] @ v["w"] + v["b"]
    return mean_square(y - ranks(y))


minimizing(
    "labels that a numpy-style script makes from predictions",
    {"w": [3, 2], "b": [2]},
    {"x": [6, 3]},
    lambda: O.SGD(0.5),
    labelled,
)


@tf.custom_gradient
def sinh(h):
    y = tf.ensure_shape(tf.numpy_function(np.sinh, [h], tf.float32), h.shape)
    return y, lambda dy: dy * tf.cosh(h)


minimizing(
    "a numpy-style script with a gradient of its own",
    {"w": [3, 2]},
    {"x": [4, 3], "y": [4, 2]},
    lambda: Adam(0.05),
    lambda v, xs: mean_square(sinh(xs["x"] @ v["w"]) - xs["y"]),
)


def robust(e):
    return tf.square(e) if abs(e) <= 1 else 1 + tf.math.log(tf.square(e))


minimizing(
    "a robust loss in an eager-style script with a branch",
    {"w": [3, 1], "b": [1]},
    {"x": {"shape": [5, 3], "scale": 2}, "y": {"shape": [5], "scale": 3}},
    lambda: O.SGD(0.1),
    lambda v, xs: tf.add_n(
        [
            py(robust, [e], [])
            for e in tf.unstack(tf.squeeze(xs["x"] @ v["w"] + v["b"], [1]) - xs["y"])
        ]
    ),
)


def row_body(row, s):
    if tf.reduce_max(row) > 0.2:
        return s * tf.reduce_sum(tf.exp(row))
    return tf.reduce_sum(tf.square(row))


minimizing(
    "an eager-style script in mapFn, trained through",
    {"w": [3, 2], "scale": {"values": [0.8], "shape": []}},
    {"x": [4, 3], "y": [4]},
    lambda: O.SGD(0.2),
    lambda v, xs: mean_square(
        tf.map_fn(lambda row: py(row_body, [row, v["scale"]], []), xs["x"] @ v["w"]) - xs["y"]
    ),
    compiled=False,
)


def loop(v, xs):
    def body(i, h):
        noise = tf.numpy_function(lambda i: np.float32([i * 0.1, i * -0.2]), [i], tf.float32)
        step = py(lambda h, w: tf.sin(h * w), [h + tf.ensure_shape(noise, [2]), v["w"]], [2])
        return i + 1, step

    return tf.reduce_sum(
        tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), xs["x"] + 1))[1]
    )


minimizing(
    "scripts of both styles in whileLoop, trained through",
    {"w": {"values": [0.9, -0.6]}},
    {"x": [2]},
    lambda: O.SGD(0.1),
    loop,
    compiled=False,
)


# TensorFlow gives no gradient to what a py_function closes over, so here the body stands without one.
minimizing(
    "an eager-style script that reads variables of its own",
    {"w": [3, 2], "inside": {"values": [0.5, -0.3]}},
    {"x": [4, 3], "y": [4, 2]},
    lambda: O.SGD(0.3, 0.9),
    lambda v, xs: mean_square(
        tf.tanh(xs["x"] @ v["w"]) + v["inside"] * tf.abs(v["inside"]) - xs["y"]
    ),
)


# TensorFlow cannot differentiate a py_function twice, so here the body stands without one.
@program(
    "the second derivative of an eager-style script",
    {"w": {"values": [0.7, 1.2]}},
    {"x": {"shape": [2], "offset": 1}},
)
def second(v):
    w = v["w"]

    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.exp(w * x) * x
            first = inner.gradient(y, x)
        second, dw = outer.gradient(first, [x, w])
        w.assign_sub(0.01 * dw)
        return {"y": y, "first": first, "second": second, "dw": dw}

    return step


@program(
    "scripts with effects of their own, in their order", {"v": {"values": [1, 2]}}, {"x": [2]}
)
def effects(variables):
    v = variables["v"]
    calls = -1

    def count():
        nonlocal calls
        calls += 1
        return np.int32(calls)

    def step(xs):
        one = tf.numpy_function(count, [], tf.int32)
        v.assign_add(xs["x"])
        two = tf.py_function(count, [], tf.int32)
        v.assign(v * 2)
        three = tf.numpy_function(count, [], tf.int32)
        return {"one": one, "two": two, "three": three, "constant": tf.constant(3.0)}

    return step


@program(
    "a stateless script over constants, after an assignment",
    {"v": {"values": [1], "shape": []}},
    {"x": [2]},
)
def stateless(v):
    def step(xs):
        v["v"].assign_add(1)
        twice = tf.numpy_function(
            lambda a: 2 * a, [tf.constant([1.0, 2.0])], tf.float32, stateful=False
        )
        return {"sum": twice + xs["x"]}

    return step


@program(
    "rank-0 arrays in a body's arithmetic",
    {"v": {"values": [0], "shape": []}},
    {"x": {"shape": [], "scale": 2}},
)
def rank_0(v):
    def step(xs):
        def scalar(f):
            return tf.numpy_function(lambda x: np.float32(f(x)), [xs["x"]], tf.float32)

        sign, twice, more = (
            scalar(lambda x: 1 if x > 0 else -1),
            scalar(lambda x: x * 2),
            scalar(lambda x: x + 1),
        )
        v["v"].assign_add(tf.reshape(twice, []))
        return {"sign": sign, "twice": twice, "more": more}

    return step


def nest(v, xs):
    def split(x):
        return np.int32(np.argmax(x)), x > 0.3, x[x > 0], x[x <= 0]

    best, high, up, down = tf.numpy_function(
        split, [xs["x"]], [tf.int32, tf.bool, tf.float32, tf.float32]
    )
    w = v["w"]
    chosen = tf.where(tf.ensure_shape(high, [4]), tf.square(w), w * 0.5)
    return (
        tf.gather(w, tf.ensure_shape(best, []))
        + tf.reduce_sum(tf.ensure_shape(up, [None])) * tf.reduce_sum(chosen)
        + tf.reduce_sum(tf.ensure_shape(down, [None])) * tf.reduce_mean(w)
    )


minimizing(
    "outputs of several dtypes in a nest",
    {"w": [4]},
    {"x": {"shape": [4], "scale": 2}},
    lambda: O.SGD(0.2),
    nest,
)


def awaiting(v, xs):
    shift = tf.numpy_function(
        lambda h: np.float32(np.floor(h * 4 + 0.5) / 4), [xs["x"] @ v["w"]], tf.float32
    )
    mixed = py(
        lambda h, s: h + s if s[0, 0] > 0 else h * (1 - s),
        [xs["x"] @ v["w"], tf.ensure_shape(shift, [4, 2])],
        [4, 2],
    )
    return mean_square(mixed @ v["u"] - xs["y"])


minimizing(
    "bodies that await, between layers",
    {"w": [3, 2], "u": [2, 2]},
    {"x": [4, 3], "y": [4, 2]},
    lambda: O.SGD(0.3),
    awaiting,
)
