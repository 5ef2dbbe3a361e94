/** Signals: windows, frames and the short-time Fourier transform; also the namespace `tf.signal`. */
import { wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { transpose } from "../array/move.ts";
import { pad } from "../array/pad.ts";
import { tile } from "../array/repeat.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { slice } from "../array/slice.ts";
import { reshape } from "../array/view.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { divNoNan, mul } from "../pointwise/arithmetic.ts";
import { square } from "../pointwise/power.ts";
import { sum } from "../reduce/reduce.ts";
import { cosineWindow } from "./cosine_window.ts";
import { irfft, rfft } from "./spectral.ts";

/**
 * Hann window: one minus a cosine, halved. TensorFlow `tf.signal.hann_window`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.signal.hannWindow(4).arraySync(), [0, 0.5, 1, 0.5]);
 * ```
 */
export function hannWindow(windowLength: number): Tensor {
  return cosineWindow("hannWindow", windowLength, [0.5, 0.5]);
}

/**
 * Hamming window. TensorFlow `tf.signal.hamming_window`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.signal.hammingWindow(10).shape, [10]);
 * ```
 */
export function hammingWindow(windowLength: number): Tensor {
  return cosineWindow("hammingWindow", windowLength, [0.54, 0.46]);
}

/**
 * Splits the last axis into frames of `frameLength`, one each `frameStep`; with `padEnd` the last ones are padded with
 * `padValue`. Shape `[..., frames, frameLength]`. TensorFlow `tf.signal.frame`. Throws `ValueError` for lengths below 1
 * and a last dimension that is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.signal.frame([1, 2, 3, 4], 2, 2).arraySync(), [[1, 2], [3, 4]]);
 * ```
 */
export function frame(
  signal: TensorLike,
  frameLength: number,
  frameStep: number,
  padEnd = false,
  padValue = 0,
): Tensor {
  return compose(() => {
    wantNumber(frameLength, "frameLength", "frame");
    wantNumber(frameStep, "frameStep", "frame");
    const input = asTensor(toInput(signal, "signal", "frame"));
    const known = shapeOfInput(input), length = known?.at(-1);
    if (typeof length !== "number") {
      throw new ValueError("Cannot frame a signal: its last dimension must be known");
    }
    // Where no frame fits, the step does not matter.
    const none = !padEnd && frameLength > length;
    if (!(frameLength >= 1 && (frameStep >= 1 || none))) {
      throw new ValueError(
        `Cannot frame a signal: received frameLength ${frameLength} and frameStep ${frameStep}, wanted at least 1`,
      );
    }
    const frames = none
      ? 0
      : padEnd
      ? Math.ceil(length / frameStep)
      : Math.floor((length - frameLength) / frameStep) + 1;
    const missing = frames === 0 ? 0 : (frames - 1) * frameStep + frameLength - length;
    const rank = known!.length;
    const padded = missing <= 0 ? input : pad(
      input,
      known!.map((_, i): [number, number] => [0, i === rank - 1 ? missing : 0]),
      padValue,
    );
    const at = new Int32Array(frames * frameLength);
    for (let f = 0, i = 0; f < frames; f++) {
      for (let k = 0; k < frameLength; k++) at[i++] = f * frameStep + k;
    }
    return gather(padded, new NdArray("int32", [frames, frameLength], at), rank - 1);
  });
}

/**
 * Short-time Fourier transform of a real signal: frames, each times a window, transformed with `fftLength` elements, by
 * default the power of two that holds a frame. Shape `[..., frames, fftLength / 2 + 1]`, complex. TensorFlow `tf.signal.stft`.
 * Throws `ValueError` as {@linkcode frame} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const y = tf.signal.stft([1, 1, 1, 1, 1], 3, 1, 4, (n) => tf.ones([n]));
 * assertEquals(y.shape, [3, 3]);
 * assertEquals(tf.real(y).arraySync(), [[3, 0, 1], [3, 0, 1], [3, 0, 1]]);
 * ```
 */
export function stft(
  signal: TensorLike,
  frameLength: number,
  frameStep: number,
  fftLength?: number | null,
  windowFn: (length: number) => Tensor = hannWindow,
): Tensor {
  return compose(() => {
    wantNumber(frameLength, "frameLength", "stft");
    const length = fftLength ?? 2 ** Math.ceil(Math.log2(frameLength));
    return rfft(mul(frame(signal, frameLength, frameStep), windowFn(frameLength)), length);
  });
}

/**
 * Adds up frames `[..., frames, frameLength]` that begin `frameStep` apart. TensorFlow `tf.signal.overlap_and_add`. Throws `ValueError`
 * where the last two dimensions are unknown or the step is below 1.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.signal.overlapAndAdd([[1, 2, 3], [10, 20, 30]], 1).arraySync(), [1, 12, 23, 30]);
 * ```
 */
export function overlapAndAdd(signal: TensorLike, frameStep: number): Tensor {
  return compose(() => {
    wantNumber(frameStep, "frameStep", "overlapAndAdd");
    const x = asTensor(toInput(signal, "signal", "overlapAndAdd")), known = shapeOfInput(x);
    const [frames, length] = known?.slice(-2) ?? [];
    if (frames == null || length == null || !(frameStep >= 1)) {
      throw new ValueError(
        `Cannot add frames up: wanted known last dimensions and a step of 1 or more, received a step of ${frameStep}`,
      );
    }
    const places = Int32Array.from(
      { length: frames * length },
      (_, i) => Math.floor(i / length) * frameStep + i % length,
    );
    const outer = known!.slice(0, -2).map((d) => d ?? -1);
    const rows = transpose(reshape(x, [-1, frames * length]));
    const at = new NdArray("int32", [places.length], places);
    const sums = unsortedSegmentSum(rows, at, Math.max(0, (frames - 1) * frameStep + length));
    return reshape(transpose(sums), [...outer, (frames - 1) * frameStep + length]);
  });
}

/**
 * Inverse of {@linkcode stft}, of the window that makes up for that of the transform: `windowFn` is the one {@linkcode stft} was given, and frames
 * are divided by the sum of its squares. Follows TensorFlow `tf.signal.inverse_stft` with `inverse_stft_window_fn`. Throws `ValueError` as
 * {@linkcode overlapAndAdd} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assert } from "@std/assert";
 * const x = tf.randomNormal([32]), y = tf.signal.inverseStft(tf.signal.stft(x, 8, 4), 8, 4);
 * assert(tf.max(tf.abs(tf.sub(tf.slice(x, 4, 24), tf.slice(y, 4, 24)))).item() < 1e-5);
 * ```
 */
export function inverseStft(
  stfts: TensorLike,
  frameLength: number,
  frameStep: number,
  fftLength?: number | null,
  windowFn: (length: number) => Tensor = hannWindow,
): Tensor {
  return compose(() => {
    wantNumber(frameLength, "frameLength", "inverseStft");
    wantNumber(frameStep, "frameStep", "inverseStft");
    const length = fftLength ?? 2 ** Math.ceil(Math.log2(frameLength));
    const whole = irfft(stfts, length), { rank } = whole;
    const zeros = new Array<number>(rank).fill(0);
    const frames = slice(whole, zeros, zeros.map((_, i) => i === rank - 1 ? frameLength : -1));
    const window = cast(windowFn(frameLength), frames.dtype);
    // Each sample is in as many windows as overlap there.
    const turns = Math.ceil(frameLength / frameStep);
    const padded = pad(square(window), [[0, turns * frameStep - frameLength]]);
    const sums = tile(sum(reshape(padded, [turns, frameStep]), 0), [turns]);
    const back = divNoNan(window, slice(sums, [0], [frameLength]));
    return overlapAndAdd(mul(frames, back), frameStep);
  });
}
