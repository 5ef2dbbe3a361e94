"""Writes the dataset graphs that tests of the data service run, and their elements, with TensorFlow 2.21.

Run: python tests/distribute/make_fixtures.py
"""

import json
import os

import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops import compression_ops

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
RANGE = tf.data.Dataset.range


def script(token, dtype):
    """A function that calls the script of a token."""
    return lambda x: tf.reshape(tf.raw_ops.PyFunc(input=[x], token=token, Tout=[dtype])[0], [])


def twice(x):
    return tf.data.Dataset.from_tensors(x).repeat(2).map(lambda y: y + x)


SLICES = tf.data.Dataset.from_tensor_slices(
    {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "y": ["a", "bc", "d", "", "f", "gü"]}
)

options = tf.data.Options()
options.autotune.enabled = False

# Graphs whose elements TensorFlow computes too.
KNOWN = {
    "pipeline": SLICES.map(lambda e: (e["x"] * 2, tf.strings.length(e["y"])), num_parallel_calls=2)
    .filter(lambda x, y: y > 0).repeat(2).take(9).skip(1).prefetch(2).with_options(options),
    "strings": SLICES.map(lambda e: e["y"]).padded_batch(4),
    "flat_map": tf.data.Dataset.zip((RANGE(4), RANGE(3).concatenate(RANGE(2))))
    .flat_map(lambda a, b: RANGE(a, a + b)).cache(),
    "interleave": RANGE(5).interleave(twice, cycle_length=2, block_length=1).batch(4).rebatch(3),
    "parallel_interleave": RANGE(5).interleave(twice, cycle_length=3, num_parallel_calls=2),
    "padded": RANGE(4).map(lambda x: tf.fill([x], x)).padded_batch(
        2, padded_shapes=[4], padding_values=tf.constant(-1, tf.int64), drop_remainder=True),
    "enumerate": RANGE(7).enumerate().batch(3, drop_remainder=True, num_parallel_calls=2).unbatch(),
    "shard": RANGE(10).apply(tf.data.experimental.assert_cardinality(10)).shard(3, 1),
}

# Graphs that are only read here.
OTHER = {
    "squares": RANGE(1000).map(script("test.square@1", tf.int64)).batch(10),
    "scripts": RANGE(20).map(script("test.script@1", tf.int64)),
    "shuffled": RANGE(50).shuffle(20, seed=3),
    "repeated": RANGE(10).repeat(3),
    "slices": tf.data.Dataset.from_tensor_slices([10, 20, 30, 40, 50]).map(lambda x: x + 1),
    "unknown": RANGE(3).map(lambda x: (tf.io.read_file("x"), tf.raw_ops.Fact())),
    "compressed": SLICES.map(lambda e: compression_ops.compress((e["x"], e["y"]))),
    "images": RANGE(10).map(lambda i: tf.fill([8, 8, 3], tf.cast(i, tf.float32))),
}


def main():
    os.makedirs(HERE, exist_ok=True)
    for name, dataset in {**KNOWN, **OTHER}.items():
        with open(os.path.join(HERE, f"{name}.pb"), "wb") as f:
            f.write(dataset._as_serialized_graph().numpy())

    def plain(x):
        if isinstance(x, (tuple, list)):
            return [plain(v) for v in x]
        x = np.asarray(x)
        return [v.decode() for v in x.ravel()] if x.dtype == object else x.tolist()

    elements = {name: [plain(e) for e in d.as_numpy_iterator()] for name, d in KNOWN.items()}
    with open(os.path.join(HERE, "elements.json"), "w") as f:
        json.dump(elements, f)


main()
