/** `tf.util`: assertions about values, shapes and dtypes. */
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Throws an error with the text unless the condition holds. */
export function assert(expr: unknown, msg: string | (() => string)): asserts expr {
  if (!expr) throw new Error(typeof msg === "string" ? msg : msg());
}

/** Throws where two shapes differ. */
export function assertShapesMatch(
  shapeA: readonly number[],
  shapeB: readonly number[],
  errorMessagePrefix = "",
): void {
  assert(
    shapeA.length === shapeB.length && shapeA.every((d, i) => d === shapeB[i]),
    () => `${errorMessagePrefix} Shapes ${shapeA} and ${shapeB} must match`,
  );
}

/** Throws where there is no value. */
export function assertNonNull(a: unknown): void {
  assert(
    a !== null && a !== undefined,
    "Cannot make a tensor: there is no value",
  );
}

/** Throws where a dimension is no integer or negative. */
export function assertNonNegativeIntegerDimensions(shape: readonly number[]): void {
  assert(
    shape.every((d) => Number.isInteger(d) && d >= 0),
    () => `Tensor must have a shape of integers that are not negative, received [${shape}]`,
  );
}
