/**
 * Fourier transforms along the last axis: fft, ifft, rfft, irfft.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type GradContext, type OpDef } from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import {
  fftCpu,
  irfftAdjointCpu,
  irfftCpu,
  rfftAdjointCpu,
  rfftCpu,
} from "../../kernels/host/spectral.ts";
import { slice } from "../array/slice.ts";
import { hostInts, shape } from "../array/view.ts";
import { cast } from "../array/cast.ts";
import { lastExtent } from "../array/host_shape.ts";
import { asTensor, intVector, shapeOfInput, toInput } from "../input.ts";
import { div, mul, sub } from "../pointwise/arithmetic.ts";

function withLast(x: PartialShape, last: number | null, op: string): PartialShape {
  if (x === null) return null;
  if (x.length === 0) {
    throw new ValueError(`Shape must be at least rank 1 but is rank 0 for '${op}'`);
  }
  return [...x.slice(0, -1), last];
}

/** The last dimension of an input: a number where it is known, else a tensor in the dtype of `like`. */
function lastOf(ctx: GradContext, like: Tensor): number | Tensor {
  const known = ctx.inputs[0].shape?.at(-1);
  if (typeof known === "number") return known;
  const all = asTensor(ctx.shapeOf(0) as OpInput);
  return cast(slice(all, sub(shape(all), 1), [1]), like.dtype);
}

const Fft = defineOp({
  name: "FFT",
  inputs: ["input: Tcomplex"],
  outputs: ["output: Tcomplex"],
  attrs: ["Tcomplex: complex = complex64"],
  infer: ([x]) => [withLast(x.shape, x.shape?.at(-1) ?? null, "FFT")],
  grad: { saves: [], vjp: (_, [dy], ctx) => [mul(apply1(Ifft, [dy]), lastOf(ctx, dy))] },
  cpu: ([x], [out]) => fftCpu(x, false, out),
});

const Ifft: OpDef = defineOp({
  name: "IFFT",
  inputs: ["input: Tcomplex"],
  outputs: ["output: Tcomplex"],
  attrs: ["Tcomplex: complex = complex64"],
  infer: ([x]) => [withLast(x.shape, x.shape?.at(-1) ?? null, "IFFT")],
  grad: { saves: [], vjp: (_, [dy], ctx) => [div(apply1(Fft, [dy]), lastOf(ctx, dy))] },
  cpu: ([x], [out]) => fftCpu(x, true, out),
});

function lengthOf(length: Spec): number | null {
  return length.value === undefined ? null : hostInts(length.value)[0];
}

const Rfft = defineOp({
  name: "RFFT",
  inputs: ["input: Treal", "fft_length: int32"],
  outputs: ["output: Tcomplex"],
  attrs: ["Treal: {float, double} = float", "Tcomplex: complex = complex64"],
  hostInputs: ["fft_length"],
  infer: ([x, length]) => {
    const n = lengthOf(length);
    return [withLast(x.shape, n === null ? null : (n >> 1) + 1, "RFFT")];
  },
  grad: {
    saves: ["fft_length"],
    vjp: ({ fft_length }, [dy], ctx) => [
      apply1(RfftAdjoint, [dy, fft_length, lastExtent(ctx.shapeOf(0))], { Treal: ctx.attrs.Treal }),
      null,
    ],
  },
  cpu: ([x, length], [out]) => rfftCpu(x, hostInts(length)[0], out),
});

const Irfft: OpDef = defineOp({
  name: "IRFFT",
  inputs: ["input: Tcomplex", "fft_length: int32"],
  outputs: ["output: Treal"],
  attrs: ["Treal: {float, double} = float", "Tcomplex: complex = complex64"],
  hostInputs: ["fft_length"],
  infer: ([x, length]) => [withLast(x.shape, lengthOf(length), "IRFFT")],
  grad: {
    saves: ["fft_length"],
    vjp: ({ fft_length }, [dy], ctx) => [
      apply1(IrfftAdjoint, [dy, fft_length, lastExtent(ctx.shapeOf(0))], {
        Tcomplex: ctx.attrs.Tcomplex,
      }),
      null,
    ],
  },
  cpu: ([x, length], [out]) => irfftCpu(x, hostInts(length)[0], out),
});

