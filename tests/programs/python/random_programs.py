"""Programs that draw at random; see random_test.ts. The module cannot be called random."""

import tensorflow as tf

from registry import program


def same(a, b):
    return tf.reduce_all(tf.equal(a, b))


@program(
    "dropout, whose gradient knows what was dropped",
    {"w": {"shape": [40], "offset": 2}},
    {"x": {"shape": [40], "offset": 2}},
)
def dropout(v):
    w = v["w"]

    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x * w, 0.5)
        dw, dx = tape.gradient(y, [w, x])
        kept = tf.not_equal(y, 0)
        return {
            "isDoubled": tf.reduce_all((y == 0) | (tf.abs(y - x * w * 2) < 1e-4)),
            "some": tf.reduce_any(kept),
            "notAll": ~tf.reduce_all(kept),
            "wAgrees": same(kept, dw != 0),
            "xAgrees": same(kept, dx != 0),
        }

    return step


@program(
    "two draws of one seed in a function, and the next call's",
    {},
    {"x": [16]},
    compiled=False,
)
def twins(_):
    @tf.function
    def noise():
        return [tf.random.uniform([16], seed=s) for s in (5, 5, 6)]

    last = tf.zeros([16])

    def step(xs):
        nonlocal last
        a, b, c = noise()
        is_new = ~same(a, last)
        last = a
        return {
            "twins": same(a, b),
            "others": same(a, c),
            "isNew": is_new,
            "bounded": tf.reduce_all((a >= 0) & (a < 1)),
            "x": -xs["x"],
        }

    return step


@program("each function begins a seed's sequence anew", {}, {"x": [3]}, compiled=False)
def anew(_):
    def step(xs):
        f = tf.function(lambda: tf.random.normal([8], seed=5))
        g = tf.function(lambda: tf.random.normal([8], seed=5))
        f1, f2, g1, g2 = f(), f(), g(), g()
        return {
            "goesOn": same(f1, f2),
            "first": same(f1, g1),
            "second": same(f2, g2),
            "x": -xs["x"],
        }

    return step


@program(
    "samples that are shifted and scaled, and their gradients",
    {"mean": {"values": [1, -2, 0.5, 0]}, "scale": {"values": [0.5, 1, 2, 3]}},
    {"x": [4]},
)
def samples(v):
    mean, scale = v["mean"], v["scale"]

    def step(xs):
        with tf.GradientTape() as tape:
            y = mean + scale * tf.random.normal([6, 4])
        d_mean, d_scale = tape.gradient(y, [mean, scale])
        noise = tf.reduce_sum((y - mean) / scale, 0)
        mean.assign_add(xs["x"] * 0.1)
        return {"dMean": d_mean, "agrees": tf.reduce_all(tf.abs(noise - d_scale) < 1e-3)}

    return step


@program(
    "draws in a loop until one is accepted, and permutations",
    {},
    {"x": {"shape": [6], "below": 10}},
)
def loops(_):
    def step(xs):
        tries, accepted = tf.while_loop(
            lambda _, u: u < 0.7,
            lambda tries, _: (tries + 1, tf.random.uniform([])),
            (tf.constant(0), tf.constant(0.0)),
            maximum_iterations=1000,
        )
        order = tf.argsort(tf.random.uniform([6]))
        drawn = tf.random.categorical([[0.0, 0.0, -1000.0]], 20)
        near = tf.random.truncated_normal([50], 1, 2)
        rows = tf.map_fn(lambda _: tf.random.uniform([]), tf.zeros([4]))
        return {
            "tried": tries >= 1,
            "accepted": accepted >= 0.7,
            "whole": tf.reduce_sum(tf.gather(xs["x"], order)),
            "possible": tf.reduce_max(drawn) < 2,
            "near": tf.reduce_max(tf.abs(near - 1)) <= 4,
            "rowsDiffer": ~same(rows, tf.reverse(rows, [0])),
        }

    return step
