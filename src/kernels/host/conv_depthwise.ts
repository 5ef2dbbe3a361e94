/**
 * Depthwise convolutions on the host: each channel with its own filters.
 */
import type { ConvKernel } from "./conv.ts";
import { imageStrides, outPlaces, type WindowGeometry } from "../conv/geometry.ts";
import type { Numbers } from "./matmul.ts";

/** Filters per channel. */
export function multiplier(g: WindowGeometry): number {
  return g.channels === 0 ? 0 : g.outChannels / g.channels;
}

/** Calls `visit(place of the image, place of the result, tap)` for each pair that a tap joins, in flat positions of channel 0. */
function forEachJoin(
  g: WindowGeometry,
  visit: (inAt: number, outAt: number, tap: number) => void,
): void {
  const [d, h, w] = g.axes;
  const of = imageStrides([d.in, h.in, w.in], g.channels, g.channelsFirst);
  const to = imageStrides([d.out, h.out, w.out], g.outChannels, g.channelsFirst);
  for (let n = 0; n < g.batch; n++) {
    for (let oy = 0; oy < h.out; oy++) {
      for (let ox = 0; ox < w.out; ox++) {
        const outAt = n * to.batch + oy * to.space[1] + ox * to.space[2];
        for (let i = 0; i < h.filter; i++) {
          const y = oy * h.stride - h.before + i * h.dilation;
          if (y < 0 || y >= h.in) continue;
          for (let j = 0; j < w.filter; j++) {
            const x = ox * w.stride - w.before + j * w.dilation;
            if (x < 0 || x >= w.in) continue;
            visit(n * of.batch + y * of.space[1] + x * of.space[2], outAt, i * w.filter + j);
          }
        }
      }
    }
  }
}

/** Steps between channels of the image and of the result. */
function channelSteps(g: WindowGeometry): [number, number] {
  const [d, h, w] = g.axes;
  return g.channelsFirst ? [d.in * h.in * w.in, outPlaces(g)] : [1, 1];
}

function clear(data: Numbers & { length?: number }): void {
  for (let i = 0; i < data.length!; i++) data[i] = 0;
}

/** Depthwise convolution: image, filter `[taps, channels, multiplier]`. */
export const depthwiseForward: ConvKernel = (g, xData, filter, outData) => {
  const x = xData as Numbers, f = filter as Numbers, out = outData as Numbers;
  const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
  clear(out);
  forEachJoin(g, (inAt, outAt, tap) => {
    let q = tap * c * m;
    if (m === 1) {
      for (let i = 0; i < c; i++) out[outAt + i * so] += x[inAt + i * si] * f[q + i];
      return;
    }
    for (let i = 0; i < c; i++) {
      const v = x[inAt + i * si];
      for (let k = 0; k < m; k++) out[outAt + (i * m + k) * so] += v * f[q++];
    }
  });
};

/** Gradient of the image: gradient of the result, filter. */
export const depthwiseBackwardInput: ConvKernel = (g, dyData, filter, dxData) => {
  const dy = dyData as Numbers, f = filter as Numbers, dx = dxData as Numbers;
  const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
  clear(dx);
  forEachJoin(g, (inAt, outAt, tap) => {
    let q = tap * c * m;
    for (let i = 0; i < c; i++) {
      let s = 0;
      for (let k = 0; k < m; k++) s += dy[outAt + (i * m + k) * so] * f[q++];
      dx[inAt + i * si] += s;
    }
  });
};

/** Gradient of the filter: image, gradient of the result. Sums in float64. */
export const depthwiseBackwardFilter: ConvKernel = (g, xData, dyData, dfData) => {
  const x = xData as Numbers, dy = dyData as Numbers;
  const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
  const sums = new Float64Array((dfData as ArrayLike<number>).length);
  forEachJoin(g, (inAt, outAt, tap) => {
    let q = tap * c * m;
    for (let i = 0; i < c; i++) {
      const v = x[inAt + i * si];
      for (let k = 0; k < m; k++) sums[q++] += v * dy[outAt + (i * m + k) * so];
    }
  });
  (dfData as Float32Array).set(sums);
};
