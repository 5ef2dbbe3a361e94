# What TensorFlow's tf.data gives for the pipelines of tests/data/tensorflow_test.ts.
#
#   python tests/data/make_pipelines.py     (a Python that has TensorFlow)
#
# Writes fixtures/pipelines.json: for each pipeline its specs, its cardinality, its elements, and the error that it ends with.

import json
import os
import pathlib
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

D = tf.data.Dataset
slices, zipped = D.from_tensor_slices, D.zip
folder = tempfile.mkdtemp()


def numbers(*args):
    """Weft's range: int32."""
    return slices(np.arange(*args, dtype=np.int32))


def lists(*lengths, dtype=tf.int32):
    """Elements 0, 1, …: lists of these lengths, each holding its number."""
    spec = tf.TensorSpec([None], dtype)
    return D.from_generator(lambda: ([i] * n for i, n in enumerate(lengths)), output_signature=spec)


def failing(*at):
    """A number, but for those that fail."""
    return lambda x: tf.debugging.check_numerics(
        tf.where(tf.reduce_any([tf.equal(x, a) for a in at]), np.nan, tf.cast(x, tf.float32)), "no")


def rows_of(n):
    return lambda i: numbers(4).take(tf.cast(n(i), tf.int64)).map(lambda k: 10 * i + k)


def cached():
    """A cache whose first pass is left, then one that is whole, then one after that."""
    seen = []

    def look(x):
        seen.append(int(x))
        return x

    d = numbers(4).map(lambda x: tf.numpy_function(look, [x], tf.int32)).cache()
    list(d.take(2))
    list(d)
    list(d)
    return slices(np.array(seen, np.int32))


def same(make, *passes):
    """Which of these passes over one dataset equal the first."""
    d = make()
    orders = [[int(x) for x in d] for _ in range(3)]
    return slices([orders[0] == o for o in orders[1:]] + [sorted(orders[0]) == sorted(o) for o in orders[1:]])


def resumed(d, count):
    """The elements after a checkpoint that was taken behind `count` of them."""
    it = iter(d)
    for _ in range(count):
        next(it)
    path = tf.train.Checkpoint(it=it).save(os.path.join(folder, "ckpt"))
    for _ in range(2):
        next(it, None)
    other = iter(d)
    tf.train.Checkpoint(it=other).restore(path)
    return slices(np.array([int(x) for x in other], np.int32))


SUM = lambda s, x: s + x
EVEN = lambda x: tf.equal(x % 2, 0)
NEVER = lambda x: tf.less(x, 0)
NEST = lambda: slices({"b": np.int32([1, 2, 3]), "a": (np.float32([[1, 2], [3, 4], [5, 6]]), ["x", "y", "z"])})

