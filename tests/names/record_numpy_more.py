"""More of tf.experimental.numpy, and tf.linalg under NumPy's names. See jax_recorder.py."""

from jax.scipy.linalg import toeplitz

from jax_recorder import jnp, np, rec, write

rng = np.random.default_rng(23)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


X, V, W = normal(3, 5), normal(5), normal(4)
rec("gradient", jnp.gradient, V)
rec("gradient rows", lambda x: jnp.gradient(x, 0.5, axis=1), X)
rec("gradient all", lambda x: jnp.gradient(x), X)
rec("gradient spacings", lambda x: jnp.gradient(x, 2.0, 0.5), X)
rec("gradient whole", jnp.gradient, np.int32([1, 4, 9, 3]))
P = np.float32([0, 1, 1.5, 3.5, 4])
for order in (1, 2):
    rec(f"gradient places {order}", lambda x: jnp.asarray(np.gradient(np.asarray(x), P, axis=1, edge_order=order)), X, grads=False)
rec("gradient edges 2", lambda x: jnp.asarray(np.gradient(np.asarray(x), 0.5, axis=0, edge_order=2)), X, grads=False)
rec("ediff1d", jnp.ediff1d, X)
rec("ediff1d ends", lambda x, a, b: jnp.ediff1d(x, to_begin=a, to_end=b), X, W, np.float32([7]))
rec("unwrap", jnp.unwrap, np.float32([[0, 3, 6.5, 1, -4], [1, 9, -9, 0.5, 0]]))
rec("unwrap 0", lambda x: jnp.unwrap(x, axis=0, discont=4.5), 5 * normal(4, 2))
rec("unwrap period", lambda x: jnp.unwrap(x, period=4), np.int32([0, 2, 4, 3, 1, 0, 2, 5]))
H = np.float32([0.1, 0.9, 1, 2.4, 3, 3, -1])
rec("histogram", lambda x: jnp.histogram(x, 4), H, grads=False)
rec("histogram edges", lambda x, e: jnp.histogram(x, e), H, np.float32([0, 1, 1.5, 3]), grads=False)
rec("histogram range", lambda x: jnp.histogram(x, 5, (0, 2.5)), H, grads=False)
rec("histogram one", lambda x: jnp.histogram(x, 3), np.float32([2, 2]), grads=False)
rec("histogram density", lambda x: jnp.histogram(x, 4, density=True), H, grads=False)
rec("histogram whole", lambda x: jnp.histogram(x, 3), np.int32([[1, 5], [2, 2]]), grads=False)
G = normal(7)
rec("histogram weights", lambda w: jnp.histogram(jnp.asarray(H), 4, weights=w), G)
rec("histogram2d", lambda x, y: jnp.histogram2d(x, y, 3), H, G, grads=False)
rec("histogram2d edges", lambda x, y, e: jnp.histogram2d(x, y, [e, 2], [[0, 1], [-1, 1]]), H, G, np.float32([0, 1, 3]), grads=False)
rec("histogram2d weights", lambda w: jnp.histogram2d(jnp.asarray(H), jnp.asarray(G), 2, weights=w, density=True), np.abs(normal(7)) + 1)
for right in (False, True):
    for name, bins in (("up", [0, 1, 2.5, 3]), ("down", [3, 2.5, 1, 0]), ("one", [1])):
        rec(f"digitize {name} {right}", lambda x, b: jnp.digitize(x, b, right), H.reshape(7, 1), np.float32(bins), grads=False)
N = np.float32([[1, np.nan, 3, 2], [np.nan, np.nan, np.nan, np.nan], [4, -5, 0.5, np.nan]])
Q = np.float32([[1, np.nan, 3, 2], [4, -5, 0.5, np.nan]])
rec("nanmedian", jnp.nanmedian, Q)
rec("nanmedian 1", lambda x: jnp.nanmedian(x, 1), N, grads=False)
rec("nanmedian kept", lambda x: jnp.nanmedian(x, 0, keepdims=True), Q)
for method in ("lower", "higher", "midpoint", "nearest", "linear"):
    rec("nanquantile " + method, lambda x: jnp.nanquantile(x, jnp.float32([0.1, 0.45, 0.9]), 1, method=method), Q)
rec("nanquantile scalar", lambda x, q: jnp.nanquantile(x, q, 0), Q, np.float32(0.3))
rec("nanpercentile", lambda x: jnp.nanpercentile(x, jnp.float32([10, 77])), N, grads=False)
rec("quantile matrix", lambda x, q: jnp.asarray(np.quantile(np.asarray(x), np.asarray(q), axis=1)), X, np.float32([[0.1, 0.5, 0.3], [1, 0, 0.4]]), grads=False)
rec("quantile matrix kept", lambda x, q: jnp.asarray(np.quantile(np.asarray(x), np.asarray(q), axis=0, keepdims=True)), X, np.float32([[0.1, 0.5]]), grads=False)
for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod"):
    rec(name, getattr(jnp, name), Q)
    rec(name + " 1", lambda x: getattr(jnp, name)(x, 1), Q)
