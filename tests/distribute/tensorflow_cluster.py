"""TensorFlow's side of tensorflow_cluster_test.ts: a task of a cluster with a master, and a client of masters.

A line of standard input is a case, and what it is given; the answer is a line of JSON.
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
WORKER, SCRIPT = "/job:worker/task:0", "/job:script/task:0"
DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
          tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]


def say(value):
    print(json.dumps(value), flush=True)


def plain(x):
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.astype("float64").tolist()
    return x.decode() if isinstance(x, bytes) else np.asarray(x).tolist()


def script(token, x):
    """A script of ours, on our task where there are two."""
    device = SCRIPT if len(sys.argv) > 1 else None
    with tf.device(device):
        y = tf.raw_ops.PyFunc(input=[x], token=token, Tout=[x.dtype])[0]
    y.set_shape(x.shape)
    return y


def loop(count, x):
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a + script("test.twice@1", x)), [0, 0.0])[1]


@tf.function
def function(x):
    return script("test.twice@1", x * x) + 1


def nested(x):
    def body(i, a):
        b = loop(i, x)
        return i + 1, a + tf.cond(b > 5, lambda: script("test.twice@1", b), lambda: b)

    return tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])[1]


GRAPHS = {
    "plain": lambda x: script("test.twice@1", x * 3) + 1,
    "cond": lambda x: tf.cond(x > 0, lambda: script("test.twice@1", x), lambda: x - 1),
    "loop": lambda x: loop(5, x),
    "nested": nested,
    "loop_in_branch": lambda x: tf.cond(x > 0, lambda: loop(3, x), lambda: x),
    "function": function,
    "strings": lambda x: script("test.angle@1", tf.strings.as_string(tf.cast(x, tf.int32))),
    "int64": lambda x: script("test.same@1", tf.cast(x, tf.int64) * 2**40),
    "boom": lambda x: script("test.boom@1", x),
    "nobody": lambda x: script("test.nobody@1", x),
    "never": lambda x: script("test.never@1", x),
}


def session(target):
    return v1.Session(target, config=v1.ConfigProto(share_cluster_devices_in_session=True))


def run(target, name, *values):
    with tf.Graph().as_default(), session(target) as s:
        with tf.device(WORKER):
            x = v1.placeholder(tf.float32, [])
            y = GRAPHS[name](x)
        return [plain(s.run(y, {x: float(v)})) for v in values]


def dtypes(target):
    wrong = []
    for dtype in DTYPES:
        with tf.Graph().as_default(), session(target) as s:
            with tf.device(WORKER):
                x = v1.placeholder(dtype, [2])
                y = tf.identity(script("test.same@1", tf.identity(x)))
            value = np.array([b"", b"\xff\x00"]) if dtype == tf.string else np.array([1, 0], dtype.as_numpy_dtype)
            got = s.run(y, {x: value})
            if got.dtype != dtype.as_numpy_dtype or not (got == value).all():
                wrong.append([dtype.name, str(got)])
    return wrong


def large(target, elements):
    with tf.Graph().as_default(), session(target) as s:
        with tf.device(WORKER):
            x = tf.range(int(elements), dtype=tf.float32)
            y = tf.reduce_max(tf.abs(script("test.same@1", x) - x))
        return float(s.run(y))


def fed(target, elements):
    with tf.Graph().as_default(), session(target) as s:
        x = v1.placeholder(tf.float32, [None])
        value = np.arange(int(elements), dtype=np.float32)
        return bool((s.run(x + 1, {x: value}) == value + 1).all())


def late(target, milliseconds):
    with tf.Graph().as_default(), session(target) as s:
        with tf.device(WORKER):
            y = script("test.never@1", tf.constant(1.0))
        return plain(s.run(y, options=v1.RunOptions(timeout_in_ms=int(milliseconds))))


def devices(target):
    with tf.Graph().as_default(), session(target) as s:
        return [[d.name, d.device_type] for d in s.list_devices()]


def variables(target, device):
    """A reference and a resource, trained; then another session reads them."""
    with tf.Graph().as_default():
        with tf.device(device):
            v = v1.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
            w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
            loss = tf.reduce_sum((v - 5) ** 2 + (w - 5) ** 2)
            train = v1.train.AdamOptimizer(0.1).minimize(loss)
        with session(target) as s:
            s.run(v1.global_variables_initializer())
            for _ in range(3):
                s.run(train)
            first = s.run([v, w, loss])
        with session(target) as s:
            return plain([*first, *s.run([v, w, loss])])


def isolated(target, device):
    """A variable in two sessions that share no state: the first reads 5 before and after the second, which has none and then its own."""
    config = v1.ConfigProto(isolate_session_state=True, share_cluster_devices_in_session=True)
    with tf.Graph().as_default():
        with tf.device(device):
            v = v1.get_variable("alone", initializer=1.0, use_resource=True)
        with v1.Session(target, config=config) as a, v1.Session(target, config=config) as b:
            a.run(v.initializer)
            a.run(v.assign(5.0))
            first = a.run(v.read_value())
            try:
                b.run(v.read_value())
                unset = "set"
            except tf.errors.FailedPreconditionError:
                unset = "unset"
            b.run(v.initializer)
            return plain([first, b.run(v.read_value()), a.run(v.read_value())]) + [unset]


def grown(target):
    with tf.Graph().as_default(), session(target) as s:
        x = v1.placeholder(tf.float32, [])
        y = x * 2
        first = s.run(y, {x: 1})
        call = s.make_callable([y + 1, y], [x])
        return plain([first, *call(2.0), s.run(y * y, {x: 3})])


def partial(target):
    with tf.Graph().as_default(), session(target) as s:
        x = v1.placeholder(tf.float32, [])
        return s.partial_run_setup([x + 1], [x])


def unfed(target):
    with tf.Graph().as_default(), session(target) as s:
        return plain(s.run(v1.placeholder(tf.float32, []) + 1))


def read(target):
    with tf.Graph().as_default(), session(target) as s:
        return plain(s.run(tf.io.read_file("nowhere")))


def seconds(target, steps):
    """Milliseconds of a small step."""
    with tf.Graph().as_default(), session(target) as s:
        x = v1.placeholder(tf.float32, [2])
        y = x * 2 + 1
        step = s.make_callable(y, [x])
        value, times = np.ones(2, np.float32), []
        for _ in range(int(steps)):
            start = time.perf_counter()
            step(value)
            times.append(time.perf_counter() - start)
        return 1000 * float(np.median(times))


CASES = {f.__name__: f for f in (run, dtypes, large, fed, late, devices, variables, isolated, grown, partial, unfed, read, seconds)}


def main():
    if len(sys.argv) > 1:
        server = tf.distribute.Server(json.loads(sys.argv[1]), job_name="worker", task_index=0)
        say({"target": server.target})
    for line in sys.stdin:
        name, *given = line.split()
        try:
            say({"value": CASES[name](*given)})
        except tf.errors.OpError as e:
            say({"error": type(e).__name__, "text": str(e)})


main()
