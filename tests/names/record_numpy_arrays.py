"""Joins, places, polynomials, signs and spaces of tf.experimental.numpy. See jax_recorder.py."""

from jax_recorder import jax, jnp, np, rec, write

rng = np.random.default_rng(29)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


X, V, W = normal(3, 4), normal(4), normal(4)
I = np.int32([[7, -7], [8, -3]])
ENDS = np.float32([-np.inf, -2.5, -0.0, 0.0, 1.5, np.inf, np.nan])
for name, fn in (("signbit", jnp.signbit), ("isneginf", jnp.isneginf), ("isposinf", jnp.isposinf), ("fix", jnp.trunc)):
    rec(name, fn, ENDS, grads=False)
rec("copysign", jnp.copysign, X, np.float32([1, -1, -0.0, 0.0]), grads=False)
rec("cbrt", jnp.cbrt, X)
rec("cbrt ends", jnp.cbrt, ENDS, grads=False)
rec("cbrt whole", jnp.cbrt, np.int32([-27, 0, 8]))
rec("floatPower", jnp.float_power, np.abs(X) + 0.5, V)
rec("floatPower whole", lambda a, b: jnp.asarray(np.float_power(a, b), jnp.float32), I, np.int32([2, -1]))
rec("logaddexp2", jnp.logaddexp2, X, V)
for n, shape in ((1, ()), (2, ()), (3, ()), (2, (4,)), (3, (4,)), (3, (3, 4))):
    rec(f"atleast{n}d {len(shape)}", getattr(jnp, f"atleast_{n}d"), normal(*shape))
for name, fn in (("hstack", jnp.hstack), ("vstack", jnp.vstack), ("dstack", jnp.dstack), ("columnStack", jnp.column_stack)):
    rec(f"{name} vectors", lambda *x, fn=fn: fn(x), V, W)
    rec(f"{name} matrices", lambda *x, fn=fn: fn(x), X, normal(3, 4))
rec("hstack scalars", lambda *x: jnp.hstack(x), normal(), normal())
rec("columnStack both", lambda *x: jnp.column_stack(x), X, normal(3))
rec("append", jnp.append, X, V)
rec("append axis", lambda x, y: jnp.append(x, y, 0), X, normal(2, 4))
rec("arraySplit", lambda x: jnp.array_split(x, 3), normal(7))
rec("arraySplit axis", lambda x: jnp.array_split(x, 3, -1), X)
rec("arraySplit places", lambda x: np.array_split(np.asarray(x), [1, 1, -1, 9]), normal(5, 2), grads=False)
rec("hsplit", lambda x: jnp.hsplit(x, 2), X)
rec("hsplit vector", lambda x: jnp.hsplit(x, [1, 3]), V)
rec("vsplit", lambda x: jnp.vsplit(x, 3), X)
rec("dsplit", lambda x: jnp.dsplit(x, [2]), normal(2, 1, 3))
rec("flipud", jnp.flipud, X)
rec("fliplr", jnp.fliplr, X)
rec("unravelIndex", lambda i: list(jnp.unravel_index(i, (3, 2, 4))), np.int32([[0, 5], [23, 10]]))
rec("ravelMultiIndex", lambda *p: jnp.ravel_multi_index(p, (3, 2, 4), mode="wrap"), np.int32([[0, 2], [1, 1]]), np.int32([1, 0]), np.int32([[3], [2]]))
K = np.float32([[1, 0, 1, 0, 1], [2, 2, 1, 0, 1]])
rec("lexsort", lambda a, b: jnp.lexsort((a, b)), K[0], K[1], grads=False)
rec("lexsort stacked", lambda k: jnp.lexsort(k), np.stack([K, K[::-1]]), grads=False)
rec("lexsort axis", lambda a, b: jnp.lexsort((a, b), 0), K, np.ones_like(K), grads=False)
rec("divmod", lambda a, b: list(jnp.divmod(a, b)), I, np.int32([3, -2]))
rec("divmod floats", lambda a, b: list(jnp.divmod(a, b)), np.float32([7.5, -7.5, 7.5, -7.5]), np.float32([2, 2, -2, -2]), grads=False)
rec("select", lambda x, y: jnp.select([x < -0.5, x < 0.5], [x * y, y], 3), X, V)
rec("select none", lambda x: jnp.select([x < 0], [x]), X)
rec("piecewise", lambda x: jnp.piecewise(x, [x < -0.5, x > 0.5], [lambda v: v * v, 2, lambda v: -v]), X)
rec("piecewise none", lambda x: jnp.piecewise(x, [x < 0, x < -1], [jnp.sin, jnp.cos]), X)
rec("piecewise whole", lambda x: jnp.piecewise(x, [x > 0], [1, -1]), I)
N = np.float32([1, np.nan])
for name, b in (("same", N), ("other", np.float32([1, 2])), ("shape", np.float32([[1, np.nan]])), ("length", np.float32([1, np.nan, 3]))):
    for nan in (False, True):
        rec(f"arrayEqual {name} {nan}", lambda a, b, nan=nan: jnp.array_equal(a, b, equal_nan=nan), N, b, grads=False)
