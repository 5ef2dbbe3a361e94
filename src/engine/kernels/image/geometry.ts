/** Source positions of resized pixels: TensorFlow's three conventions, in float32 on both devices. */
import type { Attrs } from "../../core/op.ts";

/** The mapping of pixels of an axis of extent `to` to one of extent `from`. */
export interface AxisScale {
  readonly from: number;
  readonly to: number;
  /** Input steps per output step, a float32. */
  readonly scale: number;
  /** True: pixel centres lie at halves. */
  readonly half: boolean;
  /** True: corner pixels meet; only nearest neighbours need it besides `scale`. */
  readonly align: boolean;
}

/** Returns the scale of an axis of an op with `align_corners` and `half_pixel_centers`. */
export function axisScale(
  from: number,
  to: number,
  { align_corners, half_pixel_centers }: Attrs,
): AxisScale {
  const align = align_corners && to > 1;
  return {
    from,
    to,
    scale: Math.fround(align ? (from - 1) / (to - 1) : from / to),
    half: half_pixel_centers,
    align: align_corners,
  };
}

/** Returns the position in the input, for interpolation. */
export function sourceOf({ scale, half }: AxisScale, at: number): number {
  if (!half) return Math.fround(at * scale);
  return Math.fround(Math.fround((at + 0.5) * scale) - 0.5);
}

export function nearestOf({ from, scale, half, align }: AxisScale, at: number): number {
  const place = Math.fround((half ? at + 0.5 : at) * scale);
  return Math.max(0, Math.min(from - 1, align ? Math.floor(place + 0.5) : Math.floor(place)));
}

/** Returns the two pixels around a position, and its distance from the first. */
export function between(
  { from }: { readonly from: number },
  place: number,
): [low: number, high: number, far: number] {
  const floor = Math.floor(place);
  return [Math.max(0, floor), Math.min(from - 1, Math.ceil(place)), place - floor];
}

/** An image batch `[batch, height, width, depth]`. */
export interface ImageDims {
  readonly batch: number;
  readonly height: number;
  readonly width: number;
  readonly depth: number;
}

export function imageDims(shape: readonly number[]): ImageDims {
  const [batch, height, width, depth] = shape;
  return { batch, height, width, depth };
}
