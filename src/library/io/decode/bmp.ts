/** Pictures of the format BMP, as TensorFlow reads them: bytes of gray, or of colours without a map, and not compressed. */
import { InvalidArgumentError } from "../../../engine/core/errors.ts";
import { viewOf } from "../bytes.ts";
import type { Pixels } from "../codecs.ts";

/** Bytes of the header that are read. */
const HEADER = 32;

export const isBmp = (bytes: Uint8Array): boolean => bytes[0] === 0x42 && bytes[1] === 0x4d;

/** Decodes a BMP of 8, 24 or 32 bits a pixel. Throws `InvalidArgumentError` for other bytes, and for other channels than those asked for. */
export function bmpPixels(bytes: Uint8Array, asked = 0): Pixels {
  const broken = (why: string): InvalidArgumentError =>
    new InvalidArgumentError(`Cannot decode a BMP: ${why}`, { op: "DecodeBmp" });
  if (bytes.length < HEADER) {
    throw broken(`incomplete content, received ${bytes.length} bytes, wanted at least ${HEADER}`);
  }
  if (!isBmp(bytes)) throw broken("it does not begin as a BMP does");
  const view = viewOf(bytes);
  const start = view.getInt32(10, true), width = view.getInt32(18, true);
  const rows = view.getInt32(22, true), channels = view.getInt16(28, true) / 8;
  const height = Math.abs(rows);
  if (asked !== 0 && asked !== channels) {
    throw broken(`channels ${asked} does not match the bits a pixel of the file, ${8 * channels}`);
  }
  if (channels !== 1 && channels !== 3 && channels !== 4) {
    throw broken(`wanted 8, 24 or 32 bits a pixel, received ${8 * channels}`);
  }
  if (!(width > 0 && height > 0)) throw broken(`its extents are ${width} and ${rows}`);
  const stride = Math.ceil(channels * width / 4) * 4;
  const wanted = start + (height - 1) * stride + channels * width;
  if (start < 0 || bytes.length < wanted) {
    throw broken(`incomplete content, received ${bytes.length} bytes, wanted at least ${wanted}`);
  }
  const data = new Uint8Array(height * width * channels);
  for (let y = 0; y < height; y++) {
    // Rows go from the bottom to the top unless the height is negative.
    const from = start + (rows > 0 ? height - 1 - y : y) * stride, to = y * width * channels;
    data.set(bytes.subarray(from, from + width * channels), to);
    if (channels === 1) continue;
    for (let at = to; at < to + width * channels; at += channels) {
      [data[at], data[at + 2]] = [data[at + 2], data[at]];
    }
  }
  return { width, height, channels, data };
}
