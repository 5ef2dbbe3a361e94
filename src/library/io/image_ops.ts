/**
 * tf.io.decodePng and its siblings: images, sounds and files as ops. They run on the host. Where the platform decodes,
 * or a file is read, the result comes later: pipelines and graphs await it, eager code calls the functions whose names
 * end in `Async`.
 */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../../engine/core/errors.ts";
import type { HostOp } from "../../engine/core/contract/host_op.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import { type Attrs, defineOp, type OpDef, type OpInit } from "../../engine/core/op.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { decodeString } from "../../engine/core/text.ts";
import { castInput, toIndexInput, toInput } from "../../engine/ops/input.ts";
import { constantTensor } from "../../engine/runtime/eager/eager.ts";
import { scopeDevice } from "../../engine/runtime/devices/devices.ts";
import { checkChannels, decodeBytes, encodeImage } from "./codecs.ts";
import { readBytes } from "./files.ts";
import { fileOfOp, WITHIN } from "./within.ts";
import { decodeWav as wavSamples, encodeWav as encodeWavOf } from "./wav.ts";
import { jpegShape } from "./decode/jpeg_shape.ts";

type Body = (
  inputs: readonly NdArray[],
  attrs: Attrs,
) => readonly NdArray[] | Promise<readonly NdArray[]>;

/** Advice for ops that have no function whose name ends in Async. */
const AWAITED: ReadonlyMap<string, string> = new Map([
  ["ReadFile", "as await tf.function(() => tf.io.readFile(path)).async() does"],
]);

/** Defines an op of the host whose result may have to be awaited. */
export function defineHost(
  name: string,
  { run, ...init }: Omit<OpInit, "name"> & { readonly run: Body },
): OpDef {
  const hostInputs = init.inputs.map((input) => input.split(":")[0]);
  const eager = (given: readonly OpInput[], attrs: Attrs): Tensor[] => {
    const device = scopeDevice();
    const out = run(given.map(hostValue), attrs);
    if (!(out instanceof Promise)) return out.map((array) => constantTensor(array, device));
    out.catch(() => {});
    throw new FailedPreconditionError(
      `Cannot run ${name} at once: here it must be awaited, ${
        AWAITED.get(name) ?? "call the function whose name ends in Async"
      }, or use it in a graph or tf.data`,
      { op: name },
    );
  };
  const host: HostOp = { eager, run: ({ inputs, attrs }) => run(inputs as NdArray[], attrs) };
  return defineOp({ name, ...init, hostInputs, grad: null, host });
}

function hostValue(x: OpInput): NdArray {
  return x instanceof NdArray ? x : x.ndarraySync();
}

/** Returns the bytes of a scalar string. */
export function bytesOf(x: NdArray, op: string): Uint8Array {
  if (x.rank === 0) return x.data[0] as Uint8Array;
  throw new InvalidArgumentError(`contents must be scalar, got shape [${x.shape}]`, { op });
}

/** Maps a value, at once where it is there. */
function map<A, B>(value: A | Promise<A>, make: (value: A) => B): B | Promise<B> {
  return value instanceof Promise ? value.then(make) : make(value);
}

function imageOp(name: string, ...dtypeAttr: string[]): OpDef {
  return defineHost(name, {
    inputs: ["contents: string"],
    outputs: [dtypeAttr.length > 0 ? "image: dtype" : "image: uint8"],
    attrs: ["channels: int = 0", ...dtypeAttr],
    infer: (_, { channels }) => [[null, null, channels === 0 ? null : channels]],
    run: ([contents], { channels, dtype = "uint8" }) =>
      map(decodeBytes(bytesOf(contents, name), { channels, dtype, op: name }), (image) => [image]),
  });
}

/** Defines an op that makes bytes, a scalar string, of its input. */
function bytesOp(
  name: string,
  { run, ...init }: Partial<OpInit> & {
    readonly inputs: readonly string[];
    readonly run: (x: NdArray, attrs: Attrs) => Uint8Array | Promise<Uint8Array>;
  },
): OpDef {
  return defineHost(name, {
    ...init,
    outputs: ["contents: string"],
    infer: () => [[]],
    run: ([x], attrs) => map(run(x, attrs), (bytes) => [new NdArray("string", [], [bytes])]),
  });
}

