/** Spectrograms of Keras: of short times, by convolutions whose kernels are weights, and on the mel scale. */
import * as tf from "../../../mod.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { type CallOf, type Kind, type Settings, shapeOf } from "./layer_kinds.ts";

const isChannelsFirst = ({ dataFormat }: Settings): boolean =>
  dataFormat === "channelsFirst" || dataFormat === "channels_first";

/** The least number below which Keras takes no logarithm. */
const EPSILON = 1e-7;
const MODES = ["log", "magnitude", "psd", "real", "imag", "angle", "stft"];

interface Frames {
  readonly mode: string;
  readonly length: number;
  readonly step: number;
  readonly bins: number;
}

function framesOf({ mode = "log", frameLength, frameStep, fftLength, name }: Settings): Frames {
  if (!MODES.includes(String(mode))) {
    throw new ValueError(`Cannot make layer ${name}: mode ${mode} is none of ${MODES.join(", ")}`);
  }
  const length = Number(frameLength ?? 256);
  const size = Number(fftLength ?? 2 ** Math.ceil(Math.log2(length)));
  const step = Number(frameStep ?? Math.floor(length / 2));
  return { mode: String(mode), length, step, bins: Math.floor(size / 2) + 1 };
}

/** Computes the parts of a short-time transform, `[batch, channels, time, bins]`. */
function transformed({ inputs: [x], weights, config }: CallOf): tf.Tensor {
  const { mode, step, bins } = framesOf(config), [, ...extents] = shapeOf(x);
  const channels = Number(isChannelsFirst(config) ? extents[0] : extents[1]);
  const rows = isChannelsFirst(config) ? x : tf.transpose(x, [0, 2, 1]);
  const steps = shapeOf(rows)[2] ?? -1;
  const signal = tf.reshape(rows, [-1, steps, 1]) as tf.Tensor3D;
  const padding = config.padding === "same" ? "same" : "valid";
  const [first, second] = weights.map((kernel) => {
    const y = tf.conv1d(signal, kernel as tf.Tensor3D, step, padding);
    return tf.reshape(y, [-1, channels, shapeOf(y)[1] ?? -1, bins]);
  });
  if (mode === "real" || mode === "imag") return first;
  if (mode === "angle") return tf.atan2(second, first);
  if (mode === "stft") return tf.concat([first, second], 3);
  const power = tf.add(tf.square(first), tf.square(second));
  if (mode === "psd") {
    const inner = tf.slice(power, [0, 0, 0, 1], [-1, -1, -1, bins - 2]);
    return tf.add(power, tf.pad(inner, [[0, 0], [0, 0], [0, 0], [1, 1]]));
  }
  const size = tf.sqrt(tf.maximum(power, EPSILON));
  return mode === "magnitude" ? size : tf.log(tf.maximum(size, EPSILON));
}

const shortTime: Kind = {
  check: framesOf,
  weights(config) {
    const { mode, length, bins } = framesOf(config), shape = [length, 1, bins];
    return ["real", "imag"].filter((part) => mode !== (part === "real" ? "imag" : "real"))
      .map((part) => ({ name: `${part}_kernel`, shape }));
  },
  call(given) {
    const { config } = given, y = transformed(given), [, channels, steps, bins] = shapeOf(y);
    if (config.expandDims === true) {
      return isChannelsFirst(config) ? y : tf.transpose(y, [0, 2, 3, 1]);
    }
    const time = steps ?? -1, all = Number(channels) * Number(bins);
    return isChannelsFirst(config)
      ? tf.reshape(tf.transpose(y, [0, 1, 3, 2]), [-1, all, time])
      : tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [-1, time, all]);
  },
};

/** The windows of Keras' short-time transforms. */
const WINDOWS: Readonly<Record<string, (size: number) => tf.Tensor>> = {
  hann: (size) => tf.signal.hannWindow(size),
  hamming: (size) => tf.signal.hammingWindow(size),
};

/** Numbers of a mel spectrogram's settings, with Keras' defaults. */
function melOf(config: Settings) {
  const of = (name: string, otherwise: number): number => Number(config[name] ?? otherwise);
  const size = of("fftLength", 2048), rate = of("samplingRate", 16000);
  return {
    size,
    rate,
    length: of("sequenceLength", size),
    stride: of("sequenceStride", 512),
    bins: of("numMelBins", 128),
    low: of("minFreq", 20),
    high: of("maxFreq", Math.floor(rate / 2)),
    least: of("minPower", 1e-10),
    reference: Math.abs(of("refPower", 1)),
  };
}

const mel: Kind = {
  check({ window = "hann", name }) {
    if (window === null || Object.hasOwn(WINDOWS, String(window))) return;
    throw new UnimplementedError(
      `Cannot make layer ${name}: its window is ${window}, wanted "hann" or "hamming"`,
    );
  },
  call({ inputs: [x], config }) {
    const { size, rate, length, stride, bins, low, high, least, reference } = melOf(config);
    const { window = "hann", magExp = 2, topDb = 80 } = config, half = Math.floor(size / 2);
    const before = shapeOf(x).slice(0, -1).map((): [number, number] => [0, 0]);
    const padded = tf.mirrorPad(tf.cast(x, "float32"), [...before, [half, half]], "reflect");
    const frames = tf.signal.frame(padded, size, stride), rest = size - length;
    const side = Math.floor(rest / 2);
    const shown = window === null ? tf.ones([length]) : WINDOWS[String(window)](length);
    const weight = tf.pad(shown, [[side, rest - side]]);
    const power = tf.pow(tf.abs(tf.rfft(tf.mul(frames, weight))), Number(magExp));
    const matrix = tf.signal.linearToMelWeightMatrix(bins, half + 1, {
      sampleRate: rate,
      lowerEdgeHertz: low,
      upperEdgeHertz: high,
    });
    let y = tf.matMul(power, matrix);
    if (config.powerToDb !== false) {
      const decibels = (v: tf.Tensor) => tf.mul(tf.log(v), 10 / Math.LN10);
      y = tf.sub(
        decibels(tf.maximum(y, least)),
        10 * Math.log10(Math.max(reference, least)),
      );
      y = tf.maximum(y, tf.sub(tf.max(y), Number(topDb)));
    }
    const rank = shapeOf(x).length + 1;
    return tf.transpose(y, [...before.keys(), rank - 1, rank - 2]);
  },
};

/** Layers by the names of Keras. */
export const SPECTROGRAMS: Readonly<Record<string, Kind>> = {
  STFTSpectrogram: shortTime,
  MelSpectrogram: mel,
};
