"""Ways to train; see training_test.ts."""

import keras
import tensorflow as tf

from network import DATA, NETWORK, cost_of
from registry import Adam, mean_square, minimize, minimizing, program

O = keras.optimizers


def zeros(*shape):
    n = 1
    for d in shape:
        n *= d
    return {"values": [0] * n, "shape": list(shape)}


@program(
    "gradients summed over two batches",
    {
        **NETWORK,
        "sumW": zeros(3, 4),
        "sumB": zeros(4),
        "sumO": zeros(4, 2),
        "count": {"values": [0], "shape": [], "dtype": "int32"},
    },
    DATA,
    steps=4,
)
def accumulation(v):
    trained, sums = [v["w"], v["b"], v["o"]], [v["sumW"], v["sumB"], v["sumO"]]

    def step(xs):
        with tf.GradientTape() as tape:
            value = cost_of(v, xs)
        for s, g in zip(sums, tape.gradient(value, trained)):
            s.assign_add(g)
        v["count"].assign_add(1)

        def full():
            for w, s in zip(trained, sums):
                w.assign_sub(s * 0.1)
            for s in sums:
                s.assign(tf.zeros_like(s))
            return tf.constant(1.0)

        return {
            "cost": value,
            "stepped": tf.cond(v["count"] % 2 == 0, full, lambda: tf.constant(0.0)),
        }

    return step


@program(
    "gradients clipped by their global norm",
    NETWORK,
    {"x": {"shape": [5, 3], "scale": 3}, "y": {"shape": [5, 2], "scale": 3}},
)
def clipping(v):
    trained = list(v.values())
    o = O.SGD(0.2, 0.9)
    o.build(trained)

    def step(xs):
        with tf.GradientTape() as tape:
            value = cost_of(v, xs)
        grads, norm = tf.clip_by_global_norm(tape.gradient(value, trained), 0.5)
        o.apply_gradients(zip(grads, trained))
        return {"cost": value, "norm": norm}

    return step


@program(
    "an exponential moving average of the weights", {**NETWORK, "average": zeros(3, 4)}, DATA
)
def ema(v):
    trained = [v["w"], v["b"], v["o"]]
    o = Adam(0.05)
    o.build(trained)

    def step(xs):
        value = minimize(o, lambda: cost_of(v, xs), trained)
        v["average"].assign(v["average"] * 0.8 + v["w"] * 0.2)
        return {"cost": value, "smooth": tf.reduce_sum(v["average"])}

    return step


@program(
    "a learning rate that a variable keeps and the step lowers",
    {**NETWORK, "rate": {"values": [0.5], "shape": []}},
    DATA,
    steps=5,
)
def rate(v):
    trained = [v["w"], v["b"], v["o"]]

    def step(xs):
        with tf.GradientTape() as tape:
            value = cost_of(v, xs)
        for w, g in zip(trained, tape.gradient(value, trained)):
            w.assign_sub(v["rate"] * g)
        v["rate"].assign(v["rate"] * 0.7)
        return {"cost": value}

    return step


@program("two optimizers, each for its part of the model", NETWORK, DATA)
def two_optimizers(v):
    slow, fast = O.SGD(0.05), Adam(0.05)
    slow.build([v["w"], v["b"]])
    fast.build([v["o"]])

    def step(xs):
        with tf.GradientTape() as tape:
            value = cost_of(v, xs)
        dw, db, do = tape.gradient(value, [v["w"], v["b"], v["o"]])
        slow.apply_gradients([(dw, v["w"]), (db, v["b"])])
        fast.apply_gradients([(do, v["o"])])
        return {"cost": value}

    return step


def decayed(v, xs):
    sizes = [tf.reduce_sum(tf.abs(w)) + tf.reduce_sum(tf.square(w)) for w in (v["w"], v["o"])]
    return cost_of(v, xs) + 0.01 * tf.add_n(sizes)


minimizing(
    "weight decay in the loss", NETWORK, DATA, lambda: O.SGD(0.1, 0.5, nesterov=True), decayed
)