rec("arrayEqual whole", jnp.array_equal, I, I)
rec("logspace", lambda: jnp.logspace(-1, 2, 4))
rec("logspace open", lambda: jnp.logspace(0, 3, 6, endpoint=False, base=2))
rec("geomspace", lambda: jnp.geomspace(1, 1000, 4))
rec("geomspace below", lambda: jnp.geomspace(-2, -32, 4, endpoint=False))
rec("geomspace one", lambda: jnp.geomspace(3, 5, 1))
rec("tri", lambda: jnp.tri(3, 4, 1))
rec("tri square", lambda: jnp.tri(3, k=-1))
for k in (-2, 0, 1):
    rec(f"diagflat {k}", lambda x, k=k: jnp.diagflat(x, k), normal(2, 2))
rec("ix", lambda *v: list(jnp.ix_(*v)), normal(2), normal(3), normal(1), grads=False)
T = np.float32([0.25, 0.5, 1.5, 2, 3.5, 4])


def fit(x, y, deg, w=None):
    """As jnp.polyfit, whose slopes by singular values are NaN."""
    powers, y = jnp.vander(x, deg + 1), y if w is None else y * w
    q, r = jnp.linalg.qr(powers if w is None else powers * w[:, None])
    found = jnp.linalg.solve(r, q.T @ y)
    if not isinstance(found, jax.core.Tracer):
        np.testing.assert_allclose(found, np.polyfit(x, np.asarray(y) if w is None else np.asarray(y / w), deg, w=w), rtol=1e-3)
    return found


rec("polyfit", lambda x, y: fit(x, y, 2), T, normal(6))
rec("polyfit columns", lambda x, y: fit(x, y, 1), T, normal(6, 2))
rec("polyfit weights", lambda x, y, w: fit(x, y, 3, w), T, normal(6), np.abs(normal(6)) + 0.5)
rec("polyfit constant", lambda y: fit(jnp.asarray(T), y, 0), normal(6))
for m in (0, 1, 2, 5):
    rec(f"polyder {m}", lambda p, m=m: jnp.polyder(p, m), V)
for m in (0, 1, 2):
    rec(f"polyint {m}", lambda p, m=m: jnp.polyint(p, m), V)
rec("polyder whole", lambda p: jnp.polyder(p), np.int32([3, 2, 1]))
rec("polyint whole", lambda p: jnp.polyint(p), np.int32([6, 2]))
rec("roots", lambda p: jnp.sort(jnp.real(jnp.roots(p, strip_zeros=False))), np.float32([1, -6, 11, -6]), grads=False)
rec("roots complex", lambda p: jnp.sort(jnp.abs(jnp.imag(jnp.roots(p, strip_zeros=False)))), np.float32([2, 0, 8]), grads=False)
rec("roots one", lambda p: jnp.roots(p, strip_zeros=False), np.float32([2, -3]), grads=False)
write("numpy_arrays")
