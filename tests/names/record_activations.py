"""Activations of tf.nn. See jax_recorder.py."""

from jax_recorder import jax, jnp, np, rec, write
from keras import activations as keras

X = np.float32([[-4, -1.5, -1, -0.5, -0.25], [0.25, 0.5, 1, 2.5, 3.5]])
S = np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)
nn = jax.nn


def sparsemax(x, axis=-1):
    """As Martins and Astudillo (2016) have it: keras.activations.sparsemax of 3.15 adds up sums, so that rows are less than 1."""
    z = jnp.sort(x, axis, descending=True)
    shape = [1] * x.ndim
    shape[axis] = -1
    k = jnp.arange(1, x.shape[axis] + 1).reshape(shape)
    total = jnp.cumsum(z, axis)
    count = jnp.sum(1 + k * z > total, axis, keepdims=True)
    tau = (jnp.take_along_axis(total, count - 1, axis) - 1) / count
    return jnp.maximum(x - tau, 0)


rec("celu", nn.celu, X)
rec("celu alpha", lambda x: nn.celu(x, 0.5), X)
rec("celu 0", nn.celu, np.float32([0]))
rec("glu", nn.glu, S)
rec("glu 0", lambda x: nn.glu(x, 0), S.T)
rec("hardSigmoid", nn.hard_sigmoid, X)
rec("hardSilu", nn.hard_silu, X)
rec("hardSwish", keras.hard_swish, X)
rec("hardTanh", nn.hard_tanh, X)
rec("hardShrink", keras.hard_shrink, X)
rec("hardShrink 2", lambda x: keras.hard_shrink(x, 2), X)
rec("softShrink", keras.soft_shrink, X)
rec("softShrink 2", lambda x: keras.soft_shrink(x, 2), X)
rec("tanhShrink", keras.tanh_shrink, X)
rec("threshold", lambda x: keras.threshold(x, 0.5, -7), X)
rec("sparsePlus", nn.sparse_plus, X)
rec("sparsePlus Keras", keras.sparse_plus, X)
rec("sparseSigmoid", nn.sparse_sigmoid, np.float32([-4, -1.5, -0.5, 0.25, 0.5, 2.5]))
rec("mish", nn.mish, X)
rec("squareplus", nn.squareplus, X)
rec("squareplus b", lambda x: nn.squareplus(x, 0.2), X)
rec("sparsemax", sparsemax, S)
rec("sparsemax 0", lambda x: sparsemax(x, 0), S)
rec("sparsemax ties", sparsemax, np.float32([[1, 1, 0.5, 1], [0, 0, 0, 0]]), grads=False)
rec("sparsemax deep", lambda x: sparsemax(x, 1), S.reshape(2, 3, 2))
rec("logMeanExp", nn.logmeanexp, S)
rec("logMeanExp 0", lambda x: nn.logmeanexp(x, 0), S)
rec("logMeanExp kept", lambda x: nn.logmeanexp(x, (0, 1), keepdims=True), 300 + S)
rec("standardize", nn.standardize, S)
rec("standardize 0", lambda x: nn.standardize(x, 0, epsilon=0.5), S)
rec("standardize given", lambda x, m, v: nn.standardize(x, 0, m, v), S, S[0], 1 + S[1] ** 2)
rec("whole numbers", nn.celu, np.int32([-2, 0, 3]))
rec("booleans", lambda x: nn.hard_tanh(x.astype(np.float32)), np.bool_([True, False]))
rec("none", nn.mish, np.zeros((0, 3), np.float32))
write("activations")
