/** webcam and microphone: pictures and sounds of a browser's devices as tensors. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { UnavailableError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantMade } from "../../engine/core/arguments.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { tensor } from "../../engine/ops/array/creation.ts";
import { fromPixels, type PixelSource } from "../../engine/ops/image/browser_namespace.ts";
import { cropAndResize } from "../../engine/ops/image/crop.ts";
import { expandDims, squeeze } from "../../engine/ops/array/view.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";

/** A `MediaStream` of a browser. */
export interface MediaStreamLike {
  /** The tracks, which can be stopped. */
  getTracks(): { stop(): void }[];
}
/** The used part of a video element. */
export interface VideoLike {
  /** Columns of the picture. */
  width: number;
  /** Rows of the picture. */
  height: number;
  /** The shown stream. */
  srcObject: unknown;
  /** Called when the size of the picture is known. */
  onloadedmetadata: unknown;
  /** Starts the video. */
  play(): unknown;
}
/** The used part of an `AnalyserNode`, which measures sound. */
export interface AnalyserLike {
  /** Twice the number of frequencies. */
  fftSize: number;
  /** Weight of the spectrum before in the next one. */
  smoothingTimeConstant: number;
  /** Writes decibels by frequency. */
  getFloatFrequencyData(data: Float32Array): void;
  /** Writes samples. */
  getFloatTimeDomainData(data: Float32Array): void;
  /** Stops measuring. */
  disconnect(): void;
}
/** The used part of an `AudioContext`. */
export interface AudioContextLike {
  /** Samples in a second. */
  readonly sampleRate: number;
  /** Makes a source node of a stream. */
  createMediaStreamSource(stream: unknown): { connect(to: unknown): void };
  /** Makes an analyser. */
  createAnalyser(): AnalyserLike;
  /** Closes the context. */
  close(): unknown;
}
/** The used part of a page's global scope. */
interface PageScope {
  readonly navigator?: {
    readonly mediaDevices?: { getUserMedia(wanted: object): Promise<MediaStreamLike> };
  };
  readonly document?: { createElement(name: string): unknown };
  readonly AudioContext?: new () => AudioContextLike;
}

const page = globalThis as unknown as PageScope;

/** Asks the user for a device. Throws outside of a browser. */
function askFor(kind: string, wanted: object): Promise<MediaStreamLike> {
  const devices = page.navigator?.mediaDevices;
  if (devices === undefined || page.document === undefined) {
    throw new UnavailableError(`Cannot use a ${kind}: only pages of browsers have one`);
  }
  return devices.getUserMedia(wanted);
}

/** Endless elements of a device, until it is stopped. */
export abstract class Capture<E> implements AsyncIterable<E>, AsyncDisposable {
  #stopped = false;
  readonly #stream: MediaStreamLike;

  /** Creates a capture of a stream. */
  constructor(stream: MediaStreamLike) {
    wantMade(stream, "getTracks", {
      arg: "stream",
      fn: "new Capture()",
      wanted: "a MediaStream; tf.data.webcam() and microphone() ask for one",
    });
    this.#stream = stream;
  }
  /** Captures one element. Its owner disposes the tensors. */
  abstract capture(): Promise<E>;

