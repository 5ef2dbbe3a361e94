"""What functions of TensorFlow 2.21 return, with their gradients, for tests/names/*_test.ts.

`python tests/names/goldens.py arrays` writes tests/names/arrays.json anew. Tests need no Python.
"""

import importlib
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "python"))


def element(v):
    """A value as JSON has it: texts for what JSON numbers do not hold."""
    if isinstance(v, bytes):
        return v.decode()
    if isinstance(v, (complex, np.complexfloating)):
        return [element(v.real), element(v.imag)]
    if isinstance(v, (bool, np.bool_)):
        return bool(v)
    if isinstance(v, (int, np.integer)):
        return int(v) if abs(int(v)) < 2**53 else str(int(v))
    v = float(v)
    return v if np.isfinite(v) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(v)]


def tensor(x):
    """A tensor: dtype, shape, elements in order."""
    x = tf.convert_to_tensor(x)
    flat = np.asarray(x.numpy()).reshape([-1])
    return {"t": x.dtype.name, "s": list(x.shape), "v": [element(v) for v in flat]}


def encode(x):
    if isinstance(x, (tf.Tensor, np.ndarray, np.generic)):
        return tensor(x)
    if isinstance(x, tf.SparseTensor):
        return {"sparse": [tensor(x.indices), tensor(x.values), tensor(x.dense_shape)]}
    if isinstance(x, (list, tuple)):
        return {"list": [encode(e) for e in x]}
    return x


def flat(x):
    """All tensors of a result."""
    if isinstance(x, tf.SparseTensor):
        return [x.indices, x.values, x.dense_shape]
    if isinstance(x, tf.RaggedTensor):
        return [x.flat_values, *x.nested_row_splits]
    if isinstance(x, (list, tuple)):
        return [t for part in x for t in flat(part)]
    return [tf.convert_to_tensor(x)]


def weighted(results):
    """A sum over all elements in which each has a factor of its own."""
    total = tf.constant(0.0, tf.float64)
    for y in results:
        if y.dtype.is_floating:
            n = tf.size(y)
            w = tf.cast((tf.range(n) * 7) % 5 + 1, tf.float64) / 4
            total += tf.reduce_sum(tf.reshape(tf.cast(y, tf.float64), [-1]) * w)
    return total


CASES = []


def case(name, run, args, wrt=(), ours=None, places=None):
    """Adds a case: the function's name of ours, TensorFlow's call, its arguments; `ours`: arguments where they differ.

    `wrt`: numbers of arguments with gradients, `places`: their numbers among ours.
    """
    args = [tf.constant(a) if isinstance(a, np.ndarray) else a for a in args]
    out = flat(run(*args))
    row = {"fn": name, "args": [encode(a) for a in (args if ours is None else ours)]}
    row["want"] = [tensor(y) for y in out]
    if wrt:
        given = [args[i] for i in wrt]
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = weighted(flat(run(*args)))
        row["wrt"] = list(wrt if places is None else places)
        row["grads"] = [tensor(tf.convert_to_tensor(g)) for g in tape.gradient(total, given)]
    CASES.append(row)


def main():
    for family in sys.argv[1:]:
        CASES.clear()
        sys.modules.setdefault("goldens", sys.modules["__main__"])
        importlib.import_module(family).write()
        with open(os.path.join(HERE, f"{family}.json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
        print(family, len(CASES))


if __name__ == "__main__":
    main()
