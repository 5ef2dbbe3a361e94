/** Rules for colour ops, as several of Weft's ops. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { concat } from "../../../engine/ops/array/join.ts";
import { intVector } from "../../../engine/ops/input.ts";
import { add, div, mod, mul, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater } from "../../../engine/ops/pointwise/compare.ts";
import { abs } from "../../../engine/ops/pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../../../engine/ops/pointwise/select.ts";
import { mean } from "../../../engine/ops/reduce/reduce.ts";
import type { ImportRule } from "../rule.ts";

const channels = (x: Tensor): Tensor[] => [0, 1, 2].map((i) => gather(x, intVector([i]), -1));

/** Returns hue between 0 and 1, maximum, and range of colours. Follows TensorFlow `RGBToHSV`. */
function hueOf(x: Tensor): { hue: Tensor; value: Tensor; range: Tensor } {
  const [r, g, b] = channels(x);
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
function colours(hue: Tensor, value: Tensor, range: Tensor): Tensor {
  const h = mul(hue, 6), low = sub(value, range);
  const parts = [sub(abs(sub(h, 3)), 1), sub(2, abs(sub(h, 2))), sub(2, abs(sub(h, 4)))];
  return concat(parts.map((part) => add(low, mul(range, clipByValue(part, 0, 1)))), -1);
}

const saturation = (value: Tensor, range: Tensor): Tensor => {
  const isLit = greater(value, 0);
  return where(isLit, div(range, where(isLit, value, 1)), mul(value, 0));
};

/** TensorFlow op `RGBToHSV`. */
export const rgbToHsv: ImportRule = ({ inputs: [x] }) => {
  const { hue, value, range } = hueOf(x);
  return [concat([hue, saturation(value, range), value], -1)];
};

/** TensorFlow op `HSVToRGB`. */
export const hsvToRgb: ImportRule = ({ inputs: [x] }) => {
  const [hue, s, value] = channels(x);
  return [colours(hue, value, mul(s, value))];
};

/** TensorFlow op `AdjustHue`. */
export const adjustHue: ImportRule = ({ inputs: [x, delta] }) => {
  const { hue, value, range } = hueOf(x);
  return [colours(mod(add(hue, delta), 1), value, range)];
};

/** TensorFlow op `AdjustSaturation`. */
export const adjustSaturation: ImportRule = ({ inputs: [x, scale] }) => {
  const { hue, value, range } = hueOf(x);
  const s = clipByValue(mul(saturation(value, range), scale), 0, 1);
  return [colours(hue, value, mul(s, value))];
};

/** TensorFlow op `AdjustContrastv2`. */
export const adjustContrast: ImportRule = ({ inputs: [x, factor] }) => {
  const average = mean(x, [-3, -2], true);
  return [add(mul(sub(x, average), factor), average)];
};
