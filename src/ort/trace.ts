/** Functions by which onnxruntime's packages trace themselves. `tf.trace` of Weft traces sessions. */

/** Does nothing. */
export function TRACE(_device: string, _label: string): void {}
/** Does nothing. */
export function TRACE_FUNC_BEGIN(_message?: string): void {}
/** Does nothing. */
export function TRACE_FUNC_END(_message?: string): void {}
/** Does nothing. */
export function TRACE_EVENT_BEGIN(_message?: string): void {}
/** Does nothing. */
export function TRACE_EVENT_END(_message?: string): void {}
