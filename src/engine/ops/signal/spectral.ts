/** Fourier transforms along the last axis: fft, ifft, rfft, irfft. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import {
  fftCpu,
  irfftAdjointCpu,
  irfftCpu,
  rfftAdjointCpu,
  rfftCpu,
} from "../../kernels/host/spectral/rows.ts";
import { lastExtent } from "../array/slice.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { shapeOfInput, toIndexInput, toInput } from "../input.ts";
import { div, mul } from "../pointwise/arithmetic.ts";
import { extentOf } from "./extent.ts";
import { wantNumber } from "../../core/arguments.ts";

function withLast(x: PartialShape, last: number | null, op: string): PartialShape {
  if (x === null) return null;
  if (x.length === 0) {
    throw new ValueError(`Shape must be at least rank 1 but is rank 0 for '${op}'`);
  }
  return [...x.slice(0, -1), last];
}

/** Defines a transform of complex vectors. Its gradient is the inverse transform times a factor of their length. */
function defineFft(name: string, inverse: boolean, other: () => OpDef): OpDef {
  return defineOp({
    name,
    inputs: ["input: Tcomplex"],
    outputs: ["output: Tcomplex"],
    attrs: ["Tcomplex: complex = complex64"],
    meaning: { kind: "fourier", gives: inverse ? "ifft" : "fft" },
    infer: ([x]) => [withLast(x.shape, x.shape?.at(-1) ?? null, name)],
    grad: {
      saves: [],
      vjp: (_, [dy], ctx) => [(inverse ? div : mul)(apply1(other(), [dy]), extentOf(ctx, -1, dy))],
    },
    cpu: ([x], [out]) => fftCpu(x, inverse, out),
  });
}

const Fft: OpDef = defineFft("FFT", false, () => Ifft);
const Ifft = defineFft("IFFT", true, () => Fft);

/** The individual parts of a transform between real numbers and half spectra. */
interface HalfInit {
  readonly gives: "rfft" | "irfft";
  readonly from: "Treal" | "Tcomplex";
  readonly to: "Treal" | "Tcomplex";
  /** The result's last dimension. */
  readonly last: (length: number) => number;
  readonly cpu: typeof rfftCpu;
  readonly adjoint: typeof rfftCpu;
}

/**
 * Defines a transform between real numbers and half spectra; `adjoint` makes the gradient of an input with last
 * dimension `size`. The two transforms are each other's gradients.
 */
function defineHalf(name: string, { gives, from, to, last, cpu, adjoint }: HalfInit): OpDef {
  const attrs = ["Treal: {float, double} = float", "Tcomplex: complex = complex64"];
  const def = defineOp({
    name,
    inputs: [`input: ${from}`, "fft_length: int32"],
    outputs: [`output: ${to}`],
    attrs,
    meaning: { kind: "fourier", gives },
    hostInputs: ["fft_length"],
    infer: ([x, length]) => [withLast(x.shape, knownInts(length)?.map(last)[0] ?? null, name)],
    grad: {
      saves: ["fft_length"],
      vjp: ({ fft_length }, [dy], { attrs, shapeOf }) => [
        apply1(back, [dy, fft_length, lastExtent(shapeOf(0))], { [from]: attrs[from] }),
        null,
      ],
    },
    cpu: ([x, length], [out]) => cpu(x, hostInts(length)[0], out),
  });
  const back = defineOp({
    name: `_${name}Adjoint`,
    portable: "parts",
    inputs: [`gradients: ${to}`, "fft_length: int32", "size: int32"],
    outputs: [`output: ${from}`],
    attrs,
    meaning: { kind: "fourier", gives: `${gives} adjoint` },
    hostInputs: ["fft_length", "size"],
    infer: ([g, , size]) => [withLast(g.shape, knownInts(size)?.[0] ?? null, `_${name}Adjoint`)],
    grad: {
      saves: ["fft_length"],
      vjp: ({ fft_length }, [d], { attrs }) => [
        apply1(def, [d, fft_length], { [to]: attrs[to] }),
        null,
        null,
      ],
    },
    cpu: ([g, length], [out]) => adjoint(g, hostInts(length)[0], out),
  });
  return def;
}

const Rfft = defineHalf("RFFT", {
  gives: "rfft",
  from: "Treal",
  to: "Tcomplex",
  last: (length) => (length >> 1) + 1,
  cpu: rfftCpu,
  adjoint: rfftAdjointCpu,
});
const Irfft = defineHalf("IRFFT", {
  gives: "irfft",
  from: "Tcomplex",
  to: "Treal",
  last: (length) => length,
  cpu: irfftCpu,
  adjoint: irfftAdjointCpu,
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
 * Discrete Fourier transform along the last axis, any length. complex64 or complex128, each computed in its own precision; on WebGPU
 * complex64 whose length has no prime factor above 1,024. TensorFlow op `FFT`.
 * Throws `TypeError` for tensors that are not complex, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.fft(tf.complex([1, 0, 0, 0], [0, 0, 0, 0]));
 * console.log(tf.real(y).arraySync()); // [1, 1, 1, 1]
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
 * const y = tf.ifft(tf.complex([1, 1, 1, 1], [0, 0, 0, 0]));
 * console.log(tf.real(y).arraySync()); // [1, 0, 0, 0]
 * ```
 */
export function ifft(input: TensorLike): Tensor {
  return apply1(Ifft, [complexInput(input, "ifft")]);
}

function lengthOf(fftLength: number | undefined, fn: string): number | undefined {
  if (fftLength !== undefined) wantNumber(fftLength, "fftLength", fn);
  return fftLength;
}

/**
 * Discrete Fourier transform of real numbers along the last axis, cut or padded with zeros to `fftLength`: the first
 * `fftLength / 2 + 1` elements, the others being their conjugates. TensorFlow op `RFFT`.
 * Throws `TypeError` for tensors that are not float32 or float64, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.real(tf.rfft([1, 2, 3, 4])).arraySync()); // [10, -2, -2]
 * ```
 */
export function rfft(input: TensorLike, fftLength?: number): Tensor {
  const x = toInput(input, "input", "rfft");
  const double = x.dtype === "float64";
  const length = lengthOf(fftLength, "rfft") ?? lastLength(x, "rfft");
  return apply1(Rfft, [x, toIndexInput([length], "fftLength", "rfft")], {
    Tcomplex: double ? "complex128" : "complex64",
  });
}

/**
 * Inverse of {@linkcode rfft}: `fftLength` real numbers, by default `2 * (n - 1)` for n given. TensorFlow op `IRFFT`.
 * Throws `TypeError` for tensors that are not complex, `ValueError` for scalars.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.irfft(tf.complex([10, -2, -2], [0, 2, 0])).arraySync()); // [1, 2, 3, 4]
 * ```
 */
export function irfft(input: TensorLike, fftLength?: number): Tensor {
  const x = complexInput(input, "irfft");
  const length = lengthOf(fftLength, "irfft") ?? 2 * (lastLength(x, "irfft") - 1);
  return apply1(Irfft, [x, toIndexInput([length], "fftLength", "irfft")], {
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
