/**
 * Pooling on the host, of two or three spatial axes.
 */
import { castArray } from "../../core/convert.ts";
import { NdArray } from "../../core/nd_array.ts";
import { imageStrides, type WindowGeometry } from "../conv/geometry.ts";
import type { Numbers } from "./matmul.ts";

/** One window of one channel: flat positions in the image and of the result. */
interface Window {
  /** Position of the result. */
  readonly out: number;
  /** Positions of the elements inside the image, in row-major order. */
  readonly members: Int32Array;
  /** How many of them are valid. */
  readonly count: number;
}

/** Calls `visit` for each window; the object is reused. */
function forEachWindow(g: WindowGeometry, visit: (w: Window) => void): void {
  const [d, h, w] = g.axes;
  const of = imageStrides([d.in, h.in, w.in], g.channels, g.channelsFirst);
  const to = imageStrides([d.out, h.out, w.out], g.channels, g.channelsFirst);
  const taps = new Int32Array(d.filter * h.filter * w.filter),
    members = new Int32Array(taps.length);
  const window = { out: 0, members, count: 0 };
  for (let n = 0; n < g.batch; n++) {
    for (let oz = 0; oz < d.out; oz++) {
      for (let oy = 0; oy < h.out; oy++) {
        for (let ox = 0; ox < w.out; ox++) {
          let count = 0;
          for (let i = 0, z = oz * d.stride - d.before; i < d.filter; i++, z += d.dilation) {
            if (z < 0 || z >= d.in) continue;
            for (let j = 0, y = oy * h.stride - h.before; j < h.filter; j++, y += h.dilation) {
              if (y < 0 || y >= h.in) continue;
              for (let k = 0, x = ox * w.stride - w.before; k < w.filter; k++, x += w.dilation) {
                if (x < 0 || x >= w.in) continue;
                taps[count++] = n * of.batch + z * of.space[0] + y * of.space[1] + x * of.space[2];
              }
            }
          }
          window.count = count;
          const out = n * to.batch + oz * to.space[0] + oy * to.space[1] + ox * to.space[2];
          for (let c = 0; c < g.channels; c++) {
            window.out = out + c * to.channel;
            for (let t = 0; t < count; t++) members[t] = taps[t] + c * of.channel;
            visit(window);
          }
        }
      }
    }
  }
}

/** The array as one whose elements are plain numbers: 16-bit floats become float32. */
function plain(a: NdArray): Numbers {
  return (a.dtype === "bfloat16" || a.dtype === "float16"
    ? castArray(a, "float32").data
    : a.data) as Numbers;
}

/** Gives a kernel a float32 result where the real one holds 16-bit floats. */
function withPlainOut(out: NdArray, run: (data: Numbers) => void): void {
  if (out.dtype !== "bfloat16" && out.dtype !== "float16") return run(out.data as Numbers);
  const wide = NdArray.zeros("float32", out.shape);
  run(wide.data as Numbers);
  (out.data as Float32Array).set(castArray(wide, out.dtype).data as Float32Array);
}

function zeroOf(data: Numbers): number {
  return (typeof data[0] === "bigint" ? 0n : 0) as number;
}

/** Position in the window's members of the first maximum; -1 where there is no number. */
function firstMax(x: Numbers, w: Window): number {
  let at = -1;
  for (let t = 0; t < w.count; t++) {
    const v = x[w.members[t]];
    if (at < 0 ? v === v : v > x[w.members[at]]) at = t;
  }
  return at;
}

/** The same, and the first element of a window in which all are NaN; -1 for a window outside the image. */
function winner(x: Numbers, w: Window): number {
  return w.count === 0 ? -1 : Math.max(0, firstMax(x, w));
}

/** Greatest element of each window; elements outside the image and NaN do not count. */
export function maxPoolCpu(g: WindowGeometry, input: NdArray, out: NdArray): void {
  const x = plain(input);
  withPlainOut(out, (y) =>
    forEachWindow(g, (w) => {
      const at = firstMax(x, w);
      y[w.out] = at < 0
        ? (w.count > 0 && typeof x[w.members[0]] === "bigint" ? x[w.members[0]] : -Infinity)
        : x[w.members[at]];
    }));
}

/** Mean of the elements of each window that lie inside the image; 0 where none does. */
export function avgPoolCpu(g: WindowGeometry, input: NdArray, out: NdArray): void {
  const x = plain(input);
  withPlainOut(out, (y) =>
    forEachWindow(g, (w) => {
      let s = 0;
      for (let t = 0; t < w.count; t++) s += x[w.members[t]];
      y[w.out] = w.count === 0 ? 0 : s / w.count;
    }));
}

/** Sends each gradient to the first maximum of its window. */
export function maxPoolGradCpu(
  g: WindowGeometry,
  input: NdArray,
  grad: NdArray,
  out: NdArray,
): void {
  const x = plain(input), dy = plain(grad);
  withPlainOut(out, (dx) => {
    (dx as unknown as Float32Array).fill(zeroOf(dx));
    forEachWindow(g, (w) => {
      const at = winner(x, w);
      if (at >= 0) dx[w.members[at]] += dy[w.out];
    });
  });
}

/** Takes from `grad`, shaped as the input, what stands at the first maximum of each window. */
export function maxPoolGradGradCpu(
  g: WindowGeometry,
  input: NdArray,
  grad: NdArray,
  out: NdArray,
): void {
  const x = plain(input), dd = plain(grad);
  withPlainOut(out, (y) =>
    forEachWindow(g, (w) => {
      const at = winner(x, w);
      y[w.out] = at < 0 ? zeroOf(dd) : dd[w.members[at]];
    }));
}

/** Spreads each gradient evenly over its window's elements inside the image. */
export function avgPoolGradCpu(g: WindowGeometry, grad: NdArray, out: NdArray): void {
  const dy = plain(grad);
  withPlainOut(out, (dx) => {
    (dx as unknown as Float32Array).fill(0);
    forEachWindow(g, (w) => {
      const v = dy[w.out] / w.count;
      for (let t = 0; t < w.count; t++) dx[w.members[t]] += v;
    });
  });
}

/** Flat positions of the first maxima: `(y * width + x) * channels + channel`, plus the image's offset where asked. */
export function argMaxPoolCpu(
  g: WindowGeometry,
  input: NdArray,
  out: NdArray,
  argmax: NdArray,
  withBatch: boolean,
): void {
  const x = plain(input);
  const imageSize = g.axes[0].in * g.axes[1].in * g.axes[2].in * g.channels;
  const wide = argmax.dtype === "int64";
  withPlainOut(out, (y) =>
    forEachWindow(g, (w) => {
      const at = winner(x, w);
      y[w.out] = at < 0 ? -Infinity : x[w.members[at]];
      const flat = at < 0 ? 0 : w.members[at];
      const place = withBatch ? flat : flat % imageSize;
      (argmax.data as Numbers)[w.out] = (wide ? BigInt(place) : place) as number;
    }));
}
