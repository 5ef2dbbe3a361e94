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
    "inverseStft, Hann": S.inverse_stft(both(2, 6, 5), 7, 3),
    "inverseStft, long frames": S.inverse_stft(both(2, 6, 5), 12, 5, 8, window_fn=S.inverse_stft_window_fn(5, S.hamming_window)),
    "inverseStft, no window": S.inverse_stft(both(2, 6, 5), 8, 4, window_fn=None),
    "stft, no window": S.stft(real(2, 20), 6, 3, 8, window_fn=None),
    "stft, Kaiser": S.stft(real(2, 20), 6, 3, 8, window_fn=lambda n, dtype: S.kaiser_window(n, 5.0, dtype)),
    **{f"dct, type {t}": S.dct(real(2, 3, 6), type=t) for t in (1, 2, 3, 4)},
    **{f"dct, type {t}, ortho": S.dct(real(2, 3, 5), type=t, norm="ortho") for t in (2, 3, 4)},
    **{f"dct, type {t}, shorter": S.dct(real(2, 6), type=t, n=4) for t in (1, 2, 3, 4)},
    **{f"dct, type {t}, longer": S.dct(real(2, 6), type=t, n=9) for t in (1, 2, 3, 4)},
    **{f"idct, type {t}": S.idct(real(2, 3, 6), type=t) for t in (1, 2, 3, 4)},
    **{f"idct, type {t}, ortho": S.idct(real(7), type=t, norm="ortho") for t in (2, 3, 4)},
    "mdct": S.mdct(real(2, 26), 8),
    "mdct, end": S.mdct(real(2, 26), 8, pad_end=True, norm="ortho"),
    "mdct, no window": S.mdct(real(26), 12, window_fn=None),
    "mdct, Kaiser": S.mdct(real(26), 12, window_fn=S.kaiser_bessel_derived_window),
    "inverseMdct": S.inverse_mdct(real(2, 5, 4)),
    "inverseMdct, ortho": S.inverse_mdct(real(2, 5, 4), norm="ortho", window_fn=None),
    "mfccsFromLogMelSpectrograms": S.mfccs_from_log_mel_spectrograms(real(2, 3, 20)),
    "mel": tf.matmul(real(2, 33), S.linear_to_mel_weight_matrix(5, 33, 16000, 80.0, 7600.0)),
    "mel of a voice": tf.matmul(real(2, 129), S.linear_to_mel_weight_matrix()),
    "fftshift": S.fftshift(real(3, 4, 5)),
    "fftshift, an axis": S.fftshift(real(3, 4, 5), -1),
    "ifftshift": S.ifftshift(real(3, 4, 5)),
    "ifftshift, axes": S.ifftshift(real(3, 4, 5), [0, 2]),
    "windows": tf.concat([real(2), *[f(n) for n in (1, 2, 5, 8) for f in (
        S.vorbis_window, S.kaiser_window, lambda n: S.kaiser_window(n, 0.0), lambda n: S.kaiser_window(n, 200.0),
        S.hann_window, lambda n: S.hann_window(n, False), S.hamming_window, lambda n: S.hamming_window(n, False))],
        *[S.kaiser_bessel_derived_window(n, b) for n in (2, 8, 10) for b in (4.0, 12.0)]], 0),
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
