"""Points of TensorFlow's tf.math.sobol_sample for sobol_test.ts: python tests/names/record_sobol.py > tests/names/fixtures/sobol.json"""

import json

import tensorflow as tf

CASES = [
    (1, 5, 0, "float32"),
    (3, 6, 0, "float32"),
    (3, 6, 1, "float64"),
    (40, 3, 1000, "float32"),
    (256, 2, 0, "float64"),
    (256, 1, 123456789, "float64"),
    (256, 1, 123456789, "float32"),
    (5, 3, 1073741000, "float64"),
    (2, 4, 1073741810, "float32"),
]
rows = []
for dim, count, skip, dtype in CASES:
    points = tf.math.sobol_sample(dim, count, skip, dtype=dtype).numpy().tolist()
    rows.append({"dim": dim, "count": count, "skip": skip, "dtype": dtype, "points": points})
print(json.dumps(rows))
