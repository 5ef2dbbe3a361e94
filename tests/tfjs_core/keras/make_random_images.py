"""Writes fixtures/random_images.json: what Keras's layers that change images at random make in training, of factors that leave one choice."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

L = keras.layers
IMAGES = np.round(np.random.default_rng(5).uniform(size=(2, 5, 6, 2)), 2).astype(np.float32)
LAYERS = [
    L.RandomRotation((0.125, 0.125)),
    L.RandomRotation((-0.05, -0.05), fill_mode="constant", fill_value=0.5, interpolation="nearest"),
    L.RandomTranslation((0.3, 0.3), (-0.25, -0.25)),
    L.RandomTranslation((0.2, 0.2), (0.1, 0.1), fill_mode="wrap"),
    L.RandomZoom((0.25, 0.25)),
    L.RandomZoom((-0.4, -0.4), (0.2, 0.2), fill_mode="nearest"),
    L.RandomBrightness((0.25, 0.25), value_range=(0, 1)),
    L.RandomContrast(0.0, value_range=(0.2, 0.8)),
]
told = [
    {"name": type(l).__name__, "config": l.get_config(), "result": np.asarray(l(IMAGES, training=True)).astype(float).round(6).tolist()}
    for l in LAYERS
]
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "random_images.json")
with open(path, "w") as f:
    json.dump({"images": IMAGES.astype(float).round(2).tolist(), "layers": told}, f, default=str)
