/** jpegShape: the extents of a JPEG, read of its frame header. */
import { InvalidArgumentError } from "../../../engine/core/errors.ts";
import { viewOf } from "../bytes.ts";

/** Returns height, width and channels. Throws `InvalidArgumentError` for bytes that have no frame header. */
export function jpegShape(bytes: Uint8Array): [height: number, width: number, channels: number] {
  const broken = (why: string): InvalidArgumentError =>
    new InvalidArgumentError(`Invalid JPEG data or crop window: ${why}`, {
      op: "ExtractJpegShape",
    });
  if (bytes.length < 3 || bytes[0] !== 0xff || bytes[1] !== 0xd8) {
    throw broken("it does not begin as a JPEG does");
  }
  const view = viewOf(bytes);
  for (let at = 2; at + 4 <= bytes.length;) {
    if (bytes[at] !== 0xff) throw broken(`byte ${at} is no marker`);
    const marker = bytes[at + 1];
    if (marker === 0xff) {
      at++;
      continue;
    }
    // Markers without a segment.
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2;
      continue;
    }
    if (marker === 0xd9 || marker === 0xda) break;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame && at + 10 <= bytes.length) {
      return [view.getUint16(at + 5), view.getUint16(at + 7), bytes[at + 9]];
    }
    at += 2 + view.getUint16(at + 2);
  }
  throw broken("it has no frame header");
}
