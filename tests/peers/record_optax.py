"""Steps of optax's chains of gradient transformations, in float64. Writes optax.json."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax as o
import optax.contrib
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
    "clipped, masked momentum, 20 steps": o.chain(
        o.clip_by_global_norm(0.5), o.masked(o.trace(0.75, True), {"wide": True, "bias": True, "scalar": False}), RATE
    ),
    "centralized adam that decays matrices, 20 steps": o.chain(
        o.centralize(), o.scale_by_adam(0.75, 0.875, 1e-6),
        o.masked(o.add_decayed_weights(0.125), {"wide": True, "bias": False, "scalar": False}), RATE
    ),
    "lion, clipped by blocks, of a schedule, 20 steps": o.chain(
        o.scale_by_lion(0.75, 0.875), o.clip_by_block_rms(0.5), o.add_decayed_weights(0.0625),
        o.scale_by_learning_rate(o.cosine_decay_schedule(0.125, 16, 0.25))
    ),
    "muon without Nesterov's momentum, 20 steps": o.contrib.muon(
        0.0625, beta=0.75, nesterov=False, consistent_rms=0.2, adam_b1=0.75, adam_b2=0.875, eps=1e-7
    ),
    "accumulated": o.MultiSteps(o.chain(o.trace(0.75), RATE), 2),
}


def steps(optimizer, count):
    @jax.jit
    def step(xs, state, average):
        updates, state = optimizer.update(jax.grad(cost)(xs), state, xs)
        xs = o.apply_updates(xs, updates)
        return xs, state, o.incremental_update(xs, average, 0.25)

    xs = {k: numbers(s, lambda i: i * 7 % 11 / 4 - 1) for k, s in SHAPES.items()}
    state, average = optimizer.init(xs), xs
    for _ in range(count):
        xs, state, average = step(xs, state, average)
    return {"variables": {k: x.reshape(-1).tolist() for k, x in xs.items()}, "averages": {k: x.reshape(-1).tolist() for k, x in average.items()}}


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "optax.json"), "w") as f:
    json.dump(rounded({k: steps(v, 20 if k.endswith("20 steps") else 6) for k, v in CHAINS.items()}), f)
