"""Decompositions and functions of matrices beside TensorFlow's (cond() beside JAX's); vectors as products, which have no sign. Writes linalg.json."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "names"))
from recorder import CASES, np, rec, tf, write
from rounded import rounded

rng = np.random.default_rng(36)
L = tf.linalg


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def apart(*shape):
    """Matrices whose singular values lie apart, so that gradients of vectors are well conditioned."""
    u, _, v = np.linalg.svd(normal(*shape), full_matrices=False)
    n = u.shape[-1]
    return ((u * np.linspace(0.5, 2.5, n)) @ v).astype(np.float32)


def even(x):
    return 0.5 * (x + L.matrix_transpose(x))


def joined(u, s, v):
    """The matrix of other singular values: no sign of a vector changes it."""
    return L.matmul(u * tf.square(s)[..., None, :], v, adjoint_b=True)


def svd(x):
    s, u, v = L.svd(x)
    return joined(u, s, v)


def eigh(x):
    e, v = L.eigh(even(x))
    return joined(v, e, v)


def eigvals(x):
    e = L.eigvals(x)
    return tf.stack([tf.math.real(tf.reduce_sum(e**k, -1)) for k in (1, 2, 3)], -1)


def eig(x):
    """No phase of a vector changes it, nor the order of the values."""
    e, v = L.eig(x)
    return tf.reduce_sum(tf.math.real(tf.square(e))[..., None, :] * tf.square(tf.abs(v)), -1)


SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 3), "batches": (2, 1, 3, 2)}
for name, shape in SHAPES.items():
    x = apart(*shape)
    rec(f"svd {name}", svd, x)
    rec(f"svdvals {name}", lambda x: L.svd(x, compute_uv=False), x)
    rec(f"pinv {name}", L.pinv, x)
    rec(f"matrixRank {name}", lambda x: L.matrix_rank(tf.concat([x, x], -1)), x, grads=False)
    wide = shape[-2] < shape[-1]
    rec(f"qr {name}", lambda x: tf.abs(L.qr(x)[1]), x, grads=not wide)
    rec(f"qr complete {name}", lambda x: tf.abs(L.qr(x, full_matrices=True)[0]), x, grads=False)
    b = normal(*shape[:-1], 2)
    rec(f"lstsq {name}", lambda a, b: L.lstsq(a, b), x, b)
    rec(f"lstsq regularized {name}", lambda a, b: L.lstsq(a, b, l2_regularizer=0.25), x, b)
for name in ("square", "batch"):
    x = apart(*SHAPES[name])
    rec(f"eigh {name}", eigh, x)
    rec(f"eigvalsh {name}", lambda x: L.eigvalsh(even(x)), x)
    rec(f"eigvals {name}", eigvals, x)
    rec(f"eig {name}", eig, x)
    rec(f"expm {name}", L.expm, x)
    rec(f"slogdet {name}", lambda x: [L.slogdet(x)[1], L.slogdet(x)[0]], x)
    rec(f"det {name}", L.det, x)
    rec(f"inv {name}", L.inv, x)
    rec(f"logdet {name}", lambda x: L.logdet(L.matmul(x, x, adjoint_b=True)), x)
    rec(f"cholesky {name}", lambda x: L.cholesky(L.matmul(x, x, adjoint_b=True)), x)
    rec(f"solve {name}", L.solve, x, normal(*SHAPES[name][:-1], 2))
    rec(f"sqrtm {name}", lambda x: L.sqrtm(L.matmul(x, x, adjoint_b=True)), x, grads=False)

from jax_recorder import CASES as OF_JAX
from jax_recorder import jnp
from jax_recorder import rec as rec_jax

for name, shape in SHAPES.items():
    rec_jax(f"cond {name}", jnp.linalg.cond, apart(*shape))
CASES.update(OF_JAX)
CASES.update(rounded(CASES))
write(os.path.join(HERE, "linalg"))
