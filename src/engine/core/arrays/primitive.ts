/** Arrays in JavaScript's arithmetic. */
import { type Shape, shapeText } from "../shape.ts";
import { TypeError } from "../throwing/builtin_errors.ts";

/**
 * Returns an array's value in JavaScript's arithmetic and comparisons: its element where it has rank 0. Throws
 * `TypeError` where that is no number, and for any other array: JavaScript would compute with its text.
 */
export function primitiveOf(
  { dtype, shape }: { readonly dtype: string; readonly shape: Shape },
  element: () => unknown,
): number | bigint | boolean {
  if (shape.length === 0) {
    const value = element();
    if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
      return value;
    }
    throw new TypeError(`Cannot use an array of dtype ${dtype} as a number: take its item()`);
  }
  throw new TypeError(
    `Cannot use an array of shape ${
      shapeText(shape)
    } as a number: compute element by element with its .map(), or with np.multiply and the like of @weft/weft/numpy`,
  );
}
