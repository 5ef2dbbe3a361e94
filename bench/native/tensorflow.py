# Times TensorFlow's Fourier transforms and solvers on the CPU, for main.ts to print beside Weft's.
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
