/** Functions by which onnxruntime's packages trace themselves. `tf.trace` of Weft traces sessions. */

/**
 * Does nothing.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.TRACE("webgpu", "run")); // undefined
 * ```
 */
export function TRACE(_device: string, _label: string): void {}
/**
 * Does nothing.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.TRACE_FUNC_BEGIN("run")); // undefined
 * ```
 */
export function TRACE_FUNC_BEGIN(_message?: string): void {}
/**
 * Does nothing.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.TRACE_FUNC_END("run")); // undefined
 * ```
 */
export function TRACE_FUNC_END(_message?: string): void {}
/**
 * Does nothing.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.TRACE_EVENT_BEGIN("run")); // undefined
 * ```
 */
export function TRACE_EVENT_BEGIN(_message?: string): void {}
/**
 * Does nothing.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * console.log(ort.TRACE_EVENT_END("run")); // undefined
 * ```
 */
export function TRACE_EVENT_END(_message?: string): void {}
