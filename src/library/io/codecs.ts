/**
 * Codecs of images: the decoders and encoders of this runtime. PNG is ours; others are registered, or the platform's.
 */
import { describe } from "../../engine/core/convert.ts";
import {
  InvalidArgumentError,
  PermissionDeniedError,
  UnimplementedError,
  ValueError,
} from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { argumentsCheck } from "../../engine/core/arguments.ts";
import { decodePng, encodePng, isPng } from "./png.ts";

/** Known formats; {@linkcode registerImageCodec} takes others. */
export type ImageFormat = "jpeg" | "png" | (string & Record<never, never>);

/** Pixels of an image: rows of pixels of `channels` bytes each. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel: gray, red green blue, or with opacity. */
  readonly channels: 1 | 3 | 4;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** Decoder and encoder of a format. */
export interface ImageCodec {
  /** True for bytes that begin as the format does. */
  readonly matches: (bytes: Uint8Array) => boolean;
  /** Decodes an image, now or later. */
  readonly decode?: (bytes: Uint8Array) => Pixels | Promise<Pixels>;
  /** Encodes an image with a `quality` of 0 to 100, now or later. */
  readonly encode?: (pixels: Pixels, quality: number) => Uint8Array | Promise<Uint8Array>;
}

const checkCodec = argumentsCheck<ImageCodec>("registerImageCodec", {
  matches: true,
  decode: true,
  encode: true,
});

const codecs = new Map<ImageFormat, ImageCodec>();

/**
 * Registers the decoder and encoder of a format, which are used before the platform's: a library where there is no
 * platform, as `@weft/weft/image` registers one for JPEG, or a format of your own. Throws `ValueError` where it has
 * neither.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.io.registerImageCodec("dot", {
 *   matches: (bytes) => bytes[0] === 46,
 *   decode: (bytes) => ({ width: 1, height: 1, channels: 1, data: bytes.slice(1, 2) }),
 * });
 * console.log(tf.io.decodeImage(Uint8Array.of(46, 7)).arraySync()); // [[[7]]]
 * ```
 */
export function registerImageCodec(format: ImageFormat, codec: ImageCodec): void {
  checkCodec(codec);
  if (typeof codec.matches !== "function" || !(codec.decode || codec.encode)) {
    throw new ValueError(
      `Cannot register a codec for ${
        describe(format)
      }: wanted { matches } and { decode } or { encode }`,
    );
  }
  codecs.set(format, { ...codecs.get(format), ...codec });
}

/** The requested form of a decoded image. */
export interface Wanted {
  /** Channels; 0 for the image's own. */
  readonly channels: number;
  readonly dtype: "uint8" | "uint16";
  /** Name of the op, for messages. */
  readonly op: string;
}

const isJpeg = (bytes: Uint8Array): boolean => bytes[0] === 0xff && bytes[1] === 0xd8;

/**
 * Decodes an image to an array `[height, width, channels]`, now or later. Throws (or rejects with)
 * `InvalidArgumentError` for invalid bytes.
 */
export function decodeBytes(bytes: Uint8Array, wanted: Wanted): NdArray | Promise<NdArray> {
  if (isPng(bytes)) return decodePng(bytes, wanted.channels, wanted.dtype);
  const format = isJpeg(bytes) ? "jpeg" : [...codecs].find(([, c]) => c.matches(bytes))?.[0];
  const decode = format === undefined ? undefined : codecs.get(format)?.decode;
  const fail = (cause: unknown): never => {
    if (cause instanceof UnimplementedError) throw cause;
    throw new InvalidArgumentError(
      `Cannot decode ${bytes.length} bytes as an image: ${
        cause instanceof Error ? cause.message : cause
      }`,
      { op: wanted.op, cause },
    );
  };
  if (!decode) {
    if (hasPlatform()) return platformDecode(bytes, format ?? "image").then(finish, fail);
    if (format === "jpeg") throw noCodec("decode", "JPEG", wanted.op);
    return fail("its format is not known here");
  }
  let pixels: Pixels | Promise<Pixels>;
  try {
    pixels = decode(bytes);
  } catch (error) {
    if (error instanceof PermissionDeniedError) throw error;
    return fail(error);
  }
  return pixels instanceof Promise ? pixels.then(finish, fail) : finish(pixels);

  function finish(pixels: Pixels): NdArray {
    return toChannels(pixels, format === "jpeg", wanted);
  }
}

function noCodec(what: string, format: string, op: string): UnimplementedError {
  return new UnimplementedError(
    `Cannot ${what} ${format} here: this runtime has no codec for it, import "@weft/weft/image" or call tf.io.registerImageCodec("jpeg", …)`,
    { op },
  );
}

