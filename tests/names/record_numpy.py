"""tf.experimental.numpy. See jax_recorder.py."""

from jax_recorder import jnp, np, rec, write

rng = np.random.default_rng(17)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


X, V, W = normal(3, 5), normal(5), normal(4)
N = np.float32([[1, np.nan, 3, 2], [np.nan, np.nan, np.nan, np.nan], [4, -5, 0.5, np.nan]])
P = np.float32([[1, np.nan, 3, 2], [4, -5, 0.5, np.nan]])
for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"):
    f = getattr(jnp, name)
    rec(name, lambda x: f(x), P)
    rec(name + " 1", lambda x: f(x, 1), P)
    rec(name + " none", lambda x: f(x, 1, keepdims=True), N, grads=False)
    if name != "nanprod":
        rec(name + " whole", lambda x: f(x, 0), np.int32([[1, 5], [2, -3]]))
rec("nanToNum", jnp.nan_to_num, np.float32([np.nan, 1, np.inf, -np.inf]), grads=False)
rec("nanToNum given", lambda x: jnp.nan_to_num(x, nan=7, posinf=8, neginf=-9), np.float32([np.nan, 1, np.inf, -np.inf]), grads=False)
rec("nanToNum slope", lambda x: jnp.nan_to_num(x, nan=7), np.float32([np.nan, 1, 2]))
A, B = np.float32([1, 2, np.inf, np.nan, 0, -np.inf]), np.float32([1.000001, 2.1, np.inf, np.nan, 1e-9, np.inf])
rec("isclose", jnp.isclose, A, B)
rec("isclose NaN", lambda a, b: jnp.isclose(a, b, rtol=0.2, equal_nan=True), A, B)
rec("isclose complex", jnp.isclose, np.complex64([1 + 2j, 3j]), np.complex64([1 + 2.000001j, 3.1j]))
rec("isclose whole", lambda a, b: jnp.isclose(a, b, atol=1), np.int32([1, 5, 9]), np.int32([2, 5, 11]))
rec("allclose", lambda a, b: jnp.allclose(a, b, rtol=0.2, equal_nan=True), A[:5], B[:5])
rec("logaddexp", jnp.logaddexp, normal(2, 3), normal(3))
rec("logaddexp ends", jnp.logaddexp, np.float32([1000, -np.inf, np.inf, -np.inf]), np.float32([0, 3, 1, -np.inf]), grads=False)
for q in (0, 0.3, 0.5, 1):
    rec(f"quantile {q}", lambda x: jnp.quantile(x, float(q)), X)
for method in ("lower", "higher", "midpoint", "nearest", "linear"):
    rec("quantile " + method, lambda x: jnp.quantile(x, jnp.float32([0.1, 0.45, 0.9]), 1, method=method), X)
rec("quantile 0 kept", lambda x, q: jnp.quantile(x, q, 0, keepdims=True), X, np.float32([0.25, 0.6]))
rec("quantile all kept", lambda x: jnp.quantile(x, 0.6, keepdims=True), X)
rec("quantile NaN", lambda x: jnp.quantile(x, jnp.float32([0.1, 0.5]), 1), P, grads=False)
rec("percentile", lambda x: jnp.percentile(x, jnp.float32([10, 50, 77]), 1), X)
rec("median", lambda x: jnp.median(x), X)
rec("median 0", lambda x: jnp.median(x, 0), normal(4, 3))
rec("median kept", lambda x: jnp.median(x, -1, keepdims=True), normal(2, 3, 4))
rec("median whole", lambda x: jnp.median(x.astype(jnp.float32)), np.int32([3, 1, 2, 9]))
rec("cov", lambda x: jnp.cov(x), X)
rec("cov columns", lambda x: jnp.cov(x, rowvar=False, ddof=0), X)
rec("cov one", lambda x: jnp.cov(x), V)
rec("corrcoef", lambda x: jnp.corrcoef(x), X)
rec("corrcoef columns", lambda x: jnp.corrcoef(x, rowvar=False), normal(6, 2))
rec("diff", lambda x: jnp.diff(x), X)
rec("diff 2 0", lambda x: jnp.diff(x, 2, 0), X)
rec("diff 0", lambda x: jnp.diff(x, 0), X)
rec("diff all", lambda x: jnp.diff(x, 2, 0), X[:2], grads=False)
rec("diff booleans", lambda x: jnp.diff(x), np.bool_([1, 1, 0, 1]))
rec("diff whole", lambda x: jnp.diff(x), np.int32([1, 5, 2]))
rec("trapezoid", lambda y: jnp.trapezoid(y), X)
rec("trapezoid dx", lambda y: jnp.trapezoid(y, dx=0.5, axis=0), X)
rec("trapezoid x", lambda y, x: jnp.trapezoid(y, x), X, np.float32([0, 1, 1.5, 3, 4]))
rec("trapezoid x 0", lambda y, x: jnp.trapezoid(y, x, axis=0), X, normal(3, 5))
XP = np.float32([0, 1, 1.5, 3, 4])
rec("interp", jnp.interp, np.float32([[0.25, 1.25, 2.7], [3.9, -1, 7]]), XP, V)
rec("interp points", jnp.interp, XP, XP, V, grads=False)
rec("interp ends", lambda x, xp, fp: jnp.interp(x, xp, fp, left=-7, right=9), np.float32([-1, 2, 5]), XP, V)
rec("interp one", jnp.interp, np.float32([-1, 2, 5]), np.float32([2]), np.float32([6]), grads=False)
rec("outer", jnp.outer, X, W)
rec("inner", jnp.inner, X, normal(2, 5))
rec("inner vectors", jnp.inner, V, normal(5))
rec("inner scalar", jnp.inner, X, np.float32(3))
rec("vdot", jnp.vdot, X, normal(3, 5))
rec("vdot complex", jnp.vdot, np.complex64([1 + 2j, 3]), np.complex64([2j, 1 - 1j]))
rec("kron", jnp.kron, normal(2, 3), normal(3, 2))
rec("kron ranks", jnp.kron, normal(2), normal(1, 2, 3))
rec("kron whole", jnp.kron, np.int32([1, 2]), np.int32([3, 4]))
for mode in ("full", "same", "valid"):
    for n, m in ((5, 3), (3, 5), (5, 4), (4, 5), (3, 3), (1, 4)):
        a, v = normal(n), normal(m)
        rec(f"convolve {mode} {n} {m}", lambda a, v: jnp.convolve(a, v, mode=mode, precision="highest"), a, v, grads=n == 5)
        rec(f"correlate {mode} {n} {m}", lambda a, v: jnp.correlate(a, v, mode=mode, precision="highest"), a, v, grads=n == 5)
write("numpy")
