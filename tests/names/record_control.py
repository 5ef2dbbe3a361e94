"""associativeScan, foriLoop, dynamicSlice, dynamicUpdateSlice. See jax_recorder.py."""

from jax import lax
from jax_recorder import jnp, np, rec, write

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def linear(a, b):
    return a[0] * b[0], b[0] * a[1] + b[1]


for n in (1, 2, 3, 6, 7):
    rec(f"scan sum {n}", lambda x: lax.associative_scan(jnp.add, x), normal(n))
V, M = normal(5), normal(4, 3)
rec("scan none", lambda x: lax.associative_scan(jnp.add, x), normal(0, 2))
rec("scan product", lambda x: lax.associative_scan(jnp.multiply, x), V)
rec("scan maximum", lambda x: lax.associative_scan(jnp.maximum, x), V)
rec("scan back", lambda x: lax.associative_scan(jnp.multiply, x, reverse=True), V)
rec("scan axis", lambda x: lax.associative_scan(jnp.multiply, x, axis=1), M)
rec("scan last axis back", lambda x: lax.associative_scan(jnp.add, x, axis=1, reverse=True), M)
rec("scan matrices", lambda x: lax.associative_scan(jnp.matmul, x), normal(5, 2, 2))
rec("scan matrices back", lambda x: lax.associative_scan(jnp.matmul, x, reverse=True), normal(4, 2, 2))
rec("scan states", lambda a, b: lax.associative_scan(linear, (a, b))[1], normal(6), normal(6))
rec("scan states back", lambda a, b: lax.associative_scan(linear, (a, b), reverse=True, axis=1)[1], M, normal(4, 3))
rec("scan whole numbers", lambda x: lax.associative_scan(jnp.add, x), np.int32([3, -1, 4, 1, 5]))
rec("scan booleans", lambda x: lax.associative_scan(jnp.logical_xor, x), np.bool_([1, 0, 1, 1, 0]))
rec("scan complex", lambda x: lax.associative_scan(jnp.multiply, x), np.complex64([1 + 2j, 1j, 2 - 1j]))
rec("loop", lambda x: lax.fori_loop(1, 4, lambda i, y: y * x + i, x), V)
rec("loop nest", lambda x: lax.fori_loop(0, 3, lambda i, s: (s[0] + s[1], s[0] * 0.5), (x, x * 2))[0], V)
rec("loop of no turns", lambda x: lax.fori_loop(4, 1, lambda i, y: y * 2, x), V)
rec("loop of numbers", lambda n: lax.fori_loop(n - 2, n, lambda i, y: y + i, 0), np.int32(7))
rec("loop of slices", lambda x: lax.fori_loop(0, 4, lambda i, y: y * lax.dynamic_slice(x, (i, 1), (1, 2)), jnp.ones((1, 2))), M)
for at in (-9, -2, 0, 1, 3, 9):
    rec(f"slice {at}", lambda x: lax.dynamic_slice(x, (at,), (3,)), V)
    rec(f"slice computed {at}", lambda x, i: lax.dynamic_slice(x, (i,), (3,)), V, np.int32(at))
    rec(f"update {at}", lambda x, u: lax.dynamic_update_slice(x, u, (at,)), V, normal(2))
    rec(f"update computed {at}", lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), V, normal(2), np.int32(at))
rec("slice rows", lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 2)), M, np.int32([1, 5]))
rec("slice mixed", lambda x, i: lax.dynamic_slice(x, (1, i), (2, 3)), M, np.int32(1))
rec("slice nothing", lambda x, i: lax.dynamic_slice(x, (i, 0), (0, 3)), M, np.int32(1))
rec("slice whole numbers", lambda x, i: lax.dynamic_slice(x, (i,), (2,)), np.int32([1, 2, 3]), np.int32(2))
rec("update rows", lambda x, u, i: lax.dynamic_update_slice(x, u, (i[0], i[1])), M, normal(2, 2), np.int32([1, 5]))
rec("update all", lambda x, u: lax.dynamic_update_slice(x, u, (7, 8)), M, normal(4, 3))
rec("update nothing", lambda x, u: lax.dynamic_update_slice(x, u, (1, 0)), M, normal(0, 3), grads=False)
rec("update booleans", lambda x, u: lax.dynamic_update_slice(x, u, (2,)), np.bool_([1, 1, 1, 1]), np.bool_([0]))
rec("update complex", lambda x, u: lax.dynamic_update_slice(x, u, (2,)), np.complex64([1, 2j, 3, 4]), np.complex64([5j]))
write("control")
