/**
 * Images with zeros around them, so that every window lies inside: groups of images at a time, in scratch memory.
 */
import type { WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { i32 } from "../wasm/instructions.ts";

/** One axis: the result at place `outFirst + outStep q` reads the image at `stride q + offset` for each offset. */
export interface ConvAxis {
  /** Extent of the image. */
  readonly in: number;
  /** Number of places q. */
  readonly out: number;
  /** Step between places of the result. */
  readonly outStep: number;
  /** First place of the result. */
  readonly outFirst: number;
  /** Extent of the result. */
  readonly outAll: number;
  /** Step in the image from place to place. */
  readonly stride: number;
  /** What a place reads, rising. */
  readonly offsets: readonly number[];
}

/** Images that are computed together. */
export interface ImageGroup {
  readonly first: number;
  readonly images: number;
}

/** How images lie in memory once padded. */
export interface Padded {
  /** Groups of images. */
  readonly groups: readonly ImageGroup[];
  /** Zeros before the first element of each axis. */
  readonly before: readonly number[];
  /** Bytes from image to image, once padded. */
  readonly imageBytes: number;
  /** Bytes from element to element along the axes, once padded. */
  readonly steps: readonly number[];
  /** Bytes of memory needed; 0 where nothing is padded. */
  readonly bytes: number;
  /** Zeroes the memory, once for all groups. */
  clear(engine: Engine, at: Pointer): void;
  /** Copies a group; returns where its first image is. */
  fill(engine: Engine, at: Pointer, images: Pointer, group: ImageGroup): Pointer;
}

/** Depth, height, width. */
export type Three<T> = readonly [T, T, T];

/** Images whose padded copies stay in the second or third cache together. */
const GROUP_BYTES = 1 << 21;

/** The axes of a convolution that goes forward. */
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

/** Zeros before and after, so that everything read lies inside. */
export function paddingOf(axes: readonly ConvAxis[]): { before: number; after: number } {
  let before = 0, after = 0;
  for (const { in: extent, out, stride, offsets } of axes) {
    if (out === 0) continue;
    for (const o of offsets) {
      before = Math.max(before, -o);
      after = Math.max(after, (out - 1) * stride + o - (extent - 1));
    }
  }
  return { before, after };
}

/**
 * Images of `channels` channels, padded for these axes and those of `reach`. A group holds at most `most` images.
 */
export function padImages(
  axes: Three<ConvAxis>,
  batch: number,
  channels: number,
  reach: Three<readonly ConvAxis[]> = [[], [], []],
  most: number = Infinity,
): Padded {
  const pads = axes.map((a, i) => paddingOf([a, ...reach[i]]));
  const extents = axes.map((a, i) => a.in + pads[i].before + pads[i].after);
  const steps = [4 * channels * extents[1] * extents[2], 4 * channels * extents[2], 4 * channels];
  const imageBytes = steps[0] * extents[0];
  const images = Math.max(1, Math.floor(Math.min(GROUP_BYTES / imageBytes, most, batch)));
  const groups: ImageGroup[] = [];
  for (let first = 0; first < batch; first += images) {
    groups.push({ first, images: Math.min(images, batch - first) });
  }
  const from = 4 * channels * axes[0].in * axes[1].in * axes[2].in;
  const shared = { groups, before: pads.map((p) => p.before), imageBytes, steps };
  if (pads.every((p) => p.before === 0 && p.after === 0)) {
    return {
      ...shared,
      bytes: 0,
      clear: () => {},
      fill: (_e, _at, p, group) => p + group.first * from,
    };
  }
  const bytes = imageBytes * images;
  const row = 4 * channels * axes[2].in;
  return {
    ...shared,
    bytes,
    clear: (engine, at) => engine.zero(at, bytes),
    fill: (engine, at, p, group) => {
      const { copy } = copier(engine);
      const source = p + group.first * from;
      const corner = at + pads.reduce((n, { before }, i) => n + before * steps[i], 0);
      for (let image = 0; image < group.images; image++) {
        for (let z = 0; z < axes[0].in; z++) {
          const to = corner + image * imageBytes + z * steps[0];
          copy(to, source + image * from + z * row * axes[1].in, axes[1].in, row, steps[1]);
        }
      }
      return at;
    },
  };
}

/** `copy(to, from, rows, bytes, step)`: rows that follow each other to rows `step` apart. */
function copier(engine: Engine) {
  return engine.compile("conv copy", (m) => {
    m.function(
      "copy",
      ["i32", "i32", "i32", "i32", "i32"],
      null,
      (f, to, from, rows, bytes, step) => {
        f.while(i32.gt(rows, 0), () => {
          f.copy(to, from, bytes);
          f.advance(to, step);
          f.advance(from, bytes);
          f.advance(rows, -1);
        });
      },
    );
  });
}
