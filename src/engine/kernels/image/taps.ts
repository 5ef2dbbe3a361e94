/** Resampling of images, separately by rows and columns: the source elements of each position of an axis. */
import type { Attrs } from "../../core/op.ts";
import { axisScale, sourceOf } from "./geometry.ts";

/** The source positions of a result's position, with their weights. */
export interface Taps {
  readonly at: readonly number[];
  readonly weights: readonly number[];
}

export interface Sampling {
  readonly rows: readonly Taps[];
  readonly columns: readonly Taps[];
}

const f32 = Math.fround;
/** TensorFlow's threshold: smaller sums of weights count as none. */
const LEAST_SUM = 1000 * 2 ** -126;

/** Clamps a position to the axis. */
const within = (at: number, size: number): number => Math.min(size - 1, Math.max(0, at));

/** Divides weights by their sum, where that is not negligible. */
function normalized(weights: readonly number[]): number[] | undefined {
  const sum = weights.reduce((a, b) => f32(a + b), 0);
  return Math.abs(sum) < LEAST_SUM ? undefined : weights.map((w) => f32(w * f32(1 / sum)));
}

/** Keys' cubic convolution: returns the weights of the two positions on one side, `x` from the nearer one. */
function cubic(x: number, a: number): readonly [near: number, far: number] {
  const y = x + 1;
  return [f32(((a + 2) * x - (a + 3)) * x * x + 1), f32(((a * y - 5 * a) * y + 8 * a) * y - 4 * a)];
}

/** Returns the taps of TensorFlow's `ResizeBicubic` along an axis: from a table of 1024 steps between two positions. */
export function bicubicTaps(size: number, wanted: number, attrs: Attrs): Taps[] {
  const axis = axisScale(size, wanted, attrs), a = axis.half ? -0.5 : -0.75;
  return Array.from({ length: wanted }, (_, i) => {
    const from = sourceOf(axis, i);
    const first = Math.floor(from), x = toEven(f32(from - first) * 1024) / 1024;
    const [left, outerLeft] = cubic(x, a), [right, outerRight] = cubic(1 - x, a);
    const places = [first - 1, first, first + 1, first + 2];
    const at = places.map((place) => within(place, size));
    const weights = [outerLeft, left, right, outerRight];
    if (!axis.half) return { at, weights };
    // Outside positions have no weight.
    const inside = weights.map((w, k) => (at[k] === places[k] ? w : 0));
    return { at, weights: normalized(inside) ?? inside };
  });
}

function toEven(x: number): number {
  const below = Math.floor(x), rest = x - below;
  return rest < 0.5 || rest === 0.5 && below % 2 === 0 ? below : below + 1;
}

/** Returns the taps of TensorFlow's `ResizeArea` along an axis: each position by its covered share. */
export function areaTaps(size: number, wanted: number, attrs: Attrs): Taps[] {
  const step = axisScale(size, wanted, attrs).scale;
  // With aligned corners of a single position, all lies in it.
  if (step === 0) return Array.from({ length: wanted }, () => ({ at: [0], weights: [1] }));
  return Array.from({ length: wanted }, (_, i) => {
    const from = f32(i * step), to = f32((i + 1) * step), first = Math.floor(from);
    const places = Array.from({ length: Math.ceil(to) - first }, (_, k) => first + k);
    const covered = (place: number): number => {
      if (place < from) return place + 1 > to ? step : place + 1 - from;
      return place + 1 > to ? to - place : 1;
    };
    return {
      at: places.map((place) => within(place, size)),
      weights: places.map((place) => covered(place) / step),
    };
  });
}

/** A kernel: its radius, and its value at a distance. */
interface Kernel {
  readonly radius: number;
  readonly value: (x: number) => number;
}

const lanczos = (radius: number): Kernel => ({
  radius,
  value: (x) => {
    if (x > radius) return 0;
    const turn = Math.PI * x;
    return x <= 1e-3 ? 1 : radius * Math.sin(turn) * Math.sin(turn / radius) / (turn * turn);
  },
});

/** Kernels of TensorFlow's `ScaleAndTranslate` by name. */
export const SAMPLING_KERNELS: Readonly<Record<string, Kernel>> = {
  lanczos1: lanczos(1),
  lanczos3: lanczos(3),
  lanczos5: lanczos(5),
  gaussian: { radius: 1.5, value: (x) => (x >= 1.5 ? 0 : Math.exp(-2 * x * x)) },
  box: { radius: 1, value: (x) => (x < 0.5 ? 1 : x === 0.5 ? 0.5 : 0) },
  triangle: { radius: 1, value: (x) => Math.max(0, 1 - x) },
  // Keys, "Cubic convolution interpolation for digital image processing", 1981.
  keyscubic: {
    radius: 2,
    value: (x) => {
      if (x >= 2) return 0;
      return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
    },
  },
  // Mitchell and Netravali, "Reconstruction filters in computer graphics", 1988.
  mitchellcubic: {
    radius: 2,
    value: (x) => {
      if (x >= 2) return 0;
      return x >= 1
        ? ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
        : (7 / 6 * x - 2) * x * x + 8 / 9;
    },
  },
};

/**
 * Returns the taps of TensorFlow's `ScaleAndTranslate` along an axis; none where the position lies outside of the
 * source.
 */
export function kernelTaps(
  size: number,
  wanted: number,
  { kernel, antialias, scale, translation }: {
    readonly kernel: Kernel;
    readonly antialias: boolean;
    readonly scale: number;
    readonly translation: number;
  },
): Taps[] {
  const inverse = f32(1 / scale), offset = f32(-inverse * translation);
  const width = antialias ? Math.max(inverse, 1) : 1, reach = f32(kernel.radius * width);
  return Array.from({ length: wanted }, (_, i) => {
    const center = f32(f32((i + 0.5) * inverse) + offset);
    if (!(center >= 0 && center <= size)) return { at: [], weights: [] };
    const first = within(Math.ceil(f32(f32(center - reach) - 0.5)), size);
    const last = within(Math.floor(f32(f32(center + reach) - 0.5)), size);
    const at = Array.from({ length: last - first + 1 }, (_, k) => first + k);
    const narrow = f32(1 / width);
    const weights = normalized(
      at.map((p) => f32(kernel.value(Math.abs(f32(f32(p + 0.5 - center) * narrow))))),
    );
    return weights === undefined ? { at: [], weights: [] } : { at, weights };
  });
}
