"""Training on what datasets give; see data_test.ts."""

import keras
import numpy as np
import tensorflow as tf

from registry import Adam, mean_square, minimizing, values_of

O = keras.optimizers


D = tf.data.Dataset


def records():
    def doubled(e):
        x = tf.numpy_function(lambda x: 2 * x, [e["x"]], tf.float32)
        return {"x": tf.ensure_shape(x, [3]), "y": tf.square(e["y"])}

    return (
        D.from_tensor_slices({"x": values_of([12, 3], 1), "y": values_of([12, 1], 2)})
        .filter(lambda e: tf.reduce_sum(e["x"]) > -0.4)
        .map(doubled)
        .repeat(2)
        .batch(4, drop_remainder=True)
        .take(4)
        .prefetch(1)
    )


minimizing(
    "records that are mapped, filtered and batched",
    {"w": [3, 1]},
    {},
    lambda: Adam(0.1),
    lambda v, xs: mean_square(xs["x"] @ v["w"] - xs["y"]),
    dataset=records,
)


def lists():
    def generate():
        for i in range(9):
            ids = np.array([(2 * i + k) % 6 for k in range(1 + i % 4)], np.int32)
            yield {"ids": ids, "y": np.float32(np.sin(i))}

    signature = {"ids": tf.TensorSpec([None], tf.int32), "y": tf.TensorSpec([], tf.float32)}
    return D.from_generator(generate, output_signature=signature).padded_batch(
        3, {"ids": [5], "y": []}, {"ids": -1, "y": 0.0}
    )


def summed(v, xs):
    inside = tf.cast(xs["ids"] >= 0, tf.float32)[..., None]
    rows = tf.gather(v["table"], tf.maximum(xs["ids"], 0)) * inside
    return mean_square(tf.reduce_sum(rows, [1, 2]) - xs["y"])


minimizing(
    "lists of several lengths, padded and masked",
    {"table": [6, 2]},
    {},
    lambda: O.SGD(0.5),
    summed,
    dataset=lists,
)

minimizing(
    "a shuffled pass, whose order does not matter",
    {"w": [2, 2]},
    {},
    lambda: O.SGD(0.5),
    lambda v, xs: (
        mean_square(xs["x"] @ v["w"] - xs["x"]),
        {"sorted": tf.sort(tf.cast(xs["n"], tf.float32))},
    ),
    dataset=lambda: D.zip({"x": D.from_tensor_slices(values_of([10, 2], 3)), "n": D.range(10)})
    .shuffle(10, 7)
    .batch(10)
    .repeat(2),
)


def broken():
    def body(n):
        if n % 3 == 1:
            raise ValueError(f"element {n} is broken")
        return np.float32([n * 0.5, 1 - n * 0.25])

    def element(n):
        return tf.ensure_shape(tf.numpy_function(body, [n], tf.float32), [2])

    return (
        D.range(8)
        .map(element)
        .ignore_errors()
        .batch(2, drop_remainder=True)
        .map(lambda x: {"x": x})
    )


minimizing(
    "a dataset whose bad elements are left out",
    {"w": [2, 1]},
    {},
    lambda: O.SGD(0.05),
    lambda v, xs: mean_square(xs["x"] @ v["w"] - 1),
    dataset=broken,
)
