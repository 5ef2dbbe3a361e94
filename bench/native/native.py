# Times TensorFlow's side of main.ts's tables on the CPU.
#
# Reads the id of a row at a time, and answers with the least milliseconds of processor time that a call took.

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

# Threads of its own would add to the processor's time.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(0)


def real(*shape):
    return tf.constant(rng.standard_normal(shape).astype(np.float32))


def spectrum(*shape):
    return tf.complex(real(*shape), real(*shape))


def triangle(*shape):
    n = shape[-1]
    return tf.linalg.band_part(real(*shape) * (0.5 / n**0.5), -1, 0) + tf.eye(n)


def symmetric(*shape):
    root = triangle(*shape)
    return tf.matmul(root, root, transpose_b=True)


def stft(x):
    return tf.signal.stft(x, 400, 160, 512)


ROWS = {
    "fft64": lambda: (tf.signal.fft, spectrum(64)),
    "fft1024": lambda: (tf.signal.fft, spectrum(1024)),
    "fft65536": lambda: (tf.signal.fft, spectrum(65536)),
    "fft1m": lambda: (tf.signal.fft, spectrum(2**20)),
    "fft64_batch": lambda: (tf.signal.fft, spectrum(256, 64)),
    "fft1024_batch": lambda: (tf.signal.fft, spectrum(64, 1024)),
    "fft1000_batch": lambda: (tf.signal.fft, spectrum(64, 1000)),
    "fft1009_batch": lambda: (tf.signal.fft, spectrum(16, 1009)),
    "fft15_batch": lambda: (tf.signal.fft, spectrum(1000, 15)),
    "fft10007": lambda: (tf.signal.fft, spectrum(10007)),
    "fft2d512": lambda: (tf.signal.fft2d, spectrum(512, 512)),
    "rfft1024_batch": lambda: (tf.signal.rfft, real(64, 1024)),
    "irfft1024_batch": lambda: (tf.signal.irfft, spectrum(64, 513)),
    "stft_second": lambda: (tf.function(stft), real(16000)),
    "triangular512": lambda: (tf.linalg.triangular_solve, triangle(512, 512), real(512, 512)),
    "triangular64_batch": lambda: (tf.linalg.triangular_solve, triangle(32, 64, 64), real(32, 64, 64)),
    "solve512": lambda: (tf.linalg.solve, symmetric(512, 512), real(512, 512)),
    "solve64_batch": lambda: (tf.linalg.solve, symmetric(32, 64, 64), real(32, 64, 64)),
    "cholesky512": lambda: (tf.linalg.cholesky, symmetric(512, 512)),
    "lu512": lambda: (tf.linalg.lu, symmetric(512, 512)),
    "det512": lambda: (tf.linalg.det, symmetric(512, 512)),
    "inv512": lambda: (tf.linalg.inv, symmetric(512, 512)),
}

words_rng = np.random.default_rng(7)


def words(count, most=8):
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return ["".join(words_rng.choice(letters, 1 + words_rng.integers(most))) for _ in range(count)]


def network(ws, x):
    for w in ws:
        x = tf.tanh(x @ w)
    return x


def of_network(make):
    def case():
        ws, x = [real(64, 64) / 8 for _ in range(4)], real(64, 64)
        return tf.function(make(lambda x: network(ws, x))), x

    return case


def gradient(f):
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return run


def squares(net):
    return lambda x: tf.reduce_sum(tf.square(net(x)))


def of_row(net):
    return gradient(lambda x: squares(net)(x[None]))


