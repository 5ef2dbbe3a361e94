"""Fourier transforms of tf.signal. See recorder.py."""

from recorder import np, rec, tf, write

rng = np.random.default_rng(9)
real = lambda *s: rng.normal(size=s).astype(np.float32)
s = tf.signal
C = lambda *sh: tf.complex(real(*sh), real(*sh))
# A sum over real parts and imaginary ones has real gradients.
parts = lambda z: [tf.math.real(z), tf.math.imag(z)]
rec("rfft3d", lambda x: parts(s.rfft3d(x)), real(2, 3, 4, 5), grads=False)
rec("rfft3d lengths", lambda x: parts(s.rfft3d(x, [4, 3, 6])), real(3, 4, 5), grads=False)
rec("irfft3d", lambda a, b: s.irfft3d(tf.complex(a, b)), real(3, 4, 3), real(3, 4, 3), grads=False)
rec("irfft3d lengths", lambda a, b: s.irfft3d(tf.complex(a, b), [2, 5, 5]), real(3, 4, 3), real(3, 4, 3), grads=False)


# TensorFlow 2.21 has no kernel of FFTND and its siblings for CPUs: these are NumPy's.
def nd(name, f, *inputs, **given):
    def body(*x):
        x = [v.numpy() for v in x]
        y = f(x[0] + 1j * x[1] if len(x) == 2 else x[0], **given)
        return parts(tf.constant(y.astype(np.complex64))) if np.iscomplexobj(y) else tf.constant(y.astype(np.float32))

    rec(name, body, *inputs, grads=False)


f = np.fft
nd("fftnd", f.fftn, real(3, 4), real(3, 4))
for norm in ("backward", "forward", "ortho"):
    nd(f"fftnd {norm}", f.fftn, real(3, 2, 4), real(3, 2, 4), axes=[0, 2], norm=norm)
    nd(f"ifftnd {norm}", f.ifftn, real(3, 2, 4), real(3, 2, 4), axes=[1, 2], norm=norm)
    nd(f"rfftnd {norm}", f.rfftn, real(3, 2), axes=[0, 1], norm=norm)
    nd(f"irfftnd {norm}", f.irfftn, real(3, 3), real(3, 3), axes=[0, 1], norm=norm)
nd("fftnd lengths", f.fftn, real(3, 2, 4), real(3, 2, 4), s=[5, 2], axes=[0, 2])
nd("rfftnd lengths", f.rfftn, real(3, 4), s=[2, 6], axes=[0, 1])
write("signal")
