/** Patches of images as strided slices: of each place in a patch the elements of all patches. */
import type { OpInput } from "../../core/apply.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { asTensor } from "../input.ts";

/** Places along one axis. */
interface PatchAxis {
  readonly count: number;
  readonly before: number;
  readonly after: number;
}

/** Sizes, strides and steps within patches, along the axes between batch and depth. */
export interface Taps {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly rates: readonly number[];
  readonly padding: string;
}

export function axisOf(
  extent: number,
  at: number,
  { sizes, strides, rates, padding }: Taps,
): PatchAxis {
  const reach = (sizes[at] - 1) * rates[at] + 1, stride = strides[at];
  if (padding === "VALID") {
    return { count: Math.max(0, Math.floor((extent - reach) / stride) + 1), before: 0, after: 0 };
  }
  const count = Math.ceil(extent / stride);
  const missing = Math.max(0, (count - 1) * stride + reach - extent), before = missing >> 1;
  return { count, before, after: missing - before };
}

/** The places of an image's patches along its axes, the padding around it, and its shape with that. */
interface Places {
  readonly axes: readonly PatchAxis[];
  readonly around: readonly [before: number, after: number][];
  readonly padded: Shape;
}

/** The ends and steps of a slice. */
interface Ends {
  readonly begin: readonly number[];
  readonly end: readonly number[];
  readonly step: readonly number[];
}

/** The places of an image's patches, and the padding around it. */
export function placesIn(shape: Shape, taps: Taps): Places {
  const axes = shape.slice(1, -1).map((n, k) => axisOf(n, k, taps));
  const around = axes.map(({ before, after }): [number, number] => [before, after]);
  const padded = shape.map((n, i) => n + (around[i - 1] ?? [0, 0]).reduce((a, b) => a + b));
  return { axes, around: [[0, 0], ...around, [0, 0]] as [number, number][], padded };
}

/** The ends of the slices that hold an element of each patch, in the order of the elements. */
export function slicesOf(
  { sizes, strides, rates }: Taps,
  axes: readonly PatchAxis[],
  padded: Shape,
): readonly Ends[] {
  const total = sizes.reduce((a, b) => a * b, 1);
  return Array.from({ length: total }, (_, i) => {
    const begin = new Array<number>(padded.length).fill(0), end = [...padded];
    let rest = i;
    for (let k = sizes.length - 1; k >= 0; k--) {
      begin[k + 1] = rest % sizes[k] * rates[k];
      end[k + 1] = begin[k + 1] + Math.max(0, (axes[k].count - 1) * strides[k] + 1);
      rest = Math.floor(rest / sizes[k]);
    }
    return { begin, end, step: [1, ...strides, 1] };
  });
}

/** Patches of images, or of volumes, of known extents. */
export function patchesOf(x: OpInput, taps: Taps): Tensor {
  const image = asTensor(x), { axes, around, padded } = placesIn(image.shape, taps);
  const all = around.flat().some((n) => n > 0) ? pad(image, around) : image;
  return concat(
    slicesOf(taps, axes, padded).map(({ begin, end, step }) => stridedSlice(all, begin, end, step)),
    -1,
  );
}
