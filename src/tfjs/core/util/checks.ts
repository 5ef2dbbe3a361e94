/** `tf.util`: assertions about values, shapes and dtypes. */
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/**
 * Throws an error with the text unless the condition holds.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.util.assert(1 < 2, "never told");
 * console.log("holds"); // holds
 * ```
 */
export function assert(expr: unknown, msg: string | (() => string)): asserts expr {
  if (!expr) throw new Error(typeof msg === "string" ? msg : msg());
}

/**
 * Throws where two shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * try {
 *   tf.util.assertShapesMatch([1], [2]);
 * } catch (error) {
 *   console.log((error as Error).name); // Error
 * }
 * ```
 */
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

/**
 * Throws where there is no value.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.util.assertNonNull(0);
 * console.log("holds"); // holds
 * ```
 */
export function assertNonNull(a: unknown): void {
  assert(
    a !== null && a !== undefined,
    "Cannot make a tensor: there is no value",
  );
}

/**
 * Throws where a dimension is no integer or negative.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.util.assertNonNegativeIntegerDimensions([2, 0]);
 * console.log("holds"); // holds
 * ```
 */
export function assertNonNegativeIntegerDimensions(shape: readonly number[]): void {
  assert(
    shape.every((d) => Number.isInteger(d) && d >= 0),
    () => `Tensor must have a shape of integers that are not negative, received [${shape}]`,
  );
}
