"""First steps with functions and control flow; see guide_functions_test.ts."""

import tensorflow as tf

from registry import program


@program("guide: how many steps until 1", {}, {"n": {"below": 97, "shape": []}})
def collatz(v):
    def step(xs):
        def body(n, steps, highest):
            n = tf.cond(n % 2 == 0, lambda: n // 2, lambda: n * 3 + 1)
            return n, steps + 1, tf.maximum(highest, n)

        n = xs["n"] + 2
        _, steps, highest = tf.while_loop(lambda n, *_: n > 1, body, (n, 0, n))
        return {"steps": steps, "highest": highest}

    return step


@program("guide: fizz and buzz, written to an array of tensors")
def fizzbuzz(v):
    def step(xs):
        def say(i):
            return tf.case(
                [
                    (tf.logical_and(i % 3 == 0, i % 5 == 0), lambda: tf.constant(-3)),
                    (i % 3 == 0, lambda: tf.constant(-1)),
                    (i % 5 == 0, lambda: tf.constant(-2)),
                ],
                default=lambda: tf.identity(i),
            )

        said = tf.TensorArray(tf.int32, 15)
        _, said = tf.while_loop(
            lambda i, _: i <= 15, lambda i, s: (i + 1, s.write(i - 1, say(i))), (tf.constant(1), said)
        )
        return {"said": said.stack()}

    return step


@program(
    "guide: a recurrent cell over the steps of a sequence",
    {"w": [4, 3], "u": {"shape": [3, 3], "scale": 0.3}},
    {"x": [2, 5, 4]},
)
def recurrent(v):
    @tf.function
    def run(sequence):
        steps = tf.transpose(sequence, [1, 0, 2])
        states = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        state = tf.zeros([2, 3])
        for i in tf.range(tf.shape(steps)[0]):
            state = tf.tanh(steps[i] @ v["w"] + state @ v["u"])
            states = states.write(i, state)
        return state, tf.transpose(states.stack(), [1, 0, 2])

    def step(xs):
        with tf.GradientTape() as tape:
            state, states = run(xs["x"])
            total = tf.reduce_sum(state) + tf.reduce_mean(tf.square(states))
        return {"states": states, "du": tape.gradient(total, v["u"])}

    return step


@program("guide: leaving a loop early, and skipping turns", {}, {"x": {"shape": [12], "scale": 3}})
def early(v):
    @tf.function
    def run(x):
        at, total = tf.constant(0), tf.constant(0.0)
        for value in x[:9]:
            at += 1
            if value < 0:
                continue
            total += value
            if total > 5:
                break
        return {"at": at, "sum": total}

    return lambda xs: run(xs["x"])


@program("guide: a shape that grows from turn to turn", {}, {"x": [2, 2]})
def growing(v):
    def step(xs):
        _, grown = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, m: (i + 1, tf.concat([m, m * 2], 0)),
            (tf.constant(0), xs["x"]),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
        )
        return {"grown": grown, "rows": tf.shape(grown)[0]}

    return step


@program(
    "guide: powers by a function that calls a function",
    {},
    {"x": {"shape": [3], "offset": 1.5}, "n": {"below": 6, "shape": []}},
)
def powers(v):
    @tf.function
    def square(x):
        return x * x

    @tf.function
    def power(x, n):
        result = tf.ones_like(x)
        while n > 0:
            if n % 2 == 1:
                result = result * x
            n, x = n // 2, square(x)
        return result

    def step(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs["x"])
            y = power(xs["x"], xs["n"])
        return {"y": y, "dx": tape.gradient(y, xs["x"])}

    return step


@program("guide: one function for several dtypes and shapes", {}, {"x": [2, 3], "i": {"below": 7, "shape": [4]}})
def polymorphic(v):
    @tf.function
    def double(a):
        return a + a

    def step(xs):
        return {
            "x": double(xs["x"]),
            "i": double(xs["i"]),
            "row": double(xs["x"][1]),
            "wide": double(tf.cast(xs["x"], tf.float64)),
            "traces": tf.constant(0.0),
        }

    return step


