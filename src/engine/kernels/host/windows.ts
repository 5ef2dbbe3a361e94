/** Windows that slide over images, and their reads, on the host. */
import { castArray } from "../../core/convert.ts";
import { isShort } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { inPlaces, outPlaces, tapCount, type WindowGeometry } from "../conv/geometry.ts";

/** A window at one place: its taps inside of the image, in order. */
export interface Window {
  /** Number of the place among those of all images. */
  readonly place: number;
  /** Offset of the first channel of the result. */
  readonly to: number;
  /** Number of taps inside. */
  readonly count: number;
  /** Offset of the first channel that each of them reads. */
  readonly from: Int32Array;
  /** Their numbers. */
  readonly taps: Int32Array;
}

/** Visits the windows at places `[first, end)`, counted through all images; the object is reused. */
export function eachWindow(
  g: WindowGeometry,
  visit: (window: Window) => void,
  first = 0,
  end: number = g.batch * outPlaces(g),
): void {
  const [d, h, w] = g.axes, plane = h.out * w.out, places = d.out * plane;
  const [column, step] = g.channelsFirst ? [1, 1] : [g.channels, g.outChannels];
  const batch = inPlaces(g) * g.channels, line = w.in * column, slice = h.in * line;
  const from = new Int32Array(tapCount(g)), taps = new Int32Array(tapCount(g));
  const window = { place: 0, to: 0, count: 0, from, taps };
  let n = Math.floor(first / places), at = first - n * places;
  let oz = Math.floor(at / plane), oy = Math.floor((at - oz * plane) / w.out), ox = at % w.out;
  for (let place = first; place < end; place++, at++) {
    const z0 = oz * d.stride - d.before, y0 = oy * h.stride - h.before;
    const x0 = ox * w.stride - w.before;
    let count = 0;
    for (let i = 0, z = z0; i < d.filter; i++, z += d.dilation) {
      if (z < 0 || z >= d.in) continue;
      for (let j = 0, y = y0; j < h.filter; j++, y += h.dilation) {
        if (y < 0 || y >= h.in) continue;
        const row = n * batch + z * slice + y * line;
        const tap = (i * h.filter + j) * w.filter;
        for (let k = 0, x = x0; k < w.filter; k++, x += w.dilation) {
          if (x < 0 || x >= w.in) continue;
          from[count] = row + x * column;
          taps[count++] = tap + k;
        }
      }
    }
    window.place = place;
    window.to = n * places * g.outChannels + at * step;
    window.count = count;
    visit(window);
    if (++ox < w.out) continue;
    ox = 0;
    if (++oy < h.out) continue;
    oy = 0;
    if (++oz < d.out) continue;
    oz = 0;
    n++;
    at = -1;
  }
}

/** Returns the steps between channels of the images and of the result. */
export function channelSteps(g: WindowGeometry): [number, number] {
  return g.channelsFirst ? [inPlaces(g), outPlaces(g)] : [1, 1];
}

/** Converts 16-bit floats to float32; other arrays are returned as they are. */
export function plain(a: NdArray): NdArray {
  return isShort(a.dtype) ? castArray(a, "float32") : a;
}

/** Passes `run` a zeroed result of plain numbers, and stores it in the real one. */
export function withPlain(out: NdArray, run: (out: NdArray) => void): void {
  const made = plain(out), data = made.data as Float32Array;
  data.fill((typeof data[0] === "bigint" ? 0n : 0) as number);
  run(made);
  if (made !== out) (out.data as Float32Array).set(castArray(made, out.dtype).data as Float32Array);
}