/** What a gradient of RFFT's result says about its input, whose last dimension is `size`. */
const RfftAdjoint: OpDef = defineOp({
  name: "_RFFTAdjoint",
  portable: "parts",
  inputs: ["gradients: Tcomplex", "fft_length: int32", "size: int32"],
  outputs: ["output: Treal"],
  attrs: ["Treal: {float, double} = float", "Tcomplex: complex = complex64"],
  hostInputs: ["fft_length", "size"],
  infer: ([g, , size]) => [withLast(g.shape, lengthOf(size), "_RFFTAdjoint")],
  grad: {
    saves: ["fft_length"],
    vjp: ({ fft_length }, [d], { attrs }) => [
      apply1(Rfft, [d, fft_length], { Tcomplex: attrs.Tcomplex }),
      null,
      null,
    ],
  },
  cpu: ([g, length], [out]) => rfftAdjointCpu(g, hostInts(length)[0], out),
});

/** What a gradient of IRFFT's result says about its input, whose last dimension is `size`. */
const IrfftAdjoint: OpDef = defineOp({
  name: "_IRFFTAdjoint",
  portable: "parts",
  inputs: ["gradients: Treal", "fft_length: int32", "size: int32"],
  outputs: ["output: Tcomplex"],
  attrs: ["Treal: {float, double} = float", "Tcomplex: complex = complex64"],
  hostInputs: ["fft_length", "size"],
  infer: ([g, , size]) => [withLast(g.shape, lengthOf(size), "_IRFFTAdjoint")],
  grad: {
    saves: ["fft_length"],
    vjp: ({ fft_length }, [d], { attrs }) => [
      apply1(Irfft, [d, fft_length], { Treal: attrs.Treal }),
      null,
      null,
    ],
  },
  cpu: ([g, length], [out]) => irfftAdjointCpu(g, hostInts(length)[0], out),
});

function complexInput(input: TensorLike, fn: string): OpInput {
  const x = toInput(input, "input", fn);
  if (DTYPES[x.dtype].kind !== "complex") {
    throw new TypeError(
      `Argument 'input' passed to '${fn}' must be complex64 tensor, but got ${x.dtype} tensor`,
    );
  }
  return x;
}

/**
 * Discrete Fourier transform along the last axis, any length. complex64 or complex128; computed on the host. TensorFlow op `FFT`.
 * Throws `TypeError` for tensors that are not complex, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const y = tf.fft(tf.complex([1, 0, 0, 0], [0, 0, 0, 0]));
 * assertEquals(tf.real(y).arraySync(), [1, 1, 1, 1]);
 * ```
 */
export function fft(input: TensorLike): Tensor {
  return apply1(Fft, [complexInput(input, "fft")]);
}

/**
 * Inverse of {@linkcode fft}: divides by the length. TensorFlow op `IFFT`.
 * Throws `TypeError` for tensors that are not complex, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const y = tf.ifft(tf.complex([1, 1, 1, 1], [0, 0, 0, 0]));
 * assertEquals(tf.real(y).arraySync(), [1, 0, 0, 0]);
 * ```
 */
export function ifft(input: TensorLike): Tensor {
  return apply1(Ifft, [complexInput(input, "ifft")]);
}

/**
 * Discrete Fourier transform of real numbers along the last axis, cut or padded with zeros to `fftLength`: the first
 * `fftLength / 2 + 1` elements, the others being their conjugates. TensorFlow op `RFFT`.
 * Throws `TypeError` for tensors that are not float32 or float64, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.real(tf.rfft([1, 2, 3, 4])).arraySync(), [10, -2, -2]);
 * ```
 */
export function rfft(input: TensorLike, fftLength?: number): Tensor {
  const x = toInput(input, "input", "rfft");
  const double = x.dtype === "float64";
  const length = fftLength === undefined ? lastLength(x, "rfft") : fftLength;
  return apply1(Rfft, [x, intVector([length])], { Tcomplex: double ? "complex128" : "complex64" });
}

/**
 * Inverse of {@linkcode rfft}: `fftLength` real numbers, by default `2 * (n - 1)` for n given. TensorFlow op `IRFFT`.
 * Throws `TypeError` for tensors that are not complex, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.irfft(tf.complex([10, -2, -2], [0, 2, 0])).arraySync(), [1, 2, 3, 4]);
 * ```
 */
export function irfft(input: TensorLike, fftLength?: number): Tensor {
  const x = complexInput(input, "irfft");
  const length = fftLength === undefined ? 2 * (lastLength(x, "irfft") - 1) : fftLength;
  return apply1(Irfft, [x, intVector([length])], {
    Treal: x.dtype === "complex128" ? "float64" : "float32",
  });
}

function lastLength(x: OpInput, fn: string): number {
  const n = shapeOfInput(x)?.at(-1);
  if (typeof n !== "number") {
    throw new ValueError(
      `Cannot transform in ${fn}: the last dimension is unknown, pass fftLength`,
    );
  }
  return n;
}
