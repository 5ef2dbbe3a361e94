"""Keras models frozen by TensorFlow 2.21, with what it computes: fixtures/frozen/NAME.pb.gz and NAME.json, and the same
under NAME_lowered with control flow lowered.

usage: python tests/tf/make_frozen_fixtures.py [FOLDER]
With a folder, large applications are written there, for tools that want more than the tests do.
"""
import gzip
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

keras.utils.set_random_seed(1)
random = np.random.RandomState(0)


def noise(*shape):
    return random.normal(size=shape).astype(np.float32)


def words(*shape):
    return random.randint(0, 20, shape).astype(np.int32)


def block(x):
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return layers.LayerNormalization()(x + layers.Dense(8)(layers.Dense(16, activation="gelu")(x)))


def transformer():
    x = keras.Input((5, 8))
    return keras.Model(x, block(x))


def bert():
    ids, mask = keras.Input((6,), dtype="int32"), keras.Input((6,), dtype="bool")
    x = layers.Embedding(20, 8)(ids) + layers.Embedding(6, 8)(keras.ops.arange(6))
    attended = layers.MultiHeadAttention(2, 4)(x, x, attention_mask=keras.ops.expand_dims(mask, 1))
    x = layers.LayerNormalization()(x + attended)
    return keras.Model([ids, mask], layers.Dense(2, activation="tanh")(x[:, 0]))


def chain(shape, *parts, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *parts])


SMALL = {
    "mlp": (lambda: chain((8,), layers.Dense(6, activation="relu"), layers.Dropout(0.2),
                          layers.Dense(3, activation="softmax")), [noise(2, 8)]),
    "cnn": (lambda: chain(
        (12, 12, 3), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.DepthwiseConv2D(3, padding="same"), layers.SeparableConv2D(4, 3),
        layers.Conv2DTranspose(4, 2, strides=2), layers.AveragePooling2D(2),
        layers.UpSampling2D(interpolation="bilinear"), layers.GlobalAveragePooling2D(), layers.Dense(4)),
        [noise(2, 12, 12, 3)]),
    "lstm": (lambda: chain((4, 3), layers.LSTM(4, return_sequences=True), layers.LSTM(3)), [noise(2, 4, 3)]),
    "gru": (lambda: chain((4, 3), layers.GRU(4), layers.Dense(2)), [noise(2, 4, 3)]),
    "bidirectional": (lambda: chain(
        (5,), layers.Embedding(20, 4, mask_zero=True), layers.Bidirectional(layers.LSTM(3)),
        layers.Dense(1, activation="sigmoid"), dtype="int32"), [words(2, 5)]),
    "transformer": (transformer, [noise(2, 5, 8)]),
    "bert": (bert, [words(2, 6), np.array([[1] * 6, [1] * 4 + [0] * 2], bool)]),
}


def application(name, side, **options):
    make = lambda: getattr(keras.applications, name)(
        input_shape=(side, side, 3), weights=None, classes=10, **options)
    return make, [noise(1, side, side, 3)]


LARGE = {
    "mobilenet_v2": application("MobileNetV2", 96, alpha=0.35),
    "mobilenet_v3": application("MobileNetV3Small", 96),
    "efficientnet_b0": application("EfficientNetB0", 64),
    "resnet50": application("ResNet50", 64),
    "inception_v3": application("InceptionV3", 96),
    "densenet121": application("DenseNet121", 64),
    "convnext_tiny": application("ConvNeXtTiny", 64),
    "nasnet_mobile": application("NASNetMobile", 224),
}


def disturb(model):
    """Gives statistics and biases values that show where they are not used."""
    for w in model.weights:
        value = w.numpy()
        if "variance" in w.path:
            w.assign(random.uniform(0.5, 1.5, value.shape))
        elif any(part in w.path for part in ("beta", "bias", "mean")):
            w.assign(random.normal(0, 0.1, value.shape))


def freeze(folder, name, make, xs):
    model = make()
    disturb(model)
    function = tf.function(lambda *args: model(args[0] if len(args) == 1 else list(args)))
    traced = function.get_concrete_function(*[tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in xs])
    for suffix, lowered in (("", False), ("_lowered", True)):
        frozen = convert_variables_to_constants_v2(traced, lower_control_flow=lowered)
        definition = frozen.graph.as_graph_def()
        if lowered and not any(n.op == "Enter" for n in definition.node):
            continue
        with open(os.path.join(folder, f"{name}{suffix}.pb.gz"), "wb") as f:
            f.write(gzip.compress(definition.SerializeToString(), mtime=0))
        result = frozen(*[tf.constant(x) for x in xs])
        y = np.asarray(result[0] if isinstance(result, (list, tuple)) else result)
        with open(os.path.join(folder, f"{name}{suffix}.json"), "w") as f:
            json.dump({
                "output": frozen.outputs[0].name,
                "inputs": [{"name": t.name, "dtype": str(x.dtype), "shape": x.shape, "values": x.ravel().tolist()}
                           for t, x in zip(frozen.inputs, xs)],
                "shape": y.shape,
                "values": [float(f"{v:.8g}") for v in y.ravel()],
            }, f)
    print(name, flush=True)


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "frozen")
    folder, models = (sys.argv[1], LARGE) if len(sys.argv) > 1 else (here, SMALL)
    os.makedirs(folder, exist_ok=True)
    for name, (make, xs) in models.items():
        freeze(folder, name, make, xs)


main()
