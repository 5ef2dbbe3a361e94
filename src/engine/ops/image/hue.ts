/** Hue, saturation and value of colours. */
import type { Tensor } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { intVector } from "../input.ts";
import { add, div, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, greater } from "../pointwise/compare.ts";
import { abs } from "../pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../pointwise/select.ts";
import { mean } from "../reduce/reduce.ts";

/** Returns red, green and blue, each with an axis of 1. */
export const channelsOf = (x: Tensor): Tensor[] =>
  [0, 1, 2].map((i) => gather(x, intVector([i]), -1));

/** Returns hue between 0 and 1, maximum, and range of colours. Follows TensorFlow `RGBToHSV`. */
export function hueOf(x: Tensor): { hue: Tensor; value: Tensor; range: Tensor } {
  const [r, g, b] = channelsOf(x);
  const value = maximum(maximum(r, g), b), range = sub(value, minimum(minimum(r, g), b));
  const isColour = greater(range, 0);
  const sixth = div(1 / 6, where(isColour, range, 1));
  const turned = where(
    equal(r, value),
    mul(sixth, sub(g, b)),
    where(equal(g, value), add(mul(sixth, sub(b, r)), 2 / 6), add(mul(sixth, sub(r, g)), 4 / 6)),
  );
  return { hue: where(isColour, mod(turned, 1), mul(range, 0)), value, range };
}

/** Returns colours with this hue, maximum and range. */
export function coloursOf(hue: Tensor, value: Tensor, range: Tensor): Tensor {
  const h = mul(hue, 6), low = sub(value, range);
  const parts = [sub(abs(sub(h, 3)), 1), sub(2, abs(sub(h, 2))), sub(2, abs(sub(h, 4)))];
  return concat(parts.map((part) => add(low, mul(range, clipByValue(part, 0, 1)))), -1);
}

/** Returns the range over the maximum, 0 for black. */
export const saturationOf = (value: Tensor, range: Tensor): Tensor => {
  const isLit = greater(value, 0);
  return where(isLit, div(range, where(isLit, value, 1)), mul(value, 0));
};

/** Returns hue, saturation and value. */
export function hsvOf(x: Tensor): Tensor {
  const { hue, value, range } = hueOf(x);
  return concat([hue, saturationOf(value, range), value], -1);
}

/** Returns the colours of hues, saturations and values. */
export function rgbOf(x: Tensor): Tensor {
  const [hue, s, value] = channelsOf(x);
  return coloursOf(hue, value, mul(s, value));
}

/** Turns the hue by a part of a whole turn. */
export function turnedHue(x: Tensor, delta: Tensor | number): Tensor {
  const { hue, value, range } = hueOf(x);
  return coloursOf(mod(add(hue, delta), 1), value, range);
}

/** Multiplies the saturation. */
export function saturated(x: Tensor, factor: Tensor | number): Tensor {
  const { hue, value, range } = hueOf(x);
  const s = clipByValue(mul(saturationOf(value, range), factor), 0, 1);
  return coloursOf(hue, value, mul(s, value));
}

/** Multiplies the distance of each channel from its mean over an image. */
export function contrasted(x: Tensor, factor: Tensor | number): Tensor {
  const average = mean(x, [-3, -2], true);
  return add(mul(sub(x, average), factor), average);
}