  /** Frees the device and ends iterations. */
  stop(): void {
    this.#stopped = true;
    for (const track of this.#stream.getTracks()) track.stop();
  }
  /** {@linkcode stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    return Promise.resolve();
  }
  /** Yields captured elements until the capture is stopped. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, unknown> {
    while (!this.#stopped) yield await this.capture();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<${this.constructor.name}${this.#stopped ? ": stopped" : ""}>`;
  }
}
showAs(Capture);

/** Options of {@linkcode webcam}. */
export interface WebcamOptions {
  /** The camera of a phone. Default `"user"`. */
  readonly facingMode?: "user" | "environment";
  /** Identifier of the camera, as `navigator.mediaDevices.enumerateDevices()` names it. */
  readonly deviceId?: string;
  /** Columns of the pictures, given with `resizeHeight`. Default: those of the video element. */
  readonly resizeWidth?: number;
  /** Rows of the pictures. */
  readonly resizeHeight?: number;
  /** True: crops the middle of the picture; false: resizes all of it. */
  readonly centerCrop?: boolean;
}

const checkWebcam = optionCheck<WebcamOptions>("webcam", {
  facingMode: true,
  deviceId: true,
  resizeWidth: true,
  resizeHeight: true,
  centerCrop: true,
});

/** Pictures of a camera. */
export class Webcam extends Capture<Tensor> {
  readonly #video: VideoLike;
  readonly #options: WebcamOptions;

  /** Creates a capture of a stream that a video element shows. */
  constructor(stream: MediaStreamLike, video: VideoLike, options: WebcamOptions) {
    super(stream);
    this.#video = video;
    this.#options = options;
  }
  /** Captures the current picture. */
  // deno-lint-ignore require-await
  override async capture(): Promise<Tensor> {
    const { resizeWidth, resizeHeight, centerCrop = false } = this.#options;
    if (resizeWidth === undefined || resizeHeight === undefined) return this.#pixels();
    return tidy(() => {
      const image = this.#pixels(), [height, width] = image.shape;
      const [h, w] = centerCrop ? [resizeHeight / height, resizeWidth / width] : [1, 1];
      const box = [(1 - h) / 2, (1 - w) / 2, (1 + h) / 2, (1 + w) / 2];
      const first = tensor([0], [1], "int32"), size = [resizeHeight, resizeWidth] as const;
      return squeeze(cropAndResize(expandDims(image, 0), [box], first, size), [0]);
    });
  }
  #pixels(): Tensor {
    return fromPixels(this.#video as unknown as PixelSource);
  }
}

/**
 * The pictures of a camera as tensors `[height, width, 3]` of values 0 to 255: `capture()` returns one, iteration
 * yields one after the other. They are int32, and float32 where they are resized. Without a video element an unseen one
 * shows them, of the requested size. Rejects with `UnavailableError` outside of a browser's page, `ValueError` where no
 * size is known, and with the browser's error where the user refuses. Follows TensorFlow.js `tf.data.webcam`.
 *
 * @example
 * ```ts ignore
 * import * as tf from "@weft/weft";
 * const camera = await tf.data.webcam(undefined, { resizeWidth: 224, resizeHeight: 224 });
 * const picture = await camera.capture();
 * console.log(picture.shape); // [224, 224, 3]
 * camera.stop();
 * ```
 */
export async function webcam(video?: VideoLike, options: WebcamOptions = {}): Promise<Webcam> {
  checkWebcam(options);
  const { facingMode = "user", deviceId, resizeWidth, resizeHeight } = options;
  if (video === undefined && (resizeWidth === undefined || resizeHeight === undefined)) {
    throw new ValueError(
      "Cannot use a webcam without a video element: give resizeWidth and resizeHeight",
    );
  }
  const size = { width: video?.width ?? resizeWidth!, height: video?.height ?? resizeHeight! };
  const stream = await askFor("webcam", { video: { facingMode, deviceId, ...size } });
  const shown = video ?? Object.assign(page.document!.createElement("video") as VideoLike, size);
  const ready = new Promise((resolve) => shown.onloadedmetadata = resolve);
  shown.srcObject = stream;
  await ready;
  await shown.play();
  return new Webcam(stream, shown, options);
}

/** Options of {@linkcode microphone}. */
export interface MicrophoneOptions {
  /** Samples in a second. Must be the browser's. Default: the browser's. */
  readonly sampleRateHz?: 44100 | 48000;
  /** Frequencies of a spectrum: a power of 2 from 16 to 16384. Default 1024. */
  readonly fftSize?: number;
  /** Number of the lowest frequencies to keep. Default: all. */
  readonly columnTruncateLength?: number;
  /** Spectra of one element. Default 43. */
  readonly numFramesPerSpectrogram?: number;
  /** Constraints for the browser's choice of a microphone, such as `{ deviceId }`. */
  readonly audioTrackConstraints?: object;
  /** Weight of the spectrum before in the next one: 0 to 1. Default 0. */
  readonly smoothingTimeConstant?: number;
  /** False: elements have no spectra. Default true. */
  readonly includeSpectrogram?: boolean;
  /** True: elements have the samples too. Default false. */
  readonly includeWaveform?: boolean;
}

const checkMicrophone = optionCheck<MicrophoneOptions>("microphone", {
  sampleRateHz: true,
  fftSize: true,
  columnTruncateLength: true,
  numFramesPerSpectrogram: true,
  audioTrackConstraints: true,
  smoothingTimeConstant: true,
  includeSpectrogram: true,
  includeWaveform: true,
});

/** The sound of a stretch of time. */
export interface Sound {
  /** Decibels by time and frequency, `[frames, frequencies, 1]`. */
  readonly spectrogram?: Tensor;
  /** Samples, `[frames * fftSize, 1]`. */
  readonly waveform?: Tensor;
}

/** Sounds of a microphone. */
export class Microphone extends Capture<Sound> {
  readonly #context: AudioContextLike;
  readonly #analyser: AnalyserLike;
  readonly #options: MicrophoneOptions;

  /** Creates a capture of a stream that an audio context measures. */
  constructor(stream: MediaStreamLike, context: AudioContextLike, options: MicrophoneOptions) {
    super(stream);
    const { fftSize = 1024, smoothingTimeConstant = 0 } = options;
    this.#context = context;
    this.#options = options;
    this.#analyser = context.createAnalyser();
    this.#analyser.fftSize = 2 * fftSize;
    this.#analyser.smoothingTimeConstant = smoothingTimeConstant;
    context.createMediaStreamSource(stream).connect(this.#analyser);
  }
  /** Samples in a second. */
  sampleRate(): number {
    return this.#context.sampleRate;
  }
  /** Records one element from now on. */
  override async capture(): Promise<Sound> {
    const { fftSize = 1024, numFramesPerSpectrogram: frames = 43 } = this.#options;
    const { columnTruncateLength: kept = fftSize } = this.#options;
    const { includeSpectrogram = true, includeWaveform = false } = this.#options;
    const spectra = new Float32Array(frames * kept), samples = new Float32Array(frames * fftSize);
    const part = new Float32Array(fftSize);
    for (let i = 0; i < frames; i++) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * fftSize / this.sampleRate()));
      this.#analyser.getFloatFrequencyData(part);
      spectra.set(part.subarray(0, kept), i * kept);
      this.#analyser.getFloatTimeDomainData(part);
      samples.set(part, i * fftSize);
    }
    return {
      ...(includeSpectrogram ? { spectrogram: tensor(spectra, [frames, kept, 1]) } : {}),
      ...(includeWaveform ? { waveform: tensor(samples, [frames * fftSize, 1]) } : {}),
    };
  }
  /** Frees the microphone and ends iterations. */
  override stop(): void {
    super.stop();
    this.#analyser.disconnect();
    this.#context.close();
  }
}

