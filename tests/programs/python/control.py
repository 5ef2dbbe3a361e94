"""Control flow; see control_test.ts."""

import keras
import tensorflow as tf

from registry import Adam, mean_square, minimizing, program

O = keras.optimizers


def iterate(v, xs):
    def body(i, h):
        return i + 1, tf.cond(
            tf.reduce_sum(h) > 0.8,
            lambda: tf.tanh(h * v["a"]),
            lambda: h * 1.3 + tf.square(v["b"]),
        )

    return mean_square(tf.while_loop(lambda i, _: i < 5, body, (0, xs["x"]))[1] - xs["y"])


minimizing(
    "cond inside whileLoop inside a function, trained through",
    {"a": {"values": [0.7, 0.4]}, "b": {"values": [-0.3, 0.2]}},
    {"x": {"shape": [2], "offset": 0.6}, "y": [2]},
    lambda: O.SGD(0.1),
    iterate,
)


def nested(v, xs):
    def body(i, h):
        inner = tf.while_loop(
            lambda j, _: j < i + 2, lambda j, g: (j + 1, tf.tanh(g @ v["w"])), (0, h)
        )[1]
        return i + 1, v["c"] * inner + xs["x"]

    outer = tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), xs["x"]))[1]
    return mean_square(outer @ v["d"] - xs["y"])


minimizing(
    "loops in loops over captured variables",
    {"w": {"shape": [2, 2], "scale": 0.6}, "c": {"values": [0.9], "shape": []}, "d": [2, 1]},
    {"x": [2, 2], "y": [2, 1]},
    lambda: Adam(0.05),
    nested,
)


def array(v, xs):
    rows = [xs["x"], tf.identity(v["u"])]
    for i in range(2, 5):
        rows.append(v["w"] * rows[i - 1] + tf.sin(rows[i - 2]))
    return tf.reduce_sum(tf.reduce_mean(tf.stack(rows), 0) + rows[2] * rows[4])


minimizing(
    "a TensorArray that is written, read and gathered, trained through",
    {"w": [3], "u": [3]},
    {"x": {"shape": [3], "offset": 0.5}},
    lambda: O.SGD(0.2),
    array,
)


def energy(v, xs):
    def one(row):
        return tf.tensordot(tf.linalg.matvec(v["w"], row), row, 1) + tf.reduce_sum(
            v["b"] * tf.exp(row)
        )

    return mean_square(tf.map_fn(one, xs["x"]) - xs["y"])


minimizing(
    "mapFn over rows with captured variables, trained through",
    {"w": [3, 3], "b": [3]},
    {"x": [4, 3], "y": [4]},
    lambda: O.SGD(0.1),
    energy,
)

minimizing(
    "a polynomial by foldr, its coefficients trained",
    {"coefficients": {"shape": [5], "scale": 1}},
    {"x": [6], "y": [6]},
    lambda: O.SGD(0.1, 0.5),
    lambda v, xs: mean_square(
        tf.foldr(
            lambda total, c: c + total * xs["x"],
            v["coefficients"].read_value(),
            tf.zeros_like(xs["x"]),
        )
        - xs["y"]
    ),
)


