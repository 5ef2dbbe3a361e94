/** Projective transforms and rotations of images, as both devices read them from attributes. */
import type { NdArray } from "../../core/nd_array.ts";
import type { Attrs } from "../../core/op.ts";

/** The pixels beyond the edge: a constant, the image mirrored, the image repeated, the edge. */
export type FillMode = "CONSTANT" | "REFLECT" | "WRAP" | "NEAREST";

export interface Warp {
  readonly interpolation: "NEAREST" | "BILINEAR";
  readonly fillMode: FillMode;
  readonly fillValue: number;
}

/** Returns the sampling of a transform, from its attributes and the value beyond the edge. */
export function warpOf(attrs: Attrs, fill: NdArray | undefined): Warp {
  return {
    interpolation: attrs.interpolation,
    fillMode: attrs.fill_mode as FillMode,
    fillValue: fill ? Number(fill.item()) : 0,
  };
}

/** A rotation by `radians` about a point. */
export interface Rotation {
  readonly radians: number;
  /** Column of the centre. */
  readonly x: number;
  /** Row of the centre. */
  readonly y: number;
  /** The pixel beyond the edge, per channel. */
  readonly fill: readonly number[];
}

function fillsOf(fill: readonly number[], depth: number): number[] {
  if (fill.length === 1) return new Array<number>(depth).fill(fill[0]);
  // The fourth channel is opacity.
  return Array.from({ length: depth }, (_, d) => (d === 3 ? 255 : fill[d] ?? 0));
}

/** Returns the rotation of images of a shape, from its attributes. */
export function rotationOf(
  shape: readonly number[],
  { radians, fill_value, center }: Attrs,
): Rotation {
  return {
    radians,
    x: shape[2] * center[0],
    y: shape[1] * center[1],
    fill: fillsOf(fill_value, shape[3]),
  };
}
