"""First steps with gradients; see guide_gradients_test.ts."""

import tensorflow as tf

from registry import program

LAYER = {"w": [3, 2], "b": [2]}
AROUND_2 = {"shape": [4], "offset": 2}
ONE = {"shape": []}


def none(g):
    return tf.constant(float(g is None))


def dense(x, v):
    return x @ v["w"] + v["b"]


@program("guide: sources in a record, and in a list", LAYER, {"x": [1, 3]})
def sources(v):
    def step(xs):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(dense(xs["x"], v) ** 2)
        g = tape.gradient(loss, {"w": v["w"], "b": v["b"]})
        return {"loss": loss, **g, "w2": tape.gradient(loss, [v["w"]])[0]}

    return step


@program(
    "guide: what a tape watches by itself", {"x0": {"values": [3], **ONE}}, {"x3": {"shape": [], "offset": 2}}
)
def watched(v):
    x0, frozen = v["x0"], tf.Variable(3.0, trainable=False)

    def step(xs):
        more = x0 + 1
        with tf.GradientTape() as tape:
            y = x0**2 + frozen**2 + more**2 + xs["x3"]
        seen = float(len(tape.watched_variables()))
        dx0, *others = tape.gradient(y, [x0, frozen, more, xs["x3"]])
        return {"y": y, "dx0": dx0, "seen": tf.constant(seen), "none": tf.stack([none(g) for g in others])}

    return step


@program("guide: a tensor on the way between", {}, {"x": AROUND_2})
def between(v):
    def step(xs):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(xs["x"])
            y = xs["x"] * xs["x"]
            z = y * y
        return {"dy": tape.gradient(z, y), "dx": tape.gradient(z, xs["x"])}

    return step


@program(
    "guide: several targets, and a target that is no scalar", {"x": {"values": [2], **ONE}}, {"to": AROUND_2}
)
def targets(v):
    def step(xs):
        x, to = v["x"], xs["to"]
        with tf.GradientTape(persistent=True) as tape:
            y0, y1, y2 = x**2, 1 / x, x * to
        return {
            "both": tape.gradient({"y0": y0, "y1": y1}, x),
            "along": tape.gradient(y2, x, output_gradients=tf.square(to)),
            "all": tape.gradient([y0, [y2]], x),
        }

    return step


@program("guide: one element's slope each", {}, {"x": {"shape": [9], "scale": 8}})
def slopes(v):
    def step(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs["x"])
            y = tf.nn.sigmoid(xs["x"])
        return {"slopes": tape.gradient(y, xs["x"])}

    return step


@program(
    "guide: the branch that was taken has the gradient",
    {"a": {"values": [2], **ONE}, "b": {"values": [3], **ONE}},
    {"x": []},
)
def branch(v):
    def step(xs):
        with tf.GradientTape() as tape:
            y = tf.cond(xs["x"] > 0, lambda: tf.identity(v["a"]), lambda: v["b"] ** 2)
        da, db, dx = tape.gradient(y, [v["a"], v["b"], xs["x"]])
        zero = tf.constant(0.0)
        return {
            "y": y,
            "da": zero if da is None else da,
            "db": zero if db is None else db,
            "dx": none(dx),
        }

    return step


@program(
    "guide: where no gradient comes through", {"x": {"values": [2], **ONE}}, {"i": {"below": 9, "shape": [2]}}
)
def cut(v):
    def step(xs):
        x, i = v["x"], xs["i"]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(i)
            whole = i * i
            rounded = tf.cast(tf.cast(x * 3.7, tf.int32), tf.float32)
            other = tf.stop_gradient(x**2) * tf.one_hot(i, 3)
            place = tf.argmax(other * x)
        found = [tape.gradient(whole, i)] + [tape.gradient(y, x) for y in (rounded, other, place)]
        zero = tape.gradient(rounded, x, unconnected_gradients="zero")
        return {"none": tf.stack([none(g) for g in found]), "zero": zero}

    return step


@program(
    "guide: a state hides where its value came from",
    {"x0": {"values": [3], **ONE}, "x1": {"values": [0], **ONE}},
)
def state(v):
    def step(xs):
        with tf.GradientTape(persistent=True) as tape:
            v["x1"].assign_add(v["x0"])
            y = v["x1"] ** 2
        d0, d1 = tape.gradient(y, [v["x0"], v["x1"]])
        return {"none": none(d0), "d1": d1}

    return step


