"""Gradients where care is needed; see numerics_test.ts."""

import keras
import tensorflow as tf

from registry import Adam, mean_square, minimizing, program

O = keras.optimizers


@tf.custom_gradient
def rounded(x):
    return tf.round(x * 4) / 4, lambda dy: dy


@tf.custom_gradient
def clipped(x):
    return tf.square(x), lambda dy: tf.clip_by_value(dy * 2 * x, -0.05, 0.05)


minimizing(
    "custom gradients: rounding passed straight through, and a gradient that is clipped",
    {"w": {"shape": [3, 2], "scale": 2}},
    {"x": [4, 3], "y": [4, 2]},
    lambda: O.SGD(0.5),
    lambda v, xs: tf.reduce_mean(clipped(xs["x"] @ rounded(v["w"].read_value()) - xs["y"])),
)


@program(
    "float64, float32, int32 and bool in one loss",
    {
        "w": {"shape": [3, 2], "dtype": "float64"},
        "b": {"shape": [2]},
        "steps": {"values": [0], "shape": [], "dtype": "int32"},
    },
    {
        "x": {"shape": [4, 3], "dtype": "float64"},
        "ids": {"shape": [4], "below": 2},
        "mask": {"values": [1, 0, 1, 1], "dtype": "bool"},
    },
)
def dtypes(v):
    slots = {n: tf.Variable(tf.zeros_like(v[n])) for n in ("w", "b")}

    def step(xs):
        kept = tf.cast(xs["mask"], tf.float32)
        with tf.GradientTape() as tape:
            logits = tf.cast(xs["x"] @ v["w"], tf.float32) + v["b"]
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=xs["ids"], logits=logits)
            cost = tf.reduce_sum(each * kept) / tf.reduce_sum(kept)
        # Keras's slots are float32 for all variables.
        for n, g in tape.gradient(cost, {n: v[n] for n in slots}).items():
            slots[n].assign(slots[n] * 0.5 + g)
            v[n].assign_sub(0.5 * slots[n])
        v["steps"].assign_add(tf.reduce_sum(tf.cast(xs["mask"], tf.int32)))
        return {"cost": cost}

    return step


def half(v, xs):
    w, u = tf.cast(v["w"], tf.float16), tf.cast(v["u"], tf.float16)
    return mean_square(tf.cast(tf.nn.relu(xs["x"] @ w) @ u, tf.float32) - xs["y"])


minimizing(
    "float16 in the forward pass, float32 for the weights",
    {"w": [3, 4], "u": [4, 2]},
    {"x": {"shape": [5, 3], "dtype": "float16"}, "y": [5, 2]},
    lambda: O.SGD(0.25),
    half,
)


@program(
    "ties of max and min, and roots at zero behind a mask",
    {"w": {"values": [1, 2, 2, -1, -1, 0], "shape": [2, 3]}},
    {"x": {"values": [0, 4, 0, 1, 9, 0], "shape": [2, 3]}},
    steps=1,
)
def ties(v):
    w = v["w"]

    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as tape:
            y = tf.add_n(
                [
                    tf.reduce_sum(tf.reduce_max(w, 1)),
                    tf.reduce_sum(tf.reduce_min(w, 1) * 0.5),
                    tf.reduce_max(tf.maximum(w, 2)),
                    tf.reduce_sum(tf.minimum(w, [[1, 2, 3], [-1, -2, 5]])),
                    tf.reduce_sum(tf.nn.relu(w)),
                    tf.reduce_sum(tf.abs(w)),
                ]
            )
        dw = tape.gradient(y, w)
        with tf.GradientTape() as tape:
            tape.watch(x)
            positive = x > 0
            roots = tf.add_n(
                [
                    tf.reduce_sum(tf.where(positive, f(x), tf.zeros_like(x)))
                    for f in (tf.sqrt, tf.math.rsqrt)
                ]
            )
        w.assign_sub(dw)
        return {
            "y": y,
            "dw": dw,
            "roots": roots,
            "dRoots": tape.gradient(roots, x),
        }

    return step


@program(
    "NaN and infinity, which no literal zero hides",
    {"w": {"values": [1, 1, 1, 1]}},
    {"x": {"values": [float("nan"), float("inf"), -float("inf"), 2]}},
)
def unknown(v):
    w, nan = v["w"], tf.math.is_nan

    def step(xs):
        x = xs["x"]
        product = nan(x * 0)
        result = {
            "product": product,
            "sum": nan((x + 1) * 0),
            "quotient": nan(0 / x),
            "scaled": nan(tf.reduce_sum(x * 0 * w)),
            "least": nan(tf.reduce_min(x)),
            "clipped": nan(tf.nn.relu(x)),
        }
        w.assign(tf.where(product, w, x * w))
        return result

    return step


minimizing(
    "a loss over spectra",
    {"filter": [8]},
    {"x": [2, 8], "y": [2, 8]},
    lambda: Adam(0.05),
    lambda v, xs: tf.reduce_mean(
        tf.square(tf.abs(tf.signal.rfft(xs["x"] * v["filter"]) - tf.signal.rfft(xs["y"])))
    ),
)


