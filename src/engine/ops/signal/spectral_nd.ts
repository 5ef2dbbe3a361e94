/** Fourier transforms over any axes, in the namespace `tf.signal`: those of one, axis after axis. */
import { optionCheck, wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { describe } from "../../core/text.ts";
import { shapeText } from "../../core/shape.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { DTYPES } from "../../core/dtype.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { transpose } from "../array/move.ts";
import { shape } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput, toInput } from "../input.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { pow } from "../pointwise/power.ts";
import { prod } from "../reduce/prod.ts";
import { fitted } from "./fitted.ts";
import { fft, ifft, irfft, rfft } from "./spectral.ts";
import { fftAlong } from "./spectral_along.ts";

/** The factor of a transform: 1 forwards and 1/n backwards, the other way round, or the root of 1/n both ways. */
export type FftNorm = "backward" | "forward" | "ortho";

/** Options of {@linkcode fftnd} and its siblings. */
export interface FftndOptions {
  /** Lengths to which the axes are cropped or padded with zeros. Default: their own. */
  readonly fftLength?: readonly number[] | null;
  /** Axes, of which the last one has the halves of real transforms. Default: all, or the last ones where lengths are given. */
  readonly axes?: readonly number[] | null;
  /** The factor. Default `"backward"`. */
  readonly norm?: FftNorm | null;
}

const KEYS = { fftLength: true, axes: true, norm: true } as const;
const CHECKS = Object.fromEntries(
  ["fftnd", "ifftnd", "rfftnd", "irfftnd"].map((fn) => [fn, optionCheck<FftndOptions>(fn, KEYS)]),
);

/** Axes from the front and their lengths, null where only a run knows them. */
interface Axes<L extends number | null = number> {
  readonly axes: readonly number[];
  readonly lengths: readonly L[];
}

/** Returns axes and lengths, as {@linkcode openAxesOf} does. Throws `ValueError` for lengths that are unknown. */
function axesOf(x: Tensor, fn: string, options: FftndOptions, half: boolean): Axes {
  const { axes, lengths } = openAxesOf(x, fn, options, half);
  return {
    axes,
    lengths: lengths.map((length) => {
      if (length !== null) return length;
      throw new ValueError(
        `Cannot transform in ${fn}: the extent of an axis is unknown, pass fftLength`,
      );
    }),
  };
}

/** Returns axes and lengths; `half` says that the last one holds halves, of which there are `n / 2 + 1`. */
function openAxesOf(
  x: Tensor,
  fn: string,
  options: FftndOptions,
  half: boolean,
): Axes<number | null> {
  const known = shapeOfInput(x),
    fail = (why: string): never => {
      throw new ValueError(`Cannot transform in ${fn}: ${why}`);
    };
  if (known === null) return fail("the rank of input is unknown");
  const given = options.fftLength ?? null, rank = known.length;
  if (given !== null) wantList(given, "fftLength", fn, "numbers");
  if (options.axes) wantList(options.axes, "axes", fn, "numbers");
  const count = given?.length ?? rank;
  const list = options.axes ?? Array.from({ length: count }, (_, i) => i - count);
  const axes = list.map((a) => a < 0 ? a + rank : a);
  if (axes.length === 0 || axes.some((a) => !Number.isInteger(a) || a < 0 || a >= rank)) {
    fail(`axes ${describe(list)} are out of range for shape ${shapeText(known)}`);
  }
  if (new Set(axes).size < axes.length) fail(`axes ${describe(list)} must differ`);
  if (given !== null && given.length !== axes.length) {
    fail(`fftLength must have ${axes.length} lengths, received ${given.length}`);
  }
  const lengths = axes.map((axis, i) => {
    const own = known[axis], isHalf = half && i === axes.length - 1;
    const length = given?.[i] ?? (own === null ? null : isHalf ? 2 * (own - 1) : own);
    if (length !== null && !(Number.isInteger(length) && length > 0)) {
      fail(`wanted lengths above 0, received ${length}`);
    }
    return length;
  });
  return { axes, lengths };
}

/** Exchanges an axis with the last one. */
function exchanged(x: Tensor, axis: number): Tensor {
  const last = x.rank - 1;
  if (axis === last) return x;
  const order = Array.from({ length: x.rank }, (_, i) => i);
  [order[axis], order[last]] = [last, axis];
  return transpose(x, order);
}

function complexAlong(x: Tensor, axis: number, inverse: boolean): Tensor {
  return axis === x.rank - 1 ? (inverse ? ifft : fft)(x) : fftAlong(x, axis - x.rank, inverse);
}

/** Multiplies by the factor that a norm has beyond `"backward"`. */
function scaled(
  y: Tensor,
  fn: string,
  { axes, lengths }: Axes<number | null>,
  norm: unknown,
): Tensor {
  if (norm === undefined || norm === null || norm === "backward") return y;
  if (norm !== "forward" && norm !== "ortho") {
    throw new ValueError(
      `Cannot transform in ${fn}: norm must be "backward", "forward" or "ortho", received ${
        describe(norm)
      }`,
    );
  }
  const power = (/^i/.test(fn) ? 1 : -1) * (norm === "ortho" ? 0.5 : 1);
  if (lengths.every((length) => length !== null)) {
    return mul(y, cast(lengths.reduce((all, l) => all * l, 1) ** power, y.dtype));
  }
  const real = y.dtype === "complex128" ? "float64" : "float32";
  const n = prod(cast(gather(shape(y), intVector(axes)), real));
  return mul(y, cast(pow(n, power), y.dtype));
}

