"""What TensorFlow's hashes of strings give, of lengths at which they go other ways.

    python tests/ops/text/make_hashes.py

Writes hashes.json. Needs TensorFlow 2.21.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

LENGTHS = [*range(36), 47, 48, 49, 63, 64, 65, 66, 95, 96, 127, 128, 129, 191, 192, 193, 255, 256, 257, 300, 1000]
MOST = 2**31 - 1

texts = tf.constant([bytes((i * 37 + n * 11 + (i * i) % 7) % 256 for i in range(n)) for n in LENGTHS])


def whole(x):
    return [int(v) for v in x.numpy()]


found = {
    "lengths": LENGTHS,
    "fingerprints": [bytes(row).hex() for row in tf.fingerprint(texts).numpy()],
    "fast": whole(tf.strings.to_hash_bucket_fast(texts, 1000)),
    "fastMost": whole(tf.strings.to_hash_bucket_fast(texts, MOST)),
    "strong": whole(tf.strings.to_hash_bucket_strong(texts, MOST, [133, -137])),
    "first": whole(tf.strings.to_hash_bucket(texts, MOST)),
}
pathlib.Path(__file__).with_name("hashes.json").write_text(json.dumps(found))
