/**
 * Convolutions on the host, of two or three spatial axes: patches of the image, block by block, into the matrix product.
 */
import { castArray } from "../../core/convert.ts";
import type { HostData } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import {
  imageStrides,
  inPlaces,
  isPointwiseWindow,
  outPlaces,
  tapCount,
  type WindowGeometry,
} from "../conv/geometry.ts";
import { type Numbers, rowProduct, sameArray, transposeInto } from "./matmul.ts";

/** Entries of a block of patches: small enough to stay in the cache. */
const BLOCK_ENTRIES = 1 << 15;

/** A kernel over an image, a second operand and a result. */
export type ConvKernel = (
  g: WindowGeometry,
  x: HostData,
  y: HostData,
  out: HostData,
  dtype: NdArray["dtype"],
) => void;

/** Runs a kernel; 16-bit floats are computed in float32. */
export function runConv(
  kernel: ConvKernel,
  g: WindowGeometry,
  x: NdArray,
  y: NdArray,
  out: NdArray,
): void {
  if (out.dtype !== "float16" && out.dtype !== "bfloat16") {
    return kernel(g, x.data, y.data, out.data, out.dtype);
  }
  const wide = NdArray.zeros("float32", out.shape);
  kernel(g, castArray(x, "float32").data, castArray(y, "float32").data, wide.data, "float32");
  (out.data as Float32Array).set(castArray(wide, out.dtype).data as Float32Array);
}

/** Calls `visit(place, base of the tap's channels or -1 outside, tap)` for places `[from, to)` of one image. */
function forEachTap(
  g: WindowGeometry,
  from: number,
  to: number,
  visit: (place: number, base: number, tap: number) => void,
): void {
  const [d, h, w] = g.axes;
  const { space } = imageStrides([d.in, h.in, w.in], g.channels, g.channelsFirst);
  const plane = h.out * w.out;
  for (let place = from; place < to; place++) {
    const z0 = Math.floor(place / plane) * d.stride - d.before;
    const y0 = Math.floor(place % plane / w.out) * h.stride - h.before;
    const x0 = place % w.out * w.stride - w.before;
    let tap = 0;
    for (let i = 0, z = z0; i < d.filter; i++, z += d.dilation) {
      const inDepth = z >= 0 && z < d.in;
      for (let j = 0, y = y0; j < h.filter; j++, y += h.dilation) {
        const inRow = inDepth && y >= 0 && y < h.in;
        const base = z * space[0] + y * space[1];
        for (let k = 0, x = x0; k < w.filter; k++, x += w.dilation) {
          visit(place, inRow && x >= 0 && x < w.in ? base + x * space[2] : -1, tap++);
        }
      }
    }
  }
}

/**
 * Copies the patches of places `[from, to)` of the image at `at`: element `(place, tap, channel)` goes to
 * `(place - from) * placeStep + (tap * channels + channel) * entryStep`.
 */
export function gatherPatches(
  g: WindowGeometry,
  image: HostData,
  at: number,
  from: number,
  to: number,
  patches: HostData,
  placeStep: number,
  entryStep: number,
): void {
  const x = image as Numbers, p = patches as Numbers;
  const c = g.channels;
  const step = g.channelsFirst ? inPlaces(g) : 1;
  const zero = (typeof p[0] === "bigint" ? 0n : 0) as number;
  forEachTap(g, from, to, (place, base, tap) => {
    let q = (place - from) * placeStep + tap * c * entryStep;
    if (base < 0) { for (let i = 0; i < c; i++, q += entryStep) p[q] = zero; }
    else for (let i = 0, s = at + base; i < c; i++, s += step, q += entryStep) p[q] = x[s];
  });
}

/** Adds patches back into the image they were gathered from. */
export function scatterPatches(
  g: WindowGeometry,
  patches: HostData,
  image: HostData,
  at: number,
  from: number,
  to: number,
): void {
  const x = image as Numbers, p = patches as Numbers;
  const c = g.channels, width = tapCount(g) * c;
  const step = g.channelsFirst ? inPlaces(g) : 1;
  forEachTap(g, from, to, (place, base, tap) => {
    if (base < 0) return;
    let q = (place - from) * width + tap * c;
    for (let i = 0, s = at + base; i < c; i++, s += step, q++) x[s] += p[q];
  });
}

