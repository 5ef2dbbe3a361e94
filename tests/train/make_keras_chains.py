"""Writes keras_chains.json: steps of Keras's optimizers and rates of its schedules, in float64 where they allow it."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
import tensorflow as tf
import torch

keras.backend.set_floatx("float64")

# The variables of the test; the cost of each is the sum of weights times squares of its distance from 0.5.
SHAPES = {"wide": [3, 4], "tall": [5, 2], "bias": [4], "cube": [2, 3, 2], "scalar": []}


def start(shape):
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 11 / 4 - 1).reshape(shape)


def weights(shape):
    count = int(np.prod(shape))
    return (np.arange(count) * 5 % 7 / 8 + 0.25).reshape(shape)


OPTIMIZERS = {
    "lion": lambda o: o.Lion(0.0625, 0.875, 0.75),
    "lion with decay": lambda o: o.Lion(0.0625, 0.875, 0.75, weight_decay=0.125),
    "lamb": lambda o: o.Lamb(0.0625, 0.75, 0.875, 1e-6),
    "adafactor": lambda o: o.Adafactor(0.125, -0.75, 1e-30, 0.0078125, 0.5),
    "muon": lambda o: o.Muon(0.0625, 0.75, 0.875, weight_decay=0.125, adam_weight_decay=0.125, momentum=0.75),
    "muon, plain": lambda o: o.Muon(
        0.0625, 0.75, 0.875, weight_decay=None, adam_weight_decay=None, momentum=0.75, nesterov=False, rms_rate=None
    ),
    "adam, clipnorm": lambda o: o.AdamW(0.0625, 0.125, 0.75, 0.875, 1e-7, clipnorm=0.5),
    "adam, global_clipnorm": lambda o: o.AdamW(0.0625, 0.125, 0.75, 0.875, 1e-7, global_clipnorm=0.5),
    "adam, clipvalue": lambda o: o.AdamW(0.0625, 0.125, 0.75, 0.875, 1e-7, clipvalue=0.5),
    "adam of a schedule": lambda o: o.AdamW(
        o.schedules.CosineDecay(0.125, 6, 0.25, warmup_target=0.5, warmup_steps=3), 0.125, 0.75, 0.875
    ),
    "momentum, accumulated": lambda o: o.SGD(0.0625, 0.5, gradient_accumulation_steps=2),
}


def steps(make, count=8):
    optimizer = make(keras.optimizers)
    variables = {k: keras.Variable(start(s), name=k, dtype="float64") for k, s in SHAPES.items()}
    optimizer.build(list(variables.values()))
    for _ in range(count):
        grads = [tf.constant(2 * weights(s) * (variables[k].numpy() - 0.5)) for k, s in SHAPES.items()]
        optimizer.apply_gradients(list(zip(grads, variables.values())))
    return {k: v.numpy().reshape(-1).tolist() for k, v in variables.items()}


S = keras.optimizers.schedules
SCHEDULES = {
    "cosine": S.CosineDecay(0.5, 8, 0.25),
    "cosine, warm": S.CosineDecay(0.125, 8, 0.25, warmup_target=0.5, warmup_steps=4),
    "exponential": S.ExponentialDecay(0.5, 4, 0.75),
    "exponential, staircase": S.ExponentialDecay(0.5, 4, 0.75, staircase=True),
    "inverse time": S.InverseTimeDecay(0.5, 4, 0.75),
    "inverse time, staircase": S.InverseTimeDecay(0.5, 4, 0.75, staircase=True),
    "polynomial": S.PolynomialDecay(0.5, 8, 0.0625, 2.0),
    "polynomial, cycle": S.PolynomialDecay(0.5, 4, 0.0625, 1.0, cycle=True),
    "piecewise": S.PiecewiseConstantDecay([3, 7], [0.5, 0.25, 0.125]),
}


def one_cycle(steps=16, **options):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=steps, **options)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if len(rates) < steps:
            cycle.step()
    return rates


rates = {k: [float(s(i)) for i in range(16)] for k, s in SCHEDULES.items()}
rates["one cycle"] = one_cycle()
rates["one cycle, other"] = one_cycle(pct_start=0.5, div_factor=10, final_div_factor=100)
out = {"steps": {k: steps(m) for k, m in OPTIMIZERS.items()}, "rates": rates}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_chains.json")
with open(path, "w") as f:
    json.dump(out, f)
    f.write("\n")