PIPELINES = {
    # Sources.
    "numbers down": lambda: numbers(10, 0, -3),
    "no numbers": lambda: numbers(3, 1),
    "nested slices": NEST,
    "slices of unequal lengths": lambda: slices((np.int32([1, 2]), np.int32([1, 2, 3]))),
    "slices of a scalar": lambda: slices(np.int32(3)),
    "one nested element": lambda: D.from_tensors({"x": np.int32([1, 2]), "y": (np.float32(3),)}),
    "generator": lambda: lists(2, 0, 1),
    "generator of another shape": lambda: D.from_generator(
        lambda: iter([[1, 2], [3]]), output_signature=tf.TensorSpec([2], tf.int32)),
    "generator of another type": lambda: D.from_generator(
        lambda: iter([1, "two"]), output_signature=tf.TensorSpec([], tf.int32)),
    "generator of another nest": lambda: D.from_generator(
        lambda: iter([(1, 2), 3]), output_signature=(tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32))),
    "generator of unknown rank": lambda: D.from_generator(
        lambda: iter([[1, 2], [[3]], 4]), output_signature=tf.TensorSpec(None, tf.int32)),
    "zip to the shortest": lambda: zipped((numbers(3), numbers(5))),
    "zip of a nest": lambda: zipped({"q": numbers(2), "p": (numbers(2), NEST())}),
    "zip with an endless one": lambda: zipped((numbers(2).repeat(), numbers(3))),
    "concatenate": lambda: numbers(2).concatenate(numbers(5, 7)),
    "concatenate of other shapes": lambda: slices(np.zeros([1, 2], np.int32)).concatenate(slices(np.ones([1, 3], np.int32))),
    "concatenate of another dtype": lambda: numbers(2).concatenate(slices(np.float32([1]))),
    "choose": lambda: D.choose_from_datasets([numbers(2), numbers(10, 15)], D.from_tensor_slices(np.int64([0, 1, 0, 1, 0, 1, 1]))),
    "choose to the longest": lambda: D.choose_from_datasets(
        [numbers(2), numbers(10, 15)], D.from_tensor_slices(np.int64([0, 1, 0, 1, 0, 1, 1])), stop_on_empty_dataset=False),
    "choose out of range": lambda: D.choose_from_datasets([numbers(2), numbers(2)], D.from_tensor_slices(np.int64([0, 2]))),
    "sample with a weight of zero": lambda: D.sample_from_datasets([numbers(2), numbers(10, 12)], [0.0, 1.0], seed=1),
    "sample until one is empty": lambda: D.sample_from_datasets(
        [numbers(0), numbers(10, 12)], [1.0, 0.0], seed=1, stop_on_empty_dataset=True),
    # Batches.
    "batch with a remainder": lambda: numbers(5).batch(2),
    "batch without a remainder": lambda: numbers(5).batch(2, drop_remainder=True),
    "batch that is never full": lambda: numbers(3).batch(5, drop_remainder=True),
    "batch of a nest": lambda: NEST().batch(2),
    "batch of unequal shapes": lambda: lists(2, 2, 3, 1).batch(2),
    "batch of none": lambda: numbers(3).batch(0),
    "batch of an endless one": lambda: numbers(3).repeat().batch(2).take(3),
    "batch of unknown shapes": lambda: lists(2, 2, 2).batch(2),
    "unbatch": lambda: numbers(5).batch(2).unbatch(),
    "unbatch of a nest": lambda: NEST().batch(2).unbatch(),
    "rebatch": lambda: numbers(7).batch(3).rebatch(2),
    "rebatch of whole batches": lambda: numbers(7).batch(3).rebatch(2, drop_remainder=True),
    "rebatch into a larger one": lambda: NEST().batch(2).rebatch(9),
    "rebatch of scalars": lambda: numbers(3).rebatch(2),
    "unbatch of scalars": lambda: numbers(3).unbatch(),
    "unbatch of unequal lengths": lambda: D.from_tensors((np.int32([1, 2]), np.int32([1, 2, 3]))).unbatch(),
    "padded batch": lambda: lists(1, 3, 2).padded_batch(2),
    "padded batch of a shape": lambda: lists(1, 3, 2).padded_batch(2, padded_shapes=[4]),
    "padded batch with a value": lambda: lists(1, 3, 2).padded_batch(2, padding_values=-1),
    "padded batch that is too small": lambda: lists(1, 3, 2).padded_batch(2, padded_shapes=[2]),
    "padded batch without a remainder": lambda: lists(1, 3, 2).padded_batch(2, drop_remainder=True),
    "padded batch of a nest": lambda: zipped({"x": lists(1, 2), "y": numbers(2)}).padded_batch(2),
    "padded batch of unknown rank": lambda: D.from_generator(
        lambda: iter([[1], [2]]), output_signature=tf.TensorSpec(None, tf.int32)).padded_batch(2),
    "padded batch of strings": lambda: slices(["ab", "c"]).map(lambda s: tf.strings.bytes_split(s)).padded_batch(2),
    "ragged batch": lambda: lists(1, 0, 3).ragged_batch(2),
    "window": lambda: numbers(7).window(3, shift=2, stride=2).flat_map(lambda w: w.batch(3)),
    "window without a remainder": lambda: numbers(7).window(3, 2, 2, drop_remainder=True).flat_map(lambda w: w.batch(3)),
    "window of its own size": lambda: numbers(5).window(2).flat_map(lambda w: w.batch(9)),
    "window that leaves some out": lambda: numbers(7).window(1, 3).flat_map(lambda w: w.batch(1)),
    "bucket": lambda: lists(1, 3, 2, 5, 1, 4, 2).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [2, 2, 1]),
    "bucket to boundaries": lambda: lists(1, 3, 2, 1, 2).bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 5], [2, 2, 1], pad_to_bucket_boundary=True),
    "bucket beyond boundaries": lambda: lists(1, 6).bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 5], [1, 1, 1], pad_to_bucket_boundary=True),
    "bucket without a remainder": lambda: lists(1, 3, 1, 2, 1).bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [2], [2, 2], drop_remainder=True),
    # Which elements.
    "take and skip": lambda: numbers(6).skip(1).take(3),
    "take -1": lambda: numbers(3).take(-1),
    "take more": lambda: numbers(3).take(9),
    "take 0": lambda: numbers(3).take(0),
    "skip -1": lambda: numbers(3).skip(-1),
    "skip more": lambda: numbers(3).skip(9),
    "take of an endless one": lambda: numbers(2).repeat().take(5),
    "skip of an endless one": lambda: numbers(2).repeat().skip(3).take(2),
    "repeat 0": lambda: numbers(3).repeat(0),
    "repeat 2": lambda: numbers(2).repeat(2),
    "repeat of nothing": lambda: numbers(0).repeat(3),
    "shard": lambda: numbers(7).shard(3, 1),
    "shard of too high an index": lambda: numbers(7).shard(3, 3),
    "filter": lambda: numbers(6).filter(EVEN),
    "filter of a nest": lambda: zipped((numbers(4), numbers(4, 8))).filter(lambda a, b: EVEN(a)),
    "filter by a vector": lambda: slices(np.int32([[1, 2]])).filter(EVEN),
    "filter by a number": lambda: numbers(3).filter(lambda x: x),
    "takeWhile": lambda: numbers(9).take_while(lambda x: tf.less(x, 3)),
    "takeWhile of none": lambda: numbers(3).take_while(NEVER),
    "enumerate": lambda: numbers(5, 7).enumerate(3).map(lambda i, x: (tf.cast(i, tf.int32), x)),
    # Functions.
    "map to a list": lambda: numbers(2).map(lambda x: (x, [x + 1, x + 2])),
    "map to a record": lambda: numbers(2).map(lambda x: {"z": x, "a": -x}),
    "map of components": lambda: zipped((numbers(2), numbers(2))).map(lambda a, b: a + b),
    "map to a constant": lambda: numbers(2).map(lambda x: "seven"),
    "map in parallel": lambda: numbers(6).map(lambda x: x * x, num_parallel_calls=3),
    "map that fails": lambda: numbers(4).map(failing(2)),
    "map in parallel that fails": lambda: numbers(5).map(failing(2), num_parallel_calls=3),
    "map that fails, without its errors": lambda: numbers(5).map(failing(1, 3)).ignore_errors(),
    "batch of what fails, without its errors": lambda: numbers(6).map(failing(3)).batch(2).ignore_errors(),
    "filter behind what fails, without its errors": lambda: numbers(4).map(failing(1)).filter(
        lambda x: tf.less(x, 3)).ignore_errors(),
    "flatMap": lambda: numbers(3).flat_map(rows_of(lambda i: i + 1)),
    "flatMap to no dataset": lambda: numbers(3).flat_map(lambda x: x),
    "flatMap of nothing within": lambda: numbers(3).flat_map(rows_of(lambda i: 3 * (i % 2))),
    "interleave": lambda: numbers(4).interleave(rows_of(lambda i: 3), cycle_length=2, block_length=1),
    "interleave in blocks": lambda: numbers(3).interleave(rows_of(lambda i: 3), cycle_length=2, block_length=2),
    "interleave of unequal lengths": lambda: numbers(4).interleave(rows_of(lambda i: 1 + (i * 2) % 5), cycle_length=2),
    "interleave of more than there are": lambda: numbers(2).interleave(rows_of(lambda i: 2), cycle_length=5, block_length=3),
    "interleave in parallel": lambda: numbers(4).interleave(
        rows_of(lambda i: 1 + i), cycle_length=3, block_length=2, num_parallel_calls=3),
    "interleave with nothing within": lambda: numbers(5).interleave(rows_of(lambda i: (i % 2) * 2), cycle_length=2, block_length=2),
    "scan": lambda: numbers(1, 5).scan(np.int32(0), lambda s, x: (s + x, s * x)),
    "scan to another dtype": lambda: numbers(2).scan(np.int32(0), lambda s, x: (tf.cast(s, tf.float32), x)),
    "scan to another shape": lambda: numbers(3).scan(np.int32([0]), lambda s, x: (tf.concat([s, [x]], 0), tf.reduce_sum(s))),
    "reduce": lambda: D.from_tensors(numbers(5).reduce(np.int32(1), SUM)),
    "reduce of nothing": lambda: D.from_tensors(numbers(0).reduce(np.int32(1), SUM)),
    "reduce of a nest": lambda: D.from_tensors(zipped((numbers(3), numbers(3))).reduce(
        {"n": np.int32(0), "s": np.int32(0)}, lambda s, e: {"n": s["n"] + 1, "s": s["s"] + e[0] * e[1]})),
    # What passes remember.
    "cache": lambda: numbers(3).cache().repeat(2),
    "cache whose first pass was left": cached,
    "shuffle of one": lambda: numbers(4).shuffle(1),
    "shuffle of none": lambda: numbers(3).shuffle(0),
    "shuffle keeps what it has": lambda: D.from_tensors(numbers(9).shuffle(4, seed=2).reduce(np.int32(0), SUM)),
    "shuffle of a seed, thrice": lambda: same(lambda: numbers(30).shuffle(30, seed=3)),
    "shuffle of a seed, without another order": lambda: same(
        lambda: numbers(30).shuffle(30, seed=3, reshuffle_each_iteration=False)),
    "shuffle without a seed": lambda: same(lambda: numbers(30).shuffle(30)),
    "shuffle without a seed and without another order": lambda: same(
        lambda: numbers(30).shuffle(30, reshuffle_each_iteration=False)),
    "shuffle before repeat": lambda: slices(epochs(numbers(30).shuffle(30, seed=3).repeat(2))),
    "shuffle before repeat, without another order": lambda: slices(
        epochs(numbers(30).shuffle(30, seed=3, reshuffle_each_iteration=False).repeat(2))),
    "cache behind shuffle": lambda: same(lambda: numbers(30).shuffle(30).cache()),
    "shuffle in zip with itself": lambda: both(numbers(30).shuffle(30, seed=3)),
    "prefetch": lambda: numbers(3).prefetch(2),
    "prefetch 0": lambda: numbers(3).prefetch(0),
    "prefetch -2": lambda: numbers(3).prefetch(-2),
    "resumed": lambda: resumed(numbers(9).filter(EVEN).repeat(2), 3),
    "resumed in a batch": lambda: resumed(numbers(9).batch(4).unbatch(), 3),
    "resumed in interleave": lambda: resumed(numbers(3).interleave(rows_of(lambda i: 3), cycle_length=2, block_length=2), 3),
    "resumed at the end": lambda: resumed(numbers(3), 3),
    "resumed in a window": lambda: resumed(numbers(7).window(3, 2).flat_map(lambda w: w), 4),
    "resumed in a cache": lambda: resumed(numbers(4).cache().repeat(2), 5),
    "resumed in scan": lambda: resumed(numbers(6).scan(np.int32(0), lambda s, x: (s + x, s + x)), 3),
}


