/**
 * Whose frames the stacks of errors have.
 */
import { filtering } from "../../engine/core/throwing/user_stack.ts";

/**
 * Lets errors made from now on begin their stacks at the line that called this library, as they do unless it is disabled.
 * Follows TensorFlow `tf.debugging.enable_traceback_filtering`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * tf.debugging.enableTracebackFiltering();
 * assertEquals(tf.debugging.isTracebackFilteringEnabled(), true);
 * ```
 */
export function enableTracebackFiltering(): void {
  filtering.isOn = true;
}

/**
 * Leaves the library's own frames in the stacks of errors made from now on, and the errors behind them as causes: for bug reports.
 * Follows TensorFlow `tf.debugging.disable_traceback_filtering`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * tf.debugging.disableTracebackFiltering();
 * assertEquals(tf.debugging.isTracebackFilteringEnabled(), false);
 * tf.debugging.enableTracebackFiltering();
 * ```
 */
export function disableTracebackFiltering(): void {
  filtering.isOn = false;
}

/** Whether stacks of errors leave the library's frames out. Follows TensorFlow `tf.debugging.is_traceback_filtering_enabled`. */
export function isTracebackFilteringEnabled(): boolean {
  return filtering.isOn;
}
