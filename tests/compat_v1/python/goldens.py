"""Writes ../goldens.json: what TensorFlow gives for the programs of ../programs_test.ts. Needs tensorflow-cpu 2.21."""

import json
import os

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.enable_resource_variables()
x3 = [1.0, 2.0, -3.0]
init = v1.global_variables_initializer
constant = v1.constant_initializer
f = np.float32


def counter():
    state = v1.Variable(0.0, name="counter")
    update = v1.assign(state, state + 1)
    return [(init(),), (state,), (update,), (update,), (state,)]


def assignments():
    v = v1.get_variable("v", initializer=x3)
    x = v1.placeholder(tf.float32, [3])
    added, taken = v1.assign_add(v, x), v1.assign_sub(v, [1.0, 1, 1])
    return [(init(),), (added, {x: [1, 1, 1]}), (taken,), (added * 2, {x: x3})]


def fed():
    v = v1.get_variable("v", initializer=x3)
    return [(init(),), (v, {v: [7, 8, 9]}), (v,)]


def shared():
    def layer(x):
        w = v1.get_variable("w", [2, 2], initializer=constant([1.0, 2, 3, 4]))
        b = v1.get_variable("b", [2], initializer=v1.ones_initializer())
        return x @ w + b

    x = v1.placeholder(tf.float32, [1, 2])
    with v1.variable_scope("layer"):
        once = layer(x)
    with v1.variable_scope("layer", reuse=True):
        twice = layer(once)
    with v1.variable_scope("layer2", reuse=v1.AUTO_REUSE):
        other = layer(twice)
    names = ",".join(v.op.name for v in v1.global_variables())
    return [(init(),), ([once, twice, other], {x: [[1, -1]]}), (tf.constant(names),)]


def nested():
    names = []
    get = lambda *a: names.append(v1.get_variable("v", *a).op.name)
    neg = lambda: names.append(tf.negative(1.0).name)
    with v1.variable_scope("a") as a:
        get([1])
        neg()
        with v1.variable_scope("b"):
            get([1])
            neg()
        with v1.variable_scope(a, reuse=True):
            get([1])
            neg()
    for _ in range(2):
        with v1.variable_scope(None, default_name="unit"):
            get([1])
    return [(tf.constant(",".join(names)),)]


def penalty():
    with v1.variable_scope("net", regularizer=lambda w: tf.reduce_sum(tf.square(w)) * 0.5, initializer=constant(3.0)):
        v1.get_variable("w", [2])
        v1.get_variable("b", initializer=[1.0], regularizer=tf.reduce_sum)
    losses = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
    return [(init(),), (losses,)]


def line():
    x, y = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.float32, [None])
    w, b = v1.Variable(0.3, name="w"), v1.Variable(-0.3, name="b")
    loss = tf.reduce_sum(tf.square(w * x + b - y))
    train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    data = {x: [1, 2, 3, 4], y: [0, -1, -2, -3]}
    return [(init(),)] + [(train, data)] * 5 + [([w, b, loss], data)]


def optimizer(make):
    def build():
        w = v1.get_variable("w", initializer=x3)
        step = make().minimize(tf.reduce_sum(tf.square(w)))
        names = ",".join(v.op.name for v in v1.global_variables())
        return [(init(),), (step,), (step,), (step,), (w,), (tf.constant(names),)]

    return build


def decay():
    step, w = v1.train.get_or_create_global_step(), v1.get_variable("w", initializer=x3)
    rate = v1.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    rate = rate() if callable(rate) else rate
    train = v1.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(tf.square(w)), global_step=step)
    return [(init(),), (train,), (train,), (train,), ([w, step, rate],)]


def clipped():
    w, b = v1.get_variable("w", initializer=x3), v1.get_variable("b", initializer=[4.0])
    opt = v1.train.GradientDescentOptimizer(1.0)
    pairs = opt.compute_gradients(tf.reduce_sum(tf.square(w)) + tf.reduce_sum(b * 3))
    clip, norm = tf.clip_by_global_norm([g for g, _ in pairs], 2.0)
    train = opt.apply_gradients(zip(clip, [v for _, v in pairs]))
    return [(init(),), ([norm, *clip],), (train,), ([w, b],)]


def clips():
    x = v1.placeholder(tf.float32, [3])
    value, norm = tf.clip_by_value(x, -1.0, 1.5), tf.clip_by_norm(x, 2.0)
    of = lambda y: tf.gradients(tf.reduce_sum(y * [1.0, 2, 3]), x)[0]
    fetches = [value, norm, of(value), of(norm)]
    return [(fetches, {x: x3}), (fetches, {x: [0.5, -1, 1.5]}), (fetches, {x: [0, 0, 0]})]


def groups():
    a, b = v1.Variable(1.0, name="a"), v1.Variable(10.0, name="b")
    both = tf.group(v1.assign_add(a, 1), v1.assign_add(b, 10))
    with tf.control_dependencies([both]):
        after = a + b
    p, q = tf.tuple([a * 2, b * 2], control_inputs=[tf.no_op()])
    with tf.control_dependencies(None):
        nothing = tf.no_op()
    return [(init(),), (both,), ([a, b],), (after,), (nothing,), ([p, q],)]


