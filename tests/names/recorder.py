"""Records what TensorFlow's functions give, for the tables of this folder.

    python tests/names/record_nn.py

Each file record_<family>.py writes fixtures/<family>.json: inputs, results and gradients by the names of <family>_test.ts. The loss of a
gradient is the sum of the first result times 1, 2, 3 ... in the order of its elements. Needs TensorFlow 2.21.
"""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

CASES = {}


def plain(t):
    """Numbers as lists; complex ones as pairs, and what JSON has no number for as text."""
    if isinstance(t, (list, tuple)):
        return [plain(v) for v in t]
    if isinstance(t, dict):
        return {key: plain(v) for key, v in t.items()}
    if isinstance(t, tf.SparseTensor):
        return {"indices": plain(t.indices), "values": plain(t.values), "denseShape": plain(t.dense_shape)}
    if isinstance(t, tf.RaggedTensor):
        return plain_list(t.to_list())
    if isinstance(t, tf.IndexedSlices):
        t = tf.convert_to_tensor(t)
    a = t.numpy() if hasattr(t, "numpy") else np.asarray(t)
    if isinstance(a, bytes):
        return a.decode()
    if np.iscomplexobj(a):
        a = np.stack([a.real, a.imag], -1)
    return plain_list(a.astype(np.float64).tolist() if a.dtype.name in ("float16", "bfloat16") else a.tolist() if hasattr(a, "tolist") else a)


def plain_list(v):
    if isinstance(v, list):
        return [plain_list(x) for x in v]
    if isinstance(v, bytes):
        return v.decode()
    if isinstance(v, float) and not np.isfinite(v):
        return str(v)
    return v


def rec(name, f, *inputs, grads=True):
    """Records a function of tensors; `grads` is False, or says for which inputs there are gradients."""
    inputs = [tf.convert_to_tensor(x) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = f(*inputs)
        first = y[0] if isinstance(y, (list, tuple)) else y
        if isinstance(first, (tf.SparseTensor, tf.RaggedTensor)):
            grads = False
        if grads is not False and first.dtype.is_floating:
            w = tf.reshape(tf.cast(tf.range(1, tf.size(first) + 1), first.dtype), tf.shape(first))
            loss = tf.reduce_sum(first * w)
    case = {
        "inputs": [{"dtype": x.dtype.name, "shape": x.shape.as_list(), "values": plain(tf.reshape(x, [-1]))} for x in inputs],
        "result": plain(y),
    }
    if grads is not False and first.dtype.is_floating:
        case["gradients"] = [None if g is None else plain(g) for g in tape.gradient(loss, inputs)]
    CASES[name] = case


def write(family):
    path = os.path.join(os.path.dirname(__file__), "fixtures", family + ".json")
    with open(path, "w") as f:
        json.dump(CASES, f)
    print(len(CASES), "cases")
