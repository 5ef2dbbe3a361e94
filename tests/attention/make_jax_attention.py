"""Writes jax_attention.json: attention as JAX computes it, with gradients of the sum of squares, for the masks of masks_test.ts."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(3)


def real(*shape):
    return np.round(rng.normal(size=shape), 2)


def softcapped(q, k, v, cap):
    s = jnp.einsum("bnhd,bmhd->bhnm", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("bhnm,bmhd->bnhd", jax.nn.softmax(cap * jnp.tanh(s / cap)), v)


# Shapes of queries (batch, time, heads, depth) and of keys, and what is given beside them.
CASES = {
    "plain": ((2, 5, 2, 4), (2, 5, 2, 4), {}),
    "mask of all axes": ((2, 3, 2, 4), (2, 6, 2, 4), {"mask": (2, 2, 3, 6)}),
    "mask of examples": ((2, 3, 2, 4), (2, 6, 2, 4), {"mask": (2, 1, 1, 6)}),
    "mask of queries and keys": ((2, 3, 2, 4), (2, 6, 2, 4), {"mask": (1, 1, 3, 6)}),
    "bias of heads": ((2, 3, 2, 4), (2, 6, 2, 4), {"bias": (1, 2, 3, 6)}),
    "bias and mask": ((2, 3, 2, 4), (2, 6, 2, 4), {"bias": (2, 1, 3, 6), "mask": (1, 1, 3, 6)}),
    "causal with a mask": ((2, 5, 2, 4), (2, 5, 2, 4), {"causal": True, "mask": (2, 1, 1, 5)}),
    "groups": ((2, 3, 4, 4), (2, 5, 2, 4), {}),
    "groups, causal": ((1, 6, 6, 8), (1, 6, 2, 8), {"causal": True}),
    "one group with a mask of heads": ((2, 3, 4, 4), (2, 5, 1, 4), {"mask": (2, 4, 3, 5)}),
    "groups with a bias": ((2, 3, 4, 4), (2, 5, 2, 4), {"bias": (1, 4, 3, 5)}),
    "window": ((1, 7, 2, 4), (1, 7, 2, 4), {"window": (2, 1)}),
    "window, causal": ((1, 7, 2, 4), (1, 7, 2, 4), {"window": (2, 2), "causal": True}),
    "lengths": ((3, 4, 2, 4), (3, 5, 2, 4), {"keyLengths": [1, 5, 3]}),
    "softcap": ((2, 3, 2, 4), (2, 5, 2, 4), {"softcap": 0.5}),
    "scale": ((2, 3, 2, 4), (2, 5, 2, 4), {"scale": 0.75}),
}

out = {}
for name, (qs, ks, given) in CASES.items():
    q, k, v = real(*qs), real(*ks), real(*ks)
    options, written = {}, {}
    for key, value in given.items():
        if key == "mask":
            value = rng.uniform(size=value) < 0.6
            value[..., 0] = True  # each query sees a key
            options["mask"] = jnp.array(value)
            written[key] = value.tolist()
        elif key == "bias":
            value = real(*value)
            options["bias"] = jnp.array(value)
            written[key] = value.tolist()
        else:
            names = {"causal": "is_causal", "window": "local_window_size", "keyLengths": "key_value_seq_lengths"}
            options[names.get(key, key)] = jnp.array(value, "int32") if key == "keyLengths" else value
            written[key] = value
    cap = options.pop("softcap", None)

    def attend(q, k, v):
        return softcapped(q, k, v, cap) if cap else jax.nn.dot_product_attention(q, k, v, **options)

    grads = jax.grad(lambda *a: jnp.sum(attend(*a) ** 2), (0, 1, 2))(*map(jnp.array, (q, k, v)))
    out[name] = {
        "inputs": [x.tolist() for x in (q, k, v)],
        "options": written,
        "output": np.round(np.asarray(attend(*map(jnp.array, (q, k, v)))), 7).tolist(),
        "grads": [np.round(np.asarray(g), 7).tolist() for g in grads],
    }
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jax_attention.json")
with open(path, "w") as f:
    json.dump(out, f)
    f.write("\n")