def cases():
    x, i = v1.placeholder(tf.float32, []), v1.placeholder(tf.int32, [])
    y = tf.case([(x < 1, lambda: tf.constant(17.0)), (x > 10, lambda: x * 2)], default=lambda: -x, exclusive=True)
    z = tf.switch_case(i, [lambda: x * 1, lambda: x * 10, lambda: x * 100])
    dy, dz = tf.gradients(y, x)[0], tf.gradients(z, x)[0]
    return [([y, z, dy, dz], {x: a, i: b}) for a, b in [(0, 1), (5, 0), (11, 2), (7, -3)]]


def loop():
    w = v1.get_variable("w", initializer=2.0)

    def powers(back_prop):
        return v1.while_loop(
            lambda i, y: i < 4, lambda i, y: (i + 1, y * w), (0, 1.0),
            parallel_iterations=10, swap_memory=False, back_prop=back_prop, name="powers")[1]

    y, stopped = powers(True), powers(False)
    stopped = tf.stop_gradient(stopped)
    return [(init(),), ([y, stopped] + tf.gradients(y + stopped * w, [w]),)]


def second():
    x, y = v1.placeholder(tf.float32, [2, 2]), v1.placeholder(tf.float32, [3])
    h = [v1.hessians(tf.reduce_sum(x**3), x)[0], v1.hessians(tf.reduce_prod(y), y)[0]]
    return [(h, {x: [[1, 2], [3, 4]], y: x3})]


def products():
    a, b = tf.reshape(tf.range(24.0), [2, 3, 4]), tf.reshape(tf.range(12.0), [4, 3])
    return [([tf.tensordot(a, b, 1), tf.tensordot(a, b, [[1, 2], [1, 0]]), tf.tensordot(a, b, [-1, 0]),
              tf.tensordot(b, [1.0, 2.0], 0)],)]


def own_gradient():
    x = v1.placeholder(tf.float32, [3])
    with v1.get_default_graph().gradient_override_map({"Square": "Half"}):
        y = tf.square(x)
    z = tf.square(x)
    return [([y] + tf.gradients(y, x) + tf.gradients(z, x), {x: x3})]


@tf.RegisterGradient("Half")
def _half(op, dy):
    return dy * 0.5


def defaults():
    x = v1.placeholder_with_default([1.0, 2.0], [2])
    y = x * 2
    return [(y,), (y, {x: [5, 6]}), ([x, y], {y: [0, 0]})]


def initial():
    a = v1.Variable(lambda: tf.constant([1.0, 2.0]) * 3, name="a")
    b = v1.get_variable("b", [2], initializer=lambda *_, **__: a.initial_value + 1)
    c = v1.Variable(5.0, name="c", trainable=False, collections=[v1.GraphKeys.LOCAL_VARIABLES])
    names = "; ".join(" ".join(v.op.name for v in l)
                      for l in [v1.global_variables(), v1.trainable_variables(), v1.local_variables()])
    return [(init(),), (v1.local_variables_initializer(),), ([a, b, c],), (v1.is_variable_initialized(a),),
            (tf.constant(names),)]


def fetches():
    a, b = tf.constant(1.0, name="a"), tf.constant([2.0, 3.0], name="b")
    return [([a, [b, (a, b)]],), ("a:0",), (["b:0", a],), ([],), (a.op,)]


def branches():
    v, x = v1.Variable(1.0), v1.placeholder(tf.float32, [])
    y = v1.cond(x > 0, lambda: v1.assign_add(v, x), lambda: v1.assign(v, 0.0))
    return [(init(),), (y, {x: 2}), (v,), (y, {x: -1}), (v,)]


def assigning_loop():
    v = v1.Variable(0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
            return [i + 1]

    turns = v1.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    return [(init(),), (turns,), (v,), (turns,), (v,)]


def doubling():
    loop = v1.while_loop(
        lambda i, x: i < 100, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])], maximum_iterations=3, parallel_iterations=1)
    return [(loop,)]


def handed_on():
    with v1.variable_scope("a", initializer=constant(3.0), dtype=tf.float64):
        v = v1.get_variable("v", [2])
        with v1.variable_scope("b", initializer=v1.ones_initializer()):
            w = v1.get_variable("w", [1])
            u = v1.get_variable("u", [1], initializer=v1.zeros_initializer(), dtype=tf.float32)
    return [(init(),), ([v, w, u],), (tf.constant(",".join(x.dtype.base_dtype.name for x in (v, w, u))),)]


def entered_again():
    names = []
    for _ in range(2):
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            names += [v1.get_variable("v", [1]).op.name, v1.Variable(1.0, name="w").op.name]
            with tf.name_scope("t"):
                names.append(v1.get_variable("e", [1]).op.name)
            with tf.name_scope("t"):
                names.append(v1.Variable(1.0, name="f").op.name)
            names.append(tf.constant(1.0, name="c").name)
    return [(tf.constant(",".join(names)),)]


