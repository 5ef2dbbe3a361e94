/** Depthwise convolutions on the host: each channel with its own filters. */
import type { ConvKernel } from "./conv.ts";
import type { WindowGeometry } from "../conv/geometry.ts";
import type { Numbers } from "./matmul.ts";
import { channelSteps, eachWindow } from "./windows.ts";

export function multiplier(g: WindowGeometry): number {
  return g.channels === 0 ? 0 : g.outChannels / g.channels;
}

/** Depthwise convolution: image, filter `[taps, channels, multiplier]`. */
export const depthwiseForward: ConvKernel = {
  filter: 1,
  anyLayout: true,
  run(g, xData, filter, outData) {
    const x = xData as Numbers, f = filter as Numbers, out = outData as Numbers;
    const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
    eachWindow(g, ({ to, count, from, taps }) => {
      for (let t = 0; t < count; t++) {
        let q = taps[t] * c * m;
        if (m === 1) {
          for (let i = 0, s = from[t]; i < c; i++) out[to + i * so] += x[s + i * si] * f[q + i];
          continue;
        }
        for (let i = 0; i < c; i++) {
          const v = x[from[t] + i * si];
          for (let k = 0; k < m; k++) out[to + (i * m + k) * so] += v * f[q++];
        }
      }
    });
  },
};

/** Gradient of the image: gradient of the result, filter. */
export const depthwiseBackwardInput: ConvKernel = {
  filter: 1,
  anyLayout: true,
  run(g, dyData, filter, dxData) {
    const dy = dyData as Numbers, f = filter as Numbers, dx = dxData as Numbers;
    const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
    eachWindow(g, ({ to, count, from, taps }) => {
      for (let t = 0; t < count; t++) {
        let q = taps[t] * c * m;
        for (let i = 0; i < c; i++) {
          let s = 0;
          for (let k = 0; k < m; k++) s += dy[to + (i * m + k) * so] * f[q++];
          dx[from[t] + i * si] += s;
        }
      }
    });
  },
};

/** Gradient of the filter: image, gradient of the result. Sums in float64. */
export const depthwiseBackwardFilter: ConvKernel = {
  filter: 2,
  anyLayout: true,
  run(g, xData, dyData, dfData) {
    const x = xData as Numbers, dy = dyData as Numbers;
    const m = multiplier(g), c = g.channels, [si, so] = channelSteps(g);
    const sums = new Float64Array((dfData as ArrayLike<number>).length);
    eachWindow(g, ({ to, count, from, taps }) => {
      for (let t = 0; t < count; t++) {
        let q = taps[t] * c * m;
        for (let i = 0; i < c; i++) {
          const v = x[from[t] + i * si];
          for (let k = 0; k < m; k++) sums[q++] += v * dy[to + (i * m + k) * so];
        }
      }
    });
    (dfData as Float32Array).set(sums);
  },
};
