"""Makes the fixtures of these tests with TensorFlow 2.21: python tests/tf/make_fixtures.py

Each SavedModel has an expected.json beside it: inputs and outputs by signature.
"""

import json
import os
import pathlib
import shutil

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import (  # noqa: E402
    convert_variables_to_constants_v2,
)

v1 = tf.compat.v1
HERE = pathlib.Path(__file__).parent / "fixtures"


def waves(*shape):
    return np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape).astype(np.float32)


def expect(folder, cases):
    """Runs each signature on its inputs and writes what TensorFlow gives."""
    model = tf.saved_model.load(str(folder))
    out = []
    for signature, inputs in cases:
        given = {k: tf.constant(v) for k, v in inputs.items()}
        results = model.signatures[signature](**given)
        out.append({
            "signature": signature,
            "inputs": {k: as_json(v) for k, v in inputs.items()},
            "outputs": {k: as_json(v.numpy()) for k, v in results.items()},
        })
    (folder / "expected.json").write_text(json.dumps(out))
    for extra in ("fingerprint.pb", "assets"):
        path = folder / extra
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def as_json(value):
    if isinstance(value, list):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "OS":
        return [v.decode() for v in array.reshape(-1).tolist()]
    return array.tolist()


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3) / 10, name="w")
        self.b = tf.Variable(tf.ones([3]), name="b", trainable=False)
        self.n = tf.Variable(0, name="n", dtype=tf.int32)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.nn.relu(x @ self.w + self.b)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="by")])
    def count(self, by):
        self.n.assign_add(by)
        return {"n": self.n.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="k")])
    def look(self, k):
        return {"v": self.table.lookup(k)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def loop(self, x):
        i = tf.constant(0)
        while i < 5:
            x = x * 2.0 + 1.0
            i += 1
        if x > 10.0:
            x = x - 1.0
        return {"y": x}


def module():
    folder = HERE / "module"
    m = Module()
    tf.saved_model.save(m, str(folder), signatures={
        "serving_default": m.serve, "count": m.count, "look": m.look, "loop": m.loop})
    expect(folder, [
        ("serving_default", {"x": waves(3, 2)}),
        ("count", {"by": np.int32(2)}),
        ("count", {"by": np.int32(3)}),
        ("look", {"k": ["a", "x", "b"]}),
        ("loop", {"x": np.float32(1)}),
        ("loop", {"x": np.float32(-1)}),
    ])


def layers():
    keras.utils.set_random_seed(7)
    cnn = keras.Sequential([
        keras.layers.Input((8, 8, 3), name="image"),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5, activation="softmax"),
    ])
    rnn = keras.Sequential([
        keras.layers.Input((5, 3), name="steps"),
        keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True)),
        keras.layers.LSTM(4),
        keras.layers.Dense(2),
    ])
    for name, model, shape in (("cnn", cnn, (2, 8, 8, 3)), ("rnn", rnn, (2, 5, 3))):
        folder = HERE / name
        model.export(str(folder), verbose=False)
        key = list(tf.saved_model.load(str(folder)).signatures["serving_default"]
                   .structured_input_signature[1])[0]
        expect(folder, [("serving_default", {key: waves(*shape)})])
        frozen(name, model, shape)


def frozen(name, model, shape):
    """The model frozen as TensorFlow does by default: control flow of version 1."""
    spec = tf.TensorSpec((None, *shape[1:]), tf.float32, name="x")
    f = tf.function(lambda x: model(x)).get_concrete_function(spec)
    graph = convert_variables_to_constants_v2(f, lower_control_flow=True).graph.as_graph_def()
    (HERE / f"{name}_frozen.pb").write_bytes(graph.SerializeToString())


def builder():
    """A training graph of version 1, saved by its builder."""
    folder = HERE / "version_1"
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 2], "x")
        w = v1.get_variable("w", [2, 1], initializer=v1.constant_initializer([[0.5], [-1.0]]))
        b = v1.get_variable("b", [1], initializer=v1.zeros_initializer(), trainable=False)
        y = tf.matmul(x, w) + b
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
    expect(folder, [("serving_default", {"x": waves(3, 2)})])


class Scale(tf.Module):
    def __init__(self, factor):
        super().__init__()
        self.w = tf.Variable(factor, name="w")
        self.unused = tf.Variable(tf.zeros([2]) + factor, name="w")

    @tf.function
    def __call__(self, x, training=False, *, power=1):
        y = (x * self.w) ** power
        return -y if training else y


