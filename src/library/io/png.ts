/**
 * PNG images as arrays, and back. Follows the PNG specification, third edition, with all kinds of pixels and interlacing.
 */
import { DataLossError, InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type Bytes, concatBytes, viewOf } from "./bytes.ts";
import { crc32 } from "./crc.ts";
import { deflateZlib, inflateZlib } from "./inflate.ts";

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
/** Samples of a pixel by its kind. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
/** First column and row, and steps, of the seven passes of an interlaced image. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
];

/** Most values of an image, TensorFlow's limit: they fit an ArrayBuffer. */
const MOST_VALUES = 2 ** 29;

interface Head {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly kind: number;
  readonly interlaced: boolean;
}

export function isPng(bytes: Uint8Array): boolean {
  return SIGNATURE.every((b, i) => bytes[i] === b);
}

function fail(why: string): never {
  throw new InvalidArgumentError(`Invalid PNG data: ${why}`, { op: "DecodePng" });
}

/**
 * Decodes an image of `channels` (1 to 4, or 0 for its own) and 8 or 16 bits. Throws `InvalidArgumentError` for invalid
 * bytes.
 */
export function decodePng(
  bytes: Uint8Array,
  channels = 0,
  dtype: "uint8" | "uint16" = "uint8",
): NdArray {
  if (!isPng(bytes)) fail("it does not begin as a PNG does");
  const view = viewOf(bytes);
  let head: Head | null = null, palette: Uint8Array | null = null, alpha: Uint8Array | null = null;
  const parts: Uint8Array[] = [];
  for (let at = 8;;) {
    if (at + 12 > bytes.length) fail("it is cut off");
    const length = view.getUint32(at);
    const end = at + 12 + length;
    if (end > bytes.length) fail("it is cut off");
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, end - 4);
    if (view.getUint32(end - 4) !== crc32(bytes.subarray(at + 4, end - 4))) {
      fail(`the checksum of its part ${type} is wrong`);
    }
    if (type === "IHDR") head = readHead(data);
    else if (type === "PLTE") palette = data;
    else if (type === "tRNS") alpha = data;
    else if (type === "IDAT") parts.push(data);
    else if (type === "IEND") break;
    else if (bytes[at + 4] < 97) fail(`its part ${type} is not known`);
    at = end;
  }
  if (head === null) return fail("it has no head");
  if (head.kind === 3 && palette === null) fail("it has no palette");
  const samples = unpack(head, parts.length === 1 ? parts[0] : concatBytes(parts));
  return toChannels({ head, samples, palette, alpha }, channels, dtype);
}

function readHead(data: Uint8Array): Head {
  if (data.length !== 13) fail("its head has another length");
  const view = viewOf(data);
  const [depth, kind, compression, filter, interlace] = data.subarray(8);
  const width = view.getUint32(0), height = view.getUint32(4);
  if (!DEPTHS[kind]?.includes(depth)) fail(`it has pixels of kind ${kind} and ${depth} bits`);
  if (compression !== 0 || filter !== 0 || interlace > 1) fail("its head has an unknown method");
  if (width === 0 || height === 0 || width * height * 4 > MOST_VALUES) {
    fail(`it is ${width} pixels wide and ${height} high`);
  }
  return { width, height, depth, kind, interlaced: interlace === 1 };
}

