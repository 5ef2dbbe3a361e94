"""Tapes of every kind; see tapes_test.ts."""

import keras
import tensorflow as tf

from network import DATA, NETWORK, cost_of, network
from registry import Adam, mean_square, minimizing, program

O = keras.optimizers


minimizing(
    "a step that frees what it makes, without a scope around it",
    NETWORK,
    DATA,
    lambda: O.SGD(0.1, 0.9),
    cost_of,
)


def maml(v, xs):
    with tf.GradientTape() as tape:
        inner = cost_of(v, xs)
    grads = tape.gradient(inner, v)
    stepped = {k: v[k] - 0.5 * grads[k] for k in v}
    return mean_square(network(xs["x2"], stepped) - xs["y2"])


minimizing(
    "MAML: a step of gradients inside the loss",
    NETWORK,
    {**DATA, "x2": [5, 3], "y2": [5, 2]},
    lambda: O.SGD(0.1),
    maml,
)


def penalty(v, xs):
    between = xs["real"] * 0.3 + xs["fake"] * 0.7
    with tf.GradientTape() as tape:
        tape.watch(between)
        y = network(between, v)
    norm = tf.sqrt(tf.reduce_sum(tf.square(tape.gradient(y, between)), 1))
    critic = tf.reduce_mean(network(xs["fake"], v)) - tf.reduce_mean(network(xs["real"], v))
    return critic + 10 * mean_square(norm - 1)


minimizing(
    "a gradient penalty",
    {"w": [3, 4], "b": [4], "o": [4, 1]},
    {"real": {"shape": [4, 3], "offset": 0.5}, "fake": [4, 3]},
    lambda: Adam(0.02, 0.5, 0.9),
    penalty,
)


@program("the product of a Hessian and a vector", NETWORK, {**DATA, "p": [3, 4]})
def hessian_vector(v):
    def step(xs):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                value = cost_of(v, xs)
            slope = inner.gradient(value, v["w"])
            along = tf.reduce_sum(slope * xs["p"])
        return {"slope": slope, "product": outer.gradient(along, v["w"])}

    return step


@program(
    "Newton's method with a jacobian of gradients",
    {"w": {"values": [1.2, -0.7]}},
    {"a": {"shape": [2], "offset": 2}},
)
def newton(v):
    w = v["w"]

    def step(xs):
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                value = tf.reduce_sum(xs["a"] * tf.cosh(w)) + 0.3 * tf.reduce_prod(w)
            slope = inner.gradient(value, w)
        hessian = outer.jacobian(slope, w)
        w.assign_sub(tf.linalg.matvec(tf.linalg.inv(hessian), slope))
        return {"value": value, "hessian": hessian}

    return step


@program("a persistent tape for two losses", NETWORK, DATA)
def persistent(v):
    def step(xs):
        with tf.GradientTape(persistent=True) as tape:
            a = cost_of(v, xs)
            b = tf.reduce_mean(tf.abs(network(xs["x"], v)))
        dw, do = tape.gradient(a, [v["w"], v["o"]])
        dw2, db2 = tape.gradient(b, [v["w"], v["b"]])
        v["w"].assign_sub(0.1 * dw)
        v["o"].assign_sub(0.1 * do)
        v["b"].assign_sub(0.1 * db2)
        return {"a": a, "b": b, "dw": dw2}

    return step


@program(
    "three nested tapes give a third derivative",
    {"w": {"values": [0.8, -0.3]}},
    {"x": {"shape": [2], "offset": 1}},
)
def third(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as t3:
            t3.watch(x)
            with tf.GradientTape() as t2:
                t2.watch(x)
                with tf.GradientTape() as t1:
                    t1.watch(x)
                    y = tf.sin(v["w"] * x) * tf.square(x)
                first = t1.gradient(y, x)
            second = t2.gradient(first, x)
        last = t3.gradient(second, x)
        v["w"].assign_sub(last * 0.01)
        return {"y": y, "first": first, "second": second, "third": last}

    return step


@program(
    "a tape that stops recording, and a stopped gradient", {**NETWORK, "frozen": [4, 2]}, DATA
)
def stopped(v):
    def step(xs):
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                scale = 1 + tf.reduce_sum(tf.abs(v["b"]))
            target = tf.stop_gradient(xs["y"] + 0.9 * network(xs["x"], {**v, "o": v["frozen"]}))
            value = scale * mean_square(network(xs["x"], v) - target)
        dw, db, frozen = tape.gradient(
            value, [v["w"], v["b"], v["frozen"]], unconnected_gradients="zero"
        )
        v["w"].assign_sub(0.1 * dw)
        v["b"].assign_sub(0.1 * db)
        return {"value": value, "dFrozen": frozen}

    return step


@program("a tape that watches only what it is told", NETWORK, DATA)
def told(v):
    def step(xs):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([v["o"], xs["x"]])
            value = cost_of(v, xs)
        do, dx, db = tape.gradient(value, [v["o"], xs["x"], v["b"]], unconnected_gradients="zero")
        v["o"].assign_sub(0.2 * do)
        return {"value": value, "dx": dx, "db": db}

    return step
