"""Arrays of TensorFlow 1 (TensorArrayV3) in loops of frames, as frozen graphs have them."""
import numpy as np
import tensorflow as tf
from recorder import record

S = "arrays_v1"
v1 = tf.compat.v1
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def array(n, dtype=tf.float32, **more):
    return tf.TensorArray(dtype, size=n, **more)


def loop(x, step, out=tf.float32, **more):
    n = tf.shape(x)[0]
    source = array(n, x.dtype).unstack(x)
    run = lambda i, ta: (i + 1, ta.write(i, step(source.read(i))))
    return v1.while_loop(lambda i, _: i < n, run, (0, array(n, out, **more)))[1]


for shapes in (None, [None], [[None, 2]]):
    record(S, f"a loop over rows {shapes}", lambda x: [loop(x, tf.tanh).stack()], [X], shapes, grad=[0], v1=True)
    record(S, f"rows joined {shapes}", lambda x: [loop(x, lambda r: r * 2).concat()], [X], shapes, v1=True)
record(S, "sizes", lambda x: [loop(x, lambda r: r).size(), array(tf.shape(x)[1]).size()], [X], v1=True)
record(S, "rows by number", lambda x, i: [loop(x, tf.exp).gather(i)], [X, np.array([2, 0, 1], np.int32)], grad=[0], v1=True)
record(S, "rows to numbers", lambda x, i: [array(4).scatter(i, x).stack()], [X, np.array([2, 0, 3], np.int32)], [[3, 2], [3]], v1=True)
record(S, "parts of one length", lambda x: [array(3).split(tf.reshape(x, [-1]), [2, 2, 2]).read(1)], [X], v1=True)
record(S, "texts", lambda x: [loop(x, tf.strings.upper, tf.string).stack()], [np.array([b"a", b"bc"], object)], v1=True)
record(S, "whole numbers", lambda x: [loop(x, lambda r: r * r, tf.int64).stack()], [np.array([2, -3, 2**33])], v1=True)
record(S, "an array that grows", lambda n: [v1.while_loop(
    lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, tf.cast(i, tf.float32) * 2)),
    (0, array(0, dynamic_size=True)))[1].stack()], [np.int32(4)], v1=True)


def cell(x):
    n = tf.shape(x)[0]
    source, out = array(n).unstack(x), array(n)
    step = lambda i, h, ta: (i + 1, tf.tanh(h * 0.5 + source.read(i)), ta.write(i, h))
    _, h, ta = v1.while_loop(lambda i, *_: i < n, step, (0, tf.zeros([2]), out))
    return [h, ta.stack()]


record(S, "a recurrence", cell, [X], grad=[0], v1=True)
record(S, "a recurrence within a branch", lambda p, x: v1.cond(p, lambda: cell(x), lambda: [x[0], x]),
       [np.array(True), X], v1=True)


def nested(x):
    n = tf.shape(x)[0]
    inner = lambda r: v1.while_loop(lambda k, v: k < 3, lambda k, v: (k + 1, v + r), (0, tf.zeros_like(r)))[1]
    return [loop(x, inner).stack()]


record(S, "a loop within a loop", nested, [X], v1=True)
record(S, "an array of no rows", lambda x: [loop(x, tf.tanh, element_shape=[2]).stack()], [X[:0]], [[None, 2]], v1=True)
