"""Steps of optax's chains of gradient transformations, in float64. Writes optax.json."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax as o
from rounded import rounded

jax.config.update("jax_enable_x64", True)

# The variables of the test; the cost of each is the sum of weights times squares of its distance from 0.5.
SHAPES = {"wide": [3, 4], "bias": [4], "scalar": []}
RATE = o.scale_by_learning_rate(0.0625)


def numbers(shape, of):
    return jnp.array([of(i) for i in range(int(np.prod(shape)))], "float64").reshape(shape)


def cost(xs):
    return sum(jnp.sum(numbers(s, lambda i: i * 5 % 7 / 8 + 0.25) * (xs[k] - 0.5) ** 2) for k, s in SHAPES.items())


CHAINS = {
    "clip": o.chain(o.clip(0.25), RATE),
    "clipByGlobalNorm": o.chain(o.clip_by_global_norm(0.5), RATE),
    "clipByBlockRms": o.chain(o.clip_by_block_rms(0.25), RATE),
    "addDecayedWeights": o.chain(o.add_decayed_weights(0.125), RATE),
    "trace": o.chain(o.trace(0.75), RATE),
    "trace, nesterov": o.chain(o.trace(0.75, True), RATE),
    "scaleByAdam": o.chain(o.scale_by_adam(0.75, 0.875, 1e-6), RATE),
    "scaleByRms": o.chain(o.scale_by_rms(0.75, 1e-6, eps_in_sqrt=False), RATE),
    "scaleByLion": o.chain(o.scale_by_lion(0.75, 0.875), RATE),
    "scaleByTrustRatio": o.chain(o.scale_by_trust_ratio(), RATE),
    "scaleByParameterRms": o.chain(o.scale_by_param_block_rms(), RATE),
    "scaleBySchedule": o.chain(o.scale_by_schedule(lambda n: 1 / (n + 1)), RATE),
    "masked": o.chain(o.masked(o.scale(3.0), {"wide": True, "bias": False, "scalar": False}), RATE),
    "adamw, clipped": o.chain(o.clip_by_global_norm(0.5), o.scale_by_adam(0.75, 0.875, 1e-6), o.add_decayed_weights(0.125), RATE),
    "adamw of a schedule": o.chain(
        o.scale_by_adam(0.75, 0.875, 1e-6),
        o.add_decayed_weights(0.125),
        o.scale_by_learning_rate(o.cosine_decay_schedule(0.125, 6, 0.25)),
    ),
    "lamb": o.chain(o.scale_by_adam(0.75, 0.875, 1e-6), o.add_decayed_weights(0.125), o.scale_by_trust_ratio(), RATE),
    "accumulated": o.MultiSteps(o.chain(o.trace(0.75), RATE), 2),
}


def steps(optimizer):
    xs = {k: numbers(s, lambda i: i * 7 % 11 / 4 - 1) for k, s in SHAPES.items()}
    state = optimizer.init(xs)
    average = {k: x for k, x in xs.items()}
    for _ in range(6):
        updates, state = optimizer.update(jax.grad(cost)(xs), state, xs)
        xs = o.apply_updates(xs, updates)
        average = o.incremental_update(xs, average, 0.25)
    return {"variables": {k: x.reshape(-1).tolist() for k, x in xs.items()}, "averages": {k: x.reshape(-1).tolist() for k, x in average.items()}}


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "optax.json"), "w") as f:
    json.dump(rounded({k: steps(v) for k, v in CHAINS.items()}), f)