rec("moveaxis", lambda x: jnp.moveaxis(x, 0, -1), normal(2, 3, 4))
rec("moveaxis two", lambda x: jnp.moveaxis(x, [0, -1], [1, 0]), normal(2, 3, 4))
rec("swapaxes", lambda x: jnp.swapaxes(x, 0, 2), normal(2, 3, 4))
for k in (-1, 0, 1, 2, 3, 5):
    rec(f"rot90 {k}", lambda x: jnp.rot90(x, k), normal(2, 3))
rec("rot90 axes", lambda x: jnp.rot90(x, 1, (2, 1)), normal(2, 2, 3))
rec("takeAlongAxis", lambda x, i: jnp.take_along_axis(x, i, 1), X, np.int32([[0, 4, 4], [1, -1, 2], [3, 3, 3]]))
rec("takeAlongAxis 0", lambda x, i: jnp.take_along_axis(x, i, 0), X, np.int32([[2, 0, 1, 1, 0]]))
rec("takeAlongAxis broadcast", lambda x, i: jnp.take_along_axis(x, i, 1), X, np.int32([[2, 0]]))
for k in (-1, 0, 2):
    rec(f"tril {k}", lambda x: jnp.tril(x, k), normal(2, 3, 4))
    rec(f"triu {k}", lambda x: jnp.triu(x, k), X)
rec("vander", jnp.vander, W)
rec("vander rising", lambda x: jnp.vander(x, 3, increasing=True), np.float32([0, 1, -2]), grads=False)
rec("vander whole", lambda x: jnp.vander(x, 4), np.int32([2, -3]))
E = np.float32([0.5, 1, 3, 100])
rec("log2", jnp.log2, E)
rec("log10", jnp.log10, E)
rec("exp2", jnp.exp2, np.float32([0.5, 1, -3, 10]))
rec("hypot", jnp.hypot, normal(2, 3), normal(3))
rec("hypot ends", jnp.hypot, np.float32([0, np.inf, np.nan, 1e30]), np.float32([0, np.nan, 1, 1e30]), grads=False)
rec("heaviside", jnp.heaviside, np.float32([-1, 0, 2, np.nan]), np.float32(0.5), grads=False)
rec("sinc", jnp.sinc, np.float32([0, 0.5, -1.25, 3]))
rec("deg2rad", jnp.deg2rad, np.float32([0, 90, -45]))
rec("rad2deg", jnp.rad2deg, np.float32([0, 1, -0.5]))
A, B = np.float32([1, np.nan, 3, np.nan]), np.float32([2, 5, np.nan, np.nan])
for name in ("fmax", "fmin"):
    rec(name, getattr(jnp, name), A, B, grads=False)
    rec(name + " slope", getattr(jnp, name), normal(2, 3), normal(3))
    rec(name + " whole", getattr(jnp, name), np.int32([1, 5]), np.int32([3, 2]))
rec("isin", jnp.isin, np.float32([[1, 2], [3, 4]]), np.float32([4, 1, 9]))
rec("isin not", lambda a, b: jnp.isin(a, b, invert=True), np.int32([1, 2, 3]), np.int32([3]))
rec("average", jnp.average, X)
rec("average weights", lambda x, w: jnp.average(x, 1, w), X, np.abs(V))
rec("average all", lambda x, w: jnp.average(x, weights=w), X, np.abs(normal(3, 5)))
rec("average kept", lambda x, w: jnp.average(x, 0, w, keepdims=True), X, np.abs(normal(3)))
rec("ptp", jnp.ptp, X)
rec("ptp 1", lambda x: jnp.ptp(x, 1), X)
M = normal(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)
for n in (0, 1, 2, 3, 7):
    rec(f"matrixPower {n}", lambda x: jnp.linalg.matrix_power(x, n), M / 2, grads=n > 0)
for n in (-1, -3):
    rec(f"matrixPower {n}", lambda x: jnp.linalg.matrix_power(x, n), M)
rec("matrixPower whole", lambda x: jnp.linalg.matrix_power(x, 5), np.int32([[1, 1], [1, 0]]))
rec("multiDot", lambda a, b, c, d: jnp.linalg.multi_dot([a, b, c, d]), normal(2, 3), normal(3, 4), normal(4, 1), normal(1, 2))
rec("multiDot vectors", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]), normal(3), normal(3, 2), normal(2))
rec("multiDot row", lambda a, b: jnp.linalg.multi_dot([a, b]), normal(3), normal(3, 2))
rec("toeplitz", toeplitz, normal(3))
rec("toeplitz row", toeplitz, normal(3), normal(4))
rec("toeplitz complex", toeplitz, np.complex64([1 + 2j, 3 - 1j, 2j]))
rec("toeplitz whole", toeplitz, np.int32([1, 2]), np.int32([9, 3, 4]))
write("numpy_more")
