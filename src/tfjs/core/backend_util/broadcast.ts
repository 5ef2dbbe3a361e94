/** `tf.broadcast_util`: shapes that broadcast. */
import { broadcastShapes } from "../../../engine/core/shape.ts";

/** Returns the input's axes that broadcasting repeats. */
export function getBroadcastDims(
  inShape: readonly number[],
  outShape: readonly number[],
): number[] {
  const offset = outShape.length - inShape.length;
  return inShape.flatMap((extent, axis) =>
    extent === 1 && (outShape[axis + offset] ?? 1) > 1 ? [axis] : []
  );
}

/** Returns the output's axes that are summed for the gradient of the input. */
export function getReductionAxes(
  inShape: readonly number[],
  outShape: readonly number[],
): number[] {
  const offset = outShape.length - inShape.length;
  return outShape.flatMap((extent, axis) => {
    const from = axis < offset ? undefined : inShape[axis - offset];
    return from === undefined || from === 1 && extent > 1 ? [axis] : [];
  });
}

/** Returns the shape that two shapes broadcast to. Throws where they do not. */
export function assertAndGetBroadcastShape(
  shapeA: readonly number[],
  shapeB: readonly number[],
): number[] {
  return [...broadcastShapes(shapeA, shapeB) as number[]];
}
