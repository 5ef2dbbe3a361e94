/** Rules for Fourier transforms of several axes, whose lengths are constants. */
import { UnimplementedError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { literalInts } from "../../../engine/ops/array/view.ts";
import { fft2d, fft3d, ifft2d, ifft3d } from "../../../engine/ops/signal/spectral_more.ts";
import { fftnd, ifftnd, irfftnd, rfftnd } from "../../../engine/ops/signal/spectral_nd.ts";
import { type OpEntry, rule } from "../rule.ts";

function constant(x: Tensor, op: string, what: string): number[] {
  const known = literalInts(x);
  if (known !== undefined) return known;
  throw new UnimplementedError(`Cannot import ${op}: its ${what} must be a constant`);
}

const lastAxes = (count: number): number[] => Array.from({ length: count }, (_, i) => i - count);

/** A transform of the last axes, to the lengths of the second input. */
const half = (op: string, transform: typeof rfftnd, count: number): OpEntry =>
  rule(({ inputs: [x, lengths] }) => [
    transform(x, { axes: lastAxes(count), fftLength: constant(lengths, op, "fft_length") }),
  ], 2);

/** A transform whose axes are its third input. */
const over = (op: string, transform: typeof fftnd): OpEntry =>
  rule(({ inputs: [x, lengths, axes] }) => [
    transform(x, {
      axes: constant(axes, op, "axes"),
      fftLength: constant(lengths, op, "fft_length"),
    }),
  ], 3);

/** The entries of these ops. */
export const SPECTRAL_RULES: Readonly<Record<string, OpEntry>> = {
  FFT2D: rule(({ inputs: [x] }) => [fft2d(x)]),
  IFFT2D: rule(({ inputs: [x] }) => [ifft2d(x)]),
  FFT3D: rule(({ inputs: [x] }) => [fft3d(x)]),
  IFFT3D: rule(({ inputs: [x] }) => [ifft3d(x)]),
  RFFT2D: half("RFFT2D", rfftnd, 2),
  IRFFT2D: half("IRFFT2D", irfftnd, 2),
  RFFT3D: half("RFFT3D", rfftnd, 3),
  IRFFT3D: half("IRFFT3D", irfftnd, 3),
  FFTND: over("FFTND", fftnd),
  IFFTND: over("IFFTND", ifftnd),
  RFFTND: over("RFFTND", rfftnd),
  IRFFTND: over("IRFFTND", irfftnd),
};
