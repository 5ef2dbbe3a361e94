"""First steps with modules and training loops; see guide_training_test.ts."""

import numpy as np
import tensorflow as tf

from registry import program

ONE = {"shape": []}


def descend(variables, grads, rate):
    for v, g in zip(variables, grads):
        v.assign_sub(rate * g)


@program(
    "guide: a line through points, by gradients taken off by hand",
    {"w": {"values": [5], **ONE}, "b": {"values": [0], **ONE}},
    {"x": {"shape": [20], "scale": 2}, "noise": {"shape": [20], "scale": 0.2}},
)
def line(v):
    w, b = v["w"], v["b"]

    def step(xs):
        y = xs["x"] * 3 + 2 + xs["noise"]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - (w * xs["x"] + b)))
        descend([w, b], tape.gradient(loss, [w, b]), 0.1)
        return {"loss": loss}

    return step


class Dense(tf.Module):
    """A layer that makes its weights when it first sees an input."""

    def __init__(self, units, activation=lambda x: x):
        super().__init__()
        self.units, self.activation, self.w = units, activation, None

    def build(self, inputs):
        wave = np.sin(1 + np.arange(inputs * self.units)).reshape([inputs, self.units])
        self.w = tf.Variable(wave.astype(np.float32))
        self.b = tf.Variable(tf.zeros([self.units]))
        return self

    def __call__(self, x):
        return self.activation(x @ self.w + self.b)


class Layers(tf.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@program("guide: a module of two layers that are built when first called", {}, {"x": [4, 3], "y": [4, 2]})
def module(v):
    model = Layers(Dense(5, tf.tanh).build(3), Dense(2).build(5))

    def step(xs):
        with tf.GradientTape() as tape:
            out = model(xs["x"])
            loss = tf.reduce_mean(tf.square(out - xs["y"]))
        seen = float(len(tape.watched_variables()))
        trained = model.trainable_variables
        descend(trained, tape.gradient(loss, trained), 0.1)
        return {"out": out, "loss": loss, "seen": tf.constant(seen)}

    return step


@program("guide: momentum of one's own", {"w": [3, 2], "b": [2]}, {"x": [4, 3], "y": [4, 2]})
def momentum(v):
    trained = [v["w"], v["b"]]
    speeds = [tf.Variable(tf.zeros_like(x)) for x in trained]

    def step(xs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(xs["x"] @ v["w"] + v["b"] - xs["y"]))
        for x, speed, g in zip(trained, speeds, tape.gradient(loss, trained)):
            speed.assign(0.9 * speed + 0.1 * g)
            x.assign_sub(speed)
        return {"loss": loss}

    return step


@program(
    "guide: which of two classes, with accuracy and standardized features",
    {"w": {"values": [0.1, -0.1, 0.2], "shape": [3, 1]}, "b": {"values": [0]}},
    {"x": {"shape": [8, 3], "scale": 5, "offset": 3}, "y": {"below": 2, "shape": [8, 1]}},
)
def two_classes(v):
    w, b = v["w"], v["b"]

    def step(xs):
        x, labels = xs["x"], tf.cast(xs["y"], tf.float32)
        features = (x - tf.reduce_mean(x, 0)) / tf.math.reduce_std(x, 0)
        with tf.GradientTape() as tape:
            logits = features @ w + b
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        dw, db = tape.gradient(loss, [w, b])
        guess = tf.cast(tf.sigmoid(logits) > 0.5, tf.float32)
        descend([w, b], [dw, db], 0.5)
        return {"loss": loss, "accuracy": tf.reduce_mean(tf.cast(guess == labels, tf.float32))}

    return step


@program(
    "guide: which of several classes, by sparse labels, with L2",
    {"w1": [4, 6], "b1": [6], "w2": [6, 3], "b2": [3]},
    {"x": [9, 4], "y": {"below": 3, "shape": [9]}},
)
def several_classes(v):
    trained = list(v.values())

    def step(xs):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(xs["x"] @ v["w1"] + v["b1"]) @ v["w2"] + v["b2"]
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(xs["y"], logits)
            l2 = 2 * (tf.nn.l2_loss(v["w1"]) + tf.nn.l2_loss(v["w2"]))
            loss = tf.reduce_mean(each) + 0.01 * l2
        clipped, norm = tf.clip_by_global_norm(tape.gradient(loss, trained), 0.3)
        descend(trained, clipped, 1)
        return {"loss": loss, "norm": norm, "top": tf.argmax(logits, 1, tf.int32)}

    return step


def points():
    x = (np.arange(12, dtype=np.float32) - 6) / 4
    return tf.data.Dataset.from_tensor_slices({"x": x, "y": 1 - 2 * x + 0.5 * x * x}).repeat(2).batch(5)


@program(
    "guide: a polynomial fitted over batches of a dataset", {"c": {"values": [0, 0, 0]}}, dataset=points
)
def polynomial(v):
    c = v["c"]

    def step(xs):
        x = xs["x"]
        powers = tf.stack([tf.ones_like(x), x, x**2], 1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(powers, c) - xs["y"]) ** 2)
        descend([c], [tape.gradient(loss, c)], 0.1)
        return {"loss": loss, "rows": tf.shape(x)}

    return step


@program(
    "guide: gradients summed over pieces of a batch before a step",
    {"w": [3, 1], "sum": {"values": [0, 0, 0], "shape": [3, 1]}},
    {"x": [6, 3], "y": [6, 1]},
)
def pieces(v):
    w, total = v["w"], v["sum"]

    def step(xs):
        total.assign(tf.zeros([3, 1]))
        losses = []
        for k in range(0, 6, 2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(xs["y"][k : k + 2] - xs["x"][k : k + 2] @ w))
            total.assign_add(tape.gradient(loss, w))
            losses.append(loss)
        w.assign_sub(total / 3)
        return {"losses": tf.stack(losses)}

    return step
