"""The network of two layers by which ways to train are tried; see network.ts."""

import tensorflow as tf

from registry import mean_square

NETWORK = {"w": [3, 4], "b": [4], "o": [4, 2]}
DATA = {"x": [5, 3], "y": [5, 2]}


def network(x, v):
    return tf.tanh(x @ v["w"] + v["b"]) @ v["o"]


def cost_of(v, xs):
    return mean_square(network(xs["x"], v) - xs["y"])
