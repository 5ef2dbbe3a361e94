/**
 * Codecs of images on bytes, for runtimes without those of a browser and for bodies in workers: JPEG by libjpeg-turbo,
 * PNG, BMP and GIF by ours. Importing it is enough: `tf.io.decodeJpeg`, `decodeImage` and `encodeJpeg` then work at once. For Deno
 * and Node: in browsers `tf.io` uses the browser's codecs. The decoder of JPEGs lies in a file of its package: in Deno it needs
 * `--allow-read` when this module is imported, and without it decoding a JPEG throws `PermissionDeniedError`.
 *
 * @example
 * ```ts
 * import { decodeImage, encodePng } from "@weft/weft/image";
 * import { NdArray } from "@weft/weft";
 * const image = new NdArray("uint8", [1, 1, 3], Uint8Array.of(1, 2, 3));
 * console.log(decodeImage(encodePng(image)).data); // Uint8Array(3) [1, 2, 3]
 * ```
 *
 * @module
 */
import { encode as encodeJpegJs } from "jpeg-js";
import { optionCheck, wantNumber, wrongArgument } from "../../engine/core/arguments.ts";
import { FailedPreconditionError, PermissionDeniedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { decodeBytes, encodeImage, opaque, registerImageCodec } from "../../library/io/codecs.ts";
import { bmpPixels, isBmp } from "../../library/io/decode/bmp.ts";
import { gifFrames, isGif } from "../../library/io/decode/gif.ts";
import { knowPictures } from "../../library/io/decode/pictures.ts";

export type {
  DType,
  ElementValue,
  Float16ArrayLike,
  HostData,
  NdArray,
  Nested,
  Shape,
  TypedArray,
} from "../../engine/types.ts";

/** The used part of `Deno`. */
interface DenoRuntime {
  readonly permissions: {
    query(wanted: { readonly name: "read" }): Promise<{ readonly state: string }>;
  };
}

const deno = (globalThis as { readonly Deno?: DenoRuntime }).Deno;
/** True where the decoder's file is read without a question to the user. */
const mayRead = deno === undefined ||
  (await deno.permissions.query({ name: "read" })).state === "granted";
const turbo = mayRead ? await import("@cwasm/jpeg-turbo") : null;

registerImageCodec("jpeg", {
  matches: (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8,
  decode(bytes) {
    if (turbo === null) {
      throw new PermissionDeniedError(
        "Cannot decode a JPEG: its decoder lies in a file that may not be read, run with --allow-read",
      );
    }
    const { width, height, data } = turbo.decode(bytes);
    return { width, height, channels: 4, data };
  },
  encode(pixels, quality) {
    const { width, height } = pixels;
    return new Uint8Array(encodeJpegJs({ width, height, data: opaque(pixels) }, quality).data);
  },
});

knowPictures({ bmpPixels, gifFrames });
registerImageCodec("bmp", { matches: isBmp, decode: (bytes) => bmpPixels(bytes) });
// An animation gives its first frame.
registerImageCodec("gif", {
  matches: isGif,
  decode(bytes) {
    const { width, height, data } = gifFrames(bytes, 1);
    return { width, height, channels: 3, data };
  },
});

/** Options of decoding. */
export interface DecodeOptions {
  /** 1 for gray, 3 for colours, 4 with opacity; 0 for the image's own. Default 0. */
  readonly channels?: number;
}

const checkDecode = optionCheck<DecodeOptions>("decodeImage", { channels: true });

function anArray(image: unknown, fn: string): NdArray {
  if (image instanceof NdArray) return image;
  throw wrongArgument(image, "image", fn, "an NdArray");
}

function atOnce<T>(value: T | Promise<T>): T {
  if (!(value instanceof Promise)) return value;
  throw new FailedPreconditionError("Cannot decode this image at once: its codec must be awaited");
}

/**
 * Decodes a PNG or JPEG to an array `[height, width, channels]`. Throws `InvalidArgumentError` for bytes that are no
 * image.
 *
 * @example
 * ```ts
 * import { decodeImage, encodePng } from "@weft/weft/image";
 * import { NdArray } from "@weft/weft";
 * const png = encodePng(new NdArray("uint8", [1, 2, 1], Uint8Array.of(255, 0)));
 * console.log(decodeImage(png, { channels: 3 }).shape); // [1, 2, 3]
 * ```
 */
export function decodeImage(bytes: Uint8Array, options: DecodeOptions = {}): NdArray {
  if (!(bytes instanceof Uint8Array)) {
    throw wrongArgument(bytes, "bytes", "decodeImage", "a Uint8Array");
  }
  checkDecode(options);
  const { channels = 0 } = options;
  return atOnce(decodeBytes(bytes, { channels, dtype: "uint8", op: "decodeImage" }));
}

/**
 * Encodes an image `[height, width, channels]` as a PNG. Throws `InvalidArgumentError` for other arrays.
 *
 * @example
 * ```ts
 * import { encodePng } from "@weft/weft/image";
 * import { NdArray } from "@weft/weft";
 * const png = encodePng(new NdArray("uint8", [1, 2, 1], Uint8Array.of(255, 0)));
 * console.log(String.fromCharCode(...png.subarray(1, 4))); // PNG
 * ```
 */
export function encodePng(image: NdArray): Uint8Array {
  return atOnce(encodeImage(anArray(image, "encodePng"), "png", 0));
}

/**
 * Encodes an image `[height, width, 1 or 3]` as a JPEG. Throws `InvalidArgumentError` for other arrays.
 *
 * @example
 * ```ts
 * import { decodeImage, encodeJpeg } from "@weft/weft/image";
 * import { NdArray } from "@weft/weft";
 * const jpeg = encodeJpeg(new NdArray("uint8", [1, 1, 3], Uint8Array.of(9, 9, 9)), 90);
 * console.log(decodeImage(jpeg).shape); // [1, 1, 1]
 * ```
 */
export function encodeJpeg(image: NdArray, quality = 95): Uint8Array {
  wantNumber(quality, "quality", "encodeJpeg");
  return atOnce(encodeImage(anArray(image, "encodeJpeg"), "jpeg", quality));
}