const DecodePng = imageOp("DecodePng", "dtype: type = uint8");
const DecodeImage = imageOp("DecodeImage", "dtype: type = uint8");
const DecodeJpeg = imageOp("DecodeJpeg");
const EncodePng = bytesOp("EncodePng", {
  inputs: ["image: T"],
  attrs: ["T: type = uint8"],
  run: (image) => encodeImage(image, "png", 0),
});
const EncodeJpeg = bytesOp("EncodeJpeg", {
  inputs: ["image: uint8"],
  attrs: ["quality: int = 95"],
  run: (image, { quality }) => encodeImage(image, "jpeg", quality),
});

const DecodeWav = defineHost("DecodeWav", {
  inputs: ["contents: string"],
  outputs: ["audio: float32", "sample_rate: int32"],
  attrs: ["desired_channels: int = -1", "desired_samples: int = -1"],
  infer: (_, { desired_channels: channels, desired_samples: samples }) => [
    [samples < 0 ? null : samples, channels < 0 ? null : channels],
    [],
  ],
  run: ([contents], { desired_channels: channels, desired_samples: samples }) => {
    const { audio, sampleRate } = wavSamples(bytesOf(contents, "DecodeWav"), { channels, samples });
    return [audio, new NdArray("int32", [], Int32Array.of(sampleRate))];
  },
});

const EncodeWav = defineHost("EncodeWav", {
  inputs: ["audio: float32", "sample_rate: int32"],
  outputs: ["contents: string"],
  infer: () => [[]],
  run: ([audio, rate]) => [new NdArray("string", [], [encodeWavOf(audio, Number(rate.at(0)))])],
});

/** {@linkcode encodeJpeg} whose quality is an input. */
export const EncodeJpegVariableQuality: OpDef = defineHost("EncodeJpegVariableQuality", {
  inputs: ["images: uint8", "quality: int32"],
  outputs: ["contents: string"],
  infer: () => [[]],
  run: ([image, quality]) =>
    map(encodeImage(image, "jpeg", Number(quality.at(0))), (bytes) => [
      new NdArray("string", [], [bytes]),
    ]),
});

/** The extents of a JPEG, which are read without decoding it. */
export const ExtractJpegShape: OpDef = defineHost("ExtractJpegShape", {
  inputs: ["contents: string"],
  outputs: ["image_shape: output_type"],
  attrs: ["output_type: index = int32"],
  infer: () => [[3]],
  run: ([contents], { output_type }) => {
    const shape = NdArray.zeros(output_type, [3]);
    jpegShape(bytesOf(contents, "ExtractJpegShape")).forEach((n, i) =>
      setElement(shape, i, output_type === "int64" ? BigInt(n) : n)
    );
    return [shape];
  },
});

const ReadFile = bytesOp("ReadFile", {
  inputs: ["filename: string"],
  // The file may change, so it is read at each run.
  stateful: true,
  outside: "files",
  attrs: [WITHIN],
  run: (name, { _within }) => readBytes(fileOfOp(decodeString(bytesOf(name, "ReadFile")), _within)),
});

/** Encoded bytes: a scalar string tensor, a string array, or the bytes themselves. */
export type Contents = TensorLike | Tensor | NdArray | Uint8Array;

/** Returns encoded bytes as the input of an op. */
export function contentsInput(contents: Contents, fn: string): OpInput {
  if (contents instanceof Uint8Array) return new NdArray("string", [], [contents]);
  return toInput(contents as Tensor, "contents", fn, { dtype: "string" });
}

/** Options of {@linkcode decodePng} and {@linkcode decodeImage}. */
export interface DecodeImageOptions {
  /** 1 for gray, 3 for colours, 4 with opacity; 0 for the image's own. Default 0. */
  readonly channels?: number;
  /** `uint8` or, for images of 16 bits, `uint16`. Default `uint8`. */
  readonly dtype?: "uint8" | "uint16";
}
/** Options of {@linkcode decodeJpeg}. */
export interface DecodeJpegOptions {
  /** 1 for gray, 3 for colours; 0 for the image's own. Default 0. */
  readonly channels?: number;
}

const checkDecode = optionCheck<DecodeImageOptions>("decodeImage", { channels: true, dtype: true });
const checkJpeg = optionCheck<DecodeJpegOptions>("decodeJpeg", { channels: true });

