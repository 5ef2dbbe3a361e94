/** Frames of signals and the short-time Fourier transform; with the windows the namespace `tf.signal` of TensorFlow.js. */
import { wantBoolean, wantFunction, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete, shapeText, sizeOf } from "../../core/shape.ts";
import { describe } from "../../core/text.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat, stack } from "../array/join.ts";
import { transpose } from "../array/move.ts";
import { pad } from "../array/pad.ts";
import { range } from "../array/ranges.ts";
import { tile } from "../array/repeat.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape } from "../array/view.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { add, divNoNan, floorDiv, mul, sub } from "../pointwise/arithmetic.ts";
import { square } from "../pointwise/power.ts";
import { maximum } from "../pointwise/select.ts";
import { prod } from "../reduce/prod.ts";
import { sum } from "../reduce/reduce.ts";
import { irfft, rfft } from "./spectral.ts";
import { hannWindow, type WindowFn, windowOf } from "./windows.ts";

export { hammingWindow, hannWindow } from "./windows.ts";

/**
 * Splits the last axis into frames of `frameLength`, one each `frameStep`; with `padEnd` the last ones are padded with
 * `padValue`. Shape `[..., frames, frameLength]`. TensorFlow `tf.signal.frame`. Throws `ValueError` for lengths below 1
 * and an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.frame([1, 2, 3, 4], 2, 2).arraySync()); // [[1, 2], [3, 4]]
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
    wantBoolean(padEnd, "padEnd", "frame");
    wantNumber(padValue, "padValue", "frame");
    const input = asTensor(toInput(signal, "signal", "frame"));
    const known = shapeOfInput(input), length = known?.at(-1);
    if (known === null || length === undefined) {
      throw new ValueError("Cannot frame a signal: its rank must be known, and 1 or more");
    }
    // Where no frame fits, the step does not matter.
    const none = length !== null && !padEnd && frameLength > length;
    if (!(frameLength >= 1 && (frameStep >= 1 || none))) {
      throw new ValueError(
        `Cannot frame a signal: received frameLength ${frameLength} and frameStep ${frameStep}, wanted at least 1`,
      );
    }
    if (length === null) return openFrames(input, [frameLength, frameStep], padEnd, padValue);
    const frames = none
      ? 0
      : padEnd
      ? Math.ceil(length / frameStep)
      : Math.floor((length - frameLength) / frameStep) + 1;
    const missing = frames === 0 ? 0 : (frames - 1) * frameStep + frameLength - length;
    const rank = known.length;
    const padded = missing <= 0 ? input : pad(
      input,
      known.map((_, i): [number, number] => [0, i === rank - 1 ? missing : 0]),
      padValue,
    );
    const at = new Int32Array(frames * frameLength);
    for (let f = 0, i = 0; f < frames; f++) {
      for (let k = 0; k < frameLength; k++) at[i++] = f * frameStep + k;
    }
    return gather(padded, new NdArray("int32", [frames, frameLength], at), rank - 1);
  });
}

/** Frames of a signal whose length is known when it runs. */
function openFrames(
  x: Tensor,
  [length, step]: readonly [number, number],
  padEnd: boolean,
  padValue: number,
): Tensor {
  const { rank } = x, size = gather(shape(x), rank - 1) as Tensor;
  const frames = padEnd
    ? floorDiv(add(size, step - 1), step)
    : maximum(add(floorDiv(sub(size, length), step), 1), 0);
  const missing = maximum(sub(add(mul(sub(frames, 1), step), length), size), 0);
  const ends = reshape(
    concat([new Array<number>(2 * rank - 1).fill(0), reshape(missing, [1])], 0),
    [rank, 2],
  );
  return gather(pad(x, ends, padValue), placesOf(frames, length, step), rank - 1);
}

/** The places of the elements of frames: `[frames, length]`. */
function placesOf(frames: Tensor, length: number, step: number): Tensor {
  const starts = mul(range(0, frames, 1, "int32"), step);
  return add(reshape(starts, [-1, 1]), range(0, length, 1, "int32"));
}

/**
 * Short-time Fourier transform of a real signal: frames, each times a window, transformed with `fftLength` elements, by
 * default the power of two that holds a frame; `windowFn` null takes frames as they are. Shape `[..., frames, fftLength / 2 + 1]`, complex.
 * TensorFlow `tf.signal.stft`. Throws `ValueError` as {@linkcode frame} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.signal.stft([1, 1, 1, 1, 1], 3, 1, 4, (n) => tf.ones([n]));
 * console.log(y.shape); // [3, 3]
 * console.log(tf.real(y).arraySync()); // [[3, 0, 1], [3, 0, 1], [3, 0, 1]]
 * ```
 */
export function stft(
  signal: TensorLike,
  frameLength: number,
  frameStep: number,
  fftLength?: number | null,
  windowFn: WindowFn | null = hannWindow,
): Tensor {
  return compose(() => {
    wantNumber(frameLength, "frameLength", "stft");
    const length = fftLength ?? 2 ** Math.ceil(Math.log2(frameLength));
    return rfft(weighed(frame(signal, frameLength, frameStep), windowFn, frameLength), length);
  });
}

/** Frames times a window, where there is one. */
function weighed(frames: Tensor, windowFn: WindowFn | null, frameLength: number): Tensor {
  return windowFn === null ? frames : mul(frames, windowOf(windowFn, frameLength, frames.dtype));
}