/** Converts pixels to the requested channels. */
function toChannels(
  { width, height, channels: has, data }: Pixels,
  isOpaque: boolean,
  { channels: asked, dtype, op }: Wanted,
): NdArray {
  if (data.length !== width * height * has) {
    throw new InvalidArgumentError(
      `Cannot take a decoded image: ${width}×${height} pixels of ${has} channels are not ${data.length} bytes`,
      { op },
    );
  }
  const isGray = has === 1 || isOpaque && isGrayAll(data, has) && asked !== 3;
  const channels = asked !== 0 ? asked : has === 4 && isOpaque ? (isGray ? 1 : 3) : has;
  const n = width * height, out = new Uint8Array(n * channels);
  if (channels === has) out.set(data);
  else {
    for (let i = 0, from = 0, to = 0; i < n; i++, from += has, to += channels) {
      const r = data[from], g = has === 1 ? r : data[from + 1], b = has === 1 ? r : data[from + 2];
      if (channels < 3) out[to] = has === 1 ? r : brightness(r, g, b);
      else {
        out[to] = r;
        out[to + 1] = g;
        out[to + 2] = b;
      }
      if (channels === 2 || channels === 4) {
        out[to + channels - 1] = has === 4 ? data[from + 3] : 255;
      }
    }
  }
  const shape = [height, width, channels];
  if (dtype === "uint8") return new NdArray("uint8", shape, out);
  return new NdArray("uint16", shape, Uint16Array.from(out, (v) => v * 257));
}

function isGrayAll(data: ArrayLike<number>, n: number): boolean {
  for (let i = 0; i < data.length; i += n) {
    if (data[i] !== data[i + 1] || data[i] !== data[i + 2]) return false;
  }
  return true;
}

/** JPEG's own luminance (ITU-T T.871). */
function brightness(r: number, g: number, b: number): number {
  return 0.299 * r + 0.587 * g + 0.114 * b + 0.5 | 0;
}

/** The used part of a canvas. */
interface Context2d {
  drawImage(image: unknown, x: number, y: number): void;
  putImageData(image: unknown, x: number, y: number): void;
  getImageData(x: number, y: number, w: number, h: number): { readonly data: Uint8ClampedArray };
}
interface Canvas {
  getContext(kind: "2d", options?: object): Context2d | null;
  convertToBlob(options: { type: string; quality: number }): Promise<Blob>;
}
interface Bitmap {
  readonly width: number;
  readonly height: number;
  close(): void;
}
interface Platform {
  OffscreenCanvas?: new (width: number, height: number) => Canvas;
  createImageBitmap?(blob: Blob, options: object): Promise<Bitmap>;
  ImageData?: new (data: Uint8ClampedArray, width: number, height: number) => unknown;
}

let platformWorks: boolean | null = null;

/** True where the platform decodes images and exposes their pixels: browsers and their workers. */
function hasPlatform(): boolean {
  const { OffscreenCanvas, createImageBitmap } = globalThis as unknown as Platform;
  platformWorks ??= createImageBitmap !== undefined && OffscreenCanvas !== undefined &&
    new OffscreenCanvas(1, 1).getContext("2d") !== null;
  return platformWorks;
}

async function platformDecode(bytes: Uint8Array, format: string): Promise<Pixels> {
  const { OffscreenCanvas, createImageBitmap } = globalThis as unknown as Platform;
  const blob = new Blob([bytes as Uint8Array<ArrayBuffer>], { type: `image/${format}` });
  const image = await createImageBitmap!(blob, {
    premultiplyAlpha: "none",
    colorSpaceConversion: "none",
    imageOrientation: "none",
  });
  const { width, height } = image;
  const context = new OffscreenCanvas!(width, height).getContext("2d", {
    willReadFrequently: true,
  })!;
  context.drawImage(image, 0, 0);
  image.close();
  return { width, height, channels: 4, data: context.getImageData(0, 0, width, height).data };
}

/**
 * Encodes an image, now or later. Throws `InvalidArgumentError` for an array that is no image, `UnimplementedError`
 * without an encoder.
 */
export function encodeImage(
  image: NdArray,
  format: "png" | "jpeg",
  quality: number,
): Uint8Array | Promise<Uint8Array> {
  if (format === "png") return encodePng(image);
  const [height, width, channels] = image.shape;
  if (image.rank !== 3 || image.dtype !== "uint8" || (channels !== 1 && channels !== 3)) {
    throw new InvalidArgumentError(
      `Cannot encode an image ${image.dtype}[${image.shape}]: wanted uint8 of shape [height, width, channels] with 1 or 3 channels`,
      { op: "EncodeJpeg" },
    );
  }
  const pixels: Pixels = { width, height, channels, data: image.data as Uint8Array };
  const encode = codecs.get("jpeg")?.encode;
  if (encode) return encode(pixels, quality);
  if (hasPlatform()) return platformEncode(pixels, quality);
  throw noCodec("encode", "JPEG", "EncodeJpeg");
}

async function platformEncode(pixels: Pixels, quality: number): Promise<Uint8Array> {
  const { OffscreenCanvas, ImageData } = globalThis as unknown as Platform;
  const { width, height } = pixels;
  const canvas = new OffscreenCanvas!(width, height);
  canvas.getContext("2d")!.putImageData(new ImageData!(opaque(pixels), width, height), 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: quality / 100 });
  return new Uint8Array(await blob.arrayBuffer());
}

/** Converts pixels to four channels. */
export function opaque({ width, height, channels, data }: Pixels): Uint8ClampedArray {
  const out = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) out[4 * i + c] = data[i * channels + (channels === 1 ? 0 : c)];
    out[4 * i + 3] = channels === 4 ? data[4 * i + 3] : 255;
  }
  return out;
}

/** Checks the number of channels. Throws `ValueError` for one that is not allowed. */
export function checkChannels(channels: unknown, allowed: readonly number[], fn: string): number {
  if (typeof channels === "number" && allowed.includes(channels)) return channels;
  throw new ValueError(
    `Cannot call ${fn} with channels ${describe(channels)}: wanted ${allowed.join(", ")}`,
  );
}