def sorted_and_summed(v, xs):
    w = v["w"]
    return tf.add_n(
        [
            tf.reduce_sum(tf.math.top_k(w, 3).values * [3.0, 2.0, 1.0]),
            tf.reduce_sum(tf.square(tf.cumsum(w * xs["weights"], 1, exclusive=True))),
            tf.reduce_sum(tf.math.cumprod(tf.sigmoid(w), 0)),
            tf.reduce_sum(tf.exp(tf.math.unsorted_segment_sum(w, xs["ids"], 3))),
            mean_square(tf.gather(w, xs["order"])),
        ]
    )


minimizing(
    "sorted, gathered, summed by segments and along rows",
    {"w": {"shape": [4, 5], "scale": 1}},
    {"weights": [5], "ids": {"shape": [4], "below": 3}, "order": {"shape": [2, 3], "below": 4}},
    lambda: O.SGD(0.1),
    sorted_and_summed,
)


def moved(v, xs):
    w = v["w"].read_value()
    turned = tf.transpose(tf.reverse(w, [1]), [2, 0, 1])
    padded = tf.pad(
        tf.pad(turned, [[1, 0], [0, 0], [2, 1]]), [[0, 1], [1, 1], [0, 0]], "REFLECT"
    )
    strided = padded[0:6:2, 0:4, 0:6:2]
    left, right = tf.split(w, [1, 2], 1)
    joined = tf.concat([right, tf.tile(left, [1, 2, 1]), tf.roll(xs["x"], 1, 2)], 1)
    a, b = tf.unstack(tf.reshape(joined, [2, -1]))
    space = tf.nn.depth_to_space(tf.reshape(w, [1, 2, 3, 4]), 2)
    return tf.add_n(
        [
            mean_square(strided),
            tf.reduce_sum(a * tf.sin(b)),
            tf.reduce_sum(tf.exp(w[:, 1:2, 1:3])),
            tf.reduce_sum(space * space),
            tf.reduce_sum(tf.square(tf.broadcast_to(w[:1, :, :1], [2, 3, 4]))),
        ]
    )


minimizing(
    "elements moved about in every way",
    {"w": {"shape": [2, 3, 4], "scale": 1}},
    {"x": [2, 3, 4]},
    lambda: O.SGD(0.05),
    moved,
)


def elementary(v, xs):
    w, x = v["w"], xs["x"]
    high = 1.5 + w * x
    m, n = tf.math, tf.nn
    near = [
        m.sin, m.cos, m.tan, m.asin, m.acos, m.atan, m.sinh, m.cosh, m.tanh, m.asinh,
        m.atanh, m.exp, m.expm1, m.sigmoid, m.softplus, n.softsign, n.elu, n.selu,
        # tf.gelu takes the tangent form unless told otherwise.
        lambda x: n.gelu(x, approximate=False),
        m.erf, n.leaky_relu, n.relu6, m.log_sigmoid, m.square, m.negative, m.abs,
    ]  # fmt: skip
    positive = [m.log, m.log1p, m.sqrt, m.rsqrt, m.reciprocal, m.acosh]
    return tf.add_n(
        [tf.reduce_sum(f(w.read_value())) for f in near]
        + [tf.reduce_sum(f(high)) for f in positive]
        + [
            tf.reduce_sum(y)
            for y in (
                tf.pow(high, x),
                m.atan2(w, x),
                w / x,
                m.squared_difference(w, x),
                m.floormod(high, x),
            )
        ]
    )


minimizing(
    "every elementary function in one sum",
    {"w": {"shape": [7], "scale": 0.7}},
    {"x": {"shape": [7], "scale": 0.3, "offset": 0.5}},
    lambda: O.SGD(0.001),
    elementary,
)


def linear(v, xs):
    a = v["a"].read_value()
    lower = tf.linalg.band_part(a, -1, 0) + tf.eye(3) * 3
    solved = tf.linalg.triangular_solve(lower, v["b"], lower=True)
    return mean_square(solved - xs["y"]) + 0.1 * tf.reduce_sum(a @ tf.transpose(a))


minimizing(
    "triangular systems and orthogonal columns",
    {"a": {"shape": [3, 3], "scale": 1}, "b": [3, 2]},
    {"y": [3, 2]},
    lambda: O.SGD(0.05),
    linear,
)


@program(
    "whole numbers: shifts, bits, divisions and counts",
    {"counts": {"values": [0, 0, 0, 0, 0], "dtype": "int32"}},
    {"x": {"shape": [6], "below": 11}, "y": {"shape": [6], "below": 5}},
)
def whole(v):
    def step(xs):
        x, y = xs["x"], xs["y"]
        below, divisor = x - 5, y + 1
        v["counts"].assign_add(tf.math.bincount(y, minlength=5, maxlength=5))
        return {
            "floor": below // divisor,
            "mod": below % divisor,
            "bits": tf.bitwise.bitwise_xor(
                tf.bitwise.left_shift(x, y), tf.bitwise.bitwise_and(x, 6)
            ),
            "power": tf.pow(below, y),
            "least": tf.argmin(below, output_type=tf.int32),
            "order": tf.gather(x, tf.argsort(y, stable=True)),
            "any": tf.reduce_any(tf.equal(x, y)),
            "truth": tf.logical_and(x > 3, tf.logical_not(tf.cast(y, tf.bool))),
        }

    return step
