"""Writes tensorflow_signals.json: what TensorFlow makes of the arrays of signals_test.ts; complex numbers as pairs."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

S = tf.signal


def real(*shape):
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 101 / 50 - 1).reshape(shape).astype("float32")


def both(*shape):
    return (real(*shape) + 1j * real(*shape)[::-1]).astype("complex64")


def patches(x, sizes, strides, rates, padding):
    return tf.image.extract_patches(x, [1, *sizes, 1], [1, *strides, 1], [1, *rates, 1], padding)


window = S.inverse_stft_window_fn(3)
out = {
    "fft2d": S.fft2d(both(2, 3, 4)),
    "ifft2d": S.ifft2d(both(2, 3, 4)),
    "fft3d": S.fft3d(both(2, 3, 4)),
    "ifft3d": S.ifft3d(both(2, 3, 4)),
    "rfft2d": S.rfft2d(real(2, 3, 6)),
    "rfft2d, lengths": S.rfft2d(real(2, 3, 6), [4, 5]),
    "irfft2d": S.irfft2d(both(2, 3, 4)),
    "irfft2d, lengths": S.irfft2d(both(2, 3, 4), [2, 5]),
    "overlapAndAdd": S.overlap_and_add(real(2, 4, 5), 2),
    "inverseStft": S.inverse_stft(both(2, 6, 5), 8, 3, window_fn=window),
    "extractPatches": patches(real(2, 6, 5, 2), [2, 3], [2, 1], [1, 1], "VALID"),
    "extractPatches, same": patches(real(2, 6, 5, 2), [3, 2], [2, 2], [1, 1], "SAME"),
    "extractPatches, rates": patches(real(2, 7, 8, 1), [2, 2], [1, 3], [2, 3], "VALID"),
    "extractPatches, rates, same": patches(real(2, 7, 8, 1), [3, 2], [2, 3], [2, 2], "SAME"),
    "extractPatches, volumes": tf.raw_ops.ExtractVolumePatches(
        input=real(1, 4, 4, 3, 2), ksizes=[1, 2, 2, 2, 1], strides=[1, 2, 1, 1, 1], padding="VALID"),
    "extractPatches, volumes, same": tf.raw_ops.ExtractVolumePatches(
        input=real(1, 3, 4, 3, 2), ksizes=[1, 2, 3, 2, 1], strides=[1, 2, 2, 1, 1], padding="SAME"),
}
written = {}
for name, value in out.items():
    array = np.asarray(value)
    flat = array.reshape(-1)
    if np.iscomplexobj(flat):
        flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
    written[name] = {"shape": list(array.shape), "data": flat.astype("float64").round(5).tolist()}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_signals.json")
with open(path, "w") as f:
    json.dump(written, f)
    f.write("\n")
