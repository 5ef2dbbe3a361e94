# Times TensorFlow's script ops on the CPU, for bench/script/main.ts to print beside Weft's.
#
#   WEFT_BENCH_PYTHON=python deno task bench script     (a Python that has TensorFlow)
#
# Prints one JSON object: the row's name in bench/script/main.ts, and the least microseconds a call took.

import json
import math
import os
import shutil
import tempfile
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
    """Least time of a call over rounds of about 20 ms, as bench/script/main.ts measures."""

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


def fed_and_fetched(size, body):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [size])
        y = tf.numpy_function(body, [x], tf.float32)
        feed = np.zeros(size, np.float32)
        with v1.Session() as sess:
            return microseconds(lambda: sess.run(y, {x: feed}))


def written(v):
    v[0] += 1
    return v


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
        times[f"feed, numpyFunction in place, fetch, {name} float32"] = fed_and_fetched(size, written)
times["feed, numpyFunction identity, fetch, 1e+6 float32"] = fed_and_fetched(10**6, lambda v: v)
LOOPS = {
    "whileLoop, ten turns": lambda x: ten_turns(x, lambda y: y * 2),
    "whileLoop, ten turns with numpyFunction": lambda x: ten_turns(x, lambda y: same_shape(y * 2)),
    "whileLoop, ten turns with checkNumerics": lambda x: ten_turns(
        x, lambda y: tf.debugging.check_numerics(y * 2, "y")),
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


# The programs of bench/script_programs.ts.

IMAGES, LINES, STEPS, KEYS, RECORDS = 16, 1000, 200, 64, 1000
image = (np.arange(256 * 256 * 3) * 7 & 255).astype(np.uint8).reshape(256, 256, 3)
images = np.stack([image] * IMAGES)
generator = np.random.default_rng(1)


def augment(image):
    height, width, _ = image.shape
    size = 224
    angle, zoom = generator.random() - 0.5, 0.8 + 0.4 * generator.random()
    cos, sin = np.float32(zoom * math.cos(angle)), np.float32(zoom * math.sin(angle))
    gains = ((0.8 + 0.4 * generator.random(3)) / 255).astype(np.float32)
    bias = np.float32(0.1 * generator.random() - 0.05)
    d = np.arange(size, dtype=np.float32) - size / 2
    dy, dx = d[:, None], d[None, :]
    v = np.clip(height / 2 + cos * dy - sin * dx, 0, height - 1.001)
    u = np.clip(width / 2 + sin * dy + cos * dx, 0, width - 1.001)
    top, left = v.astype(np.int32), u.astype(np.int32)
    below, right = (v - top)[..., None], (u - left)[..., None]
    above = image[top, left] * (1 - right) + image[top, left + 1] * right
    under = image[top + 1, left] * (1 - right) + image[top + 1, left + 1] * right
    return (gains * (above + below * (under - above)) + bias).astype(np.float32)


def drain(dataset):
    def call():
        for _ in dataset:
            pass

    return call


def augmented(image):
    out = tf.numpy_function(augment, [image], tf.float32)
    out.set_shape([224, 224, 3])
    return out


name = f"tf.data, augmentation of {IMAGES} images"
slices = tf.data.Dataset.from_tensor_slices
times[name] = microseconds(drain(slices(images).map(augmented)))
times[name + " at once"] = microseconds(drain(slices(images).map(augmented, tf.data.AUTOTUNE)))

words = "the a cat dog bird sees hears reads small large".split()
vocabulary = {word: i + 2 for i, word in enumerate(words)}
lines = [" ".join(words[(i * 7 + k * 3) % 10] for k in range(8)) for i in range(LINES)]


def ids_of(line):
    return [vocabulary.get(word, 1) for word in line.decode().split(" ")]


def one_by_one(line):
    ids = tf.numpy_function(lambda x: np.array(ids_of(x), np.int32), [line], tf.int32)
    ids.set_shape([None])
    return ids


def in_batches(batch):
    ids = tf.numpy_function(lambda x: np.array([ids_of(line) for line in x], np.int32), [batch], tf.int32)
    ids.set_shape([None, None])
    return ids


name = f"tf.data, tokeniser, {LINES} lines "
times[name + "one by one"] = microseconds(drain(slices(lines).map(one_by_one).padded_batch(100)))
times[name + "in ragged batches"] = microseconds(drain(slices(lines).map(one_by_one).ragged_batch(100)))
times[name + "in batches"] = microseconds(drain(slices(lines).batch(100).map(in_batches)))


def look_up(key):
    time.sleep(0.002)
    return key


def looked_up(key):
    return tf.numpy_function(look_up, [key], tf.int32)


keys = slices(np.arange(KEYS, dtype=np.int32))
times[f"tf.data, {KEYS} look-ups of 2 ms, 16 at once"] = microseconds(drain(keys.map(looked_up, 16)))

folder = tempfile.mkdtemp()
FILES = 64
for i in range(FILES):
    tf.io.write_file(f"{folder}/{i}.png", tf.io.encode_png(image.reshape(-1)[: 64 * 64 * 3].reshape(64, 64, 3)))
files = tf.data.Dataset.list_files(f"{folder}/*.png", shuffle=False)
decoded = files.map(lambda f: tf.ensure_shape(tf.io.decode_png(tf.io.read_file(f)), [64, 64, 3])).batch(16)
times[f"tf.data, {FILES} PNG files read, decoded and batched"] = microseconds(drain(decoded))
shutil.rmtree(folder)

train = tf.train
records = tf.constant([
    train.Example(features=train.Features(feature={
        "x": train.Feature(float_list=train.FloatList(value=[i + k for k in range(16)])),
        "label": train.Feature(int64_list=train.Int64List(value=[i])),
        "ids": train.Feature(int64_list=train.Int64List(value=[k * i for k in range(i % 20 + 1)])),
        "name": train.Feature(bytes_list=train.BytesList(value=[b"row%d" % i])),
    })).SerializeToString()
    for i in range(RECORDS)
])
features = {
    "x": tf.io.FixedLenFeature([16], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "ids": tf.io.RaggedFeature(tf.int64),
    "name": tf.io.FixedLenFeature([], tf.string),
}
times[f"tf.io.parseExample, {RECORDS} records"] = microseconds(lambda: tf.io.parse_example(records, features))


def cart_pole():
    start = [0.01, 0.02, -0.03, 0.01]
    state = start

    def step(action):
        nonlocal state
        x, v, a, w = state
        cos, sin = math.cos(a), math.sin(a)
        push = ((10 if action == 1 else -10) + 0.05 * w * w * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        slide = push - 0.05 * turn * cos / 1.1
        state = [x + 0.02 * v, v + 0.02 * slide, a + 0.02 * w, w + 0.02 * turn]
        if abs(state[0]) > 2.4 or abs(state[2]) > 0.2095:
            state = start
        return np.array(state, np.float32)

    return step


def simulation(script):
    first, second = tf.Variable(tf.random.normal([4, 32])), tf.Variable(tf.zeros([32, 2]))

    @tf.function
    def run(state):
        def body(i, state):
            hidden = tf.nn.relu(tf.matmul(tf.reshape(state, [1, 4]), first))
            action = tf.reshape(tf.random.categorical(tf.matmul(hidden, second), 1), [])
            state = script(action)
            state.set_shape([4])
            return i + 1, state

        return tf.while_loop(lambda i, _: i < STEPS, body, [0, state])[1]

    state = tf.constant([0.01, 0.02, -0.03, 0.01])
    return microseconds(lambda: run(state))


name = f"CartPole, {STEPS} steps in whileLoop with "
step = cart_pole()
times[name + "numpyFunction"] = simulation(lambda a: tf.numpy_function(step, [a], tf.float32))
times[name + "pyFunction"] = simulation(
    lambda a: tf.py_function(lambda a: tf.constant(step(int(a))), [a], tf.float32)
)
print(json.dumps(times))