@program(
    "a branch that reads a variable and one that does not",
    {"w": {"values": [0.5, -0.4]}, "never": {"values": [2, 3]}},
    {"x": {"shape": [2], "scale": 2}},
)
def branch(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(
                tf.reduce_sum(x) > 0,
                lambda: v["w"] * x,
                lambda: tf.square(x) + v["never"] * 0,
            )
        dw, dn, dx = tape.gradient(y, [v["w"], v["never"], x], unconnected_gradients="zero")
        v["w"].assign_sub(0.1 * dw)
        return {"y": y, "dw": dw, "dNever": dn, "dx": dx}

    return step


@program(
    "control dependencies on effects, before what could be folded",
    {k: {"values": [1], "shape": []} for k in "abcdef"},
    {"x": [2, 3]},
)
def dependencies(v):
    def step(xs):
        for w in v.values():
            w.assign_add(2)
        return {
            "added": tf.constant(10.0),
            "same": tf.constant([1.0, 2.0]),
            "cast": tf.constant([1, 2]),
            "shaped": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
            "ones": tf.ones([3]),
            "axis": tf.reduce_sum(xs["x"], 0),
        }

    return step


@program(
    "a variable written and read several times in a step",
    {"v": {"values": [1, 2]}, "w": {"values": [0.5], "shape": []}},
    {"x": [2]},
)
def several(variables):
    v, w = variables["v"], variables["w"]

    def step(xs):
        before = v + 0
        v.assign_add(xs["x"])
        between = v * w
        v.assign(between * 2)
        w.assign(tf.reduce_sum(v))
        v.assign_sub(tf.ones([2]) * w)
        return {"before": before, "between": between, "end": tf.identity(v)}

    return step


@program(
    "counters in branches and loops",
    {"calls": {"values": [0, 0, 0], "dtype": "int32"}, "sum": {"values": [0], "shape": []}},
    {"x": {"shape": [5], "scale": 2}},
)
def counters(v):
    calls, total = v["calls"], v["sum"]

    def count(i):
        calls.assign_add(tf.one_hot(i, 3, dtype=tf.int32))

    def step(xs):
        def body(i, last):
            count(0)
            at = xs["x"][i]

            def positive():
                count(1)
                total.assign_add(at)
                return last + total

            def negative():
                count(2)
                return last - at

            return i + 1, tf.cond(at > 0, positive, negative)

        last = tf.while_loop(lambda i, _: i < 5, body, (tf.constant(0), tf.constant(0.0)))[1]
        counts = tf.identity(calls)
        total.assign(total * 0.5)
        return {"last": last, "counts": counts}

    return step


@program(
    "functions that update variables, called by functions",
    {"state": {"values": [0.1, 0.2]}, "turns": {"values": [0], "shape": [], "dtype": "int32"}},
    {"x": [2]},
)
def updating(v):
    @tf.function
    def turn(x):
        v["state"].assign(tf.tanh(v["state"] * 2 + x))
        v["turns"].assign_add(1)
        return tf.identity(v["state"])

    @tf.function
    def twice(x):
        return turn(x) - turn(-x)

    def step(xs):
        y = twice(xs["x"])
        return {"y": y, "z": turn(xs["x"])}

    return step


@program(
    "captured tensors that functions, branches and loops return as they are",
    {"w": {"values": [2, 3]}},
    {"x": [2]},
)
def captured(v):
    kept = tf.constant([5.0, 6.0])

    def step(xs):
        return {
            "plain": kept * v["w"],
            "taken": kept,
            "other": -kept,
            "loop": kept + xs["x"],
            "rows": tf.map_fn(tf.function(lambda _: kept), xs["x"]),
        }

    return step


@program(
    "a function with a signature, called with numbers and with shapes of every kind",
    {"w": {"values": [2], "shape": []}},
    {"one": [1, 3], "many": [4, 3]},
)
def signatures(v):
    scaled = tf.function(
        lambda x: x * v["w"], input_signature=[tf.TensorSpec([], tf.float32)]
    )
    sums = tf.function(
        lambda x: tf.scan(lambda a, r: a + r, x), input_signature=[tf.TensorSpec(None, tf.float32)]
    )

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def rows(x):
        return tf.while_loop(
            lambda h: tf.shape(h)[0] < 6,
            lambda h: (tf.concat([h, h[:1]], 0),),
            (x,),
            shape_invariants=(tf.TensorShape([None, 3]),),
        )[0]

    def step(xs):
        return {
            "numbers": scaled(3.0) + scaled(4.0),
            "one": sums(xs["one"]),
            "many": sums(xs["many"]),
            "grownOne": rows(xs["one"]),
            "grownMany": rows(xs["many"]),
        }

    return step


@program(
    "a fixed point and its gradient by the loop",
    {"w": {"shape": [2, 2], "scale": 0.4}, "b": [2, 1]},
    {"y": [2, 1]},
)
def fixed_point(v):
    w, b = v["w"], v["b"]

    def body(z, _):
        fresh = tf.tanh(w @ z + b)
        return fresh, tf.reduce_max(tf.abs(fresh - z))

    def step(xs):
        with tf.GradientTape() as tape:
            z = tf.while_loop(
                lambda _, change: change > 1e-3,
                body,
                (tf.zeros([2, 1]), tf.constant(1.0)),
                maximum_iterations=20,
            )[0]
            value = mean_square(z - xs["y"])
        dw, db = tape.gradient(value, [w, b])
        w.assign_sub(0.1 * dw)
        b.assign_sub(0.1 * db)
        return {"value": value, "dw": dw, "db": db}

    return step
