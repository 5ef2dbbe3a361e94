/** Constants as parts of labels. */
import { elementsText } from "../../engine/core/arrays/format.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { shapeText } from "../../engine/core/shape.ts";

/** Elements that a label may have. */
const MOST_ELEMENTS = 4;

/** Formats a constant: few elements, or the dtype and the shape. */
export function arrayLabel(value: NdArray): string {
  return value.size <= MOST_ELEMENTS && value.rank < 2 && value.dtype !== "string"
    ? elementsText(value).replaceAll(" ", "")
    : `${value.dtype}${shapeText(value.shape)}`;
}
