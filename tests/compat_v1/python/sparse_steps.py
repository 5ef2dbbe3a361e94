"""Writes ../sparse_steps.json: a table after three steps of each optimizer, as sparse_steps_test.ts does them. Needs tensorflow-cpu 2.21."""

import json
import os

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.enable_resource_variables()
v1.disable_eager_execution()
train = v1.train

TABLE = [[0.5 + 0.25 * i - 0.125 * j for j in range(3)] for i in range(5)]
INDICES = [[[0, 3], [3, 3]], [[1, 1], [1, 4]], [[3, 0], [4, 1]]]

OPTIMIZERS = {
    "GradientDescent": lambda: train.GradientDescentOptimizer(0.125),
    "Momentum": lambda: train.MomentumOptimizer(0.125, 0.5),
    "Nesterov": lambda: train.MomentumOptimizer(0.125, 0.5, use_nesterov=True),
    "Adagrad": lambda: train.AdagradOptimizer(0.125),
    "Adadelta": lambda: train.AdadeltaOptimizer(0.5, 0.75, 1e-3),
    "RMSProp": lambda: train.RMSPropOptimizer(0.125, 0.75, 0.5, 1e-3),
    "CenteredRMSProp": lambda: train.RMSPropOptimizer(0.125, 0.75, 0.5, 1e-3, centered=True),
    "Adam": lambda: train.AdamOptimizer(0.125, 0.75, 0.875, 1e-3),
    "Ftrl": lambda: train.FtrlOptimizer(
        0.25, l1_regularization_strength=0.125, l2_regularization_strength=0.0625),
    "FtrlPower": lambda: train.FtrlOptimizer(0.25, learning_rate_power=-0.25, beta=0.5),
    "FtrlShrinkage": lambda: train.FtrlOptimizer(
        0.25, l2_shrinkage_regularization_strength=0.125),
}


def clipped(pairs):
    grads, variables = zip(*pairs)
    return list(zip(v1.clip_by_global_norm(grads, 1.5)[0], variables))


def run(make, change=lambda pairs: pairs):
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("table", initializer=np.array(TABLE, np.float32))
        i = v1.placeholder(tf.int32, [2, 2])
        # Two gathers from one table, rows that repeat within and across them.
        rows, more = tf.gather(table, i), tf.gather(table, i[0])
        loss = tf.reduce_sum(rows**2) + tf.reduce_sum(more * [1.0, 2.0, 3.0])
        optimizer = make()
        pairs = change(optimizer.compute_gradients(loss))
        step = optimizer.apply_gradients(pairs)
        session.run(v1.global_variables_initializer())
        for indices in INDICES:
            session.run(step, {i: indices})
        names = optimizer.get_slot_names()
        return session.run({"table": table, **{n: optimizer.get_slot(table, n) for n in names}})


found = {name: run(make) for name, make in OPTIMIZERS.items()}
found["clipped by their norm"] = run(OPTIMIZERS["GradientDescent"], clipped)
found["each clipped"] = run(
    OPTIMIZERS["Adagrad"], lambda pairs: [(tf.clip_by_norm(g, 1.5), v) for g, v in pairs])
plain = {k: {n: a.astype(float).tolist() for n, a in v.items()} for k, v in found.items()}
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "sparse_steps.json"), "w") as file:
    json.dump(plain, file, indent=1)
    file.write("\n")