function decoded(
  def: OpDef,
  contents: Contents,
  options: DecodeImageOptions,
  fn: string,
): Tensor {
  checkDecode(options);
  const channels = checkChannels(options.channels ?? 0, [0, 1, 3, 4], fn);
  const { dtype = "uint8" } = options;
  if (dtype !== "uint8" && dtype !== "uint16") {
    throw new TypeError(`Cannot decode an image as ${dtype}: wanted uint8 or uint16`);
  }
  return apply1(def, [contentsInput(contents, fn)], { channels, dtype });
}

/**
 * Decodes a PNG to a tensor of shape `[height, width, channels]`, with TensorFlow's bytes. Throws
 * `InvalidArgumentError` for bytes that are no image. TensorFlow op `DecodePng`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor3d([[[255, 0, 0], [0, 0, 255]]], [1, 2, 3], "int32").cast("uint8");
 * console.log(tf.io.decodePng(tf.io.encodePng(image)).arraySync()); // [[[255, 0, 0], [0, 0, 255]]]
 * ```
 */
export function decodePng(contents: Contents, options: DecodeImageOptions = {}): Tensor {
  return decoded(DecodePng, contents, options, "decodePng");
}

/**
 * Decodes an image of any known format to a tensor of shape `[height, width, channels]`: PNG, JPEG, formats of
 * {@linkcode registerImageCodec}, and those of the browser. As {@linkcode decodeJpeg} otherwise.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const png = tf.io.encodePng(tf.cast([[[255], [0]]], "uint8"));
 * console.log(tf.io.decodeImage(png).arraySync()); // [[[255], [0]]]
 * ```
 */
export function decodeImage(contents: Contents, options: DecodeImageOptions = {}): Tensor {
  return decoded(DecodeImage, contents, options, "decodeImage");
}

/**
 * Is {@linkcode decodeImage} for eager code where the platform decodes, which must be awaited.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const png = tf.io.encodePng(tf.cast([[[255], [0]]], "uint8"));
 * const image = await tf.io.decodeImageAsync(png);
 * console.log(image.arraySync()); // [[[255], [0]]]
 * ```
 */
export async function decodeImageAsync(
  contents: Contents,
  options: DecodeImageOptions = {},
): Promise<Tensor> {
  checkDecode(options);
  const channels = checkChannels(options.channels ?? 0, [0, 1, 3, 4], "decodeImageAsync");
  const device = scopeDevice();
  const input = contentsInput(contents, "decodeImageAsync");
  const bytes = bytesOf(input instanceof NdArray ? input : await input.ndarray(), "DecodeImage");
  const wanted = { channels, dtype: options.dtype ?? "uint8" as const, op: "DecodeImage" };
  return constantTensor(await decodeBytes(bytes, wanted), device);
}

/**
 * Decodes a JPEG to a tensor of shape `[height, width, channels]`. Browsers decode it themselves, which must be
 * awaited: in graphs and `tf.data`, or by {@linkcode decodeImageAsync}. Elsewhere `import "@weft/weft/image"` registers
 * libjpeg-turbo, whose bytes are those of TensorFlow's `dct_method="INTEGER_ACCURATE"`. Throws `InvalidArgumentError`
 * for bytes that are no image, `UnimplementedError` without a decoder. TensorFlow op `DecodeJpeg`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const jpeg = tf.io.encodeJpeg(tf.cast(tf.fill([8, 8, 3], 100), "uint8"));
 * console.log(tf.io.decodeJpeg(jpeg, { channels: 1 }).shape); // [8, 8, 1]
 * ```
 */
export function decodeJpeg(contents: Contents, options: DecodeJpegOptions = {}): Tensor {
  checkJpeg(options);
  const channels = checkChannels(options.channels ?? 0, [0, 1, 3], "decodeJpeg");
  return apply1(DecodeJpeg, [contentsInput(contents, "decodeJpeg")], { channels });
}

/**
 * Encodes an image of shape `[height, width, channels]`, `uint8` or `uint16`, as a PNG. Throws `InvalidArgumentError`
 * for other tensors. TensorFlow op `EncodePng`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const png = tf.io.encodePng(tf.cast([[[255], [0]]], "uint8"));
 * console.log(tf.io.decodePng(png).arraySync()); // [[[255], [0]]]
 * ```
 */
export function encodePng(image: TensorLike): Tensor {
  const dtype = image instanceof NdArray ? image.dtype : "uint8";
  const input = toInput(image as Tensor, "image", "encodePng", { dtype });
  return apply1(EncodePng, [input], { T: input.dtype });
}