function given(input: TensorLike, fn: string, kind: "complex" | "float"): Tensor {
  const x = toInput(input, "input", fn);
  if (DTYPES[x.dtype].kind === kind) return asTensor(x);
  throw new TypeError(`Argument 'input' passed to '${fn}' must be ${kind}, but got ${x.dtype}`);
}

function wholeOf(fn: "fftnd" | "ifftnd", input: TensorLike, options: FftndOptions): Tensor {
  CHECKS[fn](options);
  return compose(() => {
    const x = given(input, fn, "complex"), at = openAxesOf(x, fn, options, false);
    const y = at.axes.reduceRight((y, axis, i) => {
      const length = at.lengths[i];
      return complexAlong(length === null ? y : fitted(y, axis, length), axis, fn === "ifftnd");
    }, x);
    return scaled(y, fn, at, options.norm);
  });
}

/**
 * Fourier transform over axes of complex numbers, by default all. Throws `TypeError` for other tensors, `ValueError` for axes out of range,
 * lengths that are not as many, and an unknown norm. TensorFlow op `FFTND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.signal.fftnd(tf.complex([[1, 0], [0, 0]], [[0, 0], [0, 0]]));
 * console.log(tf.real(y).arraySync()); // [[1, 1], [1, 1]]
 * ```
 */
export function fftnd(input: TensorLike, options: FftndOptions = {}): Tensor {
  return wholeOf("fftnd", input, options);
}

/**
 * Inverse of {@linkcode fftnd}. TensorFlow op `IFFTND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.cast([1, 1, 1, 1], "complex64");
 * console.log(tf.real(tf.signal.ifftnd(x)).arraySync()); // [1, 0, 0, 0]
 * ```
 */
export function ifftnd(input: TensorLike, options: FftndOptions = {}): Tensor {
  return wholeOf("ifftnd", input, options);
}

/**
 * Fourier transform over axes of real numbers, by default all; along the last of them are `n / 2 + 1` results. Throws as
 * {@linkcode fftnd} does. TensorFlow op `RFFTND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.real(tf.signal.rfftnd([[1, 2], [3, 4]])).arraySync()); // [[10, -2], [-4, 0]]
 * ```
 */
export function rfftnd(input: TensorLike, options: FftndOptions = {}): Tensor {
  CHECKS.rfftnd(options);
  return rfftOver(input, "rfftnd", options);
}

function rfftOver(input: TensorLike, fn: string, options: FftndOptions): Tensor {
  return compose(() => {
    const x = given(input, fn, "float"), at = axesOf(x, fn, options, false);
    const axis = at.axes.at(-1)!, length = at.lengths.at(-1)!;
    const first = exchanged(rfft(exchanged(x, axis), length), axis);
    const y = at.axes.slice(0, -1).reduceRight(
      (y, a, i) => complexAlong(fitted(y, a, at.lengths[i]), a, false),
      first,
    );
    return scaled(y, fn, at, options.norm);
  });
}

/**
 * Inverse of {@linkcode rfftnd}: by default `2 * (n - 1)` numbers along the last of the axes. TensorFlow op `IRFFTND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.irfftnd(tf.signal.rfftnd([1, 2, 3, 4])).arraySync()); // [1, 2, 3, 4]
 * ```
 */
export function irfftnd(input: TensorLike, options: FftndOptions = {}): Tensor {
  CHECKS.irfftnd(options);
  return irfftOver(input, "irfftnd", options);
}

function irfftOver(input: TensorLike, fn: string, options: FftndOptions): Tensor {
  return compose(() => {
    const x = given(input, fn, "complex"), at = axesOf(x, fn, options, true);
    const axis = at.axes.at(-1)!, length = at.lengths.at(-1)!;
    const others = at.axes.slice(0, -1).reduce(
      (y, a, i) => complexAlong(fitted(y, a, at.lengths[i]), a, true),
      x,
    );
    const y = exchanged(irfft(exchanged(others, axis), length), axis);
    return scaled(y, fn, at, options.norm);
  });
}

type Lengths3d = readonly [number, number, number];

/**
 * Fourier transform of the last three axes of real numbers; the last one has `n / 2 + 1` results. `fftLength` crops or pads the axes.
 * Throws `TypeError` for tensors that are not float32 or float64, `ValueError` for a lower rank. TensorFlow op `RFFT3D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.real(tf.signal.rfft3d([[[1, 2], [3, 4]]])).arraySync()); // [[[10, -2], [-4, 0]]]
 * ```
 */
export function rfft3d(input: TensorLike, fftLength?: Lengths3d): Tensor {
  return rfftOver(input, "rfft3d", { axes: [-3, -2, -1], fftLength: fftLength ?? null });
}

/**
 * Inverse of {@linkcode rfft3d}: by default `2 * (n - 1)` numbers along the last axis. TensorFlow op `IRFFT3D`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.irfft3d(tf.signal.rfft3d([[[1, 2], [3, 4]]])).arraySync()); // [[[1, 2], [3, 4]]]
 * ```
 */
export function irfft3d(input: TensorLike, fftLength?: Lengths3d): Tensor {
  return irfftOver(input, "irfft3d", { axes: [-3, -2, -1], fftLength: fftLength ?? null });
}
