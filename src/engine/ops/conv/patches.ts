/** Patches of images and volumes. */
import { wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";

/** Places along one axis. */
interface PatchAxis {
  readonly count: number;
  readonly before: number;
  readonly after: number;
}

function axisOf(
  extent: number,
  [size, stride, rate]: readonly [number, number, number],
  padding: "valid" | "same",
): PatchAxis {
  const reach = (size - 1) * rate + 1;
  if (padding === "valid") {
    return { count: Math.max(0, Math.floor((extent - reach) / stride) + 1), before: 0, after: 0 };
  }
  const count = Math.ceil(extent / stride);
  const missing = Math.max(0, (count - 1) * stride + reach - extent), before = missing >> 1;
  return { count, before, after: missing - before };
}

/**
 * Patches of images `[batch, height, width, depth]` or volumes `[batch, planes, height, width, depth]`, with the elements of each along the
 * last axis, depth innermost. `sizes`, `strides` and `rates` have a number for each axis between batch and depth; `rates` are steps within
 * a patch. Throws `ValueError` for another rank, unknown extents and other numbers of sizes. Follows TensorFlow `tf.image.extract_patches` and
 * `tf.extract_volume_patches`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.reshape(tf.range(0, 9), [1, 3, 3, 1]);
 * assertEquals(tf.extractPatches(x, [2, 2], [1, 2]).arraySync(), [[[[0, 1, 3, 4]], [[3, 4, 6, 7]]]]);
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
  const within = rates ?? sizes.map(() => 1);
  return compose(() => {
    const x = asTensor(toInput(images, "images", "extractPatches")), shape = shapeOfInput(x);
    const extents = shape?.slice(1, -1) ?? [], isFit = shape?.length === 4 || shape?.length === 5;
    if (!isFit || extents.includes(null)) {
      throw new ValueError(
        `Error in extractPatches: wanted images of rank 4 or 5 with known extents, received shape ${
          shapeText(shape)
        }`,
      );
    }
    for (const [name, list] of Object.entries({ sizes, strides, rates: within })) {
      if (list.length === extents.length && list.every((n) => Number.isInteger(n) && n > 0)) {
        continue;
      }
      throw new ValueError(
        `Error in extractPatches: ${name} must be ${extents.length} whole numbers above 0, received [${list}]`,
      );
    }
    if (padding !== "valid" && padding !== "same") {
      throw new ValueError(
        `Error in extractPatches: padding must be "valid" or "same", received ${padding}`,
      );
    }
    const axes = extents.map((n, k) => axisOf(n!, [sizes[k], strides[k], within[k]], padding));
    const around = axes.map(({ before, after }): [number, number] => [before, after]);
    const padded = around.flat().some((n) => n > 0) ? pad(x, [[0, 0], ...around, [0, 0]]) : x;
    const all = padded.shape, total = sizes.reduce((a, b) => a * b, 1);
    const parts = Array.from({ length: total }, (_, i) => {
      const begin = new Array<number>(all.length).fill(0), end = [...all];
      let rest = i;
      for (let k = sizes.length - 1; k >= 0; k--) {
        begin[k + 1] = rest % sizes[k] * within[k];
        end[k + 1] = begin[k + 1] + (axes[k].count - 1) * strides[k] + 1;
        rest = Math.floor(rest / sizes[k]);
      }
      return stridedSlice(padded, begin, end, [1, ...strides, 1]);
    });
    return concat(parts, -1);
  });
}