@program("guide: a tape that begins anew, and elements of an array of tensors", {}, {"x": AROUND_2})
def anew(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as tape:
            tape.watch(x)
            lost = x * x
            tape.reset()
            tape.watch(x)
            powers = tf.TensorArray(tf.float32, 3, clear_after_read=False)
            powers = powers.write(0, x).write(1, x**2).write(2, x**3)
            y = tf.reduce_sum(powers.gather([0, 2])) + tf.reduce_sum(powers.read(1) * powers.read(2))
        return {"dx": tape.gradient([y, lost], x)}

    return step


@program("guide: two tapes at once, of different things", {}, {"x0": [], "x1": {"shape": [], "offset": 1}})
def two(v):
    def step(xs):
        with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
            tape0.watch(xs["x0"])
            tape1.watch(xs["x1"])
            y = tf.math.sin(xs["x0"]) + tf.nn.sigmoid(xs["x1"])
        return {"d0": tape0.gradient(y, xs["x0"]), "d1": tape1.gradient(y, xs["x1"])}

    return step


@program("guide: a penalty for how much inputs matter", LAYER, {"x": [4, 3]})
def penalty(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as outer:
            with tf.GradientTape(watch_accessed_variables=False) as inner:
                inner.watch(x)
                loss = tf.reduce_sum(tf.nn.softplus(dense(x, v)) ** 2)
            magnitude = tf.norm(inner.gradient(loss, x))
        dw, db = outer.gradient(magnitude, [v["w"], v["b"]])
        v["w"].assign_sub(dw * 0.05)
        v["b"].assign_sub(db * 0.05)
        return {"magnitude": magnitude, "dw": dw, "db": db}

    return step


@program(
    "guide: the jacobian of a layer, and its sum over targets is the gradient",
    {"w": [5, 3], "b": [3]},
    {"x": [4, 5]},
)
def layer_jacobian(v):
    def step(xs):
        with tf.GradientTape(persistent=True) as tape:
            y = tf.nn.relu(dense(xs["x"], v))
        dw, db = tape.jacobian(y, v["w"]), tape.jacobian(y, {"b": v["b"]})["b"]
        g = tape.gradient(y, v["w"])
        return {"dw": dw, "db": db, "near": tf.reduce_max(tf.abs(g - tf.reduce_sum(dw, [0, 1])))}

    return step


@program(
    "guide: the hessian of a layer's kernel, and a step of Newton's",
    {"w1": [3, 2], "w2": [2, 2]},
    {"x": [4, 3]},
)
def newton(v):
    w1 = v["w1"]

    def step(xs):
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                loss = tf.reduce_mean((tf.tanh(xs["x"] @ w1) @ v["w2"]) ** 2)
            g = t1.gradient(loss, w1)
        h = t2.jacobian(g, w1)
        update = tf.linalg.solve(tf.reshape(h, [6, 6]) + tf.eye(6), tf.reshape(g, [6, 1]))
        update = tf.reshape(update, [3, 2])
        w1.assign_sub(update)
        return {"loss": loss, "h": h, "update": update}

    return step


@program("guide: jacobians of a batch", {"w": [3, 4], "o": [4, 2]}, {"x": [5, 3]})
def batch(v):
    def step(xs):
        x = xs["x"]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.nn.elu(x @ v["w"]) @ v["o"]
        rows = tape.batch_jacobian(y, x)
        return {"rows": rows, "same": tf.reduce_sum(tape.jacobian(y, x), 2) - rows}

    return step


@program(
    "guide: a gradient that is clipped on its way back", {"w": {"values": [2], **ONE}}, {"x": AROUND_2}
)
def clipped(v):
    @tf.custom_gradient
    def clip(x):
        return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)

    def step(xs):
        with tf.GradientTape() as tape:
            y = clip(v["w"] * v["w"]) * xs["x"]
        return {"dw": tape.gradient(y, v["w"])}

    return step


@program("guide: log(1 + exp(x)), stable, twice differentiated", {}, {"x": {"shape": [5], "scale": 40}})
def log1pexp(v):
    @tf.custom_gradient
    def f(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
            z = first * x
        return {"first": first, "second": outer.gradient(z, x)}

    return step


@program("guide: a gradient of one's own that has one itself", {}, {"x": AROUND_2})
def nested(v):
    @tf.custom_gradient
    def slope(x, dy):
        return dy * x * 10, lambda ddy: (ddy * 7, ddy * 5)

    @tf.custom_gradient
    def square(x):
        return x**2, lambda dy: slope(x, dy)

    def step(xs):
        x = xs["x"]
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t1:
                t1.watch(x)
                y = square(x)
            first = t1.gradient(y, x)
        return {"y": y, "first": first, "second": t2.gradient(first, x)}

    return step


@program(
    "guide: rows of a table that were looked up", {"table": [6, 3]}, {"ids": {"below": 6, "shape": [2, 2]}}
)
def rows(v):
    table = v["table"]

    def step(xs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, xs["ids"]) ** 2)
        g = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(g.values * 0.1, g.indices))
        return {
            "loss": loss,
            "indices": g.indices,
            "values": g.values,
            "rows": tf.math.unsorted_segment_sum(g.values, g.indices, 6),
            "norm": tf.linalg.global_norm([g]),
        }

    return step


@program(
    "guide: a source that is gathered and used whole", {"table": [6, 3]}, {"ids": {"below": 6, "shape": [4]}}
)
def whole(v):
    def step(xs):
        with tf.GradientTape() as tape:
            some = tf.square(tf.gather(v["table"] * 2, xs["ids"]))
            every = tf.reduce_sum(v["table"] ** 3)
        return {"g": tape.gradient([some, every], v["table"]) + 0}

    return step
