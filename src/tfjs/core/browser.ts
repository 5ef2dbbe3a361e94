/** `tf.browser` of TensorFlow.js. */
import { wantObject, wrongArgument } from "../../engine/core/arguments.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { toPixels } from "../../engine/ops/image/browser_namespace.ts";
import { checkPixels } from "../../engine/ops/image/check_pixels.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

export { fromPixels, fromPixelsAsync, toPixels } from "../../engine/ops/image/browser_namespace.ts";

/** Draws an image on a canvas; pixels are read from the device first. */
export function draw(
  image: Tensor,
  canvas: Parameters<typeof toPixels>[1],
  options?: { imageOptions?: { alpha?: number } },
): void {
  const alpha = options?.imageOptions?.alpha;
  if (alpha !== undefined && !(alpha >= 0 && alpha <= 1)) {
    throw new Error(`Cannot draw an image: alpha must be from 0 to 1, received ${alpha}`);
  }
  if (!(image instanceof Tensor)) throw wrongArgument(image, "image", "draw", "a tensor");
  wantObject(canvas, "canvas", "draw", "a canvas");
  checkPixels(image);
  // The values of a GPU come later: what is wrong with them has no caller any more.
  toPixels(image, canvas).catch((error) => console.error(error));
}
