/** The namespace `tf.signal`. */
export { frame, inverseStft, inverseStftWindowFn, overlapAndAdd, stft } from "./signal.ts";
export {
  type CosineWindowOptions,
  hammingWindow,
  hannWindow,
  kaiserBesselDerivedWindow,
  kaiserWindow,
  vorbisWindow,
  type WindowFn,
} from "./windows.ts";
export {
  dct,
  type DctOptions,
  idct,
  inverseMdct,
  mdct,
  type MdctOptions,
  mfccsFromLogMelSpectrograms,
} from "./cosine_transforms.ts";
export { linearToMelWeightMatrix, type MelOptions } from "./mel.ts";
export { fftshift, ifftshift } from "./shifts.ts";
export { fft, ifft, irfft, rfft } from "./spectral.ts";
export { fft2d, fft3d, ifft2d, ifft3d, irfft2d, rfft2d } from "./spectral_more.ts";
export {
  fftnd,
  type FftndOptions,
  type FftNorm,
  ifftnd,
  irfft3d,
  irfftnd,
  rfft3d,
  rfftnd,
} from "./spectral_nd.ts";
