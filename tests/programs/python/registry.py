"""The programs by name, and the numbers they start from. See goldens.py."""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

PROGRAMS = {}


@dataclasses.dataclass
class Program:
    variables: dict
    inputs: dict
    steps: int
    dataset: typing.Any
    compiled: bool
    build: typing.Any


def program(name, variables=None, inputs=None, steps=3, dataset=None, compiled=True):
    """Registers what a function of the variables builds. `compiled=False`: TensorFlow's own modes differ or one is missing."""

    def register(build):
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(variables or {}, inputs or {}, steps, dataset, compiled, build)
        return build

    return register


def values_of(start, phase):
    """The same as valuesOf of values.ts."""
    if isinstance(start, (list, tuple)):
        start = {"shape": start}
    if "values" in start:
        shape = start.get("shape", [len(start["values"])])
        return np.array(start["values"], start.get("dtype", "float32")).reshape(shape)
    shape = start["shape"]
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    if "below" in start:
        return ((7 * i + 3 * phase) % start["below"]).astype(np.int32).reshape(shape)
    wave = start.get("offset", 0) + start.get("scale", 0.5) * np.sin(1.7 * phase + 0.9 * i)
    return wave.astype(start.get("dtype", "float32")).reshape(shape)


def mean_square(x):
    return tf.reduce_mean(tf.square(x))


def minimize(optimizer, cost, variables):
    """One step; the cost. Gradients are dense: Keras would square those of repeated rows one by one."""
    with tf.GradientTape() as tape:
        value = cost()
    grads = [tf.convert_to_tensor(g) for g in tape.gradient(value, variables)]
    optimizer.apply_gradients(zip(grads, variables))
    return value


def minimizing(name, variables, inputs, optimizer, cost, only=None, **options):
    """A program whose step minimizes `cost(v, xs)`, which gives the cost, or that and more outputs, over the variables in `only`."""

    @program(name, variables, inputs, **options)
    def build(v):
        trained = [v[n] for n in only or v]
        o = optimizer()
        o.build(trained)

        def step(xs):
            more = {}

            def value():
                result = cost(v, xs)
                if isinstance(result, tuple):
                    result, extra = result
                    more.update(extra)
                return result

            return {"cost": minimize(o, value, trained), **more}

        return step


class Adadelta:
    """Adadelta as TensorFlow.js has it: the step is scaled by the sum of squares before this gradient is added."""

    def __init__(self, rate, rho, epsilon):
        self.rate, self.rho, self.epsilon = rate, rho, epsilon
        self.slots = None

    def build(self, variables):
        self.slots = [[tf.Variable(tf.zeros_like(v)) for _ in range(2)] for v in variables]

    def apply_gradients(self, pairs):
        for (g, v), (a, u) in zip(pairs, self.slots):
            step = tf.sqrt(u + self.epsilon) / tf.sqrt(a + self.epsilon) * g
            a.assign(self.rho * a + (1 - self.rho) * g * g)
            u.assign(self.rho * u + (1 - self.rho) * step * step)
            v.assign_sub(self.rate * step)


class Adam:
    """Adam with the epsilon after the correction, as TensorFlow.js has it: small gradients show where Keras has it."""

    def __init__(self, rate, beta1=0.9, beta2=0.999, epsilon=1e-7):
        self.rate, self.betas, self.epsilon = rate, (beta1, beta2), epsilon

    def build(self, variables):
        self.count = tf.Variable(0.0, dtype=tf.float64)
        self.slots = [[tf.Variable(tf.zeros_like(v)) for _ in range(2)] for v in variables]

    def apply_gradients(self, pairs):
        t = self.count.assign_add(1.0)
        b1, b2 = self.betas
        for (g, x), (m, v) in zip(pairs, self.slots):
            m.assign(b1 * m + (1 - b1) * g)
            v.assign(b2 * v + (1 - b2) * g * g)
            mean = m / tf.cast(1 - tf.pow(tf.constant(b1, tf.float64), t), m.dtype)
            square = v / tf.cast(1 - tf.pow(tf.constant(b2, tf.float64), t), m.dtype)
            x.assign_sub(self.rate * mean / (tf.sqrt(square) + self.epsilon))
