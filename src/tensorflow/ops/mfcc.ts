/** Cepstra of the mel scale, as TensorFlow's op of that name computes them, which files of models of speech have. On the host. */
import { defineOp } from "../../engine/core/op.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { mergeShapes, shapeText } from "../../engine/core/shape.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

/** The least energy of a band, whose logarithm is taken. */
const LEAST = 1e-12;

const mel = (hertz: number): number => 1127 * Math.log1p(hertz / 700);

/** Bands of the mel scale over the places of a spectrum: each place adds to a band and to the next. */
interface Bands {
  readonly first: number;
  readonly last: number;
  /** Number of the lower band of each place; -1 below the first band's middle. */
  readonly band: readonly number[];
  /** The part that the lower band has. */
  readonly part: readonly number[];
}

function bandsOf(
  width: number,
  { rate, lower, upper, count }: {
    readonly rate: number;
    readonly lower: number;
    readonly upper: number;
    readonly count: number;
  },
): Bands {
  const from = mel(lower), spacing = (mel(upper) - from) / (count + 1);
  const middle = (i: number): number => from + spacing * (i + 1);
  const step = 0.5 * rate / (width - 1);
  const first = Math.trunc(1.5 + lower / step), last = Math.trunc(upper / step);
  if (width < 2 || !(rate > 0) || first > width || last >= width) {
    refuse(
      `Mel filterbank initialization failed for spectrogram channels ${width}, sample rate ${rate}, lower frequency ${lower}, upper frequency ${upper}`,
    );
  }
  const band: number[] = [], part: number[] = [];
  for (let i = 0, above = 0; i <= last; i++) {
    const at = mel(i * step);
    if (i >= first) { while (above < count && middle(above) < at) above++; }
    const below = above - 1, low = below < 0 ? from : middle(below);
    band.push(below);
    part.push((middle(below + 1) - at) / (middle(below + 1) - low));
  }
  return { first, last, band, part };
}

defineOp({
  name: "Mfcc",
  inputs: ["spectrogram: float32", "sample_rate: int32"],
  outputs: ["output: float32"],
  attrs: [
    "upper_frequency_limit: float = 4000",
    "lower_frequency_limit: float = 20",
    "filterbank_channel_count: int = 40",
    "dct_coefficient_count: int = 13",
  ],
  infer: ([{ shape }, rate], { dct_coefficient_count: count }) => {
    if (rate.shape !== null && rate.shape.length > 0) {
      throw new ValueError(`sample_rate must be a scalar, received ${shapeText(rate.shape)}`);
    }
    const [channels, frames] = mergeShapes(shape, [null, null, null])!;
    return [[channels, frames, count]];
  },
  grad: null,
  cpu: ([x, rate], [out], { attrs }) => {
    const [channels, frames, width] = x.shape, from = x.data as Float32Array;
    const count = attrs.filterbank_channel_count as number, kept = out.shape[2];
    const bands = bandsOf(width, {
      rate: Number(rate.item()),
      lower: attrs.lower_frequency_limit,
      upper: attrs.upper_frequency_limit,
      count,
    });
    const to = out.data as Float32Array, norm = Math.sqrt(2 / count);
    const waves = Array.from({ length: kept * count }, (_, i) => {
      const k = Math.floor(i / count), j = i % count;
      return norm * Math.cos(k * Math.PI / count * (j + 0.5));
    });
    const energy = new Float64Array(count);
    for (let row = 0; row < channels * frames; row++) {
      energy.fill(0);
      for (let i = bands.first; i <= bands.last; i++) {
        const size = Math.sqrt(from[row * width + i]), own = size * bands.part[i];
        const below = bands.band[i];
        if (below >= 0) energy[below] += own;
        if (below + 1 < count) energy[below + 1] += size - own;
      }
      for (let k = 0; k < kept; k++) {
        let sum = 0;
        for (let j = 0; j < count; j++) {
          sum += waves[k * count + j] * Math.log(Math.max(LEAST, energy[j]));
        }
        to[row * kept + k] = sum;
      }
    }
  },
});
