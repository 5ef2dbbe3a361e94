/** Windows: weights of the samples of a frame. All are of float32, computed on the host in double precision. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { describe } from "../../core/text.ts";
import type { DType } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { tensor } from "../array/creation.ts";

/** Makes a window of a length. */
export type WindowFn = (length: number) => Tensor;

/** Returns a window in the dtype of the frames that it weighs. */
export function windowOf(windowFn: WindowFn, length: number, dtype: DType): Tensor {
  return cast(windowFn(length), dtype);
}

/** Options of {@linkcode hannWindow} and {@linkcode hammingWindow}. */
export interface CosineWindowOptions {
  /** True where the window is one period of its cosine, as spectra want it; false for a symmetric one. Default true. */
  readonly periodic?: boolean;
}

const checks = {
  hannWindow: optionCheck<CosineWindowOptions>("hannWindow", { periodic: true }),
  hammingWindow: optionCheck<CosineWindowOptions>("hammingWindow", { periodic: true }),
};

function raisedCosine(
  fn: keyof typeof checks,
  windowLength: number,
  options: CosineWindowOptions,
  weights: readonly [number, number],
): Tensor {
  checks[fn](options);
  wantNumber(windowLength, "windowLength", fn);
  const isOdd = windowLength % 2 === 1, period = windowLength - 1;
  // Even windows end one place before their cosine does, odd ones with it, as TensorFlow's do.
  const whole = isOdd || options.periodic === false ? period : period + 1;
  return windowBy(fn, windowLength, (i) => {
    return whole === 0 ? 1 : weights[0] - weights[1] * Math.cos(2 * Math.PI * i / whole);
  });
}

/**
 * Hann window: one minus a cosine, halved; float32 `[windowLength]`. TensorFlow `tf.signal.hann_window`. Throws `TypeError` for a length
 * that is no number and for unknown options, `ValueError` for a length below 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.hannWindow(4).arraySync()); // [0, 0.5, 1, 0.5]
 * console.log(tf.signal.hannWindow(3, { periodic: false }).arraySync()); // [0, 1, 0]
 * ```
 */
export function hannWindow(windowLength: number, options: CosineWindowOptions = {}): Tensor {
  return raisedCosine("hannWindow", windowLength, options, [0.5, 0.5]);
}

/**
 * Hamming window; float32 `[windowLength]`. TensorFlow `tf.signal.hamming_window`. Throws as {@linkcode hannWindow} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.hammingWindow(10).shape); // [10]
 * ```
 */
export function hammingWindow(windowLength: number, options: CosineWindowOptions = {}): Tensor {
  return raisedCosine("hammingWindow", windowLength, options, [0.54, 0.46]);
}

/** Makes a window of a number for each place. Throws `ValueError` for a length that is no whole number of 0 or more. */
function windowBy(fn: string, length: number, at: (i: number, n: number) => number): Tensor {
  if (!Number.isInteger(length) || length < 0) {
    throw new ValueError(
      `Cannot make a window in ${fn}: windowLength must be a whole number of 0 or more, received ${
        describe(length)
      }`,
    );
  }
  return tensor(Float32Array.from({ length }, (_, i) => at(i, length)));
}

/** Modified Bessel function of the first kind and order zero, times `e^-x`, for x of 0 or more. */
function besselI0e(x: number): number {
  if (x > 500) return (1 + 1 / (8 * x) + 9 / (128 * x * x)) / Math.sqrt(2 * Math.PI * x);
  let term = Math.exp(-x), sum = term;
  for (let k = 1; term > sum * 1e-17; k++) sum += term *= (x / (2 * k)) ** 2;
  return sum;
}

function kaiserAt(i: number, n: number, beta: number): number {
  if (n === 1) return 1;
  const half = (n - 1) / 2, bent = beta * Math.sqrt(Math.max(0, 1 - ((i - half) / half) ** 2));
  return Math.exp(bent - beta) * besselI0e(bent) / besselI0e(beta);
}

function wantBeta(beta: number, fn: string): void {
  if (typeof beta === "number" && beta >= 0 && beta < Infinity) return;
  throw new ValueError(
    `Cannot make a window in ${fn}: beta must be 0 or more, received ${describe(beta)}`,
  );
}

/**
 * Kaiser window: the greater `beta`, the narrower; float32 `[windowLength]`. TensorFlow `tf.signal.kaiser_window`. Throws `ValueError` for
 * lengths below 0 and a `beta` below 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.kaiserWindow(3, 0).arraySync()); // [1, 1, 1]
 * ```
 */
export function kaiserWindow(windowLength: number, beta = 12): Tensor {
  wantBeta(beta, "kaiserWindow");
  return windowBy("kaiserWindow", windowLength, (i, n) => kaiserAt(i, n, beta));
}

/**
 * Window of sums of a Kaiser window, whose halves make up for each other in {@linkcode mdct}; float32 `[windowLength]`, of an even length.
 * TensorFlow `tf.signal.kaiser_bessel_derived_window`. Throws `ValueError` for other lengths and a `beta` below 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [a, b] = tf.signal.kaiserBesselDerivedWindow(4).dataSync() as Float32Array;
 * console.log((a ** 2 + b ** 2).toFixed(4)); // 1.0000
 * ```
 */
export function kaiserBesselDerivedWindow(windowLength: number, beta = 12): Tensor {
  wantNumber(windowLength, "windowLength", "kaiserBesselDerivedWindow");
  wantBeta(beta, "kaiserBesselDerivedWindow");
  if (windowLength % 2 !== 0) {
    throw new ValueError(
      `Cannot make a window in kaiserBesselDerivedWindow: windowLength must be even, received ${
        describe(windowLength)
      }`,
    );
  }
  const half = windowLength / 2, sums: number[] = [];
  for (let i = 0; i <= half; i++) sums.push((sums[i - 1] ?? 0) + kaiserAt(i, half + 1, beta));
  return windowBy("kaiserBesselDerivedWindow", windowLength, (i, n) => {
    return Math.sqrt(sums[Math.min(i, n - 1 - i)] / sums[half]);
  });
}

/**
 * Window of Vorbis, whose halves make up for each other in {@linkcode mdct}; float32 `[windowLength]`. TensorFlow `tf.signal.vorbis_window`.
 * Throws `ValueError` for lengths below 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.vorbisWindow(1).arraySync()); // [1]
 * ```
 */
export function vorbisWindow(windowLength: number): Tensor {
  return windowBy("vorbisWindow", windowLength, (i, n) => {
    return Math.sin(Math.PI / 2 * Math.sin(Math.PI / n * (i + 0.5)) ** 2);
  });
}