/** Unpacks the samples of all pixels in order, of 16 bits where the image has those. */
function unpack(
  { width, height, depth, kind, interlaced }: Head,
  packed: Uint8Array,
): Uint8Array | Uint16Array {
  const n = SAMPLES[kind];
  const passes = (interlaced ? PASSES : [[0, 0, 1, 1]]).map(([x, y, dx, dy]) => {
    const w = Math.ceil((width - x) / dx), h = Math.ceil((height - y) / dy);
    return { x, y, dx, dy, w, h, stride: Math.ceil(w * n * depth / 8) };
  }).filter(({ w, h }) => w > 0 && h > 0);
  const size = passes.reduce((sum, { h, stride }) => sum + h * (stride + 1), 0);
  let data: Uint8Array;
  try {
    data = inflateZlib(packed, size);
  } catch (error) {
    if (!(error instanceof DataLossError)) throw error;
    throw new InvalidArgumentError(`Invalid PNG data: ${error.message}`, {
      op: "DecodePng",
      cause: error,
    });
  }
  const values = width * height * n;
  const out = depth === 16 ? new Uint16Array(values) : new Uint8Array(values);
  const step = Math.max(1, n * depth >> 3);
  let at = 0;
  for (const { x, y, dx, dy, w, h, stride } of passes) {
    let before: Uint8Array = new Uint8Array(stride);
    for (let row = 0; row < h; row++) {
      const line = data.subarray(at + 1, at + 1 + stride);
      unfilter(data[at], line, before, step);
      at += stride + 1;
      before = line;
      let to = ((y + row * dy) * width + x) * n;
      if (depth === 8 && dx === 1) out.set(line, to);
      else {
        for (let i = 0; i < w; i++, to += dx * n) {
          for (let c = 0; c < n; c++) out[to + c] = sampleAt(line, i * n + c, depth);
        }
      }
    }
  }
  return out;
}

function sampleAt(line: Uint8Array, i: number, depth: number): number {
  if (depth === 8) return line[i];
  if (depth === 16) return line[2 * i] << 8 | line[2 * i + 1];
  const bit = i * depth;
  return line[bit >> 3] >> 8 - depth - (bit & 7) & (1 << depth) - 1;
}

/**
 * Undoes a filter, in place. The row above the first is zero, and so is the pixel left of the first, which is `step`
 * bytes.
 */
function unfilter(filter: number, line: Uint8Array, before: Uint8Array, step: number): void {
  const n = line.length, first = Math.min(step, n);
  switch (filter) {
    case 0:
      return;
    case 1:
      for (let i = step; i < n; i++) line[i] += line[i - step];
      return;
    case 2:
      for (let i = 0; i < n; i++) line[i] += before[i];
      return;
    case 3:
      for (let i = 0; i < first; i++) line[i] += before[i] >> 1;
      for (let i = step; i < n; i++) line[i] += line[i - step] + before[i] >> 1;
      return;
    case 4:
      for (let i = 0; i < first; i++) line[i] += before[i];
      for (let i = step; i < n; i++) {
        const a = line[i - step], b = before[i], c = before[i - step];
        const pa = Math.abs(b - c), pb = Math.abs(a - c), pc = Math.abs(a + b - 2 * c);
        line[i] += pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      }
      return;
    default:
      fail(`it has a row with filter ${filter}`);
  }
}

interface Unpacked {
  readonly head: Head;
  readonly samples: Uint8Array | Uint16Array;
  readonly palette: Uint8Array | null;
  readonly alpha: Uint8Array | null;
}

/**
 * Converts pixels to the requested channels: gray from colours by libpng's weights, full opacity where there is none.
 */
