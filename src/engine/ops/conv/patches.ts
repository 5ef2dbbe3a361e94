/** Patches of images and volumes. */
import { apply1 } from "../../core/apply.ts";
import { wantList } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { shapeOfInput, toInput } from "../input.ts";
import { ExtractImagePatches, ExtractVolumePatches } from "./patch_ops.ts";

/**
 * Patches of images `[batch, height, width, depth]` or volumes `[batch, planes, height, width, depth]`, with the elements of each along the
 * last axis, depth innermost. `sizes`, `strides` and `rates` have a number for each axis between batch and depth; `rates` are steps within
 * a patch. Throws `ValueError` for another rank and other numbers of sizes. Follows TensorFlow `tf.image.extract_patches`; ops
 * `ExtractImagePatches` and `ExtractVolumePatches`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 9), [1, 3, 3, 1]);
 * console.log(tf.extractPatches(x, [2, 2], [1, 2]).arraySync()); // [[[[0, 1, 3, 4]], [[3, 4, 6, 7]]]]
 * ```
 */
export function extractPatches(
  images: TensorLike,
  sizes: readonly number[],
  strides: readonly number[] = sizes,
  rates?: readonly number[],
  padding: "valid" | "same" = "valid",
): Tensor {
  wantList(sizes, "sizes", "extractPatches", "numbers");
  wantList(strides, "strides", "extractPatches", "numbers");
  if (rates !== undefined) wantList(rates, "rates", "extractPatches", "numbers");
  const x = toInput(images, "images", "extractPatches"), shape = shapeOfInput(x);
  const rank = shape?.length;
  if (rank !== 4 && rank !== 5) {
    throw new ValueError(
      `Error in extractPatches: wanted images of rank 4 or 5, received shape ${shapeText(shape)}`,
    );
  }
  for (const [name, list] of Object.entries({ sizes, strides, rates })) {
    if (list === undefined) continue;
    if (list.length === rank - 2 && list.every((n) => Number.isInteger(n) && n > 0)) continue;
    throw new ValueError(
      `Error in extractPatches: ${name} must be ${
        rank - 2
      } whole numbers above 0, received [${list}]`,
    );
  }
  if (padding !== "valid" && padding !== "same") {
    throw new ValueError(
      `Error in extractPatches: padding must be "valid" or "same", received ${padding}`,
    );
  }
  const whole = (list: readonly number[]): number[] => [1, ...list, 1];
  return apply1(rank === 5 ? ExtractVolumePatches : ExtractImagePatches, [x], {
    ksizes: whole(sizes),
    strides: whole(strides),
    rates: rank === 5 && rates === undefined ? [] : whole(rates ?? [1, 1]),
    padding: padding.toUpperCase(),
  });
}

/**
 * Patches of volumes `[batch, planes, height, width, depth]`, with the elements of each along the last axis, depth innermost. `ksizes` and
 * `strides` have a number for each axis, 1 for batch and depth. Differentiable. Throws `ValueError` for another rank, other lists and
 * another padding. TensorFlow op `ExtractVolumePatches`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 8), [1, 2, 2, 2, 1]);
 * const y = tf.extractVolumePatches(x, [1, 2, 2, 1, 1], [1, 1, 1, 1, 1], "VALID");
 * console.log(await y.array()); // [[[[[0, 2, 4, 6], [1, 3, 5, 7]]]]]
 * ```
 */
export function extractVolumePatches(
  input: TensorLike,
  ksizes: readonly number[],
  strides: readonly number[],
  padding: "VALID" | "SAME",
): Tensor {
  const fn = "extractVolumePatches";
  wantList(ksizes, "ksizes", fn, "numbers");
  wantList(strides, "strides", fn, "numbers");
  const attrs = { ksizes: [...ksizes], strides: [...strides], padding };
  return apply1(ExtractVolumePatches, [toInput(input, "input", fn)], attrs);
}
