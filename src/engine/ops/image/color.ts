/** Colours: greyscale and RGB, and thresholds for black and white. */
import { wantBoolean, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { INTEGER_ENDS } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { argMax } from "../reduce/arg_reduce.ts";
import { split } from "../array/join.ts";
import { tile } from "../array/repeat.ts";
import { reshape } from "../array/view.ts";
import { slice } from "../array/slice.ts";
import { cast } from "../array/cast.ts";
import { ones } from "../array/creation.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { range } from "../array/ranges.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { greater, lessEqual } from "../pointwise/compare.ts";
import { square } from "../pointwise/power.ts";
import { round } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { max, sum } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { unsortedSegmentSum } from "../array/segment.ts";

/** Weights of red, green and blue in brightness. */
const BRIGHTNESS = [0.2989, 0.587, 0.114] as const;
const LEVELS = 256;

function checkChannels(shape: PartialShape, channels: number, fn: string): void {
  const last = shape?.at(-1) ?? null;
  if ((shape && shape.length < 2) || (last !== null && last !== channels)) {
    throw new ValueError(
      `Error in ${fn}: wanted images of rank 2 or more with ${channels} channels last, received shape ${
        shapeText(shape)
      }`,
    );
  }
}

/**
 * Repeats the only channel of greyscale images three times. Throws `ValueError` for another number of channels.
 * Follows TensorFlow `tf.image.grayscale_to_rgb`, op `Tile`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.grayscaleToRGB([[[5]]]).arraySync()); // [[[5, 5, 5]]]
 * ```
 */
export function grayscaleToRGB(image: TensorLike): Tensor {
  const input = toInput(image, "image", "grayscaleToRGB");
  const shape = shapeOfInput(input);
  checkChannels(shape, 1, "grayscaleToRGB");
  if (shape === null) {
    throw new ValueError("Error in grayscaleToRGB: the rank of the images must be known");
  }
  return tile(input, shape.map((_, i) => (i === shape.length - 1 ? 3 : 1)));
}

/**
 * Brightness of RGB images, in their dtype: `0.2989 r + 0.587 g + 0.114 b`. Throws `ValueError` for another number of
 * channels. Follows TensorFlow `tf.image.rgb_to_grayscale`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.image.rgbToGrayscale([[[100, 100, 100]]]).dataSync()[0] as number).toFixed(4)); // 99.9900
 * ```
 */
export function rgbToGrayscale(image: TensorLike): Tensor {
  return compose(() => {
    const input = asTensor(toInput(image, "image", "rgbToGrayscale"));
    checkChannels(shapeOfInput(input), 3, "rgbToGrayscale");
    const gray = sum(mul(cast(input, "float32"), BRIGHTNESS), -1, true);
    // Whole numbers are rounded as in TensorFlow, int32 is cut off, as in TensorFlow.js.
    const ends = input.dtype === "int32" ? undefined : INTEGER_ENDS[input.dtype];
    const most = Number(ends?.[1] ?? Infinity);
    return cast(ends ? mul(gray, 1 + 0.5 / most) : gray, input.dtype);
  });
}

/**
 * Returns 255 where an image `[height, width, channels]` of values up to 255 is brighter than a threshold (where it is
 * not, if `inverted`), else 0; int32. `"binary"` takes `threshValue` as part of 255, `"otsu"` finds the level that
 * separates dark and light best. Throws `ValueError` for another rank, number of channels or method. Follows
 * TensorFlow.js `tf.image.threshold`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor3d([10, 200], [1, 2, 1], "int32");
 * console.log(tf.image.threshold(image).arraySync()); // [[[0], [255]]]
 * ```
 */
export function threshold(
  image: TensorLike,
  method: "binary" | "otsu" = "binary",
  inverted = false,
  threshValue = 0.5,
): Tensor {
  wantBoolean(inverted, "inverted", "threshold");
  wantNumber(threshValue, "threshValue", "threshold");
  return compose(() => {
    const input = asTensor(toInput(image, "image", "threshold"));
    const shape = shapeOfInput(input);
    const channels = shape?.[2];
    if (shape && (shape.length !== 3 || (channels !== 1 && channels !== 3))) {
      throw new ValueError(
        `Error in threshold: image must be rank 3 with 1 or 3 channels, but got shape ${
          shapeText(shape)
        }`,
      );
    }
    if (input.dtype !== "int32" && input.dtype !== "float32") {
      throw new TypeError(
        `Error in threshold: image dtype must be int32 or float32, but got ${input.dtype}`,
      );
    }
    if (method !== "otsu" && method !== "binary") {
      throw new ValueError(`Method must be binary or otsu, but was ${method}`);
    }
    const grey = channels === 3
      ? split(input, 3, -1).map((c, i) => mul(cast(c, "float32"), BRIGHTNESS[i])).reduce((a, b) =>
        add(a, b)
      )
      : input;
    const level: TensorLike = method === "otsu" ? otsu(grey) : 255 * threshValue;
    const chosen = inverted ? lessEqual(grey, level) : greater(grey, level);
    return cast(mul(cast(chosen, "int32"), 255), "int32");
  });
}

/**
 * Returns the brightness level with the greatest difference between the two classes, after Otsu; -1 if there is one
 * class.
 */
function otsu(grey: Tensor): Tensor {
  const levels = reshape(cast(round(grey), "int32"), [-1]);
  const counts = unsortedSegmentSum(ones(levels.shape), levels, LEVELS);
  const moments = mul(counts, range(0, LEVELS));
  const total = sum(counts), whole = sum(moments);
  // For each level: the number and sum of values up to it. Above the last level there are none.
  const below = slice(cumsum(counts), 0, LEVELS - 1), mass = slice(cumsum(moments), 0, LEVELS - 1);
  const above = sub(total, below);
  const both = greater(mul(below, above), 0);
  const means = sub(div(mass, below), div(sub(whole, mass), above));
  const weights = mul(div(below, total), div(above, total));
  const variance = where(both, mul(weights, square(means)), 0);
  const best = argMax(variance, 0);
  return where(greater(max(variance), 0), cast(best, "float32"), -1);
}