def epochs(d):
    order = [int(x) for x in d]
    return [order[:30] == order[30:], sorted(order[:30]) == sorted(order[30:])]


def both(d):
    return slices([all(int(a) == int(b) for a, b in zipped((d, d)))])


def plain(value):
    if isinstance(value, tf.RaggedTensor):
        return value.to_list()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    value = value.numpy()
    return texts(value if isinstance(value, bytes) else value.tolist())


def texts(value):
    return [texts(v) for v in value] if isinstance(value, list) else value.decode() if isinstance(value, bytes) else value


def shapes(spec):
    if isinstance(spec, tf.RaggedTensorSpec):
        return "ragged " + spec.dtype.name
    return [spec.dtype.name, None if spec.shape.rank is None else spec.shape.as_list()]


def outcome(make):
    out = {}
    try:
        d = make()
        out["size"] = int(d.cardinality())
        out["specs"] = [shapes(s) for s in tf.nest.flatten(d.element_spec)]
        out["elements"] = []
        if out["size"] != tf.data.INFINITE_CARDINALITY:
            for element in d:
                out["elements"].append(plain(element))
    except Exception as e:
        out["error"] = type(e).__name__
        out["text"] = str(e).split("}} ", 1)[-1].split(" [Op:", 1)[0][:160]
    return out


path = pathlib.Path(__file__).parent / "fixtures" / "pipelines.json"
lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(outcome(make), separators=(',', ':'))}" for name, make in PIPELINES.items())
path.write_text("{\n" + lines + "\n}\n")
