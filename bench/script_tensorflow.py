# Times TensorFlow's script ops on the CPU, for bench/script.ts to print beside Weft's.
#
#   WEFT_BENCH_PYTHON=python deno task bench script     (a Python that has TensorFlow)
#
# Prints one JSON object: the row's name in bench/script.ts, and the least microseconds a call took.

import json
import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def numpy_script(x):
    return tf.numpy_function(lambda v: v, [x], tf.float32)


def eager_script(x):
    return tf.py_function(lambda v: v, [x], tf.float32)


def microseconds(call):
    """Least time of a call over rounds of about 20 ms, as bench/script.ts measures."""

    def run(calls):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - started) * 1e6 / calls

    each = run(3)
    for _ in range(2):
        each = run(max(1, round(20_000 / each)))
    return min(run(max(1, round(20_000 / each))) for _ in range(9))


def chain(script, length):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        y = x
        for _ in range(length):
            y = script(y)
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(y, {x: 1.0}))


def identity(size):
    with tf.Graph().as_default():
        op = numpy_script(tf.constant(np.zeros(size, np.float32))).op
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(op))


def gradient():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        y = tf.py_function(tf.square, [x], tf.float32)
        y.set_shape([])
        dx = tf.gradients(y, [x])[0]
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(dx, {x: 3.0}))


def traced(script):
    f = tf.function(script)
    x = tf.constant(1.0)
    return microseconds(lambda: f(x))


def between(size):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [size])
        y = numpy_script(x * 2)
        y.set_shape([size])
        op = (y * 2).op
        feed = np.zeros(size, np.float32)
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(op, {x: feed}))


def looped(build):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [64, 16])
        op = build(x).op
        feed = np.zeros([64, 16], np.float32)
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(op, {x: feed}))


def ten_turns(x, body):
    return tf.while_loop(lambda i, y: i < 10, lambda i, y: [i + 1, body(y)], [0, x])[1]


def same_shape(x):
    y = numpy_script(x)
    y.set_shape(x.shape)
    return y


def embeddings(optimizer, rows):
    with tf.Graph().as_default():
        table = v1.get_variable("table", initializer=tf.fill([rows, 64], 0.5), use_resource=True)
        at = v1.placeholder(tf.int32, [32])
        loss = tf.reduce_sum(tf.gather(table, at) ** 2)
        fetches = [loss, optimizer(0.1).minimize(loss)]
        feed = (np.arange(32) * 37 % 2000).astype(np.int32)
        with v1.Session() as sess:
            sess.run(v1.global_variables_initializer())
            return microseconds(lambda: sess.run(fetches, {at: feed}))


one = tf.constant(1.0)
times = {}
for what, script in (("numpyFunction", numpy_script), ("pyFunction", eager_script)):
    for length in (1, 10, 100):
        times[f"Session.run, chain of {length} {what}"] = chain(script, length)
    times[f"eager {what}"] = microseconds(lambda: script(one))
    times[f"tf.function with {what}"] = traced(script)
times["Session.run, gradient of pyFunction"] = gradient()
times["tf.function with no script"] = traced(tf.identity)
for size, name in ((10**5, "1e+5"), (10**6, "1e+6"), (10**7, "1e+7")):
    times[f"numpyFunction, identity of {name} float32"] = identity(size)
    if size > 10**5:
        times[f"mul, numpyFunction, mul, {name} float32"] = between(size)
LOOPS = {
    "whileLoop, ten turns": lambda x: ten_turns(x, lambda y: y * 2),
    "whileLoop, ten turns with numpyFunction": lambda x: ten_turns(x, lambda y: same_shape(y * 2)),
    "mapFn, 64 rows with numpyFunction": lambda x: tf.map_fn(
        lambda r: same_shape(tf.exp(r)) * 2, x),
    "scan, 64 rows": lambda x: tf.scan(lambda a, r: a + r, x),
    "foldl, 64 rows with numpyFunction": lambda x: tf.foldl(
        lambda a, r: a + same_shape(r * 2), x, initializer=tf.zeros([16])),
}
for what, build in LOOPS.items():
    times[what] = looped(build)
for name, optimizer in (
    ("GradientDescent", v1.train.GradientDescentOptimizer),
    ("Adagrad", v1.train.AdagradOptimizer),
):
    for rows in (2000, 200_000):
        times[f"{name} on 32 rows of {rows:,} × 64"] = embeddings(optimizer, rows)
print(json.dumps(times))
