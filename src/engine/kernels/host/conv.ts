/**
 * Convolutions on the host, of two or three spatial axes: patches of the images, block by block, enter a matrix
 * product.
 */
import type { DType, HostData } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isPointwiseWindow, outPlaces, tapCount, type WindowGeometry } from "../conv/geometry.ts";
import { type Numbers, rowProduct, sameArray, transposeInto } from "./matmul.ts";
import { eachWindow, plain, type Window, withPlain } from "./windows.ts";

/** Entries of a block of patches, which stays in the cache. */
const BLOCK_ENTRIES = 1 << 15;

/** A kernel over two operands and a zeroed result. */
export interface ConvKernel {
  /** Number of the filter among the three; the others are images. */
  readonly filter: 1 | 2;
  /** True where channels may come first. */
  readonly anyLayout?: boolean;
  readonly run: (
    g: WindowGeometry,
    x: HostData,
    y: HostData,
    out: HostData,
    dtype: DType,
  ) => void;
}

/** Moves the images' channels to the other end. */
function turned(images: NdArray, channelsFirst: boolean): NdArray {
  const [batch, ...rest] = images.shape;
  const shape = channelsFirst
    ? [batch, ...rest.slice(1), rest[0]]
    : [batch, rest[rest.length - 1], ...rest.slice(0, -1)];
  const out = NdArray.zeros(images.dtype, shape), size = images.size / batch;
  const rows = channelsFirst ? rest[0] : size / rest[rest.length - 1];
  for (let n = 0; n < batch; n++) {
    transposeInto(images.data, n * size, rows, size / rows, out.data, n * size, 1);
  }
  return out;
}

/** Runs a kernel on images of any layout; 16-bit floats are computed in float32. */
export function runConv(
  { filter, run, anyLayout = false }: ConvKernel,
  g: WindowGeometry,
  ...operands: readonly [x: NdArray, y: NdArray, out: NdArray]
): void {
  const isTurned = (operand: 0 | 1 | 2): boolean =>
    g.channelsFirst && !anyLayout && operand !== filter;
  const of = (operand: 0 | 1 | 2): NdArray => {
    const a = plain(operands[operand]);
    return isTurned(operand) ? turned(a, true) : a;
  };
  const layout = anyLayout ? g : { ...g, channelsFirst: false };
  withPlain(operands[2], (out) => {
    const made = isTurned(2) ? turned(out, true) : out;
    run(layout, of(0).data, of(1).data, made.data, made.dtype);
    if (made !== out) (out.data as Float32Array).set(turned(made, false).data as Float32Array);
  });
}

/**
 * Copies the patches of places `[first, end)`, a row each: taps, and channels within them; or adds them back to the
 * image.
 */
function movePatches(
  way: "gather" | "scatter",
  g: WindowGeometry,
  image: HostData,
  patches: HostData,
  [first, end]: readonly [number, number],
): void {
  const x = image as Numbers, p = patches as Numbers, isGather = way === "gather";
  const c = g.channels, all = tapCount(g), width = all * c;
  const zero = (typeof p[0] === "bigint" ? 0n : 0) as number;
  const visit = ({ place, count, from, taps }: Window): void => {
    const row = (place - first) * width;
    if (isGather && count < all) (patches as Float32Array).fill(zero, row, row + width);
    for (let t = 0; t < count; t++) {
      const s = from[t], q = row + taps[t] * c;
      if (isGather) { for (let i = 0; i < c; i++) p[q + i] = x[s + i]; }
      else for (let i = 0; i < c; i++) x[s + i] += p[q + i];
    }
  };
  eachWindow(g, visit, first, end);
}

/** Calls `use` for blocks of places, with room for their patches. */
function inBlocks(
  g: WindowGeometry,
  like: HostData,
  use: (patches: HostData, first: number, end: number) => void,
): void {
  const width = tapCount(g) * g.channels, places = g.batch * outPlaces(g);
  const block = Math.max(1, Math.min(places, Math.floor(BLOCK_ENTRIES / Math.max(1, width))));
  const patches = sameArray(like, block * width);
  for (let first = 0; first < places; first += block) {
    use(patches, first, Math.min(places, first + block));
  }
}

/** Convolution: image, filter `[taps, channels, outChannels]`. */
export const convForward: ConvKernel = {
  filter: 1,
  run(g, x, filter, out, dtype) {
    const product = rowProduct(dtype), oc = g.outChannels, width = tapCount(g) * g.channels;
    if (isPointwiseWindow(g)) {
      return product(g.batch * outPlaces(g), oc, width, x, 0, filter, 0, out, 0, false);
    }
    inBlocks(g, x, (patches, first, end) => {
      movePatches("gather", g, x, patches, [first, end]);
      product(end - first, oc, width, patches, 0, filter, 0, out, first * oc, false);
    });
  },
};

/** Gradient of the image: gradient of the result, filter. */
export const convBackwardInput: ConvKernel = {
  filter: 1,
  run(g, dy, filter, dx, dtype) {
    const product = rowProduct(dtype), oc = g.outChannels, width = tapCount(g) * g.channels;
    const weights = sameArray(filter, width * oc);
    transposeInto(filter, 0, width, oc, weights, 0, 1);
    inBlocks(g, dy, (patches, first, end) => {
      product(end - first, width, oc, dy, first * oc, weights, 0, patches, 0, false);
      movePatches("scatter", g, dx, patches, [first, end]);
    });
  },
};

/** Gradient of the filter: image, gradient of the result. */
export const convBackwardFilter: ConvKernel = {
  filter: 2,
  run(g, x, dy, df, dtype) {
    const product = rowProduct(dtype), oc = g.outChannels, width = tapCount(g) * g.channels;
    let columns: HostData | null = null;
    inBlocks(g, x, (patches, first, end) => {
      columns ??= sameArray(x, (end - first) * width);
      movePatches("gather", g, x, patches, [first, end]);
      transposeInto(patches, 0, end - first, width, columns, 0, 1);
      product(width, oc, end - first, columns, 0, dy, first * oc, df, 0, true);
    });
  },
};
