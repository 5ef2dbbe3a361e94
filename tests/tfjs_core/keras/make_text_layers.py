"""What layers of Keras 3 with words return, and what they learn: fixtures/text_layers.json.

usage: python tests/tfjs_core/keras/make_text_layers.py
"""
import json
import os
import re

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "text_layers.json")
WORDS = ["fooBar", "foo_bar", "_x", "don't_know", "é", "日本", "\U0001f600", "\uff5e", "cat"]
INPUT = [["fooBar", "foo_bar", "x"], ["_x", "", "日本"], ["FOOBAR", "\U0001f600", "\uff5e"]]
ROWS = ["The cat sat on the mat.", "A cat; the dog's \u00e9t\u00e9", "\uff5e \U0001f600 zz zz!", "", "foo_bar fooBar"]
NUMBERS = [[5, 7, -3], [0, 5, 123456], [2147483647, -2147483648, 5]]

CASES = [
    *[dict(layer="StringLookup", config=dict(vocabulary=WORDS, output_mode=mode, **more), input=INPUT)
      for mode in ["int", "multi_hot", "count", "one_hot"]
      for more in [{}, dict(mask_token=""), dict(num_oov_indices=4), dict(num_oov_indices=3, salt=[7, 8], mask_token="x")]],
    dict(layer="StringLookup", config=dict(vocabulary=["", "[UNK]", *WORDS], mask_token=""), input=INPUT),
    dict(layer="StringLookup", config=dict(vocabulary=["x", "", *WORDS], num_oov_indices=0), input=INPUT[:2]),
    dict(layer="StringLookup", config=dict(vocabulary=WORDS, output_mode="one_hot"), input=[["_x"], ["q"]]),
    dict(layer="StringLookup", config=dict(vocabulary=WORDS, invert=True, oov_token="none", mask_token=""), input=[[0, 1, 2], [3, 99, -1]]),
    dict(layer="StringLookup", config=dict(mask_token="x", num_oov_indices=2), adapt=INPUT, input=INPUT),
    dict(layer="StringLookup", config=dict(max_tokens=4), adapt=["b", "a", "b", "c", "a", "d", "[UNK]", "[UNK]"], input=["a", "b", "c", "d"]),
    dict(layer="StringLookup", config=dict(output_mode="tf_idf"), adapt=INPUT, input=INPUT),
    dict(layer="IntegerLookup", config=dict(vocabulary=[5, -3, 2147483647]), input=NUMBERS),
    dict(layer="IntegerLookup", config=dict(vocabulary=[5, -3], mask_token=0, num_oov_indices=3), input=NUMBERS),
    dict(layer="IntegerLookup", config=dict(vocabulary=[5, -3], mask_token=0, num_oov_indices=3, oov_method="farmhash"), input=NUMBERS),
    dict(layer="IntegerLookup", config=dict(vocabulary=[5, -3], num_oov_indices=3, oov_method="farmhash", salt=5, output_mode="count"), input=NUMBERS),
    dict(layer="IntegerLookup", config=dict(vocabulary=[5, -3], invert=True, oov_token=-9), input=[[0, 1], [2, 7]]),
    dict(layer="IntegerLookup", config=dict(mask_token=7, output_mode="multi_hot", max_tokens=8, pad_to_max_tokens=True), adapt=NUMBERS, input=NUMBERS),
    dict(layer="IntegerLookup", config=dict(output_mode="tf_idf", max_tokens=12, pad_to_max_tokens=True), adapt=NUMBERS, input=NUMBERS),
    *[dict(layer="TextVectorization", config=config, adapt=ROWS, input=ROWS) for config in [
        {},
        dict(output_sequence_length=3),
        dict(max_tokens=6, output_sequence_length=9),
        dict(standardize="lower", ngrams=2),
        dict(standardize="strip_punctuation", ngrams=[1, 3]),
        dict(standardize=None, split="character", output_sequence_length=6),
        dict(standardize=None, split=None),
        dict(output_mode="multi_hot"),
        dict(output_mode="count", max_tokens=40, pad_to_max_tokens=True),
        dict(output_mode="tf_idf", split="character"),
        dict(output_mode="tf_idf", max_tokens=5),
    ]],
    *[dict(layer="Hashing", config=config, input=data) for config in [
        dict(num_bins=3), dict(num_bins=9, salt=133), dict(num_bins=5, salt=[1, 2], output_mode="one_hot"),
        dict(num_bins=4, output_mode="count"), dict(num_bins=4, output_mode="multi_hot"), dict(num_bins=1),
    ] for data in [INPUT, NUMBERS]],
    dict(layer="Hashing", config=dict(num_bins=4, mask_value=""), input=INPUT),
    dict(layer="Hashing", config=dict(num_bins=4, mask_value=5), input=NUMBERS),
    dict(layer="Hashing", config=dict(num_bins=4, output_mode="one_hot"), input=[["a"], ["b"]]),
    dict(layer="Hashing", config=dict(num_bins=7), input=[[1.5, -2.5, 3e4]]),
]


def plain(array):
    array = np.asarray(array)
    if array.dtype == object:
        return np.vectorize(lambda b: b.decode())(array).tolist()
    return np.vectorize(lambda v: float(f"{v:.7g}") if array.dtype.kind == "f" else v)(array).tolist()


def camel(name):
    return re.sub("_(.)", lambda m: m[1].upper(), name)


told = []
for case in CASES:
    config = dict(case["config"])
    if isinstance(config.get("ngrams"), list):
        config["ngrams"] = tuple(config["ngrams"])
    layer = getattr(keras.layers, case["layer"])(**config)
    if "adapt" in case:
        layer.adapt(case["adapt"] if isinstance(case["adapt"][0], str) else tf.constant(case["adapt"]))
    settings = {camel(key): value for key, value in case["config"].items()}
    for key in ("outputMode", "standardize"):
        if settings.get(key):
            settings[key] = camel(settings[key])
    more = {} if case["layer"] == "Hashing" else {"vocabulary": [plain(w) if isinstance(w, np.generic) and not isinstance(w, str) else w for w in layer.get_vocabulary()]}
    given = case["input"]
    told.append({
        "layer": camel(case["layer"][0].lower() + case["layer"][1:]),
        "config": settings,
        **({"adapt": case["adapt"]} if "adapt" in case else {}),
        "input": given,
        "result": plain(layer(tf.constant(given))),
        **more,
    })
with open(FILE, "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(each, default=str) for each in told) + "\n]\n")
print(len(told))