class Objects(tf.Module):
    """Methods that were traced several times, nested modules, a vocabulary in a file, ragged values."""

    def __init__(self, vocabulary):
        super().__init__()
        self.scales = [Scale(2.0), Scale(3.0)]
        self.named = {"other": Scale(5.0)}
        self.count = tf.Variable(0, name="count")
        self.longer = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]), name="longer")
        self.shift = tf.constant([10.0, 20.0])
        file = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
        self.words = tf.lookup.StaticHashTable(file, -1)
        self.seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
        self.seen.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def predict(self, x):
        self.count.assign_add(1)
        return {"y": self.scales[1](x) + self.shift, "count": self.count.read_value()}

    @tf.function
    def power(self, x, n=2):
        return {"power": x ** n, "nest": [x, (x, None)]}

    @tf.function
    def ids(self, words):
        return self.words.lookup(words)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def see(self, words):
        self.seen.insert(words, self.seen.lookup(words) + 1)
        return self.seen.lookup(tf.constant(["a", "b", "c"])), self.seen.size()

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def choose(self, i):
        w = self.scales[0].w
        return tf.switch_case(i, [lambda: w + 1.0, lambda: w * 10.0, lambda: tf.constant(0.0)])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def lengthen(self, x):
        self.longer.assign(tf.concat([self.longer, x], 0))
        return self.longer.read_value()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def squares(self, x):
        out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.size(x)):
            out = out.write(i, x[i] * x[i])
        return out.stack()

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def rows(self, x):
        return x * 2.0, tf.reduce_sum(x, 1)


def objects():
    folder = HERE / "objects"
    vocabulary = HERE / "vocabulary.txt"
    vocabulary.write_text("the\nquick\nfox\n")
    m = Objects(str(vocabulary))
    m.power(tf.constant(2.0))
    m.power(tf.constant([1.0, 2.0]))
    m.power(tf.constant([1, 2]), 3)
    m.ids(tf.constant(["a"]))
    m.scales[0](tf.constant(1.0))
    m.scales[0](tf.constant(1.0), training=True, power=2)
    m.named["other"](tf.constant([1.0]), power=3)
    tf.saved_model.save(m, str(folder), signatures={"predict": m.predict, "rows": m.rows})
    vocabulary.unlink()
    (folder / "fingerprint.pb").unlink()


def checkpoints():
    folder = HERE / "checkpoints"
    folder.mkdir()
    with tf.Graph().as_default():
        with v1.variable_scope("", partitioner=v1.fixed_size_partitioner(3)):
            v1.get_variable("sliced", initializer=lambda shape, **_: tf.reshape(
                tf.range(np.prod(shape), dtype=tf.float32), shape), shape=[6, 4])
        v1.Variable(tf.constant(["a", "bcé"]), name="strings")
        v1.Variable(tf.constant([1, 2**40], tf.int64), name="wide")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(sharded=True).save(
                session, str(folder / "saver"), write_meta_graph=False, write_state=False)
    tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), n=tf.Variable(3)).write(str(folder / "objects"))
    states(folder)


def states(folder):
    """Objects with a state: what they do next is printed, and stands in tests/train/checkpoint_objects_test.ts."""
    generator = tf.random.Generator.from_seed(7)
    generator.normal([3])
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a", "bc"], [1, 2])

    class Dense(tf.Module):
        def __init__(self, start):
            super().__init__()
            self.w = tf.Variable([start, 2.0], name="w")

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Dense(1.0), Dense(3.0)]
            self.named = {"scale": tf.Variable(5.0, name="scale", trainable=False)}
            self.rate = 0.5

    model, iterator = Model(), iter(tf.data.Dataset.range(5))
    next(iterator)
    kinds = tf.keras.optimizers
    optimizers = {
        "adam": kinds.Adam(0.1), "sgd": kinds.SGD(0.1, momentum=0.9), "rmsprop": kinds.RMSprop(0.1),
        "centered": kinds.RMSprop(0.1, momentum=0.9, centered=True), "adagrad": kinds.Adagrad(0.1),
        "adadelta": kinds.Adadelta(0.1), "adamax": kinds.Adamax(0.1),
    }
    weights = {name: tf.Variable([1.0, -2.0]) for name in optimizers}
    def step():
        for name, optimizer in optimizers.items():
            optimizer.apply([2 * weights[name]], [weights[name]])
    step()
    tf.train.Checkpoint(
        generator=generator, table=table, model=model, iterator=iterator, weights=weights,
        optimizers=optimizers,
    ).write(str(folder / "states"))
    step()
    print({name: w.numpy().tolist() for name, w in weights.items()}, generator.normal([2]).numpy())


def main():
    if HERE.exists():
        shutil.rmtree(HERE)
    HERE.mkdir()
    module()
    layers()
    builder()
    objects()
    checkpoints()


main()