function toChannels(
  { head: { width, height, depth, kind }, samples, palette, alpha }: Unpacked,
  asked: number,
  dtype: "uint8" | "uint16",
): NdArray {
  const isGray = kind === 0 || kind === 4;
  // As in TensorFlow, an image with one transparent colour has a channel of opacity only where four are requested.
  const hasAlpha = kind === 4 || kind === 6 || (kind === 3 && alpha !== null);
  const channels = asked === 0 ? (isGray ? 1 : 3) + (hasAlpha ? 1 : 0) : asked;
  const wide = dtype === "uint16", top = wide ? 65535 : 255;
  const pixels = width * height, n = SAMPLES[kind];
  const shape = [height, width, channels];
  const isPlain = depth === 8 && !wide && kind !== 3;
  if (isPlain && n === channels) return new NdArray(dtype, shape, samples);
  const out = wide ? new Uint16Array(pixels * channels) : new Uint8Array(pixels * channels);
  // As in libpng: 16 bits lose their lower half, fewer are repeated.
  const unit = kind === 3 || depth > 8 ? 1 : 255 / ((1 << depth) - 1);
  const scale = (v: number): number => depth === 16 ? (wide ? v : v >> 8) : wide ? v * 257 : v;
  const key = alpha && kind !== 3 ? viewOf(alpha) : null;
  const colours = palette ? palette.length / 3 : 0;
  for (let i = 0, to = 0; i < pixels; i++, to += channels) {
    let r: number, g: number, b: number, a = top;
    if (kind === 3) {
      const k = samples[i];
      if (k >= colours) fail(`a pixel has colour ${k} of ${colours}`);
      r = palette![3 * k];
      g = palette![3 * k + 1];
      b = palette![3 * k + 2];
      if (alpha && k < alpha.length) a = scale(alpha[k]);
    } else {
      const at = i * n;
      r = samples[at] * unit;
      g = isGray ? r : samples[at + 1];
      b = isGray ? r : samples[at + 2];
      if (kind === 4 || kind === 6) a = scale(samples[at + n - 1]);
      else if (key !== null && isKey(samples, at, key, n)) a = 0;
    }
    if (channels < 3) {
      out[to] = scale(isGray ? r : gray(r, g, b, depth));
      if (channels === 2) out[to + 1] = a;
    } else {
      out[to] = scale(r);
      out[to + 1] = scale(g);
      out[to + 2] = scale(b);
      if (channels === 4) out[to + 3] = a;
    }
  }
  return new NdArray(dtype, shape, out);
}

function isKey(
  samples: Uint8Array | Uint16Array,
  at: number,
  key: DataView,
  n: number,
): boolean {
  if (key.byteLength < 2 * n) return false;
  for (let c = 0; c < n; c++) if (samples[at + c] !== key.getUint16(2 * c)) return false;
  return true;
}

/** Computes brightness as libpng does with TensorFlow's weights, in parts of 2¹⁵: it rounds 16 bits and cuts 8. */
function gray(r: number, g: number, b: number, depth: number): number {
  if (r === g && r === b) return r;
  return Math.floor((9797 * r + 19234 * g + 3737 * b + (depth === 16 ? 16384 : 0)) / 32768);
}

/**
 * Encodes an image of shape `[height, width, channels]`, 8 or 16 bits, as a PNG. Throws `InvalidArgumentError` for
 * other arrays.
 */
export function encodePng(image: NdArray): Bytes {
  const [height, width, channels] = image.shape;
  if (
    image.rank !== 3 || channels < 1 || channels > 4 || width === 0 || height === 0 ||
    (image.dtype !== "uint8" && image.dtype !== "uint16")
  ) {
    throw new InvalidArgumentError(
      `Cannot encode an image ${image.dtype}[${image.shape}]: wanted uint8 or uint16 of shape [height, width, channels] with 1 to 4 channels`,
      { op: "EncodePng" },
    );
  }
  const wide = image.dtype === "uint16", data = image.data as Uint8Array | Uint16Array;
  const row = width * channels, stride = row * (wide ? 2 : 1), step = channels * (wide ? 2 : 1);
  const raw = new Uint8Array(height * (stride + 1));
  for (let y = 0; y < height; y++) {
    const line = raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1));
    for (let i = 0; i < row; i++) {
      const v = data[y * row + i];
      if (wide) {
        line[2 * i] = v >> 8;
        line[2 * i + 1] = v;
      } else line[i] = v;
    }
    // Differences to the pixel on the left repeat more often than pixels do.
    raw[y * (stride + 1)] = 1;
    for (let i = stride - 1; i >= step; i--) line[i] -= line[i - step];
  }
  const head = new Uint8Array(13), view = viewOf(head);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([wide ? 16 : 8, [0, 4, 2, 6][channels - 1], 0, 0, 0], 8);
  return concatBytes([
    Uint8Array.from(SIGNATURE),
    part("IHDR", head),
    part("IDAT", deflateZlib(raw)),
    part("IEND", new Uint8Array()),
  ]);
}

function part(type: string, data: Uint8Array): Bytes {
  const out = new Uint8Array(12 + data.length), view = viewOf(out);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) out[4 + i] = type.charCodeAt(i);
  out.set(data, 8);
  view.setUint32(8 + data.length, crc32(out.subarray(4, 8 + data.length)));
  return out;
}
