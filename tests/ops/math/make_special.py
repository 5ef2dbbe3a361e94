"""What TensorFlow's special functions give.

    python tests/ops/math/make_special.py

Writes special.json: for each function the values at POINTS and the gradients there, in float64. Needs TensorFlow 2.21.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

POINTS = [0.0, 1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 3.7, 8.0, 14.42, 24.9, 25.1, 31.0, 60.0]
SIGNED = POINTS + [-p for p in POINTS[1:]]
m, s = tf.math, tf.math.special
ONE = {
    "besselI0": (m.bessel_i0, SIGNED), "besselI0e": (m.bessel_i0e, SIGNED),
    "besselI1": (m.bessel_i1, SIGNED), "besselI1e": (m.bessel_i1e, SIGNED),
    "special.besselJ0": (s.bessel_j0, SIGNED), "special.besselJ1": (s.bessel_j1, SIGNED),
    "special.besselK0": (s.bessel_k0, POINTS[1:]), "special.besselK0e": (s.bessel_k0e, POINTS[1:]),
    "special.besselK1": (s.bessel_k1, POINTS[1:]), "special.besselK1e": (s.bessel_k1e, POINTS[1:]),
    "special.besselY0": (s.bessel_y0, POINTS[1:]), "special.besselY1": (s.bessel_y1, POINTS[1:]),
    "special.dawsn": (s.dawsn, SIGNED), "special.expint": (s.expint, POINTS[1:]),
    "special.fresnelCos": (s.fresnel_cos, SIGNED), "special.fresnelSin": (s.fresnel_sin, SIGNED),
    "special.spence": (s.spence, POINTS[1:]),
}
GRID = [[0.5, 0.25], [1.0, 2.0], [3.0, 1.5], [12.0, 9.0]]
out = {}


def tell(name, f, *inputs):
    at = [tf.constant(x, tf.float64) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(at)
        y = f(*at)
        weights = tf.reshape(tf.range(1, tf.size(y) + 1), tf.shape(y))
        total = tf.reduce_sum(y * tf.cast(weights, tf.float64))
    grads = tape.gradient(total, at)
    out[name] = {
        "inputs": inputs,
        "values": y.numpy().tolist(),
        "gradients": [None if g is None else g.numpy().tolist() for g in grads],
    }


for name, (f, at) in ONE.items():
    tell(name, f, at)
a, x = [p for p, _ in GRID], [q for _, q in GRID]
tell("igamma", m.igamma, a, x)
tell("igammac", m.igammac, a, x)
tell("betainc", m.betainc, a, x, [0.1, 0.5, 0.75, 0.9])
ROWS = [[1.0, -2.0, 3.0], [0.5, 30.0, -40.0]]
for axis in (0, 1):
    tell(f"cumulativeLogsumexp {axis}", lambda v: m.cumulative_logsumexp(v, axis), ROWS)
tell("cumulativeLogsumexp back", lambda v: m.cumulative_logsumexp(v, 1, reverse=True), ROWS)
pathlib.Path(__file__).with_name("special.json").write_text(json.dumps(out))