/**
 * The sound of a microphone, as spectra and samples: `capture()` records one element, iteration yields one after the
 * other. Rejects with `UnavailableError` outside of a browser's page, `ValueError` for options that do not fit the
 * browser, and with the browser's error where the user refuses. Follows TensorFlow.js `tf.data.microphone`.
 *
 * @example
 * ```ts ignore
 * import * as tf from "@weft/weft";
 * const microphone = await tf.data.microphone({ fftSize: 1024, numFramesPerSpectrogram: 20 });
 * const { spectrogram } = await microphone.capture();
 * console.log(spectrogram.shape); // [20, 1024, 1]
 * microphone.stop();
 * ```
 */
export async function microphone(options: MicrophoneOptions = {}): Promise<Microphone> {
  checkMicrophone(options);
  const { fftSize = 1024, includeSpectrogram = true, includeWaveform = false } = options;
  const log2 = Math.log2(fftSize);
  if (!Number.isInteger(log2) || log2 < 4 || log2 > 14) {
    throw new ValueError(
      `Cannot listen with fftSize ${fftSize}: wanted a power of 2 from 16 to 16384`,
    );
  }
  if (!includeSpectrogram && !includeWaveform) {
    throw new ValueError(
      "Cannot listen for nothing: includeSpectrogram or includeWaveform must be true",
    );
  }
  const { audioTrackConstraints: audio = true, sampleRateHz } = options;
  const stream = await askFor("microphone", { audio, video: false });
  const context = new page.AudioContext!();
  if (sampleRateHz !== undefined && sampleRateHz !== context.sampleRate) {
    for (const track of stream.getTracks()) track.stop();
    throw new ValueError(
      `Cannot listen at ${sampleRateHz} Hz: the browser does at ${context.sampleRate}`,
    );
  }
  return new Microphone(stream, context, options);
}
