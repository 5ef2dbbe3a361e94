/**
 * The rows of a convolution: the part of the image that each place of the result reads. One list of offsets serves all
 * places. Images are padded with zeros, so that every window lies inside: groups of images at a time, in scratch
 * memory.
 */
import type { WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import type { Pointer } from "../heap.ts";
import { convEdges, type ImageSteps, type Reach, type Three } from "./conv_edges.ts";

/** One axis: the result at place `outFirst + outStep q` reads the image at `stride q + offset` for each offset. */
export interface ConvAxis {
  /** Extents of the image and of the result, and the number of places q. */
  readonly in: number;
  readonly outAll: number;
  readonly out: number;
  readonly outStep: number;
  readonly outFirst: number;
  readonly stride: number;
  /** Ascending. */
  readonly offsets: readonly number[];
}

/** Images that are computed together. */
type ImageGroup = Readonly<Record<"first" | "images", number>>;

/** The layout of padded images in memory. */
export interface Padded extends ImageSteps {
  readonly groups: readonly ImageGroup[];
  /** Zeros before the first element of each axis. */
  readonly before: readonly number[];
  /** Bytes of memory needed; 0 without padding. */
  readonly bytes: number;
  /** Copies a group; returns the address of its first image. */
  fill(at: Pointer, images: Pointer, group: ImageGroup): Pointer;
}

/** Most bytes of padded images, which stay in the second or third cache together. */
const GROUP_BYTES = 1 << 21;

/** Returns the axes of a forward convolution. */
export function forwardAxes({ axes }: WindowGeometry): Three<ConvAxis> {
  return axes.map((a): ConvAxis => ({
    in: a.in,
    out: a.out,
    outStep: 1,
    outFirst: 0,
    outAll: a.out,
    stride: a.stride,
    offsets: Array.from({ length: a.filter }, (_, tap) => tap * a.dilation - a.before),
  })) as unknown as Three<ConvAxis>;
}

/** Returns the range that the windows of the places `[from, to)` read along an axis. */
export function reachOf(axis: ConvAxis, from: number = 0, to: number = axis.out): Reach {
  const { in: extent, stride, offsets } = axis;
  if (from >= to || offsets.length === 0) return { in: extent, start: 0, end: 0 };
  const end = (to - 1) * stride + offsets[offsets.length - 1] + 1;
  return { in: extent, start: from * stride + offsets[0], end };
}

/** True where windows read nothing outside. */
export function isInside({ in: extent, start, end }: Reach): boolean {
  return start >= 0 && end <= extent;
}

/** Returns the steps of unpadded images. */
export function imageSteps(
  [z, y, x]: readonly { readonly in: number }[],
  channels: number,
): ImageSteps {
  const steps: Three<number> = [4 * channels * x.in * y.in, 4 * channels * x.in, 4 * channels];
  return { steps, imageBytes: steps[0] * z.in };
}

/** Pads images of `channels` channels for these axes and those of `reach`. A group holds at most `most` images. */
function padImages(
  engine: Engine,
  axes: Three<ConvAxis>,
  { batch, channels, reach, most }: {
    readonly batch: number;
    readonly channels: number;
    readonly reach: Three<readonly ConvAxis[]>;
    readonly most: number;
  },
): Padded {
  const whole = imageSteps(axes, channels);
  const reaches = axes.map((a, i): Reach => {
    const all = [a, ...reach[i]].map((axis) => reachOf(axis));
    const start = Math.min(0, ...all.map((r) => r.start));
    return { in: a.in, start, end: Math.max(a.in, ...all.map((r) => r.end)) };
  }) as unknown as Three<Reach>;
  const edges = reaches.every(isInside) ? null : convEdges(engine, reaches, channels);
  const { steps, imageBytes } = edges ?? whole;
  const images = Math.max(1, Math.floor(Math.min(GROUP_BYTES / imageBytes, most, batch)));
  const groups: ImageGroup[] = [];
  for (let first = 0; first < batch; first += images) {
    groups.push({ first, images: Math.min(images, batch - first) });
  }
  return {
    groups,
    before: reaches.map(({ start }) => -start),
    imageBytes,
    steps,
    bytes: edges?.bytes(images) ?? 0,
    fill: (at, p, { first, images }) => {
      const from = p + first * whole.imageBytes;
      edges?.fill(at, from, images);
      return edges ? at : from;
    },
  };
}

/** Reads of windows: offsets of segments from a row's pointer, in bytes, and floats of each. */
export interface Segments {
  readonly segments: readonly number[];
  readonly length: number;
}

/** Rows of a convolution. */
export interface ConvRows extends Segments {
  /** Returns the address of each place of so many images, in bytes: the rows' pointers as a list. */
  readonly list: (images: number) => Int32Array;
  /** Tables of the first group and of the last, where that is smaller. */
  readonly tables: readonly RowTable[];
  /** Bytes of one image of the result. */
  readonly imageBytes: number;
  readonly padded: Padded;
}

/** Most rows whose pointers are kept for one shape. */
const GROUP_ROWS = 16384;

/**
 * Makes the rows of a convolution of `batch` images of `channels` channels into `outChannels`. `reach` names further
 * axes that read the same padded image.
 */
export function convRows(
  engine: Engine,
  batch: number,
  axes: Three<ConvAxis>,
  channels: number,
  outChannels: number,
  reach: Three<readonly ConvAxis[]> = [[], [], []],
): ConvRows {
  const places = axes.map((a) => a.out);
  const rowsPerImage = places[0] * places[1] * places[2];
  // All phases count, so that they share their groups.
  const rowsOfAll = axes[0].outAll * axes[1].outAll * axes[2].outAll;
  const most = GROUP_ROWS / Math.max(1, rowsOfAll);
  const padded = padImages(engine, axes, { batch, channels, reach, most });
  const { groups, before, steps, imageBytes } = padded;
  const result = axes.map((a) => ({ in: a.outAll }));
  const { steps: outStep, imageBytes: outImage } = imageSteps(result, outChannels);
  const at = (row: number, one: (axis: number, place: number) => number, image: number): number => {
    const x = row % places[2], y = Math.floor(row / places[2]) % places[1];
    const z = Math.floor(row / (places[2] * places[1])) % places[0];
    return one(0, z) + one(1, y) + one(2, x) + Math.floor(row / rowsPerImage) * image;
  };
  const readAt = (row: number): number =>
    at(row, (i, p) => (p * axes[i].stride + before[i]) * steps[i], imageBytes);
  const sizes = [...new Set([groups[0].images, groups[groups.length - 1].images])];
  const writeAt = (row: number): number =>
    at(row, (i, p) => (axes[i].outFirst + p * axes[i].outStep) * outStep[i], outImage);
  const tables = sizes.map((n) => new RowTable(engine, n * rowsPerImage, readAt, writeAt));
  return {
    tables,
    list: (images) => Int32Array.from({ length: images * rowsPerImage }, (_, row) => readAt(row)),
    ...segmentsOf(axes, steps, channels),
    imageBytes: outImage,
    padded,
  };
}

/** Returns the segments of windows: neighbours along the last axis are one. */
export function segmentsOf(
  axes: Three<Pick<ConvAxis, "offsets">>,
  step: readonly number[],
  channels: number,
): Segments {
  const [z, y, x] = axes.map((a) => a.offsets);
  const joined = x.length > 1 && x.every((o, i) => o === x[0] + i);
  const own = joined ? x.slice(0, 1) : x;
  const segments = cross([z, y, own], ([i, j, k]) => i * step[0] + j * step[1] + k * step[2]);
  return { segments, length: joined ? x.length * channels : channels };
}

/** Some rows of a segment: its number, their first and number, and the number of rows before them. */
type Piece = Readonly<Record<"segment" | "start" | "size" | "at", number>>;

/** Cuts rows of a filter where segments of this length end. */
export function piecesOf({ from, size }: { from: number; size: number }, length: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < size; at += pieces[pieces.length - 1].size) {
    const start = (from + at) % length, segment = Math.floor((from + at) / length);
    pieces.push({ segment, start, size: Math.min(length - start, size - at), at });
  }
  return pieces;
}

/** Maps each triple of the lists, the last list varying fastest. */
export function cross<T, R>(
  [first, second, third]: readonly (readonly T[])[],
  make: (triple: Three<T>) => R,
): R[] {
  return first.flatMap((a) => second.flatMap((b) => third.map((c) => make([a, b, c]))));
}