/** Number of places per block. */
function blockPlaces(g: WindowGeometry): number {
  return Math.max(
    1,
    Math.min(outPlaces(g), Math.floor(BLOCK_ENTRIES / Math.max(1, tapCount(g) * g.channels))),
  );
}

/** Rows of the result, or of its gradient, as `[places, channels]` whatever the data format. */
function outRows(
  g: WindowGeometry,
  data: HostData,
  image: number,
  from: number,
  to: number,
): { rows: HostData; at: number } {
  const places = outPlaces(g), oc = g.outChannels;
  if (!g.channelsFirst) return { rows: data, at: (image * places + from) * oc };
  const rows = sameArray(data, (to - from) * oc) as Numbers, source = data as Numbers;
  for (let c = 0; c < oc; c++) {
    for (let p = from; p < to; p++) {
      rows[(p - from) * oc + c] = source[(image * oc + c) * places + p];
    }
  }
  return { rows: rows as unknown as HostData, at: 0 };
}

/** Convolution: image, filter `[taps, channels, outChannels]`. */
export const convForward: ConvKernel = (g, x, filter, out, dtype) => {
  const product = rowProduct(dtype);
  const places = outPlaces(g), oc = g.outChannels, width = tapCount(g) * g.channels;
  if (isPointwiseWindow(g) && !g.channelsFirst) {
    product(g.batch * places, oc, g.channels, x, 0, filter, 0, out, 0, false);
    return;
  }
  const block = blockPlaces(g);
  const patches = sameArray(x, block * width);
  const turned = g.channelsFirst ? sameArray(out, block * oc) : null;
  const imageSize = inPlaces(g) * g.channels;
  for (let n = 0; n < g.batch; n++) {
    for (let from = 0; from < places; from += block) {
      const to = Math.min(places, from + block);
      gatherPatches(g, x, n * imageSize, from, to, patches, width, 1);
      if (turned === null) {
        product(to - from, oc, width, patches, 0, filter, 0, out, (n * places + from) * oc, false);
        continue;
      }
      product(to - from, oc, width, patches, 0, filter, 0, turned, 0, false);
      const t = turned as Numbers, o = out as Numbers;
      for (let c = 0; c < oc; c++) {
        for (let p = from; p < to; p++) o[(n * oc + c) * places + p] = t[(p - from) * oc + c];
      }
    }
  }
};

/** Gradient of the image: gradient of the result, filter. */
export const convBackwardInput: ConvKernel = (g, dy, filter, dx, dtype) => {
  const product = rowProduct(dtype);
  const places = outPlaces(g), oc = g.outChannels, width = tapCount(g) * g.channels;
  const turned = sameArray(filter, width * oc);
  transposeInto(filter, 0, width, oc, turned, 0, 1);
  const block = blockPlaces(g);
  const patches = sameArray(dy, block * width);
  const imageSize = inPlaces(g) * g.channels;
  (dx as Float32Array).fill((typeof (dx as Numbers)[0] === "bigint" ? 0n : 0) as number);
  for (let n = 0; n < g.batch; n++) {
    for (let from = 0; from < places; from += block) {
      const to = Math.min(places, from + block);
      const { rows, at } = outRows(g, dy, n, from, to);
      product(to - from, width, oc, rows, at, turned, 0, patches, 0, false);
      scatterPatches(g, patches, dx, n * imageSize, from, to);
    }
  }
};

/** Gradient of the filter: image, gradient of the result. */
export const convBackwardFilter: ConvKernel = (g, x, dy, df, dtype) => {
  const product = rowProduct(dtype);
  const places = outPlaces(g), oc = g.outChannels, width = tapCount(g) * g.channels;
  const block = blockPlaces(g);
  const patches = sameArray(x, block * width);
  const imageSize = inPlaces(g) * g.channels;
  (df as Float32Array).fill((typeof (df as Numbers)[0] === "bigint" ? 0n : 0) as number);
  for (let n = 0; n < g.batch; n++) {
    for (let from = 0; from < places; from += block) {
      const to = Math.min(places, from + block);
      gatherPatches(g, x, n * imageSize, from, to, patches, 1, to - from);
      const { rows, at } = outRows(g, dy, n, from, to);
      product(width, oc, to - from, patches, 0, rows, at, df, 0, true);
    }
  }
};
