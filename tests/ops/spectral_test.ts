import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { random } from "./values.ts";

/** The transform by its definition; pairs in, pairs out. */
function transform(x: ArrayLike<number>, inverse: boolean): number[] {
  const n = x.length / 2, out = new Array<number>(2 * n).fill(0);
  for (let k = 0; k < n; k++) {
    for (let j = 0; j < n; j++) {
      const angle = (inverse ? 2 : -2) * Math.PI * ((j * k) % n) / n;
      const c = Math.cos(angle), s = Math.sin(angle), scale = inverse ? 1 / n : 1;
      out[2 * k] += scale * (x[2 * j] * c - x[2 * j + 1] * s);
      out[2 * k + 1] += scale * (x[2 * j] * s + x[2 * j + 1] * c);
    }
  }
  return out;
}

function assertNear(actual: ArrayLike<number>, wanted: readonly number[], tolerance: number): void {
  assertEquals(actual.length, wanted.length);
  wanted.forEach((w, i) => assertAlmostEquals(actual[i], w, tolerance, `number ${i}`));
}

testOnDevices("fft() and ifft() are right for any length", () => {
  for (const n of [1, 2, 3, 5, 8, 12, 16, 31, 60]) {
    const next = random(n);
    const pairs = Float64Array.from({ length: 4 * n }, () => next() - 0.5);
    const x = tf.tensor(new tf.NdArray("complex128", [2, n], pairs));
    const rows = [pairs.subarray(0, 2 * n), pairs.subarray(2 * n)];
    const forth = tf.fft(x).ndarraySync(), back = tf.ifft(x).ndarraySync();
    assertEquals(forth.dtype, "complex128");
    assertNear(forth.data as Float64Array, rows.flatMap((r) => transform(r, false)), 1e-11);
    assertNear(back.data as Float64Array, rows.flatMap((r) => transform(r, true)), 1e-11);
    const single = tf.ifft(tf.fft(tf.cast(x, "complex64"))).ndarraySync();
    assertNear(single.data as Float32Array, [...pairs], 1e-5);
  }
  assertThrows(
    () => tf.fft([1, 2]),
    TypeError,
    "Argument 'input' passed to 'fft' must be complex64 tensor, but got",
  );
});

testOnDevices("rfft() cuts and pads; irfft() brings its input back", () => {
  const x = [1, 2, 4, -3, 0.5];
  for (const length of [1, 2, 4, 5, 8]) {
    const fitted = Array.from({ length }, (_, i) => x[i] ?? 0);
    const whole = transform(fitted.flatMap((v) => [v, 0]), false);
    const half = tf.rfft(tf.tensor([x, x]), length);
    assertEquals(half.shape, [2, (length >> 1) + 1]);
    const wanted = whole.slice(0, 2 * ((length >> 1) + 1));
    assertNear(half.ndarraySync().data as Float32Array, [...wanted, ...wanted], 1e-5);
    assertNear(tf.irfft(half, length).dataSync() as Float32Array, [...fitted, ...fitted], 1e-5);
  }
  assertEquals(tf.irfft(tf.rfft([1, 2, 3, 4])).shape, [4]);
  assertEquals(tf.spectral.rfft([1, 2]).dtype, "complex64");
});

Deno.test("Fourier transforms have right gradients", () => {
  const parts = [[[1, 2, -1], [0.5, 0, 3]], [[0, 1, 2], [-1, 0.3, 0]]];
  for (const fn of [tf.fft, tf.ifft]) {
    gradCheck((re, im) => {
      const y = fn(tf.complex(re, im));
      return [tf.real(y), tf.square(tf.imag(y))];
    }, parts);
  }
  for (const length of [2, 3, 4, 6]) {
    gradCheck((x) => {
      const y = tf.rfft(x, length);
      return [tf.real(y), tf.square(tf.imag(y))];
    }, [parts[0]]);
    gradCheck((re, im) => tf.square(tf.irfft(tf.complex(re, im), length)), parts);
  }
  for (const fn of [tf.fft2d, tf.ifft2d]) {
    gradCheck((re, im) => {
      const y = fn(tf.complex(re, im));
      return [tf.real(y), tf.square(tf.imag(y))];
    }, parts);
  }
  gradCheck((x) => {
    const y = tf.rfft2d(x, [3, 4]);
    return [tf.square(tf.real(y)), tf.imag(y)];
  }, [parts[0]]);
  gradCheck((re, im) => tf.square(tf.irfft2d(tf.complex(re, im))), parts);
  const deep = [[[[1, 2], [3, -1]], [[0, 1], [2, 2]]], [[[0, 1], [1, 0.5]], [[2, 0], [-1, 1]]]];
  gradCheck((re, im) => tf.square(tf.real(tf.fft3d(tf.complex(re, im)))), deep);
});

testOnDevices(
  "transforms of two axes are right where a function knows no dimension, and in vmap()",
  () => {
    const next = random(3);
    const f = tf.function((x: tf.Tensor) => tf.ifft2d(tf.fft2d(x)), {
      inputSignature: [tf.TensorSpec([null, null, null], "complex64")],
    });
    const df = tf.function(
      (x: tf.Tensor) => tf.grad((v: tf.Tensor) => tf.sum(tf.real(tf.fft2d(tf.complex(v, v)))))(x),
      { inputSignature: [tf.TensorSpec([null, null])] },
    );
    for (const [rows, columns] of [[1, 1], [2, 3], [8, 5], [11, 4], [64, 32]]) {
      const size = 2 * rows * columns, parts = Float32Array.from({ length: 2 * size }, next);
      const x = tf.tensor(new tf.NdArray("complex64", [2, rows, columns], parts));
      assertNear(f(x).ndarraySync().data as Float32Array, [...parts], 1e-5);
      const each = tf.vmap((row: tf.Tensor) => tf.fft2d(row))(x), all = tf.fft2d(x);
      assertNear(each.dataSync() as Float32Array, [...all.dataSync() as Float32Array], 1e-4);
      // The sum over all bins is the first element, times their number.
      const wanted = new Array<number>(rows * columns).fill(0);
      wanted[0] = rows * columns;
      const gradient = df(tf.ones([rows, columns])).dataSync() as Float32Array;
      assertNear(gradient, wanted, 1e-5 * size);
    }
    for (const shape of [[0, 3], [3, 0], [2, 0, 4]]) {
      assertEquals(tf.fft2d(tf.zeros(shape, "complex64")).shape, shape);
      assertEquals(tf.ifft2d(tf.zeros(shape, "complex64")).shape, shape);
    }
  },
);
