/** Rules for colour ops, as several of Weft's ops. */
import { contrasted, hsvOf, rgbOf, saturated, turnedHue } from "../../../engine/ops/image/hue.ts";
import type { ImportRule } from "../rule.ts";

/** TensorFlow op `RGBToHSV`. */
export const rgbToHsv: ImportRule = ({ inputs: [x] }) => [hsvOf(x)];

/** TensorFlow op `HSVToRGB`. */
export const hsvToRgb: ImportRule = ({ inputs: [x] }) => [rgbOf(x)];

/** TensorFlow op `AdjustHue`. */
export const adjustHue: ImportRule = ({ inputs: [x, delta] }) => [turnedHue(x, delta)];

/** TensorFlow op `AdjustSaturation`. */
export const adjustSaturation: ImportRule = ({ inputs: [x, scale] }) => [saturated(x, scale)];

/** TensorFlow op `AdjustContrastv2`. */
export const adjustContrast: ImportRule = ({ inputs: [x, factor] }) => [contrasted(x, factor)];
