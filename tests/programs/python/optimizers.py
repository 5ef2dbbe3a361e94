"""Optimizers over 20 steps; see optimizers_test.ts."""

import keras
import tensorflow as tf

from registry import Adadelta, Adam, minimizing


O = keras.optimizers


OPTIMIZERS = {
    "SGD": lambda: O.SGD(0.1),
    "momentum": lambda: O.SGD(0.05, 0.9),
    "Nesterov's momentum": lambda: O.SGD(0.05, 0.9, nesterov=True),
    "Adagrad": lambda: O.Adagrad(0.1, 0.1, epsilon=1e-7),
    "Adadelta": lambda: Adadelta(0.5, 0.9, 1e-3),
    "RMSProp": lambda: O.RMSprop(0.01, 0.8, 0.5, epsilon=1e-3),
    "RMSProp, centered": lambda: O.RMSprop(0.01, 0.8, 0.5, epsilon=1e-3, centered=True),
    "Adam": lambda: O.Adam(0.02, 0.8, 0.9),
    "Adamax with decay": lambda: O.Adamax(
        O.schedules.InverseTimeDecay(0.05, 1, 0.1), 0.8, 0.9
    ),
    "AdamW": lambda: O.AdamW(0.02, 0.1, 0.8, 0.9),
}


def register(name, make, dtype="float32"):
    variables = {
        "w": {"shape": [3, 4], "dtype": dtype},
        "b": {"shape": [4], "dtype": dtype},
        "o": {"shape": [4, 2], "dtype": dtype},
    }
    inputs = {"x": {"shape": [5, 3], "dtype": dtype}, "y": {"shape": [5, 2], "dtype": dtype}}

    def cost(v, xs):
        y = tf.tanh(xs["x"] @ v["w"] + v["b"]) @ v["o"]
        return tf.reduce_mean(tf.square(y - xs["y"]))

    minimizing(f"{name}, 20 steps", variables, inputs, make, cost, steps=20)


for name, make in OPTIMIZERS.items():
    register(name, make)
register("Adam of float64", lambda: Adam(0.02, 0.8, 0.9), "float64")
