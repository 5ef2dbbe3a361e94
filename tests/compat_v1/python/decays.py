"""Writes ../decays.json: learning rates over twenty steps, and moving averages, as decays_test.ts makes them. Needs tensorflow-cpu 2.21."""

import json
import os

import tensorflow as tf

v1 = tf.compat.v1
v1.enable_resource_variables()
v1.disable_eager_execution()
train = v1.train


def decays():
    with tf.Graph().as_default(), v1.Session() as session:
        step = v1.placeholder(tf.int64, [])
        rates = {
            "exponential": train.exponential_decay(0.1, step, 7, 0.9),
            "exponentialStairs": train.exponential_decay(0.1, step, 7, 0.9, staircase=True),
            "piecewise": train.piecewise_constant(step, [3, 8, 15], [1.0, 0.5, 0.25, 0.1]),
            "polynomial": train.polynomial_decay(0.1, step, 12, 0.01, 2.0),
            "polynomialCycle": train.polynomial_decay(0.1, step, 6, 0.01, 0.5, cycle=True),
            "cosine": train.cosine_decay(0.1, step, 12, 0.1),
            "cosineRestarts": train.cosine_decay_restarts(0.1, step, 5, 2.0, 0.9, 0.1),
            "linearCosine": train.linear_cosine_decay(0.1, step, 12),
            "inverseTime": train.inverse_time_decay(0.1, step, 4, 0.5),
            "inverseTimeStairs": train.inverse_time_decay(0.1, step, 4, 0.5, staircase=True),
            "naturalExp": train.natural_exp_decay(0.1, step, 4, 0.5),
            "naturalExpStairs": train.natural_exp_decay(0.1, step, 4, 0.5, staircase=True),
        }
        rows = [session.run(rates, {step: i}) for i in range(21)]
        return {name: [float(row[name]) for row in rows] for name in rates}


def averages(counted=False, **options):
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]))
        n = v1.get_variable("n", initializer=tf.constant(0), trainable=False)
        v = v1.get_variable("v", initializer=3.0, trainable=False)
        ema = train.ExponentialMovingAverage(0.9, num_updates=n if counted else None, **options)
        with tf.control_dependencies([w.assign_sub(0.1 * w * w), n.assign_add(1)]):
            loss = tf.square(w.read_value(), name="Square")
        with tf.control_dependencies([loss]):
            update = ema.apply([w, loss])
        kept = [ema.average(w), ema.average(loss)]
        names = [ema.average_name(x) for x in (w, loss, v)] + [x.op.name for x in kept]
        session.run(v1.global_variables_initializer())
        start = [x.tolist() for x in session.run(kept)]
        steps = []
        for _ in range(20):
            session.run(update)
            steps.append([x.tolist() for x in session.run(kept)])
        return {
            "start": start,
            "steps": steps,
            "names": names,
            "restore": {k: x.op.name for k, x in ema.variables_to_restore([w, v]).items()},
            "defaults": sorted(ema.variables_to_restore()),
            "variables": [x.op.name for x in v1.global_variables()],
        }


golden = {
    "decays": decays(),
    "averages": {
        "plain": averages(),
        "counted": averages(counted=True),
        "debias": averages(zero_debias=True),
        "named": averages(name="avg"),
    },
}
with open(os.path.join(os.path.dirname(__file__), "..", "decays.json"), "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
