"""Recurrent networks; see recurrent_test.ts."""

import keras
import tensorflow as tf

from registry import minimizing

O = keras.optimizers


def lstm(v):
    def cell(x, states):
        c, h = states
        i, j, f, o = tf.split(tf.concat([x, h], 1) @ v["kernel"] + v["bias"], 4, 1)
        c = c * tf.sigmoid(f + 1) + tf.sigmoid(i) * tf.tanh(j)
        return [c, tf.tanh(c) * tf.sigmoid(o)]

    return cell


def gru(v):
    def cell(x, states):
        (h,) = states
        both = tf.sigmoid(tf.concat([x, h], 1) @ v["gates"] + v["gateBias"])
        reset, update = tf.split(both, 2, 1)
        fresh = tf.tanh(tf.concat([x, reset * h], 1) @ v["candidate"] + v["bias"])
        return [update * h + (1 - update) * fresh]

    return cell


def unrolled(cell, xs, states):
    outputs = []
    for x in tf.unstack(xs):
        states = cell(x, states)
        outputs.append(states[-1])
    return tf.stack(outputs)


def in_while(cell, xs, states):
    def body(t, outputs, *states):
        states = cell(xs[t], states)
        return [t + 1, outputs.write(t, states[-1]), *states]

    outputs = tf.TensorArray(tf.float32, 4, element_shape=[2, 2])
    return tf.while_loop(lambda t, *_: t < 4, body, [0, outputs, *states])[1].stack()


def in_scan(cell, xs, states):
    return tf.scan(lambda states, x: cell(x, states), xs, states)[-1]


CELLS = {
    "LSTM": ({"kernel": [5, 8], "bias": [8]}, 2, lstm),
    "GRU": ({"gates": [5, 4], "gateBias": [4], "candidate": [5, 2], "bias": [2]}, 1, gru),
}
WALKS = {"unrolled": unrolled, "in whileLoop": in_while, "in scan": in_scan}


def register(name, variables, states, cell, walk):
    def cost(v, xs):
        y = walk(cell(v), xs["xs"], [tf.zeros([2, 2])] * states)
        return tf.reduce_mean(tf.square(y - xs["ys"]))

    inputs = {"xs": {"shape": [4, 2, 3], "scale": 1}, "ys": [4, 2, 2]}
    minimizing(name, variables, inputs, lambda: O.SGD(0.5), cost)


for cell_name, (variables, states, cell) in CELLS.items():
    for walk_name, walk in WALKS.items():
        register(f"{cell_name} {walk_name}", variables, states, cell, walk)


def masked(v, xs):
    inside = tf.reshape(tf.range(5), [5, 1, 1]) < tf.reshape(xs["length"], [2, 1])

    def walk(u, times):
        h = tf.zeros([2, 2])
        for t in times:
            h = tf.where(inside[t], tf.tanh(xs["xs"][t] @ v["w"] + h @ u), h)
        return h

    both = tf.concat([walk(v["u"], range(5)), walk(v["back"], range(4, -1, -1))], 1)
    return tf.reduce_mean(tf.square(both @ v["out"] - xs["y"]))


minimizing(
    "a recurrent network in both directions over masked rows",
    {"w": [3, 2], "u": [2, 2], "back": [2, 2], "out": [4, 1]},
    {
        "xs": {"shape": [5, 2, 3], "scale": 1},
        "length": {"values": [5, 3], "dtype": "int32"},
        "y": [2, 1],
    },
    lambda: O.SGD(0.2, 0.9),
    masked,
)
