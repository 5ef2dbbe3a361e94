/** `ctx.array`: makes the results of bodies, here and in workers. */
import { describe, toNdArray } from "../core/convert.ts";
import { asDType, type DType, dtypeOfArray } from "../core/dtype.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { shapeText, sizeOf } from "../core/shape.ts";

/**
 * Returns elements in row-major order as an array of this shape, without a copy of typed arrays. `declared` is the
 * dtype of plain numbers, null for float32. Throws `ValueError` for another size, `TypeError` for values without
 * elements.
 */
export function madeArray(
  shape: readonly number[],
  data: ArrayLike<unknown>,
  declared: DType | null,
): NdArray {
  const isOurs = data instanceof NdArray;
  if (!isOurs && (data === null || typeof data !== "object" || typeof data.length !== "number")) {
    throw new TypeError(
      `Cannot make an array of ${describe(data)}: wanted its elements, in a list or a typed array`,
    );
  }
  if (declared !== null) declared = asDType(declared);
  const isTyped = isOurs || dtypeOfArray(data) !== undefined;
  const takesOwn = isTyped && declared !== "bool";
  const isNumbers = !isTyped && (typeof data[0] === "number" || typeof data[0] === "bigint");
  const array = toNdArray(data, {
    dtype: takesOwn || !isTyped && !isNumbers ? undefined : declared ?? undefined,
    numbers: "exact",
  });
  if (shape.every((d) => Number.isInteger(d) && d >= 0) && sizeOf(shape) === array.size) {
    return array.reshape([...shape]);
  }
  throw new ValueError(
    `Cannot make an array of shape ${
      shapeText(shape)
    }: wanted non-negative integers whose product is the number of elements, received ${array.size}`,
  );
}