def jvp(f):
    def run(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
            y = f(x)
        return acc.jvp(y)

    return run


def sparse_matmul():
    at = np.array([[i // 10, i * 37 % 100 * 10 + i % 10] for i in range(10_000)])
    a = tf.sparse.reorder(tf.SparseTensor(at, real(10_000), [1000, 1000]))
    return tf.function(lambda b: tf.sparse.sparse_dense_matmul(a, b)), real(1000, 64)


def ctc():
    labels = tf.constant((1 + np.arange(320) * 7 % 31).reshape(16, 20), tf.int32)
    lengths = tf.fill([16], 20), tf.fill([16], 100)
    return tf.function(gradient(lambda x: tf.reduce_sum(tf.nn.ctc_loss(labels, x, *lengths, blank_index=0)))), real(100, 16, 32)


def attention(is_gradient):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax
    import jax.numpy as jnp

    mask = (np.arange(256) < np.array([200, 256]).reshape(2, 1, 1, 1)) * np.ones((2, 1, 256, 256), bool)

    def attend(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, mask=jnp.array(mask), is_causal=True, local_window_size=(64, 0))

    q, k, v = [jnp.array(real(2, 256, n, 64).numpy()) for n in (8, 4, 4)]
    f = jax.jit(jax.grad(lambda *x: jnp.sum(attend(*x) ** 2), (0, 1, 2)) if is_gradient else attend)
    return lambda *x: jax.block_until_ready(f(*x)), q, k, v


def auc():
    import keras

    metric = keras.metrics.AUC()
    step = tf.function(lambda y, p: metric.update_state(y, p))
    return step, tf.cast(real(10_000) > 0, tf.float32), tf.sigmoid(real(10_000))


def optimizer(name, rate):
    def case():
        import keras

        own = getattr(keras.optimizers, name)(rate)
        vs, gs = [keras.Variable(real(128, 128)) for _ in range(8)], [real(128, 128) for _ in range(8)]
        own.build(vs)
        return (tf.function(lambda: own.apply(gs, vs)),)

    return case


def lookup():
    keys = list(dict.fromkeys(words(10_000)))[:1000]
    values = tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(keys), dtype=tf.int64))
    return tf.lookup.StaticVocabularyTable(values, 1).lookup, tf.constant(words(10_000))


ARCHIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/tfjs_core/keras/fixtures/cnn.keras")


def archive(use):
    def case():
        import keras

        model = keras.models.load_model(ARCHIVE)
        x, y = [real(32, *shape[1:]) for shape in (model.input_shape, model.output_shape)]
        if use == "predict":
            return tf.function(lambda x: model(x, training=False)), x
        if use == "load":
            return keras.models.load_model, ARCHIVE
        model.compile(keras.optimizers.SGD(1e-4), "mse")
        return model.train_on_batch, x, y

    return case


def even(x):
    return x + tf.linalg.matrix_transpose(x)


ROWS |= {f"keras_{use}": archive(use) for use in ("load", "predict", "train")}
ROWS |= {
    "vmap_gradients": of_network(lambda net: lambda x: tf.vectorized_map(of_row(net), x)),
    "loop_gradients": of_network(lambda net: lambda x: tf.map_fn(of_row(net), x)),
    "jvp": of_network(jvp),
    "hessian_vector": of_network(lambda net: jvp(gradient(squares(net)))),
    "recompute": of_network(lambda net: gradient(lambda x: tf.reduce_sum(tf.square(tf.recompute_grad(net)(x))))),
    "svd64": lambda: (tf.linalg.svd, real(64, 64)),
    "svd8_batch": lambda: (tf.linalg.svd, real(256, 8, 8)),
    "eigh64": lambda: (lambda x: tf.linalg.eigh(even(x)), real(64, 64)),
    "eig32": lambda: (tf.linalg.eig, real(32, 32)),
    "qr128": lambda: (tf.linalg.qr, real(128, 128)),
    "pinv64": lambda: (tf.linalg.pinv, real(96, 64)),
    "expm64": lambda: (lambda x: tf.linalg.expm(x * 0.1), real(64, 64)),
    "lower": lambda: (tf.strings.lower, tf.constant(words(10_000))),
    "split": lambda: (tf.strings.split, tf.constant([" ".join(words(12)) for _ in range(1000)])),
    "regex_replace": lambda: (lambda x: tf.strings.regex_replace(x, "[aeiou]+", "_"), tf.constant(words(10_000))),
    "hash_bucket": lambda: (lambda x: tf.strings.to_hash_bucket_fast(x, 1000), tf.constant(words(10_000))),
    "lookup": lookup,
    "sparse_matmul": sparse_matmul,
    "ctc_gradient": ctc,
    "attention_masked": lambda: attention(False),
    "attention_gradient": lambda: attention(True),
    "extract_patches": lambda: (tf.function(lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")), real(8, 64, 64, 16)),
    "adjust_hue": lambda: (tf.function(lambda x: tf.image.adjust_hue(x, 0.2)), tf.sigmoid(real(8, 128, 128, 3))),
    "fft3d": lambda: (tf.signal.fft3d, spectrum(32, 32, 32)),
    "auc": auc,
    "step_adamw": optimizer("AdamW", 1e-3),
    "step_lion": optimizer("Lion", 1e-4),
    "step_lamb": optimizer("Lamb", 1e-3),
    "step_adafactor": optimizer("Adafactor", 1e-3),
    "step_muon": optimizer("Muon", 1e-3),
}
cases = {}


def milliseconds(name):
    """Least time of a call over rounds of about 20 ms."""
    if name not in cases:
        cases[name] = ROWS[name]()
    f, *args = cases[name]

    def run(calls):
        started = time.process_time()
        for _ in range(calls):
            f(*args)
        return (time.process_time() - started) * 1e3 / calls

    each = run(3)
    return min(run(max(1, round(20 / max(each, 1e-3)))) for _ in range(3))


for line in sys.stdin:
    print(milliseconds(line.strip()), flush=True)
