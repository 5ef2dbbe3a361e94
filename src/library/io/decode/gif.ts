/** Pictures of the format GIF, all frames of one. Follows the GIF89a specification, and TensorFlow where frames cover each other. */
import { InvalidArgumentError } from "../../../engine/core/errors.ts";
import { viewOf } from "../bytes.ts";

/** All frames of a GIF, in red, green and blue. */
export interface Frames {
  readonly count: number;
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** A picture as the file has it: a part of the canvas, in numbers of colours. */
interface Picture {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly colors: Uint8Array;
  /** Number of the colour that is not painted; -1 for none. */
  readonly clear: number;
  readonly indices: Uint8Array;
}

const EXTENSION = 0x21, IMAGE = 0x2c, TRAILER = 0x3b, CONTROL = 0xf9;
const MAX_CODES = 4096;
/** First rows and steps of the passes of an interlaced picture. */
const PASSES = [[0, 8], [4, 8], [2, 4], [1, 2]] as const;
/** The most pixels of all frames. */
const MOST_PIXELS = 1 << 28;

function broken(why: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot decode a GIF: ${why}`, { op: "DecodeGif" });
}

export function isGif(bytes: Uint8Array): boolean {
  return bytes[0] === 0x47 && bytes[1] === 0x49 && bytes[2] === 0x46 && bytes[3] === 0x38;
}

/** Reads codes of growing widths, the lowest bits first, and writes what they stand for. Throws where they end too early. */
function unpacked(bytes: Uint8Array, least: number, size: number): Uint8Array {
  const out = new Uint8Array(size), clear = 1 << least, end = clear + 1;
  const before = new Uint16Array(MAX_CODES), last = new Uint8Array(MAX_CODES);
  const lengths = new Uint16Array(MAX_CODES).fill(1, 0, clear);
  for (let i = 0; i < clear; i++) last[i] = i;
  let width = least + 1, next = end + 1, previous = -1, at = 0, bits = 0, held = 0, from = 0;
  while (at < size) {
    while (bits < width) {
      if (from >= bytes.length) throw broken("its pixels end too early");
      held |= bytes[from++] << bits;
      bits += 8;
    }
    const code = held & ((1 << width) - 1);
    held >>>= width;
    bits -= width;
    if (code === end) throw broken("its pixels end too early");
    if (code === clear) {
      width = least + 1;
      next = end + 1;
      previous = -1;
      continue;
    }
    if (code > next || code === next && previous < 0) throw broken(`code ${code} is not known`);
    // The code that this one defines is what came before and its own first colour.
    const known = code < next ? code : previous, length = lengths[known];
    let place = at + length;
    for (let c = known, n = length; n > 0; n--, c = before[c]) {
      place--;
      if (place < size) out[place] = last[c];
    }
    const first = out[at];
    at += length;
    if (code === next && at < size) out[at++] = first;
    if (previous >= 0 && next < MAX_CODES) {
      before[next] = previous;
      last[next] = first;
      lengths[next] = lengths[previous] + 1;
      next++;
      if (next === 1 << width && width < 12) width++;
    }
    previous = code;
  }
  return out;
}

/** Puts the rows of an interlaced picture in order. */
function inOrder(indices: Uint8Array, width: number, height: number): Uint8Array {
  const out = new Uint8Array(indices.length);
  let from = 0;
  for (const [first, step] of PASSES) {
    for (let y = first; y < height; y += step, from += width) {
      out.set(indices.subarray(from, from + width), y * width);
    }
  }
  return out;
}

/** Reads the pictures of a file. */
function picturesOf(bytes: Uint8Array): Picture[] {
  const view = viewOf(bytes), pictures: Picture[] = [];
  let at = 13, clear = -1, pixels = 0;
  const need = (count: number): void => {
    if (at + count > bytes.length) throw broken("it ends too early");
  };
  const colorMap = (flags: number): Uint8Array | null => {
    if ((flags & 0x80) === 0) return null;
    const size = 3 << ((flags & 7) + 1);
    need(size);
    at += size;
    return bytes.subarray(at - size, at);
  };
  const blocks = (): Uint8Array => {
    const parts: Uint8Array[] = [];
    for (;;) {
      need(1);
      const size = bytes[at++];
      if (size === 0) break;
      need(size);
      parts.push(bytes.subarray(at, at += size));
    }
    const joined = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
    let to = 0;
    for (const part of parts) {
      joined.set(part, to);
      to += part.length;
    }
    return joined;
  };
  if (!isGif(bytes) || bytes.length < at) throw broken("it does not begin as a GIF does");
  const shared = colorMap(bytes[10]);
  for (;;) {
    need(1);
    const kind = bytes[at++];
    if (kind === TRAILER) return pictures;
    if (kind === EXTENSION) {
      need(1);
      const isControl = bytes[at++] === CONTROL, control = blocks();
      if (isControl && control.length >= 4) clear = (control[0] & 1) === 1 ? control[3] : -1;
      continue;
    }
    if (kind !== IMAGE) throw broken(`byte ${at - 1} begins no part of it`);
    need(9);
    const [left, top, width, height] = [0, 2, 4, 6].map((k) => view.getUint16(at + k, true));
    const flags = bytes[at + 8];
    at += 9;
    const colors = colorMap(flags) ?? shared;
    need(1);
    const least = bytes[at++];
    if (least < 1 || least > 8) throw broken(`codes of ${least} bits are not known`);
    pixels += width * height;
    if (pixels > MOST_PIXELS) throw broken(`it has more than ${MOST_PIXELS} pixels`);
    const packed = unpacked(blocks(), least, width * height);
    const indices = (flags & 0x40) === 0 ? packed : inOrder(packed, width, height);
    if (colors === null) throw broken("a picture has no map of colours");
    pictures.push({ left, top, width, height, colors, clear, indices });
    clear = -1;
  }
}

/** Decodes a GIF, at most `most` frames. Throws `InvalidArgumentError` for bytes that are no GIF. */
export function gifFrames(bytes: Uint8Array, most: number = Infinity): Frames {
  const pictures = picturesOf(bytes);
  if (pictures.length === 0) throw broken("it has no frames");
  // The canvas is as large as the largest picture.
  const width = Math.max(...pictures.map((p) => p.width));
  const height = Math.max(...pictures.map((p) => p.height));
  const count = Math.min(most, pictures.length), size = 3 * width * height;
  if (count * size > 3 * MOST_PIXELS) throw broken(`it has more than ${MOST_PIXELS} pixels`);
  const data = new Uint8Array(count * size);
  for (let k = 0; k < count; k++) {
    const { left, top, colors, clear, indices, ...part } = pictures[k];
    const frame = data.subarray(k * size, (k + 1) * size);
    if (k > 0) frame.set(data.subarray((k - 1) * size, k * size));
    for (let y = 0; y < Math.min(part.height, height - top); y++) {
      for (let x = 0; x < Math.min(part.width, width - left); x++) {
        const color = indices[y * part.width + x];
        if (color === clear) continue;
        if (3 * color >= colors.length) throw broken(`color ${color} is not in its map`);
        frame.set(colors.subarray(3 * color, 3 * color + 3), 3 * ((top + y) * width + left + x));
      }
    }
  }
  return { count, width, height, data };
}
