"""Transformations of functions and their compositions beside JAX's. Writes transforms.json."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "names"))
from jax_recorder import CASES, jax, jnp, np, rec, write
from rounded import rounded

W = np.float32([[0.5, -1.0, 0.25], [2.0, 0.25, -0.5], [-0.75, 1.0, 1.5]])


def branch(x):
    return jax.lax.cond(jnp.sum(x) > 0, lambda x: jnp.sin(x) * x, lambda x: jnp.exp(-x), x)


def loop(x):
    return jax.lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) + 0.5 * x, x)


def scan(x):
    return jax.lax.scan(lambda a, v: ((a * 0.5 + v * v),) * 2, jnp.zeros(()), x)[1]


def attend(x):
    q = jnp.outer(x, jnp.float32([1, -0.5]))
    return (jax.nn.softmax(q @ q.T, -1) @ q).reshape(-1)


# Functions of three numbers to three or more.
FUNCTIONS = {
    "a network": lambda x: jnp.tanh(jnp.tanh(x @ W) @ W.T),
    "a softmax": lambda x: jax.nn.softmax(x @ W),
    "a norm": lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 0.1),
    "a sorted list": lambda x: jnp.sort(x * x) * jnp.float32([1, 2, 3]),
    "a running sum": lambda x: jnp.cumsum(x * x),
    "a solved system": lambda x: jnp.linalg.solve(W, x * x),
    "an inverse": lambda x: (jnp.linalg.inv(W + jnp.diag(x)) @ x),
    "a branch": branch,
    "a loop": loop,
    "a scan": scan,
    "attention": attend,
    "a checkpoint": jax.checkpoint(lambda x: jnp.tanh(jnp.tanh(x @ W) @ W.T)),
    "two numbers of a table": lambda x: jnp.take(x, jnp.array([2, 0, 2])) * x,
}
rng = np.random.default_rng(1)
X, T, V = [np.round(rng.normal(size=n), 2).astype(np.float32) for n in (3, 3, (4, 3))]


def total(f):
    return lambda x: jnp.sum(jnp.sin(f(x)))


for name, f in FUNCTIONS.items():
    loss = total(f)
    # The loop of JAX has a count that is known, so that it goes both ways.
    rec(f"vmap of {name}", jax.vmap(f), V)
    rec(f"vmap over columns of {name}", jax.vmap(f, in_axes=1, out_axes=1), V.T.copy())
    rec(f"vmap of vmap of {name}", jax.vmap(jax.vmap(f)), np.stack([V, V[::-1] * 0.5]))
    rec(f"jvp of {name}", lambda x, t: jax.jvp(f, (x,), (t,))[1], X, T)
    rec(f"linearize of {name}", lambda x, t: jax.linearize(f, x)[1](t), X, T)
    rec(f"forward over reverse of {name}", lambda x, t: jax.jvp(jax.grad(loss), (x,), (t,))[1], X, T, grads=False)
    rec(f"reverse over forward of {name}", lambda x, t: jax.grad(lambda x: jax.jvp(loss, (x,), (t,))[1])(x), X, T, grads=False)
    rec(f"jvp of jvp of {name}", lambda x, t: jax.jvp(lambda x: jax.jvp(f, (x,), (t,))[1], (x,), (t,))[1], X, T, grads=False)
    rec(f"vmap of grad of {name}", jax.vmap(jax.grad(loss)), V)
    rec(f"grad of vmap of {name}", jax.grad(lambda x: jnp.sum(jnp.cos(jax.vmap(f)(x)))), V)
    rec(f"jvp of vmap of {name}", lambda x, t: jax.jvp(jax.vmap(f), (x,), (t,))[1], V, V[::-1].copy())
    rec(f"vmap of jvp of {name}", jax.vmap(lambda x, t: jax.jvp(f, (x,), (t,))[1]), V, V[::-1].copy())
    rec(f"vmap of jvp by tangents of {name}", lambda x, t: jax.vmap(lambda t: jax.jvp(f, (x,), (t,))[1])(t), X, V)
    rec(f"hessian of {name}", jax.hessian(loss), X, grads=False)
CASES.update(rounded(CASES))
write(os.path.join(HERE, "transforms"))