@program(
    "guide: a counter that a function keeps, and effects in the order they are written",
    {"count": {"values": [0], "shape": [], "dtype": "int32"}, "a": {"values": [1, 2]}},
    {"b": [2]},
)
def counter(v):
    def step(xs):
        v["count"].assign_add(1)
        v["a"].assign(v["a"] * xs["b"])
        v["a"].assign_add(xs["b"])
        return {"count": v["count"] + 0, "a": v["a"] + 0}

    return step


@program(
    "guide: branches that change state, and give nests",
    {"hits": {"values": [0], "shape": []}, "misses": {"values": [0], "shape": []}},
    {"x": {"shape": [], "scale": 2}},
)
def effects(v):
    def step(xs):
        x = xs["x"]

        def hit():
            v["hits"].assign_add(1)
            return {"value": tf.sqrt(x), "more": [x * 2, tf.constant(1.0)]}

        def miss():
            v["misses"].assign_add(tf.abs(x))
            return {"value": tf.square(x), "more": [-x, tf.constant(-1.0)]}

        found = tf.cond(x > 0, hit, miss)
        m0, m1 = found["more"]
        return {"value": found["value"], "m0": m0, "m1": m1, "hits": v["hits"] + 0, "misses": v["misses"] + 0}

    return step


@program(
    "guide: one of several branches by number, outside of the range too",
    {},
    {"x": {"shape": [2], "offset": 1}, "k": {"below": 5, "shape": []}},
)
def by_number(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.switch_case(xs["k"] - 1, [lambda: x**2, lambda: tf.exp(x), lambda: tf.math.log(x)])
        return {"y": y, "dx": tape.gradient(y, x)}

    return step


@program("guide: maps, scans and folds of nests", {}, {"x": [4, 3], "y": {"shape": [4], "offset": 1}})
def rows(v):
    def step(xs):
        x, y = xs["x"], xs["y"]
        scaled, most = tf.map_fn(
            lambda e: (e[0] * e[1], tf.argmax(e[0], output_type=tf.int32)),
            (x, y),
            fn_output_signature=(tf.float32, tf.int32),
        )
        fib, _ = tf.scan(
            lambda a, _: (a[1], a[0] + a[1]), tf.range(8.0), initializer=(tf.constant(0.0), tf.constant(1.0))
        )
        means = tf.scan(lambda mean, row: mean * 0.5 + row * 0.5, x)
        longest = tf.foldl(
            lambda best, row: tf.cond(tf.norm(row) > tf.norm(best), lambda: row, lambda: best), x
        )
        return {"scaled": scaled, "most": most, "fib": fib, "means": means, "longest": longest}

    return step


@program(
    "guide: what a function captures is read when it runs", {"scale": {"values": [2], "shape": []}}, {"x": [3]}
)
def captured(v):
    @tf.function
    def times(x):
        return x * v["scale"]

    def step(xs):
        before = times(xs["x"])
        v["scale"].assign_add(1)
        return {"before": before, "behind": times(xs["x"])}

    return step


@program("guide: a fixed signature takes any length", {}, {"x": [5], "y": [2]})
def signature(v):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def center(x):
        return x - tf.reduce_mean(x)

    def step(xs):
        x, y = xs["x"], xs["y"]
        found = {"x": center(x), "y": center(y), "both": center(tf.concat([x, y], 0))}
        return {**found, "traces": tf.constant(float(center.experimental_get_tracing_count()))}

    return step


@program("guide: checks inside of functions let what is right pass", {}, {"x": {"shape": [3], "offset": 2}})
def checks(v):
    @tf.function
    def root(x):
        tf.debugging.assert_positive(x)
        tf.debugging.assert_shapes([(x, ("n",))])
        return tf.debugging.check_numerics(tf.sqrt(x), "no roots")

    return lambda xs: {"root": root(xs["x"])}