/**
 * Adds up frames `[..., frames, frameLength]` that begin `frameStep` apart. TensorFlow `tf.signal.overlap_and_add`. Throws `ValueError`
 * where the length of the frames is unknown or the step is below 1.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.overlapAndAdd([[1, 2, 3], [10, 20, 30]], 1).arraySync()); // [1, 12, 23, 30]
 * ```
 */
export function overlapAndAdd(signal: TensorLike, frameStep: number): Tensor {
  return compose(() => {
    wantNumber(frameStep, "frameStep", "overlapAndAdd");
    const x = asTensor(toInput(signal, "signal", "overlapAndAdd")), known = shapeOfInput(x);
    const [frames, length] = known?.slice(-2) ?? [];
    if (frames === undefined || length == null || !(frameStep >= 1)) {
      throw new ValueError(
        `Cannot add frames up: wanted frames of known length and a step of 1 or more, received shape ${
          shapeText(known)
        } and a step of ${frameStep}`,
      );
    }
    if (frames === null) return openSums(x, length, frameStep);
    const places = Int32Array.from(
      { length: frames * length },
      (_, i) => Math.floor(i / length) * frameStep + i % length,
    );
    const outer = known!.slice(0, -2);
    // Without frames -1 could be any number of rows.
    const all = isConcrete(outer) ? sizeOf(outer) : frames === 0 ? null : -1;
    if (all === null) return openSums(x, length, frameStep);
    const rows = transpose(reshape(x, [all, frames * length]));
    const at = new NdArray("int32", [places.length], places);
    const count = Math.max(0, (frames - 1) * frameStep + length);
    const sums = transpose(unsortedSegmentSum(rows, at, count));
    const dims = outer.filter((d) => d === null).length > 1
      ? concat([slice(shape(x), [0], [outer.length]), [count]], 0)
      : [...outer.map((d) => d ?? -1), count];
    return reshape(sums, dims);
  });
}

/** The sum of frames whose number is known when they are added up. */
function openSums(x: Tensor, length: number, step: number): Tensor {
  const { rank } = x, dims = shape(x), frames = gather(dims, rank - 2) as Tensor;
  const count = maximum(add(mul(sub(frames, 1), step), length), 0);
  const outer = slice(dims, [0], [rank - 2]), size = stack([prod(outer), mul(frames, length)]);
  const rows = transpose(reshape(x, size));
  const places = reshape(placesOf(frames, length, step), [-1]);
  const sums = transpose(unsortedSegmentSum(rows, places, count));
  return reshape(sums, concat([outer, reshape(count, [1])], 0));
}

/**
 * Makes the window function of {@linkcode inverseStft} that undoes {@linkcode stft} with `forwardWindowFn`: that window, divided by the sum
 * of the squares of all that overlap. TensorFlow `tf.signal.inverse_stft_window_fn`. Throws `ValueError` for a step that is no whole number of
 * 1 or more.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.inverseStftWindowFn(2, (n) => tf.ones([n]))(4).arraySync()); // [0.5, 0.5, 0.5, 0.5]
 * ```
 */
export function inverseStftWindowFn(
  frameStep: number,
  forwardWindowFn: WindowFn = hannWindow,
): WindowFn {
  wantFunction(forwardWindowFn, "forwardWindowFn", "inverseStftWindowFn");
  if (!(Number.isInteger(frameStep) && frameStep >= 1)) {
    throw new ValueError(
      `Cannot make a window in inverseStftWindowFn: frameStep must be a whole number of 1 or more, received ${
        describe(frameStep)
      }`,
    );
  }
  return (frameLength) =>
    compose(() => {
      const window = forwardWindowFn(frameLength), turns = Math.ceil(frameLength / frameStep);
      const padded = pad(square(window), [[0, turns * frameStep - frameLength]]);
      const sums = tile(sum(reshape(padded, [turns, frameStep]), 0), [turns]);
      return divNoNan(window, slice(sums, [0], [frameLength]));
    });
}

/**
 * Signal of a short-time Fourier transform: frames are transformed back, multiplied by the window and added up. It equals what
 * {@linkcode stft} was given, but for its ends, with the window of {@linkcode inverseStftWindowFn}; null takes frames as they are. TensorFlow
 * `tf.signal.inverse_stft`. Throws `ValueError` as {@linkcode overlapAndAdd} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.randomNormal([32]), window = tf.signal.inverseStftWindowFn(4);
 * const y = tf.signal.inverseStft(tf.signal.stft(x, 8, 4), 8, 4, null, window);
 * console.log(tf.max(tf.abs(tf.sub(tf.slice(x, 4, 24), tf.slice(y, 4, 24)))).item() < 1e-5); // true
 * ```
 */
export function inverseStft(
  stfts: TensorLike,
  frameLength: number,
  frameStep: number,
  fftLength?: number | null,
  windowFn: WindowFn | null = hannWindow,
): Tensor {
  return compose(() => {
    wantNumber(frameLength, "frameLength", "inverseStft");
    wantNumber(frameStep, "frameStep", "inverseStft");
    const length = fftLength ?? 2 ** Math.ceil(Math.log2(frameLength));
    const whole = irfft(stfts, length), { rank } = whole;
    const ends = (n: number): [number, number][] =>
      Array.from({ length: rank }, (_, i) => [0, i === rank - 1 ? n : 0]);
    const frames = frameLength > length
      ? pad(whole, ends(frameLength - length))
      : slice(whole, ends(0).map(() => 0), ends(0).map((_, i) => i < rank - 1 ? -1 : frameLength));
    return overlapAndAdd(weighed(frames, windowFn, frameLength), frameStep);
  });
}
