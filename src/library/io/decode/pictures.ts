/** BMP and GIF in the namespace `tf.io`. The decoders are loaded when a picture is decoded, unless `./image` gives them before. */
import { apply1 } from "../../../engine/core/apply.ts";
import { optionCheck } from "../../../engine/core/arguments.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { OpDef } from "../../../engine/core/op.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { checkChannels } from "../codecs.ts";
import { bytesOf, type Contents, contentsInput, defineHost } from "../image_ops.ts";
import type { Frames } from "./gif.ts";
import type { bmpPixels } from "./bmp.ts";

/** The decoders of both formats. */
interface Decoders {
  readonly bmpPixels: typeof bmpPixels;
  readonly gifFrames: (bytes: Uint8Array) => Frames;
}

const known: { decoders?: Decoders } = {};

/** Gives the decoders at once; without it they are loaded where they are wanted, and what waits for them must be awaited. */
export function knowPictures(decoders: Decoders): void {
  known.decoders = decoders;
}

/** Decodes by one of them, now or later. */
function decoded(use: (decoders: Decoders) => NdArray): NdArray[] | Promise<NdArray[]> {
  if (known.decoders) return [use(known.decoders)];
  return import("./picture_decoders.ts").then((decoders) => [use(decoders)]);
}

const DecodeBmp: OpDef = defineHost("DecodeBmp", {
  inputs: ["contents: string"],
  outputs: ["image: uint8"],
  attrs: ["channels: int = 0"],
  infer: (_, { channels }) => [[null, null, channels === 0 ? null : channels]],
  run: ([contents], { channels: asked }) =>
    decoded(({ bmpPixels }) => {
      const { width, height, channels, data } = bmpPixels(bytesOf(contents, "DecodeBmp"), asked);
      return new NdArray("uint8", [height, width, channels], data as Uint8Array);
    }),
});

const DecodeGif: OpDef = defineHost("DecodeGif", {
  inputs: ["contents: string"],
  outputs: ["image: uint8"],
  infer: () => [[null, null, null, 3]],
  run: ([contents]) =>
    decoded(({ gifFrames }) => {
      const { count, width, height, data } = gifFrames(bytesOf(contents, "DecodeGif"));
      return new NdArray("uint8", [count, height, width, 3], data);
    }),
});

/** Options of {@linkcode decodeBmp}. */
export interface DecodeBmpOptions {
  /** 1 for gray, 3 for colours, 4 with opacity, as the file has them; 0 for the file's own. Default 0. */
  readonly channels?: number;
}

const checkBmp = optionCheck<DecodeBmpOptions>("decodeBmp", { channels: true });

/**
 * Decodes a BMP of 8, 24 or 32 bits a pixel, not compressed, to a uint8 tensor of shape `[height, width, channels]`: in graphs and
 * `tf.data`, where it is awaited, and at once after `import "@weft/weft/image"`. Throws `InvalidArgumentError` for other bytes and for
 * channels that the file has not. TensorFlow op `DecodeBmp`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const bytes = new Uint8Array(58), view = new DataView(bytes.buffer);
 * bytes.set([0x42, 0x4d]);
 * view.setInt32(10, 54, true); // where pixels begin
 * view.setInt32(18, 1, true); // width
 * view.setInt32(22, 1, true); // height
 * view.setInt16(28, 24, true); // bits a pixel
 * bytes.set([3, 2, 1], 54); // blue, green, red
 * console.log(tf.io.decodeBmp(bytes).arraySync()); // [[[1, 2, 3]]]
 * ```
 */
export function decodeBmp(contents: Contents, options: DecodeBmpOptions = {}): Tensor {
  checkBmp(options);
  const channels = checkChannels(options.channels ?? 0, [0, 1, 3, 4], "decodeBmp");
  return apply1(DecodeBmp, [contentsInput(contents, "decodeBmp")], { channels });
}

/**
 * Decodes all frames of a GIF to a uint8 tensor of shape `[frames, height, width, 3]`: each covers the one before, as in TensorFlow.
 * It is awaited, and throws, as {@linkcode decodeBmp} does. TensorFlow op `DecodeGif`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/image";
 * const head = [71, 73, 70, 56, 57, 97, 1, 0, 1, 0, 128, 0, 0, ...[1, 2, 3], ...[4, 5, 6]];
 * const frame = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4c, 1, 0];
 * const gif = Uint8Array.from([...head, ...frame, 0x3b]);
 * console.log(tf.io.decodeGif(gif).arraySync()); // [[[[4, 5, 6]]]]
 * ```
 */
export function decodeGif(contents: Contents): Tensor {
  return apply1(DecodeGif, [contentsInput(contents, "decodeGif")]);
}