@program(
    "a line search", {"w": {"values": [1.5, -1, 0.5]}}, {"a": {"shape": [3], "offset": 1.5}}
)
def line_search(v):
    w = v["w"]

    def step(xs):
        def cost(p):
            return tf.reduce_sum(xs["a"] * tf.pow(p, 4))

        with tf.GradientTape() as tape:
            value = cost(w)
        slope = tape.gradient(value, w)
        enough = 0.3 * tf.reduce_sum(tf.square(slope))
        rate, tries = tf.while_loop(
            lambda rate, _: cost(w - rate * slope) > value - rate * enough,
            lambda rate, tries: (rate * 0.5, tries + 1),
            (tf.constant(1.0), tf.constant(0)),
            maximum_iterations=30,
        )
        w.assign(w - rate * slope)
        return {"value": value, "rate": rate, "tries": tries}

    return step


@program("training inside foldl", {"w": [3, 2]}, {"xs": [4, 5, 3], "ys": [4, 5, 2]})
def foldl(v):
    def one(p, xy):
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = mean_square(xy[0] @ p - xy[1])
        return p - 0.5 * tape.gradient(value, p)

    def step(xs):
        learnt = tf.foldl(one, (xs["xs"], xs["ys"]), initializer=v["w"].read_value())
        v["w"].assign(learnt)
        return {"learnt": learnt}

    return step


@program(
    "gradients of single examples by mapFn", {"w": [3, 2], "b": [2]}, {"xs": [4, 3], "ys": [4, 2]}
)
def examples(v):
    def one(xy):
        with tf.GradientTape() as tape:
            value = mean_square(xy[0][None] @ v["w"] + v["b"] - xy[1])
        dw, db = tape.gradient(value, [v["w"], v["b"]])
        return dw, tf.sqrt(tf.reduce_sum(dw * dw) + tf.reduce_sum(db * db))

    def step(xs):
        dw, norm = tf.map_fn(
            one, (xs["xs"], xs["ys"]), fn_output_signature=(tf.float32, tf.float32)
        )
        v["w"].assign_sub(0.3 * tf.reduce_mean(dw, 0))
        return {"norm": norm}

    return step


@program("an optimizer inside whileLoop", NETWORK, DATA, steps=2)
def inside(v):
    o = Adam(0.05)
    o.build(list(v.values()))

    def step(xs):
        _, last = tf.while_loop(
            lambda i, _: i < 4,
            lambda i, _: (i + 1, minimize(o, lambda: cost_of(v, xs), list(v.values()))),
            (tf.constant(0), tf.constant(0.0)),
        )
        return {"last": last}

    return step


@program(
    "Q-learning of a table",
    {"q": {"shape": [4, 2], "scale": 0.1}},
    {
        "state": {"shape": [3], "below": 4},
        "action": {"shape": [3], "below": 2},
        "next": {"shape": [3], "below": 4},
        "reward": [3],
    },
)
def q_learning(v):
    q = v["q"]

    def step(xs):
        best = tf.reduce_max(tf.gather(q, xs["next"]), 1)
        at = tf.stack([xs["state"], xs["action"]], 1)
        error = xs["reward"] + 0.9 * best - tf.gather_nd(q, at)
        q.assign(tf.tensor_scatter_nd_add(q, at, 0.5 * error))
        return {"error": error}

    return step


def policy(v, xs):
    returns = tf.scan(
        lambda total, now: now + 0.9 * total, xs["rewards"], tf.constant(0.0), reverse=True
    )
    mean, variance = tf.nn.moments(returns, [0])
    scaled = (returns - mean) / tf.sqrt(variance + 1e-3)
    chosen = tf.reduce_sum(
        tf.nn.log_softmax(xs["states"] @ v["w"]) * tf.one_hot(xs["actions"], 2), 1
    )
    return -tf.reduce_mean(chosen * tf.stop_gradient(scaled))


minimizing(
    "a policy gradient with discounted rewards",
    {"w": [3, 2]},
    {"states": [6, 3], "actions": {"shape": [6], "below": 2}, "rewards": [6]},
    lambda: O.SGD(0.2),
    policy,
)
