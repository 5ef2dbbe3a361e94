"""Algorithms that are no networks; see algorithms_test.ts."""

import keras
import tensorflow as tf

from registry import Adam, minimize, minimizing, program

O = keras.optimizers


@program(
    "k-means",
    {"centers": {"shape": [3, 2], "scale": 2}, "seen": {"values": [0, 0, 0]}},
    {"points": {"shape": [12, 2], "scale": 3}},
)
def k_means(v):
    centers = v["centers"]

    def step(xs):
        points = xs["points"]
        apart = tf.reduce_sum(tf.square(points[:, None] - centers), 2)
        nearest = tf.argmin(apart, 1, tf.int32)
        count = tf.math.unsorted_segment_sum(tf.ones([12]), nearest, 3)
        sums = tf.math.unsorted_segment_sum(points, nearest, 3)
        centers.assign(
            tf.where(count[:, None] > 0, tf.math.divide_no_nan(sums, count[:, None]), centers)
        )
        v["seen"].assign_add(count)
        return {"nearest": nearest, "count": count}

    return step


@program(
    "the largest eigenvalue by powers",
    {"v": {"values": [1, 1, 1], "shape": [3, 1]}},
    {"a": {"shape": [3, 3], "offset": 0.6}},
)
def powers(variables):
    v = variables["v"]

    def step(xs):
        m = tf.matmul(xs["a"], xs["a"], transpose_a=True)

        def body(x, _):
            y = m @ x
            fresh = y / tf.norm(y)
            return fresh, tf.norm(fresh - x)

        x, _ = tf.while_loop(
            lambda _, change: change > 1e-4,
            body,
            (v / tf.norm(v), tf.constant(1.0)),
            maximum_iterations=60,
        )
        v.assign(x)
        return {"value": tf.reduce_sum(x * (m @ x)), "vector": x}

    return step


@program(
    "conjugate gradients",
    {"x": {"values": [0, 0, 0, 0], "shape": [4, 1]}},
    {"a": [4, 4], "b": [4, 1]},
)
def conjugate(v):
    def dot(p, q):
        return tf.reduce_sum(p * q)

    def step(xs):
        m = tf.matmul(xs["a"], xs["a"], transpose_a=True) + tf.eye(4)

        def body(i, x, r, p):
            mp = m @ p
            alpha = dot(r, r) / dot(p, mp)
            rest = r - alpha * mp
            return i + 1, x + alpha * p, rest, rest + dot(rest, rest) / dot(r, r) * p

        r = xs["b"] - m @ v["x"]
        _, x, left, _ = tf.while_loop(
            lambda i, x, r, p: (i < 10) & (dot(r, r) > 1e-6),
            body,
            (tf.constant(0), v["x"].read_value(), r, r),
        )
        v["x"].assign(x * 0.5)
        return {"x": x, "isSolved": dot(left, left) < 1e-5}

    return step


def ode(v, xs):
    def field(y):
        return tf.tanh(y @ v["w"] + v["b"])

    def body(t, y):
        h = 0.25
        k1 = field(y)
        k2 = field(y + k1 * h / 2)
        k3 = field(y + k2 * h / 2)
        k4 = field(y + k3 * h)
        return t + h, y + (k1 + 2 * k2 + 2 * k3 + k4) * h / 6

    y = tf.while_loop(lambda t, _: t < 0.99, body, (tf.constant(0.0), xs["start"]))[1]
    return tf.reduce_mean(tf.square(y - xs["end"]))


minimizing(
    "an ordinary differential equation, its field trained through the solver",
    {"w": {"shape": [2, 2], "scale": 0.8}, "b": [1, 2]},
    {"start": {"shape": [3, 2], "scale": 1}, "end": {"shape": [3, 2], "scale": 1}},
    lambda: Adam(0.05),
    ode,
)


@program(
    "the likeliest path through hidden states",
    {"switches": {"shape": [3, 3], "scale": 1}},
    {"emissions": {"shape": [5, 3], "scale": 1}},
)
def viterbi(v):
    switches = v["switches"]
    o = O.SGD(0.1)
    o.build([switches])

    def step(xs):
        emissions = xs["emissions"]
        best, froms = emissions[0], []
        for t in range(1, 5):
            ways = best[:, None] + switches
            best = tf.reduce_max(ways, 0) + emissions[t]
            froms.append(tf.argmax(ways, 0, tf.int32))
        last = tf.argmax(best, 0, tf.int32)
        path, at = [], last
        for f in reversed(froms):
            at = tf.gather(f, at)
            path.insert(0, at)

        def cost():
            a = emissions[0]
            for t in range(1, 5):
                a = tf.reduce_logsumexp(a[:, None] + tf.nn.log_softmax(switches), 0) + emissions[t]
            return -tf.reduce_logsumexp(a)

        return {"path": tf.stack(path), "last": last, "cost": minimize(o, cost, [switches])}

    return step


@program(
    "a Kalman filter over measurements",
    {"level": {"values": [0], "shape": []}, "spread": {"values": [1], "shape": []}},
    {"measured": {"shape": [8], "offset": 1}},
)
def kalman(v):
    def one(state, z):
        x, p = state
        before = p + 0.1
        gain = before / (before + 0.5)
        return x + gain * (z - x), (1 - gain) * before

    def step(xs):
        start = (v["level"].read_value(), v["spread"].read_value())
        levels, spreads = tf.scan(one, xs["measured"], start)
        v["level"].assign(levels[7])
        v["spread"].assign(spreads[7])
        return {"levels": levels, "spreads": spreads}

    return step