def asked_gradients():
    x, z = v1.placeholder(tf.float32, [2]), v1.placeholder(tf.float32, [2])
    y, w = x * x * 3, x * 2
    q = w * x
    found = (tf.gradients(y, [x], grad_ys=[tf.constant([1.0, 10.0])])
             + tf.gradients(y, [z], unconnected_gradients="zero")
             + tf.gradients(q, [x, w], stop_gradients=[w])
             + tf.gradients([y, q], [x, x]))
    return [(found, {x: [1, 2], z: [5, 6]})]


@tf.RegisterGradient("Thrice")
def _thrice(op, dy):
    return dy * op.inputs[0] * 3, None


def script_gradient():
    x = v1.placeholder(tf.float32, [2])
    with v1.get_default_graph().gradient_override_map({"PyFunc": "Thrice"}):
        z = v1.py_func(lambda a, b: (a * b).astype(f), [x, tf.constant(2.0)], tf.float32)
    z.set_shape([2])
    return [([z] + tf.gradients(z, x), {x: [1, 2]})]


def some_trained():
    v, w = v1.get_variable("a/v", initializer=1.0), v1.get_variable("b/w", initializer=2.0)
    loss, opt = v * v * w, v1.train.GradientDescentOptimizer(0.1)
    train = opt.minimize(loss, var_list=v1.trainable_variables("b"))
    return [(init(),), (train,), ([v, w],), ([g for g, _ in opt.compute_gradients(loss, [v, w])],)]


def kept():
    v = v1.get_variable("v", initializer=[1.0, -2.0])
    names = []
    for opt in (v1.train.AdamOptimizer(0.1), v1.train.RMSPropOptimizer(0.1, momentum=0.5),
                v1.train.GradientDescentOptimizer(0.1)):
        opt.minimize(tf.reduce_sum(tf.square(v)))
        names.append(" ".join(s.op.name for s in opt.variables()))
    return [(tf.constant("; ".join(names)),)]


def imported():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        v1.Variable(lambda: x * 2, name="unused")
        tf.raw_ops.AddV2(x=x, y=x)
    a, graph_def = tf.constant([5.0, 6.0]), graph.as_graph_def()
    named = lambda inputs, **options: tf.import_graph_def(
        graph_def, input_map=inputs, return_elements=["AddV2:0"], **options)[0]
    y, z = named({"x:0": a}, name="m"), named({"x": a + 1})
    return [([y, z],), (tf.constant(",".join([y.name, z.name])),)]


train = v1.train
programs = {
    "a counter": counter,
    "assignments give new values": assignments,
    "a variable that is fed": fed,
    "variables shared by scopes": shared,
    "scopes within scopes": nested,
    "a penalty for weights": penalty,
    "a line fitted by gradient descent": line,
    "Momentum in a graph": optimizer(lambda: train.MomentumOptimizer(0.1, 0.9)),
    "Nesterov in a graph": optimizer(lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)),
    "Adagrad in a graph": optimizer(lambda: train.AdagradOptimizer(0.1)),
    "Adadelta in a graph": optimizer(lambda: train.AdadeltaOptimizer(1.0)),
    "RMSProp in a graph": optimizer(lambda: train.RMSPropOptimizer(0.1, 0.9, 0.5)),
    "centered RMSProp in a graph": optimizer(lambda: train.RMSPropOptimizer(0.1, 0.9, 0.0, 1e-10, centered=True)),
    "Adam in a graph": optimizer(lambda: train.AdamOptimizer(0.1)),
    "a step count and a rate that follows it": decay,
    "gradients clipped by their norm": clipped,
    "clips and their gradients": clips,
    "control dependencies and groups": groups,
    "one of several cases": cases,
    "a loop with TensorFlow 1's options": loop,
    "second derivatives": second,
    "products over pairs of axes": products,
    "a gradient of one's own": own_gradient,
    "values that may be fed": defaults,
    "initial values that depend on others": initial,
    "nests of fetches": fetches,
    "branches that assign": branches,
    "a loop that assigns": assigning_loop,
    "a loop whose rows double": doubling,
    "what scopes hand on": handed_on,
    "a scope that is entered again": entered_again,
    "gradients that are given, stopped and missing": asked_gradients,
    "a gradient for a script of version 1": script_gradient,
    "some variables are trained": some_trained,
    "what an optimizer keeps": kept,
    "a graph that is imported around a tensor": imported,
}


def plain(v):
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, bytes):
        return v.decode()
    return v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v


goldens = {}
for name, build in programs.items():
    with tf.Graph().as_default():
        runs = build()
        with v1.Session() as sess:
            goldens[name] = [plain(sess.run(*run)) for run in runs]
with open(os.path.join(os.path.dirname(__file__), "../goldens.json"), "w") as out:
    json.dump(goldens, out, indent=1)
    out.write("\n")
