/** Transforms of several axes, patches and inverse short-time transforms beside TensorFlow: see `make_tensorflow_signals.py`. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import TENSORFLOW from "./tensorflow_signals.json" with { type: "json" };

const real = (...shape: number[]): tf.Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Array.from({ length: size }, (_, i) => i * 37 % 101 / 50 - 1), shape, "float32");
};
const both = (x: tf.Tensor): tf.Tensor => tf.complex(x, tf.reverse(x, 0));

type Make = (x: tf.Tensor) => tf.Tensor;
/** Real numbers, and the function of them. */
const CASES: Record<keyof typeof TENSORFLOW, readonly [number[], Make]> = {
  "fft2d": [[2, 3, 4], (x) => tf.fft2d(both(x))],
  "ifft2d": [[2, 3, 4], (x) => tf.ifft2d(both(x))],
  "fft3d": [[2, 3, 4], (x) => tf.fft3d(both(x))],
  "ifft3d": [[2, 3, 4], (x) => tf.ifft3d(both(x))],
  "rfft2d": [[2, 3, 6], (x) => tf.rfft2d(x)],
  "rfft2d, lengths": [[2, 3, 6], (x) => tf.rfft2d(x, [4, 5])],
  "irfft2d": [[2, 3, 4], (x) => tf.irfft2d(both(x))],
  "irfft2d, lengths": [[2, 3, 4], (x) => tf.irfft2d(both(x), [2, 5])],
  "overlapAndAdd": [[2, 4, 5], (x) => tf.signal.overlapAndAdd(x, 2)],
  "inverseStft": [[2, 6, 5], (x) => tf.signal.inverseStft(both(x), 8, 3)],
  "extractPatches": [[2, 6, 5, 2], (x) => tf.extractPatches(x, [2, 3], [2, 1])],
  "extractPatches, same": [
    [2, 6, 5, 2],
    (x) => tf.extractPatches(x, [3, 2], [2, 2], [1, 1], "same"),
  ],
  "extractPatches, rates": [[2, 7, 8, 1], (x) => tf.extractPatches(x, [2, 2], [1, 3], [2, 3])],
  "extractPatches, rates, same": [
    [2, 7, 8, 1],
    (x) => tf.extractPatches(x, [3, 2], [2, 3], [2, 2], "same"),
  ],
  "extractPatches, volumes": [[1, 4, 4, 3, 2], (x) => tf.extractPatches(x, [2, 2, 2], [2, 1, 1])],
  "extractPatches, volumes, same": [
    [1, 3, 4, 3, 2],
    (x) => tf.extractPatches(x, [2, 3, 2], [2, 2, 1], [1, 1, 1], "same"),
  ],
};

/** Complex numbers as pairs. */
const flat = (x: tf.Tensor): tf.Tensor =>
  x.dtype.startsWith("complex") ? tf.stack([tf.real(x), tf.imag(x)], -1) : x;

for (const [name, [shape, f]] of Object.entries(CASES)) {
  testOnDevices(`${name} is TensorFlow's, eager, compiled and with gradients`, () => {
    const wanted = TENSORFLOW[name as keyof typeof CASES], x = real(...shape);
    for (const y of [f(x), tf.function(f)(x)]) {
      assertEquals(y.shape, wanted.shape);
      [...flat(y).dataSync() as Float32Array].forEach((v, i) =>
        assertAlmostEquals(v, wanted.data[i], 1e-4)
      );
    }
    const loss = (t: tf.Tensor): tf.Tensor => tf.sum(tf.square(flat(f(t))));
    const along = tf.randomNormal(shape, 0, 1, "float32", 4);
    const slope = tf.sum(tf.mul(tf.grad(loss)(x), along)).item();
    const moved = (e: number): number => loss(tf.add(x, tf.mul(along, e))).item();
    const limit = 0.02 * Math.max(1, Math.abs(slope));
    assert(Math.abs(slope - (moved(0.01) - moved(-0.01)) / 0.02) < limit, `${slope}`);
  });
}

testOnDevices("inverse transforms undo transforms", () => {
  const x = real(2, 4, 6), y = tf.irfft2d(tf.rfft2d(x));
  assert(tf.max(tf.abs(tf.sub(x, y))).item() < 1e-5);
  const z = tf.ifft3d(tf.fft3d(both(x)));
  assert(tf.max(tf.abs(tf.sub(x, tf.real(z)))).item() < 1e-5);
});

Deno.test("transforms of several axes and patches refuse what they cannot use", () => {
  const cases: [() => unknown, string][] = [
    [() => tf.fft3d(tf.complex([[1]], [[0]])), "rank 3 or more"],
    [() => tf.fft2d([[1]]), "complex64"],
    [() => tf.rfft2d([[1, 2]], [2] as never), "2 lengths"],
    [() => tf.extractPatches([[1]], [1, 1]), "rank 4 or 5"],
    [() => tf.extractPatches(tf.zeros([1, 2, 2, 1]), [1]), "sizes must be 2"],
    [() => tf.extractPatches(tf.zeros([1, 2, 2, 1]), [1, 1], [1, 0]), "strides must be 2"],
    [() => tf.signal.overlapAndAdd([[1]], 0), "a step of 0"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
});
