"""First steps with tensors and variables; see guide_values_test.ts."""

import tensorflow as tf

from registry import program


def every(x):
    return tf.cast(tf.reduce_all(x), tf.int32)


@program("guide: shapes, axes and casts", {}, {"x": [3, 2, 4]})
def shapes(v):
    def step(xs):
        x = xs["x"]
        return {
            "shape": tf.shape(x),
            "flat": tf.reshape(x, [-1]),
            "moved": tf.transpose(x, [2, 0, 1]),
            "largest": tf.argmax(x, -1, tf.int32),
            "soft": tf.nn.softmax(x, -1),
            "whole": tf.cast(x * 10, tf.int32),
            "short": tf.cast(tf.cast(tf.abs(x * 100) + 0.25, tf.uint8), tf.int32),
        }

    return step


@program("guide: rows against columns", {}, {"x": [3], "y": [4]})
def broadcasting(v):
    def step(xs):
        column, y = tf.reshape(xs["x"], [3, 1]), xs["y"]
        return {
            "table": column * y,
            "same": tf.broadcast_to(column, [3, 4]) * tf.broadcast_to(y, [3, 4]),
            "pow": (column + 2) ** tf.range(4.0),
            "less": tf.cast(column < y, tf.int32),
        }

    return step


@program(
    "guide: slices by steps, from the end, with new axes and what is left out", {}, {"x": [4, 5, 3]}
)
def slices(v):
    def step(xs):
        x = xs["x"]
        return {
            "a": x[1:3, ::-2, ..., tf.newaxis],
            "b": x[-1],
            "c": x[..., 1],
            "d": x[:, 1:-1:2],
            "e": tf.slice(x, [0, 2, 1], [-1, 2, 2]),
        }

    return step


@program("guide: picked by indices", {}, {"x": [4, 5], "i": {"below": 4, "shape": [3]}})
def picked(v):
    def step(xs):
        x, i = xs["x"], xs["i"]
        return {
            "rows": tf.gather(x, i),
            "columns": tf.gather(x, i, axis=1),
            "each": tf.gather(x, tf.reshape(tf.tile(i, [4]), [4, 3]), batch_dims=1),
            "points": tf.gather_nd(x, [[0, 4], [3, 1], [2, 2]]),
            "diagonal": tf.linalg.diag_part(x[:, :4]),
        }

    return step


@program("guide: put in by indices", {}, {"x": [6, 2], "u": [3, 2]})
def put(v):
    def step(xs):
        x, u, at = xs["x"], xs["u"], [[4], [1], [4]]
        with tf.GradientTape() as tape:
            tape.watch([x, u])
            added = tf.tensor_scatter_nd_add(x, at, u)
            there = tf.tensor_scatter_nd_update(x, [[0], [5], [2]], u)
            y = tf.reduce_sum(added**2) + tf.reduce_sum(there**3)
        dx, du = tape.gradient(y, [x, u])
        return {"fresh": tf.scatter_nd(at, u, [6, 2]), "added": added, "put": there, "dx": dx, "du": du}

    return step


@program("guide: a ragged tensor of sums, means and lengths", {}, {"x": [7]})
def ragged(v):
    def step(xs):
        x = xs["x"]
        rows = tf.RaggedTensor.from_row_lengths(x, [3, 0, 2, 2])
        with tf.GradientTape() as tape:
            tape.watch(x)
            sums = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(x**2, [3, 0, 2, 2]), 1)
            y = tf.reduce_sum(sums * [1.0, 2, 3, 4])
        means = tf.reduce_mean(rows, 1)
        return {
            "sums": sums,
            "means": tf.where(tf.math.is_nan(means), 0.0, means),
            "lengths": tf.cast(rows.row_lengths(), tf.int32),
            "padded": rows.to_tensor(-1),
            "ids": tf.cast(rows.value_rowids(), tf.int32),
            "dx": tape.gradient(y, x),
        }

    return step


