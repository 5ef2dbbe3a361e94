"""Records what functions of JAX and Keras give, for the tables of this folder.

    python tests/names/record_activations.py

As recorder.py does of TensorFlow's: inputs, results and gradients of the sum of the first result times 1, 2, 3 ... Needs JAX 0.10 and Keras 3.15.
"""

import json
import os

os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import numpy as np

CASES = {}


def plain(v):
    """Numbers as lists; complex ones as pairs, and what JSON has no number for as text."""
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    a = np.asarray(v)
    if np.iscomplexobj(a):
        a = np.stack([a.real, a.imag], -1)
    if a.ndim > 0:
        return [plain(x) for x in a]
    x = a.item()
    return str(x) if isinstance(x, float) and not np.isfinite(x) else x


def rec(name, f, *inputs, grads=True):
    """Records a function of arrays; without `grads` no gradients."""
    inputs = [np.asarray(x) for x in inputs]
    y = f(*[jnp.asarray(x) for x in inputs])
    case = {
        "inputs": [{"dtype": x.dtype.name, "shape": list(x.shape), "values": plain(x.reshape(-1))} for x in inputs],
        "result": plain(y),
    }
    at = [i for i, x in enumerate(inputs) if x.dtype == np.float32]
    first = y[0] if isinstance(y, (list, tuple)) else y
    if grads and at and jnp.issubdtype(first.dtype, jnp.floating):

        def loss(*x):
            y = f(*x)
            y = y[0] if isinstance(y, (list, tuple)) else y
            return jnp.sum(y * jnp.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape))

        found = jax.grad(loss, argnums=at)(*[jnp.asarray(x) for x in inputs])
        case["gradients"] = [plain(found[at.index(i)]) if i in at else None for i in range(len(inputs))]
    CASES[name] = case


def write(family):
    path = os.path.join(os.path.dirname(__file__), "fixtures", family + ".json")
    with open(path, "w") as f:
        json.dump(CASES, f)
    print(len(CASES), "cases")
