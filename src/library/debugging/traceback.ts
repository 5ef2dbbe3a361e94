/** Filtering of the library's frames from the stacks of errors. */
import { filtering } from "../../engine/core/throwing/user_stack.ts";

/**
 * Makes later errors begin their stacks at the line that called this library, which is the default. Follows TensorFlow
 * `tf.debugging.enable_traceback_filtering`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.debugging.enableTracebackFiltering();
 * console.log(tf.debugging.isTracebackFilteringEnabled()); // true
 * ```
 */
export function enableTracebackFiltering(): void {
  filtering.isOn = true;
}

/**
 * Keeps the library's own frames in the stacks of later errors, and the errors behind them as causes: for bug reports.
 * Follows TensorFlow `tf.debugging.disable_traceback_filtering`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.debugging.disableTracebackFiltering();
 * console.log(tf.debugging.isTracebackFilteringEnabled()); // false
 * tf.debugging.enableTracebackFiltering();
 * ```
 */
export function disableTracebackFiltering(): void {
  filtering.isOn = false;
}

/**
 * True while stacks of errors omit the library's frames. Follows TensorFlow
 * `tf.debugging.is_traceback_filtering_enabled`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.debugging.isTracebackFilteringEnabled()); // true
 * ```
 */
export function isTracebackFilteringEnabled(): boolean {
  return filtering.isOn;
}
