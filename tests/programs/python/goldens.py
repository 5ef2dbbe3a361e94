"""Writes ../goldens.json: what TensorFlow 2.21 makes of the programs in the folder above.

    python tests/programs/python/goldens.py [part of a name ...]

Each program in TypeScript has one of the same name here, in the file of its test's name, with the same variables and inputs.
It is run eagerly and as a function, which must agree. Weft's tests read goldens.json and need no Python. With arguments only the
programs whose names contain one of them are made anew.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from registry import PROGRAMS, values_of  # noqa: E402
import algorithms  # noqa: E402, F401
import control  # noqa: E402, F401
import data  # noqa: E402, F401
import guide_functions  # noqa: E402, F401
import guide_gradients  # noqa: E402, F401
import guide_training  # noqa: E402, F401
import guide_values  # noqa: E402, F401
import models  # noqa: E402, F401
import numerics  # noqa: E402, F401
import optimizers  # noqa: E402, F401
import random_programs  # noqa: E402, F401
import recurrent  # noqa: E402, F401
import scripts  # noqa: E402, F401
import tapes  # noqa: E402, F401
import training  # noqa: E402, F401

GOLDENS = pathlib.Path(__file__).parent.parent / "goldens.json"


def plain(x):
    """A tensor as [dtype, nested elements], with as many digits as its dtype has."""
    a = np.asarray(x)
    if a.dtype == np.bool_:
        return ["bool", a.astype(int).tolist()]
    if a.dtype == np.complex64:
        pairs = np.stack([a.real, a.imag], -1)
        return ["complex64", np.vectorize(lambda v: float(f"{v:.8g}"))(pairs).tolist()]
    if a.dtype == np.float64:
        return ["float64", a.tolist()]
    if np.issubdtype(a.dtype, np.floating):
        digits = np.vectorize(lambda v: float(f"{v:.8g}"), otypes=[np.float64])
        return [str(a.dtype), digits(a).tolist() if a.size else a.tolist()]
    return [str(a.dtype), a.tolist()]


def play(program, compiled):
    variables = {
        name: tf.Variable(values_of(start, i + 1))
        for i, (name, start) in enumerate(program.variables.items())
    }
    step = program.build(variables)
    if compiled:
        step = tf.function(step)
    if program.dataset is not None:
        feeds = list(program.dataset())
    else:
        feeds = [
            {
                name: tf.constant(values_of(start, 100 * (i + 1) + k))
                for i, (name, start) in enumerate(program.inputs.items())
            }
            for k in range(program.steps)
        ]
    steps = [
        {name: plain(x) for name, x in step(feed).items() if x is not None} for feed in feeds
    ]
    return {"steps": steps, "variables": {n: plain(v) for n, v in variables.items()}}


def near(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    if isinstance(a, str):
        return a == b
    return a == b or abs(a - b) <= 1e-4 * (1 + abs(b))


def main(wanted):
    goldens = json.loads(GOLDENS.read_text()) if wanted and GOLDENS.exists() else {}
    for name, program in PROGRAMS.items():
        if wanted and not any(w in name for w in wanted):
            continue
        result = play(program, compiled=False)
        if program.compiled and not near(play(program, compiled=True), result):
            raise AssertionError(f"TensorFlow's modes differ in {name}: {play(program, True)} {result}")
        goldens[name] = result
    lines = [
        f"{json.dumps(name)}: {json.dumps(goldens[name], separators=(',', ':'))}"
        for name in PROGRAMS
        if name in goldens
    ]
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
