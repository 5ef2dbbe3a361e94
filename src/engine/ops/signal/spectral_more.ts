/** Fourier transforms of two and three axes: those of one, axis after axis. */
import { compose } from "../../core/apply.ts";
import { wantList } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { fitted } from "./fitted.ts";
import { fft, ifft, irfft, rfft } from "./spectral.ts";
import { fftAlong } from "./spectral_along.ts";

/** Converts a tensor of at least `axes` axes. Throws `ValueError` for others. */
function inputOf(x: TensorLike, fn: string, axes: number): Tensor {
  const t = asTensor(toInput(x, "input", fn)), shape = shapeOfInput(t);
  if (shape !== null && shape.length >= axes) return t;
  throw new ValueError(
    `Cannot transform in ${fn}: wanted rank ${axes} or more, received shape ${shapeText(shape)}`,
  );
}

function whole(input: TensorLike, fn: string, axes: number): Tensor {
  const inverse = fn.startsWith("i");
  return compose(() => {
    let x = (inverse ? ifft : fft)(inputOf(input, fn, axes));
    for (let k = 2; k <= axes; k++) x = fftAlong(x, -k, inverse);
    return x;
  });
}

/**
 * Fourier transform of the last two axes; complex. Throws `TypeError` for tensors that are not complex, `ValueError` for a lower rank.
 * TensorFlow op `FFT2D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.fft2d(tf.complex([[1, 0], [0, 0]], [[0, 0], [0, 0]]));
 * console.log(tf.real(y).arraySync()); // [[1, 1], [1, 1]]
 * ```
 */
export function fft2d(input: TensorLike): Tensor {
  return whole(input, "fft2d", 2);
}
/**
 * Inverse of {@linkcode fft2d}. TensorFlow op `IFFT2D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.cast(tf.ones([2, 2]), "complex64");
 * console.log(tf.real(tf.ifft2d(tf.fft2d(x))).arraySync()); // [[1, 1], [1, 1]]
 * ```
 */
export function ifft2d(input: TensorLike): Tensor {
  return whole(input, "ifft2d", 2);
}
/**
 * Fourier transform of the last three axes. TensorFlow op `FFT3D`. Throws as {@linkcode fft2d} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.cast(tf.ones([2, 2, 2]), "complex64");
 * console.log(tf.real(tf.fft3d(x)).dataSync()[0]); // 8
 * ```
 */
export function fft3d(input: TensorLike): Tensor {
  return whole(input, "fft3d", 3);
}
/**
 * Inverse of {@linkcode fft3d}. TensorFlow op `IFFT3D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.cast(tf.ones([2, 2, 2]), "complex64");
 * console.log(tf.real(tf.ifft3d(x)).dataSync()[0]); // 1
 * ```
 */
export function ifft3d(input: TensorLike): Tensor {
  return whole(input, "ifft3d", 3);
}

function checkLengths(lengths: readonly number[] | undefined, axes: number, fn: string): void {
  if (lengths === undefined) return;
  wantList(lengths, "fftLength", fn);
  if (lengths.length === axes && lengths.every((n) => Number.isInteger(n) && n > 0)) return;
  throw new ValueError(
    `Cannot transform in ${fn}: fftLength must be ${axes} lengths, received [${lengths}]`,
  );
}

/**
 * Fourier transform of the last two axes of real numbers; the last one has `n / 2 + 1` results. `fftLength` crops or pads both axes.
 * Throws `TypeError` for tensors that are not float32 or float64, `ValueError` for a lower rank. TensorFlow op `RFFT2D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.real(tf.rfft2d([[1, 2], [3, 4]])).arraySync()); // [[10, -2], [-4, 0]]
 * ```
 */
export function rfft2d(input: TensorLike, fftLength?: readonly [number, number]): Tensor {
  checkLengths(fftLength, 2, "rfft2d");
  return compose(() => {
    const x = inputOf(input, "rfft2d", 2), axis = x.rank - 2;
    const rows = fftLength ? fitted(x, axis, fftLength[0]) : x;
    return fftAlong(rfft(rows, fftLength?.[1]), -2, false);
  });
}

/**
 * Inverse of {@linkcode rfft2d}: by default `2 * (n - 1)` numbers along the last axis. TensorFlow op `IRFFT2D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.irfft2d(tf.rfft2d([[1, 2], [3, 4]])).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function irfft2d(input: TensorLike, fftLength?: readonly [number, number]): Tensor {
  checkLengths(fftLength, 2, "irfft2d");
  return compose(() => {
    const x = inputOf(input, "irfft2d", 2), axis = x.rank - 2;
    const rows = fftLength ? fitted(x, axis, fftLength[0]) : x;
    return irfft(fftAlong(rows, -2, true), fftLength?.[1]);
  });
}