@program("guide: ragged rows mapped, joined and picked")
def ragged_rows(v):
    def step(xs):
        digits = tf.ragged.constant([[3.0, 1, 4, 1], [], [5, 9, 2], [6], []])
        doubled = tf.ragged.map_flat_values(lambda x: x * 2 + 1, digits)
        both = tf.concat([digits, tf.ragged.constant([[5.0, 3], [7]])], 0)
        return {
            "doubled": doubled.to_tensor(),
            "both": both.to_tensor(-1),
            "most": tf.reduce_max(both, 0),
            "columns": tf.reduce_mean(both, 0),
            "picked": tf.gather(digits, [3, 0]).to_tensor(),
            "joined": tf.ragged.stack([digits, doubled]).to_tensor(9),
            "ranges": tf.ragged.range([3.0, 0, 2]).to_tensor(-1),
        }

    return step


@program("guide: a sparse tensor made dense, and the gradient of its values", {}, {"values": [3]})
def sparse(v):
    def step(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs["values"])
            s = tf.SparseTensor([[0, 3], [2, 4], [2, 5]], xs["values"], [3, 6])
            y = tf.reduce_sum(tf.sparse.sparse_dense_matmul(s, tf.ones([6, 2])) ** 2)
        return {"dense": tf.sparse.to_dense(s), "g": tape.gradient(y, xs["values"])}

    return step


@program(
    "guide: means of sparse lists of embeddings", {"table": [8, 3]}, {"ids": {"below": 8, "shape": [5]}}
)
def embeddings(v):
    def step(xs):
        places = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
        lists = tf.SparseTensor(places, tf.cast(xs["ids"], tf.int64), [2, 3])
        with tf.GradientTape() as tape:
            means = tf.nn.embedding_lookup_sparse(v["table"], lists, None, combiner="mean")
            y = tf.square(means)
        return {"means": means, "g": tf.convert_to_tensor(tape.gradient(y, v["table"]))}

    return step


@program(
    "guide: variables that are shaped, assigned and copied",
    {"a": {"values": [2, 3, 4, 5], "shape": [2, 2]}, "b": {"values": [1, 1], "dtype": "int32"}},
    {"x": [2, 2]},
)
def variables(v):
    a, b = v["a"], v["b"]

    def step(xs):
        flat, copy, place = tf.reshape(a, [1, 4]), a + 0, tf.argmax(a, 0, tf.int32)
        a.assign(xs["x"])
        a.assign_add([[1.0, 2], [3, 4]])
        b.assign_sub([3, 5])
        return {"flat": flat, "copy": copy, "place": place, "now": a + 0, "b": b + 0}

    return step


@program(
    "guide: rows of a variable, added to, taken from and replaced", {"v": [5, 2]}, {"u": [2, 2]}
)
def scattered(v):
    def step(xs):
        rows = lambda *at: tf.IndexedSlices(xs["u"], tf.constant(at))
        v["v"].scatter_add(rows(1, 1))
        v["v"].scatter_sub(rows(0, 4))
        v["v"].scatter_update(rows(2, 3))
        return {"v": v["v"] + 0}

    return step


@program("guide: draws without state are the same for the same seed")
def draws(v):
    def step(xs):
        draw = lambda *seed: tf.random.stateless_uniform([100], seed)
        mean, variance = tf.nn.moments(tf.random.stateless_normal([4000], [7, 8]), [0])
        return {
            "same": every(draw(1, 2) == draw(1, 2)),
            "other": every(draw(1, 2) == draw(2, 1)),
            "within": every(tf.logical_and(draw(3, 4) >= 0, draw(3, 4) < 1)),
            "mean": tf.cast(tf.round(mean * 5), tf.int32),
            "variance": tf.cast(tf.round(variance * 5), tf.int32),
        }

    return step


@program("guide: products of every kind", {}, {"a": [2, 3, 4], "b": [2, 4, 5], "c": [4]})
def products(v):
    def step(xs):
        a, b, c = xs["a"], xs["b"], xs["c"]
        return {
            "batches": a @ b,
            "across": tf.einsum("bij,bjk->ik", a, b),
            "vector": tf.tensordot(a, c, 1),
            "outer": tf.tensordot(c, c, 0),
            "norms": tf.norm(a, axis=[1, 2]),
            "traces": tf.linalg.trace(tf.matmul(a, a, transpose_b=True)),
        }

    return step