/** Options of {@linkcode encodeJpeg}. */
export interface EncodeJpegOptions {
  /** From 0 to 100. Default 95. */
  readonly quality?: number;
}
const checkEncodeJpeg = optionCheck<EncodeJpegOptions>("encodeJpeg", { quality: true });

/**
 * Encodes a `uint8` image of shape `[height, width, 1 or 3]` as a JPEG, by the browser or by the codec of
 * `import "@weft/weft/image"`. Throws as {@linkcode decodeJpeg} does. TensorFlow op `EncodeJpeg`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const jpeg = tf.io.encodeJpeg(tf.cast(tf.fill([8, 8, 3], 100), "uint8"), { quality: 90 });
 * console.log(tf.io.decodeJpeg(jpeg).shape); // [8, 8, 1]
 * ```
 */
export function encodeJpeg(image: TensorLike, options: EncodeJpegOptions = {}): Tensor {
  checkEncodeJpeg(options);
  const { quality = 95 } = options;
  return apply1(EncodeJpeg, [toInput(image as Tensor, "image", "encodeJpeg", { dtype: "uint8" })], {
    quality,
  });
}

/** Options of {@linkcode decodeWav}. */
export interface DecodeWavOptions {
  /** Number of channels: missing ones repeat the last one. Default -1: the file's own. */
  readonly desiredChannels?: number;
  /** Number of samples: missing ones are silence. Default -1: the file's own. */
  readonly desiredSamples?: number;
}
/** The result of {@linkcode decodeWav}. */
export interface Wav {
  /** Samples from -1 to 1, of shape `[samples, channels]`. */
  readonly audio: Tensor;
  /** Samples a second. */
  readonly sampleRate: Tensor;
}
const checkWav = optionCheck<DecodeWavOptions>("decodeWav", {
  desiredChannels: true,
  desiredSamples: true,
});

/**
 * Decodes a WAV of 16 bits a sample. Throws `InvalidArgumentError` for other bytes. TensorFlow op `DecodeWav`,
 * `tf.audio.decode_wav`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { audio, sampleRate } = tf.io.decodeWav(tf.io.encodeWav([[0], [0.5]], 8000));
 * console.log(audio.arraySync(), sampleRate.item()); // [[0], [0.5]] 8000
 * ```
 */
export function decodeWav(contents: Contents, options: DecodeWavOptions = {}): Wav {
  checkWav(options);
  const [audio, sampleRate] = apply(DecodeWav, [contentsInput(contents, "decodeWav")], {
    desired_channels: options.desiredChannels ?? -1,
    desired_samples: options.desiredSamples ?? -1,
  });
  return { audio, sampleRate };
}

/**
 * Encodes samples of shape `[samples, channels]`, from -1 to 1, as a WAV of 16 bits a sample; what is beyond is clipped. Throws
 * `InvalidArgumentError` for other shapes and rates below 1. TensorFlow op `EncodeWav`, `tf.audio.encode_wav`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const wav = tf.io.encodeWav([[0], [0.5], [-1]], 8000);
 * console.log(tf.io.decodeWav(wav).audio.arraySync()); // [[0], [0.5], [-1]]
 * ```
 */
export function encodeWav(audio: TensorLike, sampleRate: TensorLike): Tensor {
  return apply1(EncodeWav, [
    castInput(toInput(audio, "audio", "encodeWav"), "float32"),
    toIndexInput(sampleRate, "sampleRate", "encodeWav"),
  ]);
}

/**
 * Reads a file, as a scalar string: in graphs and `tf.data`, where it is awaited. Rejects with `NotFoundError` for a
 * file that does not exist. TensorFlow op `ReadFile`, `tf.io.read_file`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const path = await Deno.makeTempFile();
 * await Deno.writeTextFile(path, "hello");
 * const contents = tf.data.fromTensorSlices([path]).map((path) => tf.io.readFile(path));
 * for await (const bytes of contents.asNumpyIterator()) console.log(bytes.text()); // hello
 * await Deno.remove(path);
 * ```
 */
export function readFile(filename: TensorLike): Tensor {
  return apply1(ReadFile, [
    toInput(filename as Tensor, "filename", "readFile", { dtype: "string" }),
  ], {});
}
