/** The mel scale of frequencies. */
import { optionCheck } from "../../core/arguments.ts";
import { asDType, type DType, isFloating } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { tensor } from "../array/creation.ts";

/** Options of {@linkcode linearToMelWeightMatrix}. */
export interface MelOptions {
  /** Samples a second of the signal. Default 8000. */
  readonly sampleRate?: number;
  /** Lowest frequency of the lowest band. Default 125. */
  readonly lowerEdgeHertz?: number;
  /** Highest frequency of the highest band. Default 3800. */
  readonly upperEdgeHertz?: number;
  /** Floating dtype of the matrix. Default float32. */
  readonly dtype?: DType;
}

const check = optionCheck<MelOptions>("linearToMelWeightMatrix", {
  sampleRate: true,
  lowerEdgeHertz: true,
  upperEdgeHertz: true,
  dtype: true,
});

const melOf = (hertz: number): number => 1127 * Math.log(1 + hertz / 700);

/**
 * Matrix `[numSpectrogramBins, numMelBins]` that sums the frequencies of a spectrogram into bands of the mel scale, triangles of height 1,
 * as HTK defines them. Computed on the host. TensorFlow `tf.signal.linear_to_mel_weight_matrix`. Throws `ValueError` for counts and rates that
 * are not positive, edges that are not in order or beyond half the rate, and a dtype that is not floating.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const spectrogram = tf.abs(tf.signal.stft(tf.randomNormal([1024]), 256, 128));
 * const mel = tf.matMul(spectrogram, tf.signal.linearToMelWeightMatrix(20, 129, { sampleRate: 16000 }));
 * console.log(mel.shape); // [7, 20]
 * ```
 */
export function linearToMelWeightMatrix(
  numMelBins = 20,
  numSpectrogramBins = 129,
  options: MelOptions = {},
): Tensor {
  check(options);
  const { sampleRate = 8000, lowerEdgeHertz: low = 125, upperEdgeHertz: high = 3800 } = options;
  const dtype = asDType(options.dtype ?? "float32");
  const want = (holds: boolean, arg: string, wanted: string, value: unknown): void => {
    if (holds) return;
    throw new ValueError(
      `Cannot make a matrix in linearToMelWeightMatrix: ${arg} must be ${wanted}, received ${
        describe(value)
      }`,
    );
  };
  const isCount = (n: number): boolean => Number.isInteger(n) && n > 0;
  want(isCount(numMelBins), "numMelBins", "a whole number of 1 or more", numMelBins);
  want(
    isCount(numSpectrogramBins),
    "numSpectrogramBins",
    "a whole number of 1 or more",
    numSpectrogramBins,
  );
  want(sampleRate > 0 && sampleRate < Infinity, "sampleRate", "positive", sampleRate);
  want(low >= 0, "lowerEdgeHertz", "0 or more", low);
  want(high > low, "upperEdgeHertz", `above lowerEdgeHertz, ${low}`, high);
  want(high <= sampleRate / 2, "upperEdgeHertz", `half the sampleRate ${sampleRate} at most`, high);
  want(isFloating(dtype), "dtype", "floating", dtype);

  const edges = Array.from(
    { length: numMelBins + 2 },
    (_, i) => melOf(low) + (melOf(high) - melOf(low)) * i / (numMelBins + 1),
  );
  const data = new Float64Array(numSpectrogramBins * numMelBins);
  // The first bin, the mean, is in no band.
  for (let bin = 1; bin < numSpectrogramBins; bin++) {
    const mel = melOf(sampleRate / 2 * bin / (numSpectrogramBins - 1));
    for (let band = 0; band < numMelBins; band++) {
      const [lower, center, upper] = edges.slice(band, band + 3);
      const height = Math.min((mel - lower) / (center - lower), (upper - mel) / (upper - center));
      data[bin * numMelBins + band] = Math.max(0, height);
    }
  }
  return cast(tensor(data, [numSpectrogramBins, numMelBins], "float64"), dtype);
}
