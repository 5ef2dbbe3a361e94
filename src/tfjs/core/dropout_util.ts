/** The shape of a dropout's noise, which packages import by its path. */
import type { Shape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";

/** Returns the shape of the noise for `x`: `noiseShape`, where null stands for the extent of `x`. */
export function getNoiseShape(x: Tensor, noiseShape?: readonly (number | null)[]): Shape {
  if (noiseShape == null) return [...x.shape];
  if (noiseShape.length !== x.shape.length) return noiseShape as Shape;
  return noiseShape.map((extent, i) => extent ?? x.shape[i]);
}
