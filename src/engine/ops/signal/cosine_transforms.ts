/** Discrete cosine transforms, the modified one of overlapping frames, and cepstra, which are made of them. */
import { optionCheck } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { concat } from "../array/join.ts";
import { reverse } from "../array/move.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { asTensor, shapeOfInput, toFloatInput } from "../input.ts";
import { add, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { complex, imag, real } from "../pointwise/complex.ts";
import { frame, overlapAndAdd } from "./signal.ts";
import { irfft, rfft } from "./spectral.ts";
import { vorbisWindow, type WindowFn, windowOf } from "./windows.ts";

/** Options of {@linkcode dct} and {@linkcode idct}. */
export interface DctOptions {
  /** Which of the transforms: 1, 2, 3 or 4. Default 2. */
  readonly type?: 1 | 2 | 3 | 4;
  /** Length to which the last axis is cropped or padded with zeros. Default its own. */
  readonly n?: number | null;
  /** `"ortho"` makes the transform orthonormal. Default null: no factor. */
  readonly norm?: "ortho" | null;
}

type Lengthless = Omit<DctOptions, "n">;

const checkDct = optionCheck<DctOptions>("dct", { type: true, n: true, norm: true });
const checkIdct = optionCheck<Lengthless>("idct", { type: true, norm: true });

function wantNorm(norm: unknown, fn: string): void {
  if (norm === null || norm === undefined || norm === "ortho") return;
  throw new ValueError(
    `Cannot transform in ${fn}: norm must be "ortho" or null, received ${describe(norm)}`,
  );
}

/** Converts a signal. Throws `ValueError` where its rank or last dimension is unknown or has no elements. */
function signalInput(input: TensorLike, arg: string, fn: string): Tensor {
  const x = asTensor(toFloatInput(input, arg, fn)), shape = shapeOfInput(x);
  if (shape?.at(-1)) return x;
  throw new ValueError(
    `Cannot transform in ${fn}: the last dimension of ${arg} must be known and 1 or more, received shape ${
      shapeText(shape)
    }`,
  );
}

/** Numbers of the axes. */
function axesOf(x: Tensor): number[] {
  return Array.from({ length: x.rank }, (_, i) => i);
}

/** The last dimension, which is known. */
function extentOf(x: Tensor): number {
  return shapeOfInput(x)!.at(-1)!;
}

/** Part of the last axis. */
function last(x: Tensor, from: number, size: number): Tensor {
  const at = axesOf(x).map((i) => i === x.rank - 1);
  return slice(x, at.map((is) => is ? from : 0), at.map((is) => is ? size : -1));
}

/** Constant of `n` numbers. */
function weights(n: number, dtype: DType, at: (k: number) => number): NdArray {
  const data = Array.from({ length: n }, (_, k) => at(k));
  return dtype === "float64"
    ? new NdArray("float64", [n], Float64Array.from(data))
    : new NdArray("float32", [n], Float32Array.from(data));
}

/** The transforms by their types, without arguments' checks. */
function transform(x: Tensor, type: number, norm: "ortho" | null): Tensor {
  const n = extentOf(x), { dtype } = x;
  if (type === 1) {
    return real(rfft(concat([x, reverse(last(x, 1, n - 2), -1)], -1)));
  }
  if (type === 4) {
    // Odd places of the second transform of as many zeros more.
    const ends = axesOf(x).map((i): [number, number] => [0, i === x.rank - 1 ? n : 0]);
    const double = transform(pad(x, ends), 2, null), from = axesOf(x).fill(0);
    from[x.rank - 1] = 1;
    const to = axesOf(x).map((i) => i === x.rank - 1 ? 2 * n : 0);
    const step = axesOf(x).map((i) => i === x.rank - 1 ? 2 : 1);
    const odd = stridedSlice(double, from, to, step, 0, 2 ** (x.rank - 1) - 1);
    return norm === null ? odd : mul(odd, weights(1, dtype, () => Math.sqrt(0.5 / n)));
  }
  const angle = (k: number): number => Math.PI * k / (2 * n);
  if (type === 2) {
    const whole = last(rfft(x, 2 * n), 0, n);
    const factor = (k: number): number =>
      norm === null ? 2 : k === 0 ? Math.sqrt(1 / n) : Math.sqrt(2 / n);
    return add(
      mul(real(whole), weights(n, dtype, (k) => factor(k) * Math.cos(angle(k)))),
      mul(imag(whole), weights(n, dtype, (k) => factor(k) * Math.sin(angle(k)))),
    );
  }
  const factor = (k: number): number =>
    norm === null ? 2 * n : k === 0 ? 2 * Math.sqrt(n) : Math.sqrt(2 * n);
  const turned = complex(
    mul(x, weights(n, dtype, (k) => factor(k) * Math.cos(angle(k)))),
    mul(x, weights(n, dtype, (k) => factor(k) * Math.sin(angle(k)))),
  );
  return last(irfft(turned, 2 * n), 0, n);
}

function checked(fn: string, input: TensorLike, { type = 2, n, norm }: DctOptions): Tensor {
  wantNorm(norm, fn);
  if (![1, 2, 3, 4].includes(type)) {
    throw new ValueError(
      `Cannot transform in ${fn}: type must be 1, 2, 3 or 4, received ${describe(type)}`,
    );
  }
  if (n !== undefined && n !== null && !(Number.isInteger(n) && n >= 1)) {
    throw new ValueError(
      `Cannot transform in ${fn}: n must be a whole number of 1 or more, received ${describe(n)}`,
    );
  }
  const given = signalInput(input, "input", fn), size = extentOf(given), length = n ?? size;
  const x = length > size
    ? pad(given, axesOf(given).map((i) => [0, i === given.rank - 1 ? length - size : 0]))
    : last(given, 0, length);
  if (type === 1 && norm === "ortho") {
    throw new ValueError(`Cannot transform in ${fn}: type 1 has no norm, received "ortho"`);
  }
  if (type === 1 && length < 2) {
    throw new ValueError(`Cannot transform in ${fn}: type 1 wants 2 elements, received ${length}`);
  }
  return transform(x, type, norm ?? null);
}

/**
 * Discrete cosine transform along the last axis, of types 1 to 4. float32 or float64. TensorFlow `tf.signal.dct`. Throws `ValueError` for
 * other types and norms, type 1 with a norm or of fewer than 2 elements, and a last dimension that is unknown or 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [sum] = tf.signal.dct([1, 2, 3, 4]).dataSync() as Float32Array;
 * console.log(sum.toFixed(4)); // 20.0000
 * ```
 */
export function dct(input: TensorLike, options: DctOptions = {}): Tensor {
  checkDct(options);
  return compose(() => checked("dct", input, options));
}

/**
 * Inverse of {@linkcode dct} of the same type: with the norm `"ortho"` the signal itself, without it the signal times twice its length
 * (`2 (n - 1)` for type 1). TensorFlow `tf.signal.idct`. Throws as {@linkcode dct} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3]), y = tf.signal.idct(tf.signal.dct(x, { norm: "ortho" }), { norm: "ortho" });
 * console.log(tf.max(tf.abs(tf.sub(x, y))).item() < 1e-5); // true
 * ```
 */
export function idct(input: TensorLike, options: Omit<DctOptions, "n"> = {}): Tensor {
  checkIdct(options);
  const { type = 2, norm = null } = options;
  const back = ({ 1: 1, 2: 3, 3: 2, 4: 4 } as const)[type] ?? type;
  return compose(() => checked("idct", input, { type: back, norm }));
}

/** Options of {@linkcode mdct} and {@linkcode inverseMdct}. */
export interface MdctOptions {
  /** Makes the window of a frame; null for a constant of `1 / √2`. Default {@linkcode vorbisWindow}. */
  readonly windowFn?: WindowFn | null;
  /** True where the last frames are padded with zeros. Default false. */
  readonly padEnd?: boolean;
  /** `"ortho"` makes the transform orthonormal. Default null. */
  readonly norm?: "ortho" | null;
}

const checkMdct = optionCheck<MdctOptions>("mdct", { windowFn: true, padEnd: true, norm: true });
const checkInverse = optionCheck<Omit<MdctOptions, "padEnd">>("inverseMdct", {
  windowFn: true,
  norm: true,
});

function weighed(frames: Tensor, windowFn: WindowFn | null, length: number): Tensor {
  return mul(
    frames,
    windowFn === null
      ? weights(1, frames.dtype, () => Math.SQRT1_2)
      : windowOf(windowFn, length, frames.dtype),
  );
}

/**
 * Modified discrete cosine transform: frames that overlap by half, each of `frameLength / 2` numbers: `[..., frames, frameLength / 2]`.
 * TensorFlow `tf.signal.mdct`. Throws `ValueError` for lengths that are no multiples of 4, and as {@linkcode frame} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.mdct(tf.ones([16]), 8).shape); // [3, 4]
 * ```
 */
export function mdct(
  signals: TensorLike,
  frameLength: number,
  options: MdctOptions = {},
): Tensor {
  checkMdct(options);
  const { windowFn = vorbisWindow, padEnd = false, norm = null } = options;
  wantNorm(norm, "mdct");
  if (!(Number.isInteger(frameLength) && frameLength > 0 && frameLength % 4 === 0)) {
    throw new ValueError(
      `Cannot transform in mdct: frameLength must be a multiple of 4, received ${
        describe(frameLength)
      }`,
    );
  }
  return compose(() => {
    const x = asTensor(toFloatInput(signals, "signals", "mdct"));
    const frames = weighed(frame(x, frameLength, frameLength / 2, padEnd), windowFn, frameLength);
    const quarter = (k: number): Tensor => last(frames, k * frameLength / 4, frameLength / 4);
    const folded = concat([
      neg(add(reverse(quarter(2), -1), quarter(3))),
      sub(quarter(0), reverse(quarter(1), -1)),
    ], -1);
    return transform(folded, 4, norm);
  });
}

/**
 * Signal of a modified discrete cosine transform `[..., frames, frameLength / 2]`: what {@linkcode mdct} of the same options was given, but for
 * half a frame at both ends. TensorFlow `tf.signal.inverse_mdct`. Throws `ValueError` where the last two dimensions are unknown or the last one
 * is odd.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.randomNormal([32]), y = tf.signal.inverseMdct(tf.signal.mdct(x, 8));
 * console.log(tf.max(tf.abs(tf.sub(tf.slice(x, 4, 24), tf.slice(y, 4, 24)))).item() < 1e-5); // true
 * ```
 */
export function inverseMdct(
  mdcts: TensorLike,
  options: Omit<MdctOptions, "padEnd"> = {},
): Tensor {
  checkInverse(options);
  const { windowFn = vorbisWindow, norm = null } = options;
  wantNorm(norm, "inverseMdct");
  return compose(() => {
    const x = signalInput(mdcts, "mdcts", "inverseMdct"), half = extentOf(x);
    if (half % 2 !== 0) {
      throw new ValueError(
        `Cannot transform in inverseMdct: the last dimension of mdcts must be even, received ${half}`,
      );
    }
    const plain = transform(x, 4, norm);
    const back = norm === null ? mul(plain, weights(1, x.dtype, () => 0.5 / half)) : plain;
    const [left, right] = [last(back, 0, half / 2), last(back, half / 2, half / 2)];
    const frames = concat([
      right,
      neg(concat([reverse(right, -1), reverse(left, -1), left], -1)),
    ], -1);
    return overlapAndAdd(weighed(frames, windowFn, 2 * half), half);
  });
}

/**
 * Mel-frequency cepstral coefficients of logarithms of mel spectrograms `[..., numMelBins]`: all of them, as HTK scales them.
 * TensorFlow `tf.signal.mfccs_from_log_mel_spectrograms`. Throws `ValueError` where the last dimension is unknown or 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const spectrogram = tf.abs(tf.signal.stft(tf.randomNormal([1024]), 256, 128));
 * const mel = tf.matMul(spectrogram, tf.signal.linearToMelWeightMatrix(20, 129));
 * const mfccs = tf.signal.mfccsFromLogMelSpectrograms(tf.log(tf.add(mel, 1e-6)));
 * console.log(mfccs.shape); // [7, 20]
 * ```
 */
export function mfccsFromLogMelSpectrograms(logMelSpectrograms: TensorLike): Tensor {
  return compose(() => {
    const fn = "mfccsFromLogMelSpectrograms";
    const x = signalInput(logMelSpectrograms, "logMelSpectrograms", fn), n = extentOf(x);
    return mul(transform(x, 2, null), weights(1, x.dtype, () => 1 / Math.sqrt(2 * n)));
  });
}
